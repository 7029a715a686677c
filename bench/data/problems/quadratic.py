"""Linear regression in heterogeneous silos with a known minimiser, to measure rates and rounds.

Gao et al. 2024 prove such rates but have no experiment on them.

Silo l answers y = <w_l, x> + noise, with x_k = +- sqrt(lambda_k), signs at random, and lambda_k falling as k^-2 with
sum 1. So |x| = 1, the covariance is diag(lambda), and with the loss (<w, x> - y)^2 / 2 the mean risk over silos is
exactly  sum_k lambda_k (w - w*)_k^2 / 2  above its least value, at w* = the mean of the w_l. |w*| = 1; records are
drawn once, so a silo has finitely many.
"""

import math

import jax.numpy as jnp
import numpy as np

from bench.data.task import Linear, Task, recipe_checksum
from bench.models.additive import squared_loss

NUM_CLIENTS, NUM_FEATURES = 25, 50
SPREAD, LABEL_NOISE = 0.5, 0.1
LIPSCHITZ = 2 + SPREAD + LABEL_NOISE  # bound on |<w, x> - y| |x| for |w| <= 1; silos' models are within SPREAD of w*
DIAMETER = 2.0  # of the unit ball, which contains w*
SMOOTHNESS = 1.0  # of every record's loss: |x|^2


def half_square(score, target):
    """Return (s - y)^2 / 2."""
    return 0.5 * jnp.square(score - target)


def quadratic(trial: int, *, num_records: int = 512) -> Task:
    """Least squares in 25 silos with individual true models, 50 features, and a known minimiser.

    Args:
        trial: the number of the draw of models and records.
        num_records: n, of every silo.
    """
    recipe = (NUM_CLIENTS, NUM_FEATURES, SPREAD, LABEL_NOISE, num_records)
    rng = np.random.default_rng([trial, 0x0ADD])
    minimiser = rng.standard_normal(NUM_FEATURES)
    minimiser /= np.linalg.norm(minimiser)
    apart = rng.standard_normal((NUM_CLIENTS, NUM_FEATURES))
    apart -= apart.mean(0)
    models = minimiser + SPREAD * apart / np.linalg.norm(apart, axis=1).max()
    variance = 1.0 / np.arange(1, NUM_FEATURES + 1) ** 2
    variance /= variance.sum()
    signs = rng.choice([-1.0, 1.0], (NUM_CLIENTS, num_records, NUM_FEATURES))
    inputs = signs * np.sqrt(variance)
    targets = np.einsum("lnd,ld->ln", inputs, models)
    targets += rng.uniform(-LABEL_NOISE, LABEL_NOISE, targets.shape)
    return Task(
        init_params=jnp.zeros(NUM_FEATURES),
        num_examples=jnp.full(NUM_CLIENTS, num_records, jnp.int32),
        train=(jnp.asarray(inputs, jnp.float32), jnp.asarray(targets, jnp.float32)),
        evaluation={"minimiser": jnp.asarray(minimiser, jnp.float32), "variance": jnp.asarray(variance, jnp.float32)},
        linear=Linear(half_square, (math.sqrt(NUM_FEATURES) * LIPSCHITZ, LIPSCHITZ)),
        loss=squared_loss,
        metrics=risk,
        name=f"quadratic_{num_records}",
        source="generated",
        checksum=recipe_checksum(recipe),
    )


def risk(w, task: Task) -> dict:
    """Return the exact excess risk, the mean over silos."""
    known = task.evaluation
    return {"excess_risk": 0.5 * jnp.square(w - known["minimiser"]) @ known["variance"]}
