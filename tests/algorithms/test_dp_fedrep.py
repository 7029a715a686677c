"""Private FedRep and FedPer: a second time in NumPy, what they coincide with, and what stays with the user."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_problems import CLIENTS, EXAMPLES, FEATURES, one_factor

from bench.algorithms import ALGORITHMS

REP = ALGORITHMS["dp_fedrep"]
COMMON = {
    "num_sampled": CLIENTS,
    "sampler": "all",
    "batch_size": EXAMPLES,
    "clip_norm": 0.3,
    "noise_multiplier": 0.0,
    "step_size": 0.2,
    "local_step_size": 0.1,
    "server_step_size": 0.15,
    "num_steps": 3,
}

DEFAULTS = {"order": "head first", "head_steps": 5, "own_steps": 0}


def run(task, rounds=2, **args):
    algorithm = REP.make(task, **COMMON | args)
    state = algorithm.init(jax.random.key(0))
    for t in range(rounds):
        state, info = jax.jit(algorithm.round)(jax.random.key(t), state)
    return algorithm, state, info


def slopes(w, head, x, y):
    """Gradients of the mean loss (head <w, x> - y)^2 / 2 in w and in the head."""
    error = head * (x @ w) - y
    return head * (error @ x) / len(y), float(error @ (x @ w)) / len(y)


def by_hand(rounds: int, order: str, head_steps: int = 5):
    """w and the heads after the rounds, user by user."""
    inputs, targets = (np.asarray(leaf, float) for leaf in one_factor().train)
    w, heads, clipped = np.array([0.5, 0.1, 0.4]), np.full(CLIENTS, 0.9), 0
    for _ in range(rounds):
        total = np.zeros(FEATURES)
        for i, (x, y) in enumerate(zip(inputs, targets, strict=True)):
            z = w.copy()
            if order == "head first":
                for _ in range(head_steps):
                    heads[i] -= 0.1 * slopes(w, heads[i], x, y)[1]
                for _ in range(3):
                    z = z - 0.2 * slopes(z, heads[i], x, y)[0]
            else:
                for _ in range(3):
                    of_z, of_head = slopes(z, heads[i], x, y)
                    z, heads[i] = z - 0.2 * of_z, heads[i] - 0.1 * of_head
            delta = (w - z) / 0.2
            norm = np.linalg.norm(delta)
            clipped += norm > 0.3
            total += delta * min(1, 0.3 / norm)
        w = w - 0.15 * total / CLIENTS
    assert clipped  # else the clipping was not tested
    return w, heads


@pytest.mark.parametrize("order", ["head first", "together"])
def test_the_rounds_in_numpy(order):
    algorithm, state, _ = run(one_factor(), order=order)
    w, heads = by_hand(2, order)
    found = algorithm.params(state)
    np.testing.assert_allclose(found.w["body"], w, rtol=1e-4)
    np.testing.assert_allclose(found.theta["head"], heads, rtol=1e-4)


def test_heads_that_stay_where_they_are_give_fedavg_on_the_representation():
    task = one_factor()

    def loss(w, theta, example):
        del theta
        return task.loss({"body": w}, {"head": jnp.asarray(0.9)}, example)

    alone = dataclasses.replace(task, init_params=task.init_params["body"], loss=loss, head=None)
    noisy = {"noise_multiplier": 0.5}
    args = {name: value for name, value in COMMON.items() if name != "local_step_size"} | noisy
    algorithm = ALGORITHMS["dp_fedavg"].make(alone, **args)
    state = algorithm.init(jax.random.key(0))
    for t in range(2):
        state, _ = algorithm.round(jax.random.key(t), state)
    ours, after, _ = run(task, head_steps=0, **noisy)
    np.testing.assert_allclose(ours.params(after).w["body"], algorithm.params(state), rtol=1e-5)
    assert not np.allclose(run(task, **noisy)[1].variables["w"]["body"], algorithm.params(state), rtol=1e-3)


@pytest.mark.parametrize("order", ["head first", "together"])
def test_a_user_who_is_not_drawn_keeps_its_head_and_others_see_none(order):
    algorithm, state, _ = run(one_factor(), rounds=1, num_sampled=2, sampler="fixed", order=order)
    moved = np.asarray(algorithm.params(state).theta["head"]) != np.float32(0.9)
    assert moved.sum() == 2
    assert jax.tree.structure(algorithm.public(state)) == jax.tree.structure({"body": 0})


@pytest.mark.parametrize("sampler", ["poisson", "cyclic"])
def test_samples_with_empty_places_change_no_head_twice(sampler):
    algorithm, state, info = run(one_factor(), rounds=1, num_sampled=2, sampler=sampler)
    del info
    heads = np.asarray(algorithm.params(state).theta["head"])
    _, everybody, _ = run(one_factor(), rounds=1)
    all_moved = np.asarray(everybody.variables["kept"]["head"])
    same = np.isclose(heads, 0.9, rtol=1e-6) | np.isclose(heads, all_moved, rtol=1e-5)
    assert same.all()


def test_own_steps_are_those_of_the_head_alone_from_the_head_that_was_kept():
    plain, state, _ = run(one_factor(), noise_multiplier=0.2)
    further, same, _ = run(one_factor(), noise_multiplier=0.2, own_steps=40)
    before, after = plain.params(state), further.params(same)
    np.testing.assert_array_equal(before.w["body"], after.w["body"])
    inputs, targets = (np.asarray(leaf, float) for leaf in one_factor().train)
    w, heads = np.asarray(before.w["body"], float), np.asarray(before.theta["head"], float).copy()
    for i, (x, y) in enumerate(zip(inputs, targets, strict=True)):
        for _ in range(40):
            heads[i] -= 0.1 * slopes(w, heads[i], x, y)[1]
    np.testing.assert_allclose(after.theta["head"], heads, rtol=1e-4)
