"""PPSGD on clients few enough for a test: stored examples, runs of many keys, a test of the noise's size."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from bench.algorithms.ppsgd import ppsgd
from bench.data.task import Task
from bench.models.additive import squared_loss

UNEQUAL = (9, 4, 2, 1, 6, 5)  # examples of the clients of the small tasks
AT_LEAST_TWO = (9, 4, 2, 3, 6, 5)
D, K = 5, 3  # features, outputs
HYPER = dict(step_size=0.2, personalization=1.0, clip_norm=1.0, noise_multiplier=0.7)


def stored_task(sizes=UNEQUAL, seed=0):
    """Stored examples of clients of unequal size and scale, so that a clipping threshold separates them."""
    rng = np.random.default_rng(seed)
    scale = np.linspace(0.3, 1.5, len(sizes))[:, None, None]
    x = scale * rng.standard_normal((len(sizes), max(sizes), D))
    y = rng.standard_normal((len(sizes), max(sizes), K))
    real = (np.arange(max(sizes)) < np.array(sizes)[:, None])[..., None]
    x, y = (jnp.asarray(a * real, jnp.float32) for a in (x, y))
    return Task(
        init_params=jnp.zeros((K, D)),
        num_examples=jnp.array(sizes, jnp.int32),
        train=(x, y),
        gram=jnp.einsum("nid,njd->nij", x, x),
        loss=squared_loss,
    )


@cache
def compiled_last(num_rounds, **static):
    """A compiled run of any task, many keys at once."""

    def run(task, hyper, key):
        keys = jax.random.split(key, num_rounds + 1)
        algorithm = ppsgd(task, **hyper, **static)
        state, info = jax.lax.scan(lambda s, k: algorithm.round(k, s), algorithm.init(keys[0]), keys[1:])
        return state.variables, jax.tree.map(jnp.mean, info)

    return jax.jit(jax.vmap(run, in_axes=(None, None, 0)))


def last(task, num_rounds, num_keys, seed=0, **args):
    """Variables after the last round, and the mean info, for many keys; leaves [key, ...]."""
    hyper = {name: jnp.float32(args.pop(name, value)) for name, value in HYPER.items()}
    keys = jax.random.split(jax.random.key(seed), num_keys)
    return jax.tree.map(np.asarray, compiled_last(num_rounds, **args)(task, hyper, keys))


def has_std(samples, std):
    """Whether independent Gaussian samples can have mean 0 and this std: a chi-square test of level 1e-6."""
    samples = np.ravel(samples).astype(float)
    statistic = np.sum(np.square(samples / std))
    return 1e-6 < stats.chi2.cdf(statistic, samples.size) < 1 - 1e-6
