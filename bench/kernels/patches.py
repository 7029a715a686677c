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

from bench.kernels.platforms import by_platform


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

    def windows(x, axis):
        """Turn [..., place, ...] into [..., window, ..., place in the window, channel]."""
        length, stride = size[axis - 1], strides[axis - 1]
        last = (x.shape[axis] - length) // stride * stride + 1
        return jnp.stack([jax.lax.slice_in_dim(x, i, i + last, stride, axis) for i in range(length)], -2)

    def in_one_pass(x):
        rows, columns = ((x.shape[axis] - size[axis - 1]) // strides[axis - 1] * strides[axis - 1] for axis in (1, 2))
        return jnp.concatenate(
            [
                x[:, i : i + rows + 1 : strides[0], j : j + columns + 1 : strides[1]]
                for i in range(size[0])
                for j in range(size[1])
            ],
            axis=-1,
        )

    def in_two(x):
        x = windows(windows(x, 1), 2)
        return x.reshape(*x.shape[:3], -1)

    return by_platform(in_two, in_one_pass)(x)
