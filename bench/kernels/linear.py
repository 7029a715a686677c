"""Gradients of linear models, example by example clipped, without forming one gradient an example.

The gradient of link(<theta, x>, y) is r x with r the link's derivative, so its norm is |r| |x|: one product with the
inputs gives the scores, another one the sum.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from bench.kernels.gradient import clip_factor


def lengths(inputs: Array, order: int) -> Array:
    """L1 (order 1) or L2 (order 2) norms of the inputs over their last axis."""
    return jnp.sum(jnp.abs(inputs), -1) if order == 1 else jnp.sqrt(jnp.sum(jnp.square(inputs), -1))


def clipped_gradient(
    link: Callable, model: Array, inputs: Array, targets: Array, weight: Array, clip_norm, order: int = 2
) -> Array:
    """sum_j weight_j clip(grad_j, C), the clipped gradients of one client's examples, weighted.

    Replacing one example moves the result by at most 2 C max_j weight_j in the norm of that order.

    Args:
        link: (score, target) -> loss of one example.
        model: theta [feature].
        inputs: [example, feature].
        targets: [example].
        weight: [example]; 0 for padding.
        clip_norm: C > 0; inf does not clip.
        order: of the norm that is clipped, 1 or 2.

    Returns:
        [feature].
    """
    slopes = jax.vmap(jax.grad(link))(inputs @ model, targets)
    return clipped_combination(slopes, inputs, weight, clip_norm, order)


def clipped_combination(slopes: Array, inputs: Array, weight: Array, clip_norm, order: int = 2) -> Array:
    """sum_j weight_j clip(slope_j x_j, C): `clipped_gradient` where the slopes are known."""
    norms = jnp.abs(slopes) * lengths(inputs, order)
    # The factor last: XLA on a CPU then keeps scores and slopes of many models within one fused kernel.
    return inputs.T @ (slopes * weight * clip_factor(norms, clip_norm))
