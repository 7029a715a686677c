"""The random numbers of JAX's default generator, bit for bit, computed faster on CPUs.

`jax.random` compiles the 20 rounds of Threefry for CPUs as a loop, whose every step passes through memory. Written out,
they run in registers, together with whatever uses their bits: 8 times as many bits per second on one core, and 4 times
as many normal numbers. The generator is Threefry 2x32 of Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2,
3", with a number's place as its counter.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float32, Int, PRNGKeyArray, UInt32

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # of even and of odd blocks of four rounds
PARITY = 0x1BD11BDA
ONE = 0x3F800000  # the bits of 1.0 in float32; 23 random bits are its fraction


def bits(key: PRNGKeyArray, shape: Sequence[int]) -> UInt32[Array, "..."]:
    """Return the 32-bit words of `jax.random.bits(key, shape)`.

    Args:
        key: of any generator; those of others than JAX's default, and more than 2^32 numbers, are drawn by JAX.
        shape: of the result.
    """
    shape = tuple(shape)
    if math.prod(shape) > 1 << 32 or not counts_places(key):
        return jax.random.bits(key, shape, jnp.uint32)
    return at_places(key, jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape))


def uniform(key: PRNGKeyArray, shape: Sequence[int], low: float = 0.0) -> Float32[Array, "..."]:
    """Return the numbers of `jax.random.uniform(key, shape, minval=low)`, uniform in [low, 1); `low` is at least 0."""
    return jnp.maximum(low, fraction(bits(key, shape)) * jnp.float32(1.0 - low) + low)


def uniform_at_rows(key: PRNGKeyArray, rows: Int[Array, " row"], width: int) -> Float32[Array, "row {width}"]:
    """Return these rows of `jax.random.uniform(key, (any number, width))`, without the others.

    Args:
        key: of JAX's default generator, for which `counts_places` is true.
        rows: numbers; all rows up to the last of them hold fewer than 2^32 numbers.
        width: of a row.
    """
    return fraction(at_places(key, places_in_rows(rows, width)))


def places_in_rows(rows: Int[Array, " row"], width: int) -> UInt32[Array, "row {width}"]:
    """Return the places of these rows of an array [any number, width], counted row by row."""
    return rows[:, None].astype(jnp.uint32) * jnp.uint32(width) + jnp.arange(width, dtype=jnp.uint32)[None]


def fraction(words: UInt32[Array, "..."]) -> Float32[Array, "..."]:
    """Return numbers in [0, 1) from the first 23 bits of each word."""
    return jax.lax.bitcast_convert_type(words >> jnp.uint32(9) | jnp.uint32(ONE), jnp.float32) - 1.0


def counts_places(key: PRNGKeyArray) -> bool:
    """Return whether JAX would hash the key with each number's place, counted row by row, as `at_places` does."""
    return str(jax.random.key_impl(key)) == "threefry2x32" and bool(jax.config.jax_threefry_partitionable)  # pyright: ignore[reportAttributeAccessIssue]


def at_places(key: PRNGKeyArray, places: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """Return the words of `jax.random.bits` at the places of an array of any size, counted row by row."""
    first, second = jax.random.key_data(key)
    return _words_at_places(first, second, places)


@jax.jit
def _words_at_places(
    first: UInt32[Array, ""], second: UInt32[Array, ""], places: UInt32[Array, "..."]
) -> UInt32[Array, "..."]:
    """Return both halves of Threefry's block of the counters (0, place), combined by exclusive or."""
    schedule = (first, second, first ^ second ^ jnp.uint32(PARITY))
    left, right = jnp.full_like(places, first), places + second
    for block in range(5):
        for rotation in ROTATIONS[block % 2]:
            left = left + right
            right = left ^ (right << jnp.uint32(rotation) | right >> jnp.uint32(32 - rotation))
        left = left + schedule[(block + 1) % 3]
        right = right + schedule[(block + 2) % 3] + jnp.uint32(block + 1)
    return left ^ right
