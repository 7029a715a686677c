"""Users who learn alone: what each finds depends on its own examples only, and is what plain gradient descent finds."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.algorithms import ALGORITHMS
from bench.algorithms.local_learning import local_learning
from bench.comparison.problems import LOCAL_STEPS, problem_named
from bench.data.tasks.digits import Digits, digit_task

STEPS, STEP = 30, 0.01


def digits(seed: int = 0):
    """Five clients with twelve examples each, all of which are trained on."""
    rng = np.random.default_rng(seed)
    made = [(rng.random((12, 784), np.float32), rng.integers(0, 10, 12)) for _ in range(5)]
    return digit_task(Digits(made, made), model="linear", name="made", source="made", checksum="0", batch_size=4)


def run(task, **args):
    """The state after STEPS steps."""
    algorithm = local_learning(task, step_size=STEP, **args)
    state = algorithm.init(jax.random.key(0))
    for step in range(STEPS):
        state, _ = jax.jit(algorithm.round)(jax.random.fold_in(jax.random.key(1), step), state)
    return algorithm, state


def theta(task, **args):
    """The users' models [client, class, pixel], dense whatever their form."""
    algorithm, state = run(task, **args)
    found = algorithm.params(state)
    if found.theta is not None:
        return np.asarray(found.theta)
    return np.einsum("nec,nep->ncp", found.coefficients, task.train[0])


@pytest.mark.parametrize("local", ["dense", "dual"])
def test_on_all_examples_it_is_gradient_descent_of_every_user(local):
    task = digits()
    x, y = (np.asarray(leaf, np.float64) for leaf in task.train)
    plain = np.zeros((5, 10, 784))
    for _ in range(STEPS):
        residual = np.einsum("ncp,nep->nec", plain, x) - y
        plain -= STEP * np.einsum("nec,nep->ncp", residual, x) / x.shape[1]
    np.testing.assert_allclose(theta(task, batch_size=12, local=local), plain, rtol=2e-4, atol=1e-5)


def test_another_user_s_data_change_nothing_and_the_shared_model_stays_where_it_was():
    task, other = digits(), digits(seed=1)
    mixed = jax.tree.map(lambda mine, its: jnp.concatenate([mine[:1], its[1:]]), task.train, other.train)
    own = theta(task, batch_size=4)
    among_others = theta(dataclasses.replace(task, train=mixed), batch_size=4)
    np.testing.assert_array_equal(own[0], among_others[0])
    assert not np.allclose(own[1], among_others[1])
    algorithm, state = run(task, batch_size=4)
    np.testing.assert_array_equal(algorithm.public(state), task.init_params)


def test_it_costs_nothing_and_wants_no_noise():
    method = ALGORITHMS["local_learning"]
    said = method.readings(digits(), delta=1e-4, batch_size=4, step_size=STEP)
    assert {one.sampler for one in said.values()} == {"nothing released"}


def test_in_comparisons_users_with_stored_examples_need_not_wait_for_rounds():
    local = problem_named("digits").baselines["Local learning"]
    assert local.method is ALGORITHMS["local_learning"]
    assert local.num_rounds is not None
    assert local.num_rounds(digits(), {"total_steps": 0}) == LOCAL_STEPS
    assert local.num_rounds(digits(), {"total_steps": 4 * LOCAL_STEPS}) == 4 * LOCAL_STEPS
    assert problem_named("synthetic").baselines["Local learning"].num_rounds is None
