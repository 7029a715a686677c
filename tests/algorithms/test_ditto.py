"""Ditto and fine-tuning as built in: the numbers of the examples, and what they are special cases of."""

import dataclasses
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rounds import states
from slow_cases import cases
from tiny_comparison import TASK
from tiny_tags import tiny
from toy_problems import least_squares

from bench.algorithms import ALGORITHMS
from bench.algorithms.loading import load_method
from bench.algorithms.parts.then_alone import then_alone
from bench.kernels import sparse

EXAMPLES = Path(__file__).parents[2] / "examples"
SHARED: dict = {"num_sampled": 4, "batch_size": 3, "step_size": 0.1, "clip_norm": 1.0, "noise_multiplier": 0.5}
DITTO = {"regularization": 0.3, "local_step_size": 0.1}


def run(algorithm, rounds=4, seed=3):
    """The state after the last round."""
    return states(algorithm, rounds, seed)[-1]


def same(one, other, rtol=1e-5, atol=1e-6):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=atol), one, other)


@jax.numpy_rank_promotion("allow")  # a method from outside need not keep the suite's rule
@pytest.mark.parametrize("sampler", cases(["poisson", "fixed"], slow={"fixed"}))
def test_ditto_gives_the_numbers_of_the_example(sampler):
    task, args = TASK(0), SHARED | DITTO | {"sampler": sampler}
    written = load_method(str(EXAMPLES / "own_models.py"))[1]
    ours, example = (method.make(task, **args) for method in (ALGORITHMS["ditto"], written))
    here, there = run(ours), run(example)
    same(ours.public(here), example.public(there))
    same(ours.params(here), example.params(there))
    assert np.abs(np.asarray(ours.params(here).theta)).max() > 1e-3


@pytest.mark.slow
def test_own_models_of_ditto_are_the_same_as_coefficients_of_sparse_inputs():
    task, args = tiny(), SHARED | DITTO | {"sampler": "poisson", "clip_norm": 0.05, "noise_multiplier": 0.2}
    dual, dense = (ALGORITHMS["ditto"].make(t, **args) for t in (task, dataclasses.replace(task, gram=None)))
    here, there = (method.params(run(method)) for method in (dual, dense))
    same(here.w, there.w, atol=1e-5)
    theta = jnp.einsum("njd,njk->ndk", sparse.densify(task.train[0]), here.coefficients)
    same(theta, there.theta, rtol=1e-4, atol=1e-5)
    assert np.abs(theta).max() > 1e-3
    assert task.metrics(here, task) == task.metrics(there, task)


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param({"sampler": "poisson"}, marks=pytest.mark.slow),
        pytest.param({"sampler": "poisson", "clipping": "adaptive", "quantile": 0.3}, marks=pytest.mark.slow),
        {"sampler": "cyclic", "num_sampled": 3, "noise": "banded_sqrt"},
        pytest.param(
            {"sampler": "cyclic", "num_sampled": 3, "noise": "tree", "planned_rounds": 4, "clipping": "fixed"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_every_noise_and_clipping_of_ditto_is_that_of_global_private_sgd_to_the_bit(chosen):
    task, args = least_squares(), SHARED | chosen
    whole = ALGORITHMS["ppsgd"].make(task, personalization=math.inf, **args)
    ditto = ALGORITHMS["ditto"].make(task, **args, **DITTO)
    jax.tree.map(np.testing.assert_array_equal, ditto.public(run(ditto)), whole.public(run(whole)))


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param({"sampler": "fixed"}, marks=pytest.mark.slow),
        {"sampler": "poisson", "clipping": "adaptive", "quantile": 0.3},
        pytest.param({"sampler": "cyclic", "num_sampled": 3, "noise": "banded_sqrt"}, marks=pytest.mark.slow),
    ],
)
def test_fine_tuning_without_own_steps_is_dp_fedavg_to_the_bit(chosen):
    task, args = least_squares(), SHARED | {"server_step_size": 0.3, "num_steps": 2} | chosen
    together = ALGORITHMS["dp_fedavg"].make(task, **args)
    tuned = ALGORITHMS["fine_tuning"].make(task, local_step_size=0.2, own_steps=0, **args)
    here, there = run(tuned), run(together)
    jax.tree.map(np.testing.assert_array_equal, tuned.public(here), together.public(there))
    np.testing.assert_array_equal(tuned.params(here).w, together.params(there))
    assert not np.asarray(tuned.params(here).theta).any()


def test_own_models_of_ditto_without_pull_and_step_of_the_common_one_are_learned_alone():
    task = least_squares()
    args = dict(num_sampled=5, batch_size=6, sampler="all", clip_norm=math.inf, noise_multiplier=0.0)
    ditto = ALGORITHMS["ditto"].make(task, step_size=0.0, local_step_size=0.2, regularization=0.0, **args)
    alone = ALGORITHMS["local_learning"].make(task, batch_size=6, step_size=0.2)
    same(ditto.params(run(ditto)).theta, alone.params(run(alone)).theta)


@pytest.mark.slow
@jax.numpy_rank_promotion("allow")
def test_fine_tuning_with_one_local_step_gives_the_numbers_of_the_example():
    task = least_squares()
    args = SHARED | {"sampler": "poisson", "local_step_size": 0.2}
    ours = ALGORITHMS["fine_tuning"].make(task, server_step_size=0.1, own_steps=7, **args)
    example = load_method(str(EXAMPLES / "fine_tuning.py"))[1].make(task, num_steps=7, **args)
    here, there = run(ours), run(example)
    same(ours.public(here), example.public(there))
    same(ours.params(here), example.params(there))


@pytest.mark.slow
def test_own_steps_in_the_span_of_sparse_examples_are_rounds_of_local_learning_from_the_public_model():
    task, args = tiny(), SHARED | {"sampler": "poisson", "clip_norm": 0.05}
    together = ALGORITHMS["dp_fedavg"].make(task, server_step_size=0.5, **args)
    tuned = then_alone(task, together, batch_size=3, step_size=0.4, num_steps=6, local="dual")
    state = run(tuned)
    found = tuned.params(state)
    alone, key = ALGORITHMS["local_learning"].make(task, batch_size=3, step_size=0.4, local="dual"), jax.random.key(0)
    own = alone.init(key)
    own = own._replace(variables=own.variables | {"w": state.variables["w"]})
    for t in range(6):
        own, _ = alone.round(jax.random.fold_in(key, t), own)
    same(found.w, alone.params(own).w)
    same(found.coefficients, alone.params(own).coefficients)
    assert np.abs(found.coefficients).max() > 1e-3


def test_before_the_first_round_there_is_no_own_step():
    args = SHARED | {"sampler": "fixed", "server_step_size": 0.1, "local_step_size": 0.2, "own_steps": 5}
    tuned = ALGORITHMS["fine_tuning"].make(least_squares(), **args)
    assert np.asarray(tuned.params(run(tuned)).theta).any()
    assert not np.asarray(tuned.params(tuned.init(jax.random.key(0))).theta).any()
