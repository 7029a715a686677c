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
DIAMETER = 2.0  # of the unit ball, which contains w*
SMOOTHNESS = 1.0  # of every record's loss: |x|^2


def lipschitz(spread: float) -> float:
    """Return a bound on |<w, x> - y| |x| for |w| <= 1, where the silos' models are within `spread` of w*."""
    return 2 + spread + LABEL_NOISE


LIPSCHITZ = lipschitz(SPREAD)


def half_square(score, target):
    """Return (s - y)^2 / 2."""
    return 0.5 * jnp.square(score - target)


def quadratic(trial: int, *, num_records: int = 512, spread: float = SPREAD) -> Task:
    """Least squares in 25 silos with individual true models, 50 features, and a known minimiser.

    Args:
        trial: the number of the draw of models and records. Inputs, labels' noise and w* of a trial are the same for
            every spread.
        num_records: n, of every silo.
        spread: the largest distance of a silo's model from w*; with 0 all silos have the same distribution.
    """
    recipe = (NUM_CLIENTS, NUM_FEATURES, spread, LABEL_NOISE, num_records)
    rng = np.random.default_rng([trial, 0x0ADD])
    minimiser = rng.standard_normal(NUM_FEATURES)
    minimiser /= np.linalg.norm(minimiser)
    apart = rng.standard_normal((NUM_CLIENTS, NUM_FEATURES))
    apart -= apart.mean(0)
    models = minimiser + spread * apart / np.linalg.norm(apart, axis=1).max()
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
        linear=Linear(half_square, (math.sqrt(NUM_FEATURES) * lipschitz(spread), lipschitz(spread))),
        loss=squared_loss,
        metrics=risk,
        name=f"quadratic_{num_records}" + ("" if spread == SPREAD else f"_spread_{spread:g}"),
        source="generated",
        checksum=recipe_checksum(recipe),
    )


def risk(w, task: Task) -> dict:
    """Return the exact excess risk, the mean over silos."""
    evaluation = task.evaluation
    return {"excess_risk": 0.5 * jnp.square(w - evaluation["minimiser"]) @ evaluation["variance"]}
