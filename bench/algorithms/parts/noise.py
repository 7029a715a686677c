"""The server's noise over the rounds: independent, or correlated so that it partly cancels in the model's prefix sums.

A round's noise is a row of C^-1 Z times sigma C_clip, with strategies C and their cost in `bench.privacy.matrix_noise`.
Z depends on the key alone, so the noise remembered from earlier rounds belongs into `State.schedule`, which is computed
once for all points of a sweep.

The privacy is proven where a user takes part at most every G-th round: with sampler "cyclic", or with "all" and G = 1,
without amplification; and with "cyclic_poisson", where a user's turn comes every G-th round and it then takes part by
chance, with amplification for at most G bands. All names but the first and the last two remember `num_bands` arrays of
the model's size:

    independent   nothing is remembered.
    banded_sqrt   banded square root (Kalinin and Lampert, arXiv 2405.13763), in closed form, for any number of rounds.
    banded        the same number of bands, optimised for the planned rounds (Choquette-Choo et al., arXiv 2306.08153).
    blt           buffered linear Toeplitz (McMahan et al., arXiv 2408.08868), optimised likewise.
    bisr          bands in the inverse, of its square root (Kalinin et al., arXiv 2505.12128), for the planned rounds.
    lambda_cgd    the share of the last round's noise that is best for the planned rounds is taken off (Kalinin et al.,
                  arXiv 2601.22334). That noise is drawn again, so only its key is remembered.
    tree          sums of a binary tree's nodes (DP-FTRL, Kairouz et al., arXiv 2103.00039); remembers log2(rounds).
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bench.algorithms.parts.samplers import SAMPLERS
from bench.errors import InputError, check_name
from bench.kernels import gradient
from bench.privacy import matrix_noise
from bench.privacy.matrix_noise import Bands, Buffers, InverseBands, Strategy, Tree

INDEPENDENT = "independent"
NOISES = (INDEPENDENT, *matrix_noise.NAMES)
LAMBDA_CGD = "lambda_cgd"
MOST_BANDS, BUFFERS = 16, 4  # the largest default number of bands, and the default number of buffers
# The arguments that choose the noise of a method, at the values for independent noise.
PLAIN: Mapping[str, Any] = MappingProxyType({"noise": INDEPENDENT, "num_bands": 0, "planned_rounds": 0})


class Noise(NamedTuple):
    """The noise of a run, round by round.

    init: model -> memory, before the first round.
    draw: (key, memory, model) -> (noise of the round, of the model's shape; memory). The caller scales it by sigma C.
        If a user's part in each sum has norm at most C, all planned rounds together cost one Gaussian mechanism of
        multiplier sigma.
    """

    init: Callable
    draw: Callable


def noise_of(name: str, separation: int = 1, num_bands: int = 0, planned_rounds: int = 0) -> Noise:
    """Return the noise of this name.

    Args:
        name: a name in NOISES.
        separation: G; a user takes part every G rounds. See `participation.separation`.
        num_bands: the bands of "banded" and "banded_sqrt", at most the separation, of "bisr", or the buffers of "blt".
            0 takes the separation but at most 16 bands, 16 bands of "bisr", and 4 buffers.
        planned_rounds: the rounds of the run for which all others but "banded_sqrt" are made. `releases` also accounts
            for longer runs.
    """
    if name == INDEPENDENT:
        return Noise(lambda model: (), lambda key, memory, model: (gradient.gaussian_like(key, model), memory))
    form = strategy(name, separation, num_bands, planned_rounds).form
    if name == LAMBDA_CGD and isinstance(form, InverseBands):
        return _drawn_again(form)
    size, step = {Bands: _bands, Buffers: _buffers, InverseBands: _inverse_bands, Tree: _tree}[type(form)](form)

    def init(model):
        return jnp.int32(0), jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), model)

    def draw(key, memory, model):
        t, arrays = memory
        pairs = jax.tree.map(lambda z, leaf: step(t, z, leaf), gradient.gaussian_like(key, model), arrays)
        noise, arrays = jax.tree.transpose(jax.tree.structure(model), jax.tree.structure((0, 0)), pairs)
        return jax.tree.map(lambda leaf: form.norm * leaf, noise), (t + 1, arrays)

    return Noise(init, draw)


def strategy(name: str, separation: int, num_bands: int, planned_rounds: int) -> Strategy:
    """Return the strategy of any name but "independent"; numbers that are 0 are chosen as in `noise_of`."""
    number = {"blt": BUFFERS, "bisr": MOST_BANDS}.get(name, min(separation, MOST_BANDS))
    return matrix_noise.strategy(name, separation, num_bands or number, planned_rounds)


def check_noise(separation: int, sampler: str, noise: str, num_bands: int, planned_rounds: int) -> None:
    """Refuse noise that cannot be made, or whose privacy is not proven for the way in which users take part.

    Args:
        separation: G, the number of groups of users that take turns.

    Raises:
        InputError: naming the value and what to do.
    """
    check_name("noise", noise, NOISES)
    if noise == INDEPENDENT:
        return
    known = [name for name, kind in SAMPLERS.items() if noise.startswith(kind.correlated)]
    if sampler not in known:
        samplers = " or ".join(map(repr, known))
        raise InputError(
            f"noise {noise!r} is not proven with sampler {sampler!r}: use sampler {samplers}, or noise 'independent'"
        )
    if noise.startswith("banded"):
        if separation == 1:
            raise InputError(
                f"noise {noise!r} needs users that pause between rounds: sample fewer, or take noise 'independent'"
            )
        if not 0 <= num_bands <= separation:
            raise InputError(
                f"num_bands is {num_bands}, but a user takes part every {separation} rounds: use at most {separation} "
                "bands, or sample fewer users"
            )
    if num_bands < 0:
        raise InputError(f"num_bands is {num_bands}: it must be at least 0 (0 chooses it)")
    if noise != "banded_sqrt" and planned_rounds < 1:
        raise InputError(f"noise {noise!r} is made for a number of rounds: give planned_rounds, those of the run")


# ---- x_t = row t of the form's inverse times z, one array at a time; memory [size, ...] ----


def _bands(form: Bands):
    """Return the noise x_t = z_t - sum_i c_i x_(t-i)."""
    return _with_ring([-c for c in form.coefficients[1:]], lambda z, x: x)


def _inverse_bands(form: InverseBands):
    """Return the noise x_t = z_t + sum_i b_i z_(t-i)."""
    return _with_ring(form.coefficients[1:], lambda z, x: z)


def _drawn_again(form: InverseBands) -> Noise:
    """Return the noise x_t = z_t + b_1 z_(t-1), where z_(t-1) is drawn again from its key."""
    share = jnp.float32(form.coefficients[-1] if len(form.coefficients) > 1 else 0.0)

    def init(model):
        return jnp.float32(0), jax.random.key_data(jax.random.key(0))  # no share of what was before the first round

    def draw(key, memory, model):
        share_of_last, last_key = memory
        last = gradient.gaussian_like(jax.random.wrap_key_data(last_key), model)
        z = gradient.gaussian_like(key, model)
        noise = jax.tree.map(lambda z, last: form.norm * (z + share_of_last * last), z, last)
        return noise, (share, jax.random.key_data(key))

    return Noise(init, draw)


def _with_ring(numbers: Sequence[float], kept: Callable):
    """Return the noise x_t = z_t + sum_i a_i k_(t-i); k_t = kept(z_t, x_t) is in place t mod (number of a_i) of a
    ring.
    """
    coefficients = jnp.asarray(numbers, jnp.float32)
    size = len(numbers)

    def step(t, z, ring):
        if not size:
            return z, ring
        age = (t - 1 - jnp.arange(size)) % size  # of the entry in each place, counted from 0
        x = z + jnp.tensordot(coefficients[age], ring, 1, precision="highest")
        return x, jax.lax.dynamic_update_index_in_dim(ring, kept(z, x), t % size, 0)

    return size, step


def _buffers(form: Buffers):
    """Return the noise x_t = z_t - sum_j s_j B_j with B_j <- d_j B_j + x_t."""
    decay, scale = jnp.asarray(form.decay, jnp.float32), jnp.asarray(form.scale, jnp.float32)

    def step(t, z, buffers):
        x = z - jnp.tensordot(scale, buffers, 1, precision="highest")
        return x, decay.reshape(-1, *[1] * z.ndim) * buffers + x[None]

    return len(form.decay), step


def _tree(form: Tree):
    """Return the noise x_t = z_t - the sum of the nodes below, whose place a new node of level l takes."""
    levels = jnp.arange(form.levels)

    def step(t, z, nodes):
        level = jax.lax.population_count(((t + 1) & -(t + 1)) - 1)  # zeros at the end of t, counted from 1
        column = (form.levels, *[1] * z.ndim)
        x = z - jnp.tensordot((levels < level).astype(jnp.float32), nodes, 1, precision="highest")
        remaining = jnp.where((levels > level).reshape(column), nodes, 0.0)
        return x, jnp.where((levels == level).reshape(column), z[None], remaining)

    return form.levels, step
