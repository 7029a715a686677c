"""Projections and proximal steps against brute force."""

import jax.numpy as jnp
import numpy as np
from scipy import optimize

from bench.kernels.proximal import project_ball, proximal_step

U, V, G, CENTER = (jnp.asarray(row, jnp.float32) for row in np.random.default_rng(3).standard_normal((4, 3)))


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
        u, v, g = (np.asarray(row, float) for row in (U, V, G))
        return w @ g + a / 2 * np.sum((w - u) ** 2) + b / 2 * np.sum((w - v) ** 2)

    for radius in (0.3, 10.0):
        inside = {"type": "ineq", "fun": lambda w, radius=radius: radius**2 - np.sum((w - np.asarray(CENTER)) ** 2)}
        best = optimize.minimize(objective, np.asarray(CENTER, float), constraints=[inside], method="SLSQP")
        ours = np.asarray(proximal_step(G, (U, V), (a, b), CENTER, radius), float)
        np.testing.assert_allclose(ours, best.x, atol=1e-3)
        assert objective(ours) <= best.fun + 1e-5
