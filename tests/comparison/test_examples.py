"""The worked examples do what their papers say."""

from pathlib import Path

import jax
import numpy as np
from tiny_comparison import TASK

from bench.algorithms.loading import load_method

EXAMPLES = Path(__file__).parents[2] / "examples"


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
