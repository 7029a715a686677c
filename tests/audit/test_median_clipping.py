"""A method that clips at the median of its sample's gradient norms and scales its noise by it, as the program of Noble
et al. 2022 does: what it declares, as if the norm were fixed, is refuted.

A median of private norms is private. One record can change it, and the size of the noise tells.
"""

import jax
import jax.numpy as jnp
import pytest

from bench import Algorithm, Method, Scalar, State
from bench.audit import audit
from bench.audit.text import text_of
from bench.kernels.gradient import clipped_sum
from bench.privacy.events import poisson_gaussian

RATE = 0.5
FEW = 0.01  # length of a gradient that every record has


def median_clipping(task, *, noise_multiplier: Scalar, clip_at: str = "median") -> Algorithm:
    """One noisy clipped sum a round over a Poisson sample of the first client's records."""
    length = task.train[0].shape[1]

    def one_round(key, state):
        key_sample, key_noise = jax.random.split(key)
        w, taken = state.variables, jax.random.bernoulli(key_sample, RATE, (length,))
        gradients = jax.vmap(lambda *record: jax.grad(task.loss)(w, 0 * w, record))(*(leaf[0] for leaf in task.train))
        gradients = gradients + jnp.full_like(w, FEW)[None]
        norms = jnp.where(taken, jnp.linalg.norm(gradients, axis=1), jnp.nan)
        bound = jnp.nan_to_num(jnp.nanmedian(norms)) if clip_at == "median" else jnp.ones(())
        total, _ = clipped_sum(jnp.where(taken[:, None], gradients, 0.0), jnp.maximum(bound, 1e-9))
        return State((), w - (total + noise_multiplier * bound * jax.random.normal(key_noise, w.shape))), {}

    return Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)


def releases(task, *, delta, noise_multiplier, **_):
    said = dict(accountant="pld", privacy_unit="record", protects_against="the server")
    return poisson_gaussian(noise_multiplier, sampling_rate=RATE, delta=delta, **said)


METHOD = Method(median_clipping, releases, version=1)


@pytest.mark.parametrize("clip_at", ["median", pytest.param("fixed", marks=pytest.mark.slow)])
def test_the_median_is_refuted_and_a_fixed_norm_is_not(clip_at):
    found = audit(METHOD, args={"clip_at": clip_at}, family="records", runs=2000)
    assert found.refuted == (clip_at == "median"), text_of(found)
