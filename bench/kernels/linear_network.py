"""Clipped sums of the per-example gradients of linear classifiers of scaled features.

The logits of an example x are W (s * x + b) + c, where s and b may be left out. Let d be the gradient of its loss in
its logits, a = s * x + b and g = W^T d. Its gradient is

    d a^T in W,    d in c,    x * g in s,    g in b,

with the squared norm |d|^2 (1 + |a|^2) + sum_f g_f^2 (1 + x_f^2). Clipped sums follow from D = sum_j f_j d_j and
M = sum_j f_j d_j x_j^T over examples j with the factors f_j, which scale them to the clipping norm:

    M * s + D b^T in W,    D in c,    sum_classes M * W in s,    W^T D in b.

So a batch takes three products of matrices, and no gradient of a single example is formed.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from bench.kernels.gradient import clip_factor, masked
from bench.kernels.platforms import unless

# After clipping, and for norms, products are in full float32, as in `per_example`.
_einsum = partial(jnp.einsum, precision="highest")


class Scaling(NamedTuple):
    """What the features are scaled by, or a gradient in it: s and b [feature]."""

    scale: Float[Array, " feature"]
    bias: Float[Array, " feature"]


class Linear(NamedTuple):
    """A linear classifier, or a gradient of one: W [class, feature], c [class], and the scaling, if any."""

    kernel: Float[Array, "class feature"]
    offset: Float[Array, " class"]
    scaling: Scaling | None


class Sums(NamedTuple):
    """What clipped sums follow from: M [class, feature] and D [class]."""

    products: Float[Array, "class feature"]
    slopes: Float[Array, " class"]


def clipped_sums(
    model: Linear,
    inputs: Float[Array, "example feature"],
    labels: Int[Array, " example"],
    weight: Float[Array, " example"],
    clip_norm: float | Float[Array, ""],
) -> tuple[Sums, Float[Array, " example"], Float[Array, "example class"]]:
    """Compute what sum_j weight_j clip(grad_j, C) of the cross-entropy follows from, by `gradient_of`.

    Args:
        model: the classifier.
        inputs, labels: the examples.
        weight: 0 for padding.
        clip_norm: C > 0, on the gradient in all parameters together; inf does not clip.

    Returns:
        The sums, the norms before clipping, and the logits.
    """
    kernel, offset, scaling = model
    if scaling is not None:
        kernel, offset = kernel * scaling.scale[None], offset + kernel @ scaling.bias
    logits = jnp.einsum("jf,cf->jc", inputs, kernel) + offset[None]
    slopes = jax.nn.softmax(logits) - jax.nn.one_hot(labels, logits.shape[-1])
    norms = jnp.sqrt(_squares(model, inputs, slopes))

    def sums_of_all(slopes, inputs, factors):
        clipped = slopes * factors[:, None]
        return Sums(_einsum("jc,jf->cf", clipped, inputs), jnp.sum(clipped, 0))

    def sums_of_finite(slopes, inputs, factors):
        return sums_of_all(masked(factors != 0, slopes), masked(factors != 0, inputs), factors)

    factors = weight * clip_factor(norms, clip_norm)
    return unless(~jnp.all(jnp.isfinite(norms)), sums_of_all, sums_of_finite, slopes, inputs, factors), norms, logits


def gradient_of(model: Linear, sums: Sums) -> Linear:
    """Return the sum of clipped gradients that the sums give."""
    products, slopes = sums
    if model.scaling is None:
        return Linear(products, slopes, None)
    scale, bias = model.scaling
    kernel = products * scale[None] + slopes[:, None] * bias[None]
    scaling = Scaling(jnp.sum(products * model.kernel, 0), _einsum("c,cf->f", slopes, model.kernel))
    return Linear(kernel, slopes, scaling)


def _squares(model: Linear, inputs, slopes):
    """Return the squared norm of every example's gradient, [example]."""
    slope_squares = jnp.sum(jnp.square(slopes), axis=1)
    features = inputs if model.scaling is None else inputs * model.scaling.scale[None] + model.scaling.bias[None]
    features = jnp.square(features) * slope_squares[:, None]
    if model.scaling is not None:
        features = features + jnp.square(_einsum("jc,cf->jf", slopes, model.kernel)) * (1 + jnp.square(inputs))
    # XLA on a CPU sums along the last axis one number at a time, and a product with ones several at once.
    return slope_squares + _einsum("jf,f->j", features, jnp.ones(features.shape[1]))
