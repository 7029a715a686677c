"""Gradients of linear models, clipped example by example, without forming the gradients.

The gradient of link(<theta, x>, y) is r x with r the link's derivative, so its norm is |r| |x|. One product with the
inputs gives the scores, and another one the sum.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from bench.kernels.gradient import clip_factor, scaled


def lengths(inputs: Float[Array, "*vectors feature"], order: int) -> Float[Array, "*vectors"]:
    """Return the L1 (order 1) or L2 (order 2) norms of the inputs over their last axis."""
    return jnp.sum(jnp.abs(inputs), -1) if order == 1 else jnp.sqrt(jnp.sum(jnp.square(inputs), -1))


def finite_rows(inputs: Float[Array, "*vectors feature"]) -> Float[Array, "*vectors feature"]:
    """Return the inputs with 0 in place of a vector that is not finite, whose gradient is then 0, at every model.

    The functions below take such inputs: made once, they cost no time in a round.
    """
    return jnp.where(jnp.all(jnp.isfinite(inputs), axis=-1, keepdims=True), inputs, 0.0)


def clipped_gradient(
    link: Callable,
    model: Float[Array, " feature"],
    inputs: Float[Array, "example feature"],
    targets: Float[Array, " example"],
    weight: Float[Array, " example"],
    clip_norm: float | Float[Array, ""],
    order: int = 2,
) -> Float[Array, " feature"]:
    """Return sum_j weight_j clip(grad_j, C), the weighted sum of the clipped gradients of one client's examples.

    Replacing one example moves the result by at most 2 C max_j weight_j in the norm of that order.

    Args:
        link: (score, target) -> loss of one example.
        model: theta.
        inputs, targets: the examples; inputs that are not finite are made 0 by `finite_rows` beforehand.
        weight: 0 for padding.
        clip_norm: C > 0; inf does not clip.
        order: order of the clipped norm, 1 or 2.
    """
    slopes = jax.vmap(jax.grad(link))(jnp.matmul(inputs, model, precision="highest"), targets)
    return clipped_combination(slopes, inputs, weight, clip_norm, order)


def clipped_combination(
    slopes: Float[Array, " example"],
    inputs: Float[Array, "example feature"],
    weight: Float[Array, " example"],
    clip_norm: float | Float[Array, ""],
    order: int = 2,
) -> Float[Array, " feature"]:
    """Return sum_j weight_j clip(slope_j x_j, C), which is `clipped_gradient` where the slopes are known."""
    norms = jnp.abs(slopes) * lengths(inputs, order)
    # The factor comes last, so that XLA on a CPU keeps scores and slopes of many models within one fused kernel.
    return jnp.matmul(inputs.T, scaled(slopes * weight, clip_factor(norms, clip_norm)), precision="highest")
