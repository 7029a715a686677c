"""Newton's method on one client's objective: scipy's minimum, one step where that is enough, hard cases finite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from bench.kernels import newton
from bench.models.linear import logistic, squared

pulled_minimizer = jax.jit(newton.pulled_minimizer, static_argnames=("link", "most"))
minimizer = jax.jit(newton.minimizer, static_argnames=("link", "most"))
newton_step = jax.jit(newton.newton_step, static_argnames="link")


def client(seed=0, m=8, p=3, scale=2.0):
    rng = np.random.default_rng(seed)
    inputs = scale * rng.standard_normal((m, p)).astype(np.float32)
    targets = rng.choice([-1, 1], m).astype(np.float32)
    return inputs, targets, np.full(m, 1 / m, np.float32)


def objective(link, model, inputs, targets, weight, ridge):
    scores = np.asarray(inputs, float) @ np.asarray(model, float)
    losses = np.square(scores - targets) if link is squared else np.logaddexp(0, -targets * scores)
    return weight @ losses + ridge * np.sum(np.square(np.asarray(model, float)))


def slope(link, model, *agent):
    """Largest part of the gradient, in float64 differences."""
    return np.abs(optimize.approx_fprime(np.asarray(model, float), lambda x: objective(link, x, *agent), 1e-6)).max()


@pytest.mark.parametrize(("m", "p"), [(8, 3), (3, 6), (1, 2), (40, 5)])
@pytest.mark.parametrize("ridge", [0.003, 0.1, 10.0])
def test_the_minimiser_is_scipys(m, p, ridge):
    agent = (*client(m, m, p), ridge)
    best = optimize.minimize(lambda x: objective(logistic, x, *agent), np.zeros(p), tol=1e-12)
    np.testing.assert_allclose(minimizer(logistic, *agent), best.x, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("start", [0.0, 5.0, -100.0])
def test_one_step_is_enough_for_the_squared_loss(start):
    inputs, targets, weight = client()
    best = np.linalg.solve((inputs * weight[:, None]).T @ inputs + 0.1 * np.eye(3), inputs.T @ (weight * targets))
    moved = newton_step(squared, jnp.full(3, start), inputs, targets, weight, 0.1)
    np.testing.assert_allclose(moved, best, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(minimizer(squared, inputs, targets, weight, 0.1), best, rtol=1e-5, atol=1e-6)


def test_no_step_raises_the_objective_even_where_the_full_one_does(monkeypatch):
    agents = [(*client(seed), np.float32(0.001)) for seed in range(20)]
    starts = 5 * np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)

    def values(step):
        return np.array([objective(logistic, step(logistic, *both), *both[1:]) for both in pairs])

    pairs = [(start, *agent) for start, agent in zip(starts, agents, strict=True)]
    before = values(lambda link, start, *agent: start)
    assert (values(newton_step) <= before * (1 + 1e-6)).all()
    monkeypatch.setattr(newton.jnp, "argmin", lambda values: 0)
    full = jax.jit(lambda *args: newton.newton_step(*args), static_argnums=0)
    assert np.sum(values(full) > before) > 5


@pytest.mark.parametrize("ridge", [1e-2, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize(("m", "p"), [(12, 2), (12, 20)])
def test_separable_data_with_hardly_any_ridge_stay_finite(m, p, ridge):
    """Also where the Hessian is singular to float precision, so that there is no Newton step."""
    inputs, _, weight = client(0, m, p, scale=10.0)
    agent = (inputs, np.sign(inputs[:, 0]), weight, ridge)
    found = minimizer(logistic, *agent)
    assert np.isfinite(found).all()
    assert objective(logistic, found, *agent) < 0.1 * objective(logistic, np.zeros(p), *agent)
    if ridge >= 1e-4:
        assert slope(logistic, found, *agent) < 1e-5


def test_a_client_without_examples_has_0_and_padding_has_no_effect():
    inputs, targets, weight = client()
    np.testing.assert_array_equal(minimizer(logistic, inputs, targets, 0 * weight, 1.0), 0)
    padded = (np.vstack([inputs, np.full((4, 3), 7, np.float32)]), np.append(targets, np.ones(4, np.float32)))
    longer = minimizer(logistic, *padded, np.append(weight, np.zeros(4, np.float32)), 0.1)
    np.testing.assert_allclose(longer, minimizer(logistic, inputs, targets, weight, 0.1), rtol=1e-5)


def test_the_minimum_is_where_it_stays():
    agent = (*client(), 0.1)
    best = minimizer(logistic, *agent)
    np.testing.assert_allclose(newton_step(logistic, best, *agent), best, atol=1e-6)
    few = minimizer(logistic, *agent, most=1)
    assert np.abs(few - best).max() > 0.01  # the count of steps is kept to


@pytest.mark.parametrize("strength", [0.01, 1.0, 50.0])
def test_a_pulled_minimiser_is_scipys(strength):
    agent = (*client(3, 8, 4), 0.1)
    center = np.array([1.0, -2.0, 0.5, 3.0], np.float32)

    def whole(x):
        return 0.5 * np.sum(np.square(x - center)) + strength * objective(logistic, x, *agent)

    best = optimize.minimize(whole, center.astype(float), tol=1e-12).x
    found = pulled_minimizer(logistic, center, strength, *agent)
    np.testing.assert_allclose(found, best, rtol=1e-3, atol=1e-4)


def test_a_pull_that_is_all_or_nothing():
    agent = (*client(3, 8, 4), 0.1)
    center = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(pulled_minimizer(logistic, center, 0.0, *agent), center)
    alone = minimizer(logistic, *agent)
    np.testing.assert_allclose(pulled_minimizer(logistic, center, 1e6, *agent), alone, atol=1e-4)
