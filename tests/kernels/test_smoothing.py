"""Smoothings of losses that are Lipschitz but not smooth: unbiased, Lipschitz, as smooth and as close as they say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize
from tiny_silos import ask, task_of

from bench.kernels.smoothing import moreau_slopes, uniform_ball
from bench.models.linear import hinge, logistic


@pytest.mark.parametrize("features", [1, 3, 20])
def test_directions_are_uniform_in_the_ball(features):
    y = np.asarray(uniform_ball(jax.random.key(0), (20_000, features)))
    lengths = np.linalg.norm(y, axis=-1)
    assert lengths.max() <= 1 + 1e-6
    assert abs(np.mean(lengths**features) - 0.5) < 0.01  # the share of volume inside is uniform
    assert np.abs(y.mean(0)).max() < 4 / np.sqrt(features * 20_000)


X = np.array([1.5, -0.5])


def test_convolution_is_unbiased_and_lipschitz():
    """Messages average to the gradient of E f(w + s u), here by integration over the disc."""
    radius, w = 0.8, np.array([0.4, 0.1])
    _, messages, _ = ask(
        task_of(X[None, None] * np.ones((1, 400, 1)), np.ones((1, 400)), hinge),
        clip_norm=np.inf,
        smoothing="convolution",
        smoothing_radius=radius,
    )
    seen = np.array([messages(0, w, key=key)[0] for key in range(100)])
    # <u, x> has density 2 / pi sqrt(1 - v^2) on |v| <= 1, times |x|; the hinge's slope is -1 below margin 1.
    gap = (1 - X @ w) / (radius * np.linalg.norm(X))
    below = integrate.quad(lambda v: 2 / np.pi * np.sqrt(1 - v**2), -1, gap)[0]
    assert 0.1 < below < 0.9
    np.testing.assert_allclose(seen.mean(0), -below * X, atol=4 * 0.5 * np.linalg.norm(X) / np.sqrt(40_000))
    assert not np.allclose(-X, seen.mean(0), atol=0.1)  # the hinge's own gradient
    assert np.linalg.norm(seen, axis=-1).max() <= np.linalg.norm(X)


slopes_of = jax.jit(moreau_slopes, static_argnums=(0, 4))


@pytest.mark.parametrize("link", [hinge, logistic])
@pytest.mark.parametrize("beta", [0.3, 1.0, 10.0])
def test_moreau_gradients_are_those_of_a_numerical_prox(link, beta):
    rng, L, loss = np.random.default_rng(5), np.linalg.norm(X), jax.jit(link)
    for _ in range(5):
        w, y = rng.standard_normal(2), rng.choice([-1.0, 1.0])

        def along(a, w=w, y=y):
            """f(v) + beta / 2 |v - w|^2 at v = w - (a / beta) x."""
            return float(loss(np.float32((w - a / beta * X) @ X), np.float32(y))) + a**2 / (2 * beta) * X @ X

        best = optimize.minimize_scalar(along, bounds=(-1.2, 1.2), method="bounded", options={"xatol": 1e-7}).x

        def slope(steps, w=w, y=y):
            one = jnp.array([w @ X], jnp.float32), jnp.array([y], jnp.float32), jnp.array([X @ X / beta], jnp.float32)
            return float(slopes_of(link, *one, steps)[0])

        for steps in (3, 12):
            assert abs(slope(steps) - best) * L <= 2.0**-steps * L + 2e-3
        assert abs(slope(20)) <= 1


def test_too_few_halvings_are_not_exact():
    arguments = (jnp.array([0.7]), jnp.ones(1), jnp.array([1.0]))
    exact = -(1 - 0.7)  # the prox lands on the margin
    assert abs(float(moreau_slopes(hinge, *arguments, 20)[0]) - exact) < 1e-5
    assert abs(float(moreau_slopes(hinge, *arguments, 1)[0]) - exact) > 0.04


def test_envelopes_are_smooth_where_the_loss_is_not():
    """beta-smooth, and below the loss by at most L^2 / (2 beta)."""
    beta, scores = 2.0, jnp.linspace(-2.0, 3.0, 2001)
    slopes = np.asarray(moreau_slopes(hinge, scores, jnp.ones(2001), jnp.full(2001, 1 / beta), 24))
    steps = np.diff(slopes) / np.diff(np.asarray(scores))
    assert steps.max() <= beta * (1 + 1e-2)
    assert steps.min() >= -1e-2
    envelope = -np.cumsum(slopes[::-1])[::-1] * float(scores[1] - scores[0])
    gap = np.asarray(hinge(scores, jnp.ones(2001))) - envelope
    assert gap.min() > -1e-2
    assert gap.max() < 1 / (2 * beta) + 1e-2
    plain = np.diff(np.asarray(jax.vmap(jax.grad(hinge))(scores, jnp.ones(2001)))) / np.diff(np.asarray(scores))
    assert plain.max() > 100  # the loss itself is not smooth
