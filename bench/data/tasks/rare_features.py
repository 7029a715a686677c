"""Logistic regression with features of very different frequencies, as of words, for which adaptive server optimisers
were designed (Reddi et al. 2021, on Stack Overflow's words and tags).
"""

import jax.numpy as jnp
import numpy as np

from bench.data.task import Linear, Task, recipe_checksum
from bench.models.linear import logistic, logistic_loss

NUM_USERS, NUM_EXAMPLES, NUM_FEATURES = 1000, 10, 100
LARGEST = 0.5  # share of examples with the most frequent feature; the k-th feature has 1 / k of this share
DEVIATION = 3.0  # of the true weights, the same for all frequencies
NUM_TEST = 5000


def rare_features(trial: int) -> Task:
    """1,000 users with 10 examples each and one true model; features are binary, the k-th present in 1 / (2 k) of all.

    Args:
        trial: the number of the draw.
    """
    rng = np.random.default_rng([trial, 0x4A4E])
    share = LARGEST / np.arange(1, NUM_FEATURES + 1)
    model = DEVIATION * rng.standard_normal(NUM_FEATURES + 1)

    def draw(*shape):
        present = (rng.random((*shape, NUM_FEATURES)) < share).astype(float)
        inputs = np.concatenate([present, np.ones((*shape, 1))], axis=-1)
        likely = 1 / (1 + np.exp(-inputs @ model))
        labels = np.where(rng.random(shape) < likely, 1.0, -1.0)
        return jnp.asarray(inputs, jnp.float32), jnp.asarray(labels, jnp.float32)

    return Task(
        init_params=jnp.zeros(NUM_FEATURES + 1),
        num_examples=jnp.full(NUM_USERS, NUM_EXAMPLES, jnp.int32),
        train=draw(NUM_USERS, NUM_EXAMPLES),
        evaluation=draw(NUM_TEST),
        linear=Linear(logistic),
        loss=logistic_loss,
        metrics=metrics,
        name="rare_features",
        source="generated",
        checksum=recipe_checksum((NUM_USERS, NUM_EXAMPLES, NUM_FEATURES, LARGEST, DEVIATION, NUM_TEST)),
    )


def metrics(w, task: Task) -> dict:
    """Return train_loss, the mean logistic loss of all users' examples, and test_loss and test_accuracy.

    The test uses other examples.
    """
    (inputs, labels), (test_inputs, test_labels) = task.train, task.evaluation
    scores = test_inputs @ w
    return {
        "train_loss": jnp.mean(logistic(inputs @ w, labels)),
        "test_loss": jnp.mean(logistic(scores, test_labels)),
        "test_accuracy": jnp.mean((scores * test_labels > 0).astype(jnp.float32)),
    }
