"""Regression streams with bounded inputs, as the theorems of Bietti et al. 2022 assume, and users of unequal size.

User i answers y = theta_i* x +- noise to inputs x_k = +- sqrt(c / k) with random signs, so that |x| = 1. With unequal
sizes, the users with more examples than the median differ from the others in one direction.
"""

import jax
import jax.numpy as jnp
import numpy as np

from bench.data.task import Task, recipe_checksum
from bench.data.tasks.synthetic import fresh_examples, models_of_users
from bench.models.additive import squared_loss


def bounded(
    trial: int,
    *,
    num_clients: int = 200,
    num_features: int = 10,
    label_noise: float = 0.5,
    largest: int = 1,
    spread: float = 0.0,
) -> Task:
    """A stream with |x| = 1 and |v| = 1.

    Args:
        trial: the number of the draw of v.
        num_clients: N.
        num_features: d; coordinate k of x has a variance proportional to 1/k.
        label_noise: the size of the error of every answer, up or down.
        largest: most examples of a user in a round; see `examples_of_users`.
        spread: theta_i* = v +- spread e, + for users with more examples than the median; e is a unit vector.
    """
    recipe = (num_clients, num_features, label_noise, largest, spread)
    rng = np.random.default_rng([trial, 0xB0])
    v, e = (vector / np.linalg.norm(vector) for vector in rng.standard_normal((2, num_features)))
    sizes = examples_of_users(num_clients, largest)
    side = np.where(sizes > np.median(sizes), 1.0, -1.0)
    variance = 1 / np.arange(1, num_features + 1)
    evaluation = {
        "truth": v + spread * side[:, None] * e,
        "variance": variance / variance.sum(),
        "label_noise": np.asarray(label_noise),
    }
    return Task(
        init_params=jnp.zeros(num_features),
        num_examples=jnp.asarray(sizes, jnp.int32),
        evaluation=jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), evaluation),
        loss=squared_loss,
        metrics=risks,
        sample=draw,
        name="bounded" if largest == 1 else "bounded_unequal",
        source="generated",
        checksum=recipe_checksum(recipe),
    )


def examples_of_users(num_clients: int, largest: int) -> np.ndarray:
    """Return the examples of each user in a round: ceil(largest u^3), with u spread evenly over (0, 1]."""
    return np.ceil(largest * (np.arange(1, num_clients + 1) / num_clients) ** 3)


def draw(key, task: Task, clients, batch_size: int):
    """Draw fresh examples of the given clients (all when None): x [client, example, feature], y [client, example]."""
    return fresh_examples(jax.random.rademacher, key, task, clients, batch_size)


def risks(params, task: Task) -> dict:
    """Return exact excess risks of the loss (prediction - y)^2 / 2.

    excess_risk: averaged over users.
    weighted_risk: the same with the users' numbers of examples as weights.
    """
    evaluation = task.evaluation
    of_user = 0.5 * jnp.square(models_of_users(params, task) - evaluation["truth"]) @ evaluation["variance"]
    sizes = task.num_examples.astype(jnp.float32)
    return {"excess_risk": jnp.mean(of_user), "weighted_risk": of_user @ sizes / jnp.sum(sizes)}
