"""Projections and proximal steps against brute force."""

import jax.numpy as jnp
import numpy as np
from scipy import optimize

from bench.kernels.proximal import project_ball, proximal_step

U, V, G, CENTER = np.random.default_rng(3).standard_normal((4, 3)).astype(np.float32)


def test_projection_binds_outside_and_changes_nothing_inside():
    np.testing.assert_allclose(project_ball(U, CENTER, 100.0), U, rtol=1e-6)
    assert np.array_equal(project_ball(CENTER, CENTER, 1e-3), CENTER)
    np.testing.assert_allclose(project_ball(U, CENTER, jnp.inf), U, rtol=1e-6)
    near = project_ball(U, CENTER, 0.5)
    np.testing.assert_allclose(np.linalg.norm(near - CENTER), 0.5, rtol=1e-6)
    towards = (U - CENTER) / jnp.linalg.norm(U - CENTER)
    np.testing.assert_allclose((near - CENTER) @ towards, 0.5, rtol=1e-6)


def test_a_proximal_step_minimises_over_the_ball():
    a, b = 0.7, 1.9

    def objective(w):
        return float(w @ G) + a / 2 * np.sum((w - U) ** 2) + b / 2 * np.sum((w - V) ** 2)

    for radius in (0.3, 10.0):
        inside = {"type": "ineq", "fun": lambda w, radius=radius: radius**2 - np.sum((w - CENTER) ** 2)}
        best = optimize.minimize(objective, CENTER.astype(np.float64), constraints=[inside], method="SLSQP")
        ours = proximal_step(G, (U, V), (a, b), CENTER, radius)
        np.testing.assert_allclose(ours, best.x, atol=1e-3)
        assert objective(ours) <= best.fun + 1e-5
