"""The worked examples do what their papers say."""

import math
from pathlib import Path

import jax
import numpy as np
import pytest
from tiny_comparison import TASK

from bench.algorithms import ALGORITHMS
from bench.algorithms.loading import load_method

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@jax.numpy_rank_promotion("allow")  # a method from outside need not keep the suite's rule
def test_the_shared_model_of_ditto_is_that_of_global_private_sgd():
    """Its users' own models do not touch w, whatever lambda is."""
    task, key = TASK(0), jax.random.key(3)
    shared: dict = {"num_sampled": 4, "batch_size": 3, "sampler": "poisson"}
    shared |= {"step_size": 0.1, "clip_norm": 1.0, "noise_multiplier": 0.5}
    whole = ALGORITHMS["ppsgd"].make(task, personalization=math.inf, **shared)
    ditto = load_method(str(EXAMPLES / "own_models.py"))[1].make(
        task, regularization=0.3, local_step_size=0.1, **shared
    )
    state, other = whole.init(key), ditto.init(key)
    for t in range(4):
        state, _ = whole.round(jax.random.fold_in(key, t), state)
        other, _ = ditto.round(jax.random.fold_in(key, t), other)
    np.testing.assert_allclose(ditto.public(other), whole.public(state), rtol=1e-5, atol=1e-6)
    theta = np.asarray(ditto.params(other).theta)
    assert 0 < np.count_nonzero(np.abs(theta).sum(1)) < 12  # of those alone who took part


def test_the_messages_of_normalised_gradients_have_length_c_and_no_more():
    task = TASK(0)
    algorithm = load_method(str(EXAMPLES / "normalised_gradients.py"))[1].make(
        task,
        num_sampled=12,
        batch_size=3,
        sampler="all",
        step_size=1.0,
        clip_norm=0.7,
        noise_multiplier=0.0,
    )
    state = algorithm.init(jax.random.key(0))
    after, _ = algorithm.round(jax.random.key(1), state)
    moved = np.linalg.norm(np.asarray(after.variables - state.variables))
    assert 0 < moved <= 0.7 * (1 + 1e-5)  # the mean of twelve vectors of that length
