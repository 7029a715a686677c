"""The limits of this machine: a matrix product for arithmetic, and a difference of two arrays for moving data."""

from functools import cache

import jax
import jax.numpy as jnp

from bench.perf.measure import Workload, best_time

SIZE, ACCELERATOR_SIZE = 2000, 8192  # of the matrices, which have to be larger to fill a GPU or TPU
POWERS = 16, 28  # powers of two, least and most: bytes of the subtracted arrays


@cache
def peak_flops(several: bool) -> float:
    """Return the operations a second of a product of two float32 matrices of SIZE x SIZE; ACCELERATOR_SIZE on a GPU.

    Args:
        several: whether other processes measure at the same time. Values measured without them are not reused then.
    """
    size = SIZE if jax.default_backend() == "cpu" else ACCELERATOR_SIZE
    x = jnp.ones((size, size))
    product = jax.jit(lambda x: x @ x)
    return 2 * size**3 / best_time(lambda: jax.block_until_ready(product(x)))


@cache
def bandwidth(size: int, several: bool) -> float:
    """Return the bytes a second of `x = y - x` on arrays of `size` bytes together, from the nearest cache that holds
    them, or from memory; `several` as for `peak_flops`."""
    numbers, turns = size // 8, max(1, 2**26 // size)
    # A call takes microseconds, so it has many turns. Each turn needs the result of the one before.
    subtract = jax.jit(lambda x, y: jax.lax.fori_loop(0, turns, lambda _, x: y - x, x), donate_argnums=0)
    x, y = jnp.zeros(numbers), jnp.ones(numbers)

    def subtract_once():
        nonlocal x
        x = jax.block_until_ready(subtract(x, y))

    return turns * 12 * numbers / best_time(subtract_once)


def least_seconds(workload: Workload, several: bool = False) -> tuple[float, float]:
    """Return the seconds of one unit of a workload at the peak of arithmetic, and at that of moving its data."""
    power = min(POWERS[1], max(POWERS[0], (int(workload.bytes) - 1).bit_length()))
    return workload.work.flops / peak_flops(several), workload.work.bytes / bandwidth(2**power, several)
