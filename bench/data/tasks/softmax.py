"""Softmax regression of clients that differ in their models and in their inputs (Noble, Bellet, Dieuleveut 2022).

Client i has a model (W_i, b_i) with entries N(0, 1 + alpha), and inputs N(mu_i, Sigma) with mu_i of entries
N(0, 1 + beta) and Sigma = diag(k^-1.2). An input's class is the largest of W_i x + b_i, except for a share of classes
drawn at random. So clients differ also at alpha = beta = 0. Source read: the generator of the authors' program.
"""

import jax.numpy as jnp
import numpy as np

from bench.data.task import Task, recipe_checksum
from bench.kernels.per_example import cross_entropy

NOISE = 0.05  # share of classes drawn at random
TEST = 0.2


def softmax(
    trial: int,
    *,
    alpha: float = 0.0,
    beta: float = 0.0,
    num_clients: int = 100,
    num_records: int = 5000,
    num_features: int = 40,
    num_classes: int = 10,
) -> Task:
    """100 clients with 4,000 training records each, as in the paper, and the last fifth of their records for testing.

    Args:
        trial: the number of the draw.
        alpha, beta: >= 0, how much models and inputs differ between clients.
        num_clients: N.
        num_records: of every client, test records included; at least five.
        num_features: without the bias.
        num_classes: number of classes.
    """
    recipe = (alpha, beta, num_clients, num_records, num_features, num_classes, NOISE, TEST)
    rng = np.random.default_rng([trial, 0x50F7])
    models = np.sqrt(1 + alpha) * rng.standard_normal((num_clients, num_classes, num_features + 1))
    centres = np.sqrt(1 + beta) * rng.standard_normal((num_clients, 1, num_features))
    deviations = np.arange(1, num_features + 1) ** -0.6
    inputs = centres + deviations * rng.standard_normal((num_clients, num_records, num_features))
    inputs = np.concatenate([inputs, np.ones((num_clients, num_records, 1))], axis=-1)
    classes = np.einsum("nmd,ncd->nmc", inputs, models).argmax(-1)
    flipped = rng.random(classes.shape) < NOISE
    classes = np.where(flipped, rng.integers(0, num_classes, classes.shape), classes)
    num_train = num_records - max(1, round(TEST * num_records))
    data = jnp.asarray(inputs, jnp.float32), jnp.asarray(classes, jnp.int32)
    return Task(
        init_params=jnp.zeros((num_classes, num_features + 1)),
        num_examples=jnp.full(num_clients, num_train, jnp.int32),
        train=tuple(leaf[:, :num_train] for leaf in data),
        evaluation=tuple(leaf[:, num_train:] for leaf in data),
        loss=softmax_loss,
        metrics=metrics,
        name=f"softmax_{alpha:g}_{beta:g}",
        source="generated",
        checksum=recipe_checksum(recipe),
    )


def softmax_loss(w, theta, example):
    """Return the cross-entropy of one example (x [feature], class) with the model w + theta [class, feature]."""
    x, label = example
    return cross_entropy((w + theta) @ x, label)


def metrics(w, task: Task) -> dict:
    """Return train_loss, the mean cross-entropy of one model w on all clients' records, and test_accuracy.

    The test uses the clients' test records.
    """
    (inputs, classes), (test_inputs, test_classes) = task.train, task.evaluation
    right = jnp.argmax(jnp.einsum("nmd,cd->nmc", test_inputs, w), -1) == test_classes
    return {
        "train_loss": jnp.mean(cross_entropy(jnp.einsum("nmd,cd->nmc", inputs, w), classes)),
        "test_accuracy": jnp.mean(right.astype(jnp.float32)),
    }
