"""Every agent by itself: the exact minimiser, gradient descent of a fixed length, and nobody else's data."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize
from tiny_peers import MU, N, P, listed, logistic_peers, play, squared_peers, with_nothing, with_padding

from bench.algorithms.local_models import METHOD
from bench.algorithms.parts import peers
from bench.papers.p2p import reference

ROUNDS = 30


def own_objective(task, i):
    """L_i in float64."""
    one, ridge = listed(task), float(task.peers.regularization[i])
    x, y = one.inputs[i], one.targets[i]
    if task.name == "squared_peers":
        return lambda model: np.mean((x @ model - y) ** 2) + ridge * model @ model
    return lambda model: np.mean(np.logaddexp(0, -y * (x @ model))) + ridge * model @ model


@pytest.mark.parametrize("problem", [logistic_peers, squared_peers])
def test_newton_finds_every_agents_own_minimiser_and_stays(problem):
    task = problem()
    models = play(METHOD, task, ROUNDS, mu=MU).models
    best = [optimize.minimize(own_objective(task, i), np.zeros(P), tol=1e-12).x for i in range(N)]
    np.testing.assert_allclose(models[-1], best, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(models[-2], models[-1], atol=1e-6)
    np.testing.assert_allclose(peers.local_minimizers(task), models[-1], atol=1e-5)
    np.testing.assert_array_equal(models[0], 0)
    if problem is squared_peers:
        np.testing.assert_allclose(models[1], models[-1], rtol=1e-4, atol=1e-5)


def test_descent_takes_the_steps_of_the_plain_gradient():
    task, one = logistic_peers(), listed(logistic_peers())
    models = play(METHOD, task, ROUNDS, mu=MU, solver="descent", step_size=0.3).models
    by_hand = np.zeros((N, P))
    for t in range(ROUNDS):
        for i in range(N):
            x, y = one.inputs[i], one.targets[i]
            by_hand[i] = by_hand[i] - 0.3 * reference.gradient(by_hand[i], x, y, 1 / len(y))
        np.testing.assert_allclose(models[t + 1], by_hand, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(peers.local_descent(task, 0.3, ROUNDS), models[-1], atol=1e-5)


def test_nobody_learns_from_anybody_else_and_nothing_is_sent():
    task = logistic_peers()
    inputs, labels = task.train
    played = play(METHOD, task, ROUNDS, mu=MU)
    other = play(METHOD, replace(task, train=(inputs.at[3].multiply(-2.0), labels)), ROUNDS, mu=MU)
    changed = np.any(played.models != other.models, axis=(0, 2))
    np.testing.assert_array_equal(np.flatnonzero(changed), [3])
    assert played.info["released"].sum() == 0
    np.testing.assert_array_equal(play(METHOD, task, ROUNDS, seed=1, mu=5.0).models, played.models)


@pytest.mark.parametrize("solver", ["newton", "descent"])
def test_padding_has_no_effect_and_an_agent_without_examples_stays_at_0(solver):
    task = logistic_peers()
    args = {"mu": MU, "solver": solver, "step_size": 0.3}
    models = play(METHOD, task, ROUNDS, **args).models
    padded = play(METHOD, with_padding(task, 7.0), ROUNDS, **args).models
    np.testing.assert_allclose(padded, models, rtol=1e-5, atol=1e-6)
    empty = play(METHOD, with_nothing(task, 2), ROUNDS, **args).models
    np.testing.assert_array_equal(empty[:, 2], 0)
    assert np.isfinite(empty).all()
