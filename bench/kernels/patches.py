"""Convolutions as products of the patches of an image with a kernel.

For a batch of different kernels, from the points of a sweep or from clients with models of their own, XLA on a CPU
makes a grouped convolution, which is several times slower than a batch of products. The patches of the same images are
also extracted once for all kernels.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Shaped

from bench.kernels.platforms import on_cpu


def patches(
    x: Shaped[Array, "example height width channel"],
    size: Sequence[int],
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
) -> Shaped[Array, "example row column patch"]:
    """Return the patch at every place of the windows, in the order of a kernel's first three axes.

    Args:
        x: the images.
        size, strides: of the windows, (height, width).
        padding: "SAME", "VALID", or ((top, bottom), (left, right)).
    """
    if isinstance(padding, str):
        padding = jax.lax.padtype_to_pads(x.shape[1:3], size, strides, padding)
    x = jnp.pad(x, ((0, 0), *padding, (0, 0)))

    def shifted(x, axis):
        """Return x at each place in the window along an axis."""
        length, stride = size[axis - 1], strides[axis - 1]
        last = (x.shape[axis] - length) // stride * stride + 1
        return [jax.lax.slice_in_dim(x, i, i + last, stride, axis) for i in range(length)]

    if not on_cpu():  # one pass, since each is written to memory; a CPU is faster with two
        return jnp.concatenate([window for rows in shifted(x, 1) for window in shifted(rows, 2)], -1)
    # Of pictures in grey, columns first leaves whole rows of windows to be copied.
    for axis in (1, 2) if x.shape[-1] > 1 else (2, 1):
        x = jnp.stack(shifted(x, axis), -2 if axis == 2 else 3)
    return x.reshape(*x.shape[:3], -1)
