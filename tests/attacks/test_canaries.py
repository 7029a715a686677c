"""Epsilon from two Gaussians, and canary users in one run."""

from dataclasses import replace

import dp_accounting as dp
import jax.numpy as jnp
import numpy as np
import pytest
import tiny_networks
from scipy import integrate, stats
from tiny_attacks import attacked, task

from bench.attacks.canaries import estimated, why_not, with_canaries
from bench.attacks.gaussians import epsilon_between, estimate

DELTA = 1e-4


def of_gaussian(noise, delta=DELTA):
    return dp.get_epsilon_gaussian(noise, delta)


@pytest.mark.parametrize("shift", [0.1, 0.5, 1.0, 3.0, 10.0])
def test_equal_deviations_give_the_epsilon_of_the_gaussian_mechanism(shift):
    exact = of_gaussian(1 / shift)
    assert epsilon_between((shift, 1.0), (0.0, 1.0), DELTA) == pytest.approx(exact, rel=1e-6)
    assert epsilon_between((5 * shift + 3, 5.0), (3.0, 5.0), DELTA) == pytest.approx(exact, rel=1e-6)
    assert epsilon_between((-shift, 1.0), (0.0, 1.0), DELTA) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("first", "second"), [((0.5, 1.3), (0.0, 1.0)), ((1.0, 0.6), (0.0, 1.0)), ((0, 1.6), (0, 1))])
def test_unequal_deviations_give_the_epsilon_of_the_integral(first, second):
    epsilon = float(epsilon_between(first, second, 1e-2))

    def delta(p, q):
        def excess(x):
            return max(stats.norm.pdf(x, *p) - np.exp(epsilon) * stats.norm.pdf(x, *q), 0.0)

        return integrate.quad(excess, -12, 12, limit=500, points=[-4, -2, 0, 2, 4])[0]

    assert max(delta(first, second), delta(second, first)) == pytest.approx(1e-2, rel=1e-3)
    assert epsilon_between(second, first, 1e-2) == pytest.approx(epsilon, rel=1e-9)


def test_the_same_gaussian_twice_has_epsilon_0():
    assert epsilon_between((1.0, 2.0), (1.0, 2.0), DELTA) == 0.0


@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
def test_the_estimate_has_the_true_epsilon_in_its_interval(shift):
    exact = of_gaussian(1 / shift) if shift else 0.0
    rng, hits = np.random.default_rng(0), 0
    for seed in range(12):
        one = estimate(rng.normal(shift, 1, 100), rng.normal(0, 1, 100), DELTA, seed=seed)
        hits += one.low <= exact <= one.high
        assert one.low <= one.epsilon <= one.high
    assert hits >= 9
    many = estimate(rng.normal(shift, 1, 20_000), rng.normal(0, 1, 20_000), DELTA, seed=0)
    assert many.epsilon == pytest.approx(exact, rel=0.1, abs=0.5)
    assert many.low <= exact <= many.high


@pytest.fixture(scope="module")
def users():
    return task(users=120, features=200)


def test_canaries_are_users_that_send_updates_along_their_directions(users):
    made = with_canaries(users, 20, seed=0)
    x, y = made.task.train
    np.testing.assert_allclose(np.einsum("nid,njd->nij", x, x), made.task.gram, atol=1e-5)
    changed = np.flatnonzero(np.any(np.asarray(x) != np.asarray(users.train[0]), axis=(1, 2)))
    assert len(changed) == 20
    assert made.task.num_clients == users.num_clients
    w = np.random.default_rng(0).standard_normal(users.init_params.shape)
    for user in changed:
        gradient = (w @ np.asarray(x)[user, 0] - np.asarray(y)[user, 0])[:, None] * np.asarray(x)[user, 0]
        directions = np.einsum("ck,cd->ckd", made.outputs, made.inputs)
        cosines = -np.einsum("ckd,kd->c", directions, gradient) / np.linalg.norm(gradient)
        assert np.max(cosines[:20]) > 0.999
        assert np.abs(cosines[20:]).max() < 0.8


def test_the_estimate_of_a_run_is_that_of_its_gaussian_mechanism(users):
    """One round with all users is the Gaussian mechanism with sensitivity C, up to what other users add to the null."""
    one = attacked(users, 1, noise_multiplier=1.0, clip_norm=0.3)
    final, largest = estimated(one, 60, DELTA, seed=0)
    assert final.low < of_gaussian(1.0) < final.high
    assert final == pytest.approx(largest, rel=1e-3)  # one round is the whole run


def test_much_noise_hides_the_canaries_and_none_shows_them(users):
    hidden, _ = estimated(attacked(users, 4, noise_multiplier=50.0), 60, DELTA, seed=0)
    assert hidden.low < of_gaussian(25.0) < hidden.high
    shown, by_round = estimated(attacked(users, 4, noise_multiplier=0.0, clip_norm=50.0), 40, DELTA, seed=0)
    assert min(shown.epsilon, by_round.epsilon) > 8  # they only hide in each other's updates
    assert shown.low > hidden.high


def test_a_task_that_cannot_have_canaries_says_why(users):
    assert why_not(users, 60) == ""
    assert "more than half of the 120 users" in why_not(users, 61)
    assert "squared loss" in why_not(replace(users, gram=None), 10)
    assert "changes with the network" in why_not(tiny_networks.task([[0, 1]]), 1)
    assert jnp.ndim(users.init_params) == 2
