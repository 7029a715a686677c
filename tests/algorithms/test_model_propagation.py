"""Model propagation: the plain ticks, the closed form, and one release however long it runs."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_peers import (
    MU,
    N,
    P,
    dense,
    listed,
    logistic_peers,
    play,
    with_budget,
    with_nothing,
    with_padding,
    with_slots,
)

from bench.algorithms.model_propagation import METHOD
from bench.algorithms.parts import peers
from bench.kernels.graph import confidence, propagate
from bench.papers.p2p import reference

ROUNDS, TICKS = 20, 50
NOISY = {"mu": MU, "local": "noisy_step", "noise_multiplier": 3.0, "lipschitz": 0.5, "num_ticks": TICKS}


def closed_form(task, local, mu=MU):
    """(I - D^-1 W + mu diag(c))^-1 mu diag(c) local."""
    weights, trust = dense(task), np.asarray(confidence(task.num_examples), float)
    system = np.eye(len(local)) - weights / weights.sum(1)[:, None] + np.diag(mu * trust)
    return np.linalg.solve(system, mu * trust[:, None] * local)


def test_every_tick_is_that_of_the_plain_implementation():
    task = logistic_peers()
    played = play(METHOD, task, ROUNDS, mu=MU, num_ticks=3)
    order = np.concatenate([np.asarray(peers.agents_awake(key, task, 3, 1))[:, 0] for key in played.keys[1:]])
    local, trust = played.models[0].astype(float), np.asarray(confidence(task.num_examples), float)
    for t in range(1, ROUNDS + 1):
        plain = reference.model_propagation(local, dense(task), trust, MU, order[: 3 * t])
        np.testing.assert_allclose(played.models[t], plain, rtol=1e-5, atol=1e-5)
    sent = (dense(task) > 0).sum(1)[order].reshape(ROUNDS, 3).sum(1)
    np.testing.assert_array_equal(played.info["vectors_sent"], sent)


@pytest.mark.parametrize("mu", [MU, 0.04, 5.0])
def test_it_goes_to_its_closed_form_which_the_direct_kernel_gives_at_once(mu):
    task = logistic_peers()
    played = play(METHOD, task, ROUNDS, mu=mu, num_ticks=400)
    local = np.asarray(peers.local_minimizers(task), float)
    np.testing.assert_allclose(played.models[0], local, atol=1e-5)
    best = closed_form(task, local, mu)
    np.testing.assert_allclose(played.models[-1], best, rtol=1e-3, atol=1e-4)
    direct = propagate(task.peers.graph, jnp.asarray(local, jnp.float32), mu * confidence(task.num_examples))
    np.testing.assert_allclose(direct, best, rtol=1e-3, atol=1e-4)
    assert np.abs(best - local).max() > 0.1


def test_a_noisy_step_is_one_release_by_everybody_and_the_smoothing_is_none():
    task, one = logistic_peers(), listed(logistic_peers())
    played = play(METHOD, task, ROUNDS, **NOISY, step_size=0.2)
    noise = np.asarray(jax.random.laplace(played.keys[0], (N, P)), float)
    gradients = np.stack(
        [reference.gradient(np.zeros(P), x, y, 1 / len(y)) for x, y in zip(one.inputs, one.targets, strict=True)]
    )
    local = -0.2 * (gradients + (1.5 / np.asarray(task.num_examples))[:, None] * noise)
    np.testing.assert_allclose(played.models[0], local, rtol=1e-4, atol=1e-5)
    assert played.info["released"].sum() == 0


def test_clipping_holds_for_the_noisy_step():
    task = logistic_peers(input_range=10.0)
    args = NOISY | {"noise_multiplier": 0.0, "step_size": 1.0}
    for mechanism, order in (("laplace", 1), ("gaussian", 2)):
        clipped, free = (
            play(METHOD, task, ROUNDS, mechanism=mechanism, clip_norm=norm, **args).models[0] for norm in (0.2, np.inf)
        )
        assert np.linalg.norm(clipped, order, axis=1).max() <= 0.2 * (1 + 1e-5)
        assert np.linalg.norm(free, order, axis=1).min() > 0.2


def test_an_agent_without_a_budget_says_0_whatever_its_data():
    task = with_budget(logistic_peers(), agent_2=0.0)
    inputs, labels = task.train
    played = play(METHOD, task, ROUNDS, **NOISY)
    other = play(METHOD, replace(task, train=(inputs.at[2].multiply(-9.0), labels)), ROUNDS, **NOISY)
    np.testing.assert_array_equal(played.models[0, 2], 0)
    np.testing.assert_array_equal(played.models, other.models)


def test_padding_has_no_effect_and_agents_without_examples_follow_their_neighbours():
    task = logistic_peers()
    models = play(METHOD, task, ROUNDS, **NOISY).models
    for other in (with_padding(task, 7.0), with_slots(task)):
        np.testing.assert_allclose(play(METHOD, other, ROUNDS, **NOISY).models, models, rtol=1e-4, atol=1e-5)
    empty = play(METHOD, with_nothing(task, 2), ROUNDS, **NOISY).models
    assert np.isfinite(empty).all()
    np.testing.assert_array_equal(empty[0, 2], 0)
    assert np.abs(empty[-1, 2]).max() > 0.01
