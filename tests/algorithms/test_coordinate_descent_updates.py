"""Private coordinate descent's updates: those of a plain implementation, towards the minimiser."""

import numpy as np
import pytest
from tiny_coordinate_descent import BASE, L0, NOISY, SIGMA, TICKS, by_reference, movers, start_of
from tiny_peers import (
    N,
    P,
    dense,
    draws,
    logistic_peers,
    minimizer,
    play,
    play_many,
    with_nothing,
    with_padding,
    with_slots,
)

from bench.algorithms.coordinate_descent import METHOD


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(BASE | {"start_value": 0.7}, marks=pytest.mark.slow),
        NOISY,
        NOISY | {"mechanism": "gaussian"},
        NOISY | {"max_updates": 5, "num_updates": 5.0},
        NOISY | {"num_ticks": 3},
    ],
    ids=["without noise", "Laplace", "Gaussian", "stopping", "three ticks a round"],
)
def test_every_tick_is_that_of_the_plain_implementation(args):
    task = logistic_peers()
    num_ticks = args.get("num_ticks", 1)
    played = play(METHOD, task, TICKS // num_ticks, **args)
    order, noise = draws(task, played, num_ticks, mechanism=args.get("mechanism", "laplace"))
    scale = args.get("noise_multiplier", 0) * L0 / np.asarray(task.num_examples)
    models = np.full((N, P), args.get("start_value", 0.0))
    np.testing.assert_allclose(played.models[0], models, rtol=1e-6)
    for t, (who, z) in enumerate(zip(order, noise, strict=True), 1):
        models = by_reference(task, models, who, scale[who][:, None] * z)
        if t % num_ticks == 0:
            np.testing.assert_allclose(played.models[t // num_ticks], models, rtol=1e-5, atol=1e-5)
    assert np.abs(models).max() > 0.1


def test_padding_of_examples_and_of_neighbour_lists_has_no_effect():
    task = logistic_peers()
    models = play(METHOD, task, TICKS, clip_norm=0.3, **NOISY).models
    assert np.isfinite(models).all()
    for other in (with_padding(task, 7.0), with_slots(task)):
        found = play(METHOD, other, TICKS, clip_norm=0.3, **NOISY).models
        np.testing.assert_allclose(found, models, rtol=1e-4, atol=1e-5)


def test_agents_without_examples_follow_their_neighbours_and_add_no_noise():
    task = with_nothing(logistic_peers(), 1, 4)
    empty = np.isin(np.arange(N), [1, 4])
    silent = play_many(METHOD, task, 1, 100, **BASE | {"start_value": 1.0})[0]
    noisy = play_many(METHOD, task, 1, 100, **NOISY | {"start_value": 1.0})[0]
    moved = np.any(noisy[:, 1] != noisy[:, 0], axis=-1)
    assert moved[:, empty].any()
    np.testing.assert_array_equal(noisy[:, 1, empty], silent[:, 1, empty])
    assert (noisy[:, 1][moved & ~empty] != silent[:, 1][moved & ~empty]).all()
    assert np.isfinite(start_of(task, start="propagation", start_noise_multiplier=SIGMA)).all()
    played = play(METHOD, task, 20, num_ticks=200, **BASE)
    np.testing.assert_allclose(played.models[-1], minimizer(task), atol=1e-3)


def test_a_batch_is_the_same_as_its_updates_one_after_the_other_in_any_order():
    task = logistic_peers()
    played = play(METHOD, task, TICKS, num_awake=4, **BASE | {"noise_multiplier": SIGMA})
    wakes, noise = draws(task, played, num_awake=4)
    joined, sizes = dense(task) > 0, np.asarray(task.num_examples)
    models, several = np.zeros((N, P)), 0
    for t, moved in enumerate(movers(played)):
        assert not joined[np.ix_(moved, moved)].any()
        assert played.info["updates"][t] == len(moved)
        assert played.info["vectors_sent"][t] == joined[moved].sum()
        several += len(moved) > 1
        place = [list(wakes[t]).index(i) for i in moved]
        z = (SIGMA / sizes[moved])[:, None] * noise[t, place]
        forth, back = by_reference(task, models, moved, z), by_reference(task, models, moved[::-1], z[::-1])
        np.testing.assert_allclose(forth, back, rtol=1e-12)
        models = forth
        np.testing.assert_allclose(played.models[t + 1], models, rtol=1e-5, atol=2e-5)
    assert several > 10
