"""What this machine can do at most: a matrix product for arithmetic, and a difference of two arrays for moving data."""

from functools import cache

import jax
import jax.numpy as jnp

from bench.perf.measure import Workload, best_time

SIZE = 2000  # of the matrices
POWERS = 16, 28  # of two, least and most: bytes of arrays that are subtracted


@cache
def peak_flops(several: bool) -> float:
    """Operations a second of a 2,000 x 2,000 float32 matrix product.

    Args:
        several: whether other processes measure at the same time. What was measured without them is not taken then.
    """
    x = jnp.ones((SIZE, SIZE))
    product = jax.jit(lambda x: x @ x)
    return 2 * SIZE**3 / best_time(lambda: jax.block_until_ready(product(x)))


def bandwidth(size: float, several: bool) -> float:
    """Bytes a second of `x = y - x` on arrays of so many bytes together: of the nearest cache that holds them, or of
    memory.

    Args:
        size: bytes, of which the next power of two from 64 kB to 256 MB is taken.
        several: as for `peak_flops`.
    """
    return _bandwidth(2 ** min(POWERS[1], max(POWERS[0], (int(size) - 1).bit_length())), several)


@cache
def _bandwidth(size: int, several: bool) -> float:
    del several  # tells apart what is kept
    numbers, turns = size // 8, max(1, 2**26 // size)
    # Many turns in a call, since a call takes microseconds. Each turn needs the last one's result.
    subtract = jax.jit(lambda x, y: jax.lax.fori_loop(0, turns, lambda _, x: y - x, x), donate_argnums=0)
    x, y = jnp.zeros(numbers), jnp.ones(numbers)

    def once():
        nonlocal x
        x = jax.block_until_ready(subtract(x, y))

    return turns * 12 * numbers / best_time(once)


def least_seconds(workload: Workload, several: bool = False) -> tuple[float, float]:
    """Seconds that one unit of a workload takes at the peak of arithmetic, and at that of moving its data."""
    moved = workload.work.bytes / bandwidth(workload.bytes, several)
    return workload.work.flops / peak_flops(several), moved
