"""Gradient steps of every sampled client from a common model, and what comes of them.

A client follows the gradient of its minibatch for K steps. Its change is the sum of its K gradients, up to a common
factor the way from w to where it ends:

    Delta_i = sum_k g_i(w - eta sum_{j<k} g_i,j)

The gradient may be that of a changed objective: with a vector of the client's own that is added to it (`towards`), with
a pull towards w (`proximal`), at the point of the neighbourhood where the loss grows fastest (`sharpness`), or with a
penalty on changes that would be clipped (`bound`).

Both forms offer the same function and the same results:

- `dense` differentiates any loss;
- `dual` is for linear predictions under the squared loss. There Delta_i = R_i^T X_i, and a further step changes R_i
  through the products X_i X_i^T of the minibatch. So all K steps take one product of the inputs with w and one for the
  sum, where `dense` takes 2 K with models of each client, and forms no gradient of a client.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float

from bench.kernels import messages
from bench.kernels.gradient import ClientTrees, Tree, batch_gradient, linear_norms
from bench.kernels.messages import Messages
from bench.kernels.personal import Batch, shared_scores, within
from bench.kernels.platforms import over_clients


@dataclass(frozen=True)
class LocalSteps:
    """The steps of a client, and the objective that it follows.

    step_size: eta.
    num_steps: K.
    proximal: mu of mu / 2 |z - w|^2, which every client adds to its loss at z; None omits this term.
    sharpness: rho; the gradient at z is taken at z + rho g / |g|, where g is the gradient at z; None takes it at z.
    bound: (lambda, C) of lambda / 2 max(0, |z - w|^2 - (eta C)^2), which every client adds to its loss: it pulls back a
        client whose change is longer than C; None omits this term.
    """

    step_size: float | Array
    num_steps: int
    proximal: float | Array | None = None
    sharpness: float | Array | None = None
    bound: tuple[float | Array, float | Array] | None = None


jax.tree_util.register_dataclass(LocalSteps, ["step_size", "proximal", "sharpness", "bound"], meta_fields=["num_steps"])


def _direction(norm: Array) -> Array:
    """Return 1 / norm, and 0 where there is no direction."""
    return jnp.where(norm > 0, 1 / jnp.where(norm > 0, norm, 1.0), 0.0)


def dense(
    loss: Callable, nothing_local: Tree, local: LocalSteps, w: Tree, batch: Batch, towards: ClientTrees | None = None
) -> Messages:
    """Return the changes Delta_i under a loss that need only be differentiable.

    Args:
        loss: f(w, theta_i, example) -> scalar.
        nothing_local: theta_i, which stays as it is.
        local: the steps.
        w: the model.
        batch: of the sampled clients.
        towards: added to every gradient of a client; None adds nothing.
    """
    gradient = batch_gradient(loss)

    def travel(shared, examples, weight, towards=None):
        w, theta, local = shared

        def slope(total):
            position = jax.tree.map(lambda z, g: z - local.step_size * g, w, total)
            result = gradient(position, theta, examples, weight)
            if local.sharpness is not None:
                length = local.sharpness * _direction(optax.tree.norm(result))
                uphill = jax.tree.map(lambda z, g: z + length * g, position, result)
                result = gradient(uphill, theta, examples, weight)
            if local.proximal is not None:
                result = jax.tree.map(lambda g, z, start: g + local.proximal * (z - start), result, position, w)
            if local.bound is not None:
                strength, longest = local.bound
                pull = jnp.where(optax.tree.norm(total) > longest, strength * local.step_size, 0.0)
                result = jax.tree.map(lambda g, moved: g - pull * moved, result, total)
            return result if towards is None else jax.tree.map(jnp.add, result, towards)

        def local_step(total, _):
            return jax.tree.map(jnp.add, total, slope(total)), None

        if local.num_steps == 1 and local.sharpness is None and towards is None:
            return gradient(w, theta, examples, weight)  # no term of the objective changes it there
        return jax.lax.scan(local_step, jax.tree.map(jnp.zeros_like, w), length=local.num_steps)[0]

    rows = () if towards is None else (towards,)
    shared = w, nothing_local, local
    return messages.formed(over_clients(travel, shared, batch.examples, batch.weight, *rows, size=optax.tree.size(w)))


def dual(
    gram: Float[Array, "client example example"],
    local: LocalSteps,
    w: Float[Array, "_ _"],
    batch: Batch,
    towards: Float[Array, "sampled output feature"] | None = None,
) -> Messages:
    """Return the same changes on stored examples (x, y [output]) under the loss |w x - y|^2 / 2.

    Args:
        gram: X_i X_i^T of every client's stored inputs.
        local: the steps; without a bound where there is a vector `towards`.
        w: [output, feature], or [feature, output] where x is one of `sparse.Rows`, for which there is no `towards`.
        batch: of the sampled clients.
        towards: added to every gradient of a client; None adds nothing.
    """
    inputs, targets = batch.examples
    products = within(gram, batch)
    errors = shared_scores(inputs, w) - targets
    weight = batch.weight[..., None]
    addition = None if towards is None else jnp.einsum("qmd,qkd->qmk", inputs, towards)

    def slope(total, times):
        """Return the residuals of the gradient after `total`, of which a client's place is w - eta total^T X, without
        eta times the number `times` of its vectors.
        """
        residuals = errors - local.step_size * jnp.einsum("qmn,qnk->qmk", products, total)
        if addition is not None:
            residuals = residuals - local.step_size * times * addition
        if local.sharpness is not None:
            uphill = weight * residuals
            length = local.sharpness * _direction(linear_norms(uphill, products))
            residuals = residuals + length[:, None, None] * jnp.einsum("qmn,qnk->qmk", products, uphill)
        result = weight * residuals
        if local.proximal is not None:
            result = result - local.proximal * local.step_size * total
        if local.bound is not None:
            strength, longest = local.bound
            is_far = linear_norms(total, products) > longest
            result = result - jnp.where(is_far, strength * local.step_size, 0.0)[:, None, None] * total
        return result

    shrinkage: Any = 1.0 if local.proximal is None else 1.0 - local.proximal * local.step_size

    def local_step(carry, _):
        total, times = carry
        return (total + slope(total, times), shrinkage * times + 1.0), None

    total = weight * errors if local.sharpness is None else slope(jnp.zeros_like(errors), 0.0)
    times = jnp.float32(1.0)
    if local.num_steps > 1:
        (total, times), _ = jax.lax.scan(local_step, (total, times), length=local.num_steps - 1)
    linear_messages = messages.linear(inputs, total, products)
    if towards is None:
        return linear_messages
    # Not in the span of the examples.
    return messages.formed(linear_messages.each() + times * towards)
