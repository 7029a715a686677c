"""The gradients of all sampled clients at one model, as far as private methods use them: norms and weighted sums.

A private method scales every client's gradient by a factor that depends on its norm, and adds them up. Both forms offer
the same two results:

- `of_loss` differentiates any loss, and forms every gradient;
- `of_linear` is for linear predictions under the squared loss, where client i's gradient is R_i^T X_i with weighted
  residuals R_i. It forms no gradient: norms take the products X_i X_i^T, and a weighted sum is one product.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float

from bench.kernels.gradient import (
    Tree,
    clip_factor,
    linear_norms,
    linear_sum,
    norms_of,
    of_batch,
    rows_of_finite,
    scaled,
    weighted_sum,
)
from bench.kernels.personal import Batch, shared_scores, within
from bench.kernels.platforms import over_clients


class UserGradients(NamedTuple):
    """The gradients g_i of the sampled clients, with g_i = sum_k weight_ik grad f(w, example_ik).

    norms: |g_i|, joint over all leaves, [sampled]; 0 for a place that nobody takes, and for a gradient whose norm is
        not finite, which counts as 0.
    weighted_sum: factors [sampled] -> sum_i factor_i g_i, shaped like w.
    """

    norms: Float[Array, " sampled"]
    weighted_sum: Callable[[Array], Tree]

    def clipped_sum(self, clip_norm: float | Array) -> Tree:
        """Return sum_i clip(g_i, C), which moves by at most C in L2 if a client is removed, 2 C if one is replaced."""
        return self.weighted_sum(clip_factor(self.norms, clip_norm))


def of_loss(loss: Callable, nothing_local: Tree, w: Tree, batch: Batch) -> UserGradients:
    """Return the gradients of a loss that need only be differentiable.

    Args:
        loss: f(w, theta_i, example) -> scalar.
        nothing_local: theta_i, which stays as it is.
        w: the model.
        batch: of the sampled clients.
    """

    gradient, size = of_batch(loss), optax.tree.size(w)

    def of_user(models, examples, weight):
        w, theta = models
        return gradient(w, theta, examples, weight)

    grads = over_clients(of_user, (w, nothing_local), batch.examples, batch.weight, size=size)
    norms = norms_of(grads)
    return UserGradients(_finite(norms), partial(weighted_sum, grads, norms))


def of_linear(gram: Float[Array, "client stored stored"], w: Float[Array, "_ _"], batch: Batch) -> UserGradients:
    """Return the gradients of |w x - y|^2 / 2.

    Args:
        gram: X_i X_i^T of every client's stored inputs.
        w: [output, feature], or [feature, output] where x is one of `sparse.Rows`.
        batch: with examples (x, y [output]).
    """
    inputs, targets = batch.examples
    residuals = batch.weight[..., None] * (shared_scores(inputs, w) - targets)
    products = within(gram, batch)
    norms = linear_norms(residuals, products)

    def total(factors):
        counted = jnp.where(jnp.isfinite(norms), factors, 0.0)
        return linear_sum(rows_of_finite(inputs, products), scaled(residuals, counted[:, None, None]))

    return UserGradients(_finite(norms), total)


def _finite(norms: Float[Array, " sampled"]) -> Float[Array, " sampled"]:
    return jnp.where(jnp.isfinite(norms), norms, 0.0)
