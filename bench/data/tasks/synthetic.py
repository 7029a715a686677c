"""The synthetic regression stream of Bietti et al. 2022 (section 6 and appendix A).

User i answers y = theta_i* x + noise with x ~ N(0, diag(1/k)). The users' theta_i* agree except in their last
five coordinates. Every round draws fresh examples without end, so the risk is known exactly.
"""

import jax
import jax.numpy as jnp
import numpy as np

from bench.data.task import Task, recipe_checksum
from bench.data.tasks.by_user import WORST
from bench.errors import InputError
from bench.models.additive import squared_loss


def synthetic(
    trial: int,
    *,
    num_clients: int = 1000,
    num_features: int = 100,
    num_differing: int = 5,
    delta_std: float = 0.1,
    label_noise: float = 0.01,
    batch_size: int = 10,
    by_user: bool = False,
) -> Task:
    """A regression stream for each of 1,000 users, with one draw of their true parameters.

    theta_0 = 10 N(0, I); theta_i* = theta_0 + delta_std N(0, 1) on the last `num_differing` coordinates.

    Args:
        trial: the number of the draw.
        num_clients: N.
        num_features: d; coordinate k = 1..d of x has variance 1/k.
        num_differing: how many of the last coordinates differ between users.
        delta_std: their standard deviation. The paper has 0.01; the default of the authors' program is 0.1.
        label_noise: tau, standard deviation.
        batch_size: the most examples a user draws in a round, and its number of validation examples.
        by_user: also measure `risk_and_by_user`, which takes more time than sweeps should.

    Raises:
        InputError: where more coordinates are to differ than there are.
    """
    if num_differing > num_features:
        raise InputError(f"num_differing is {num_differing}, of {num_features} features: let at most so many differ")
    recipe = (num_clients, num_features, num_differing, delta_std, label_noise, batch_size)
    rng = np.random.default_rng([trial, 0x5EED])
    truth = np.tile(10 * rng.standard_normal(num_features), (num_clients, 1))
    truth[:, -num_differing:] += delta_std * rng.standard_normal((num_clients, num_differing))
    variance = 1 / np.arange(1, num_features + 1)
    inputs = rng.standard_normal((num_clients, batch_size, num_features)) * np.sqrt(variance)
    targets = np.einsum("nmd,nd->nm", inputs, truth)
    targets += label_noise * rng.standard_normal(targets.shape)
    evaluation = {
        "truth": truth,
        "variance": variance,
        "label_noise": np.asarray(label_noise),
        "validation": (inputs, targets),
        "floor": np.mean(variance * np.square(truth - truth.mean(0))),
    }
    return Task(
        init_params=jnp.zeros(num_features),
        num_examples=jnp.full(num_clients, batch_size, jnp.int32),
        evaluation=jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), evaluation),
        loss=squared_loss,
        metrics=risk_and_by_user if by_user else risk,
        sample=draw,
        name=f"synthetic_{delta_std:g}",
        source="generated",
        checksum=recipe_checksum(recipe),
    )


def draw(key, task: Task, clients, batch_size: int):
    """Draw fresh examples of the given clients (all when None): x [client, example, feature], y [client, example]."""
    return fresh_examples(jax.random.normal, key, task, clients, batch_size)


def fresh_examples(random, key, task: Task, clients, batch_size: int):
    """Return what `draw` does, inputs and noise from random(key, shape, dtype) of mean 0 and variance 1."""
    truth = task.evaluation["truth"]
    truth = truth if clients is None else truth[clients]
    key_x, key_y = jax.random.split(key)
    x = random(key_x, (truth.shape[0], batch_size, truth.shape[1]), jnp.float32)
    x = x * jnp.sqrt(task.evaluation["variance"])[None, None]
    noise = task.evaluation["label_noise"] * random(key_y, x.shape[:2], jnp.float32)
    return x, jnp.einsum("nmd,nd->nm", x, truth) + noise


def risk(params, task: Task) -> dict:
    """Return the exact excess risk, the validation loss, and the floor of a global model.

    excess_risk: mean over users and coordinates of (1/k) (w + theta_i - theta_i*)_k^2, as in the authors'
        program; the paper's formula sums over the d coordinates.
    validation_loss: mean squared error / 2 on examples that no user trains on.
    global_floor: the smallest excess risk of one model for all, from the parameters drawn.
    """
    evaluation, (inputs, targets) = task.evaluation, task.evaluation["validation"]
    model = models_of_users(params, task)
    # The sum over users comes first, because one sum over all axes takes six times as long on a CPU.
    squares = jnp.sum(jnp.square(model - evaluation["truth"]), axis=0)
    error = jnp.einsum("nmd,nd->nm", inputs, model) - targets
    return {
        "excess_risk": squares @ evaluation["variance"] / model.size,
        "validation_loss": 0.5 * jnp.mean(jnp.square(error)),
        "global_floor": evaluation["floor"],
    }


def risk_and_by_user(params, task: Task) -> dict:
    """Return `risk`, and excess_risk_worst_tenth, its mean over the tenth of users with the largest risk, rounded up to
    whole users. The mean over users is excess_risk itself, since all of them have equal weights.
    """
    of_user, _ = risks(params, task)
    worst, _ = jax.lax.top_k(of_user, -(-len(of_user) // WORST))
    return risk(params, task) | {"excess_risk_worst_tenth": jnp.mean(worst)}


def risks(params, task: Task) -> tuple[jax.Array, jax.Array]:
    """Return the excess risk of each user, and weights of 1, since all of them count alike, [user]."""
    squares = jnp.square(models_of_users(params, task) - task.evaluation["truth"])
    of_user = squares @ task.evaluation["variance"] / squares.shape[1]
    return of_user, jnp.ones_like(of_user)


def models_of_users(params, task: Task) -> jax.Array:
    """Return every user's model, [user, feature]."""
    theta = getattr(params, "theta", None)
    w = getattr(params, "w", params)
    return jnp.broadcast_to(w if theta is None else w[None] + theta, task.evaluation["truth"].shape)
