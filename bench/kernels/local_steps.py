"""Gradient steps of every sampled client from a common model, as the clipped sum of what the clients send.

A client follows the gradient of its minibatch for K steps, and sends the sum of its K gradients, up to a common factor
the way from w to where it ends:

    Delta_i = sum_k g_i(w - eta sum_{j<k} g_i,j)

The gradient may be that of a changed objective: with a pull towards w (`proximal`), at the point of the neighbourhood
where the loss grows fastest (`sharpness`), or with a penalty on messages that would be clipped (`bound`).

Both forms offer the same function and the same results:

- `dense` differentiates any loss;
- `dual` is for linear predictions under the squared loss. There Delta_i = R_i^T X_i, and a further step changes R_i
  through the products X_i X_i^T of the minibatch. So all K steps take one product of the inputs with w and one for the
  sum, where `dense` takes 2 K, and forms no gradient of a client. Where clients send something else than Delta_i, this
  alone is formed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float

from bench.kernels.gradient import (
    ClippedSum,
    Tree,
    clipped_sum,
    clipped_sum_linear,
    linear_norms,
    linear_sum,
    of_batch,
)
from bench.kernels.personal import shared_scores, within
from bench.kernels.platforms import over_clients

Steps = Callable[..., tuple[Tree, Float[Array, " sampled"]]]
"""(w, batch, clip_norm) -> (sum_i clip(Delta_i, C), shaped like w; norms before clipping [sampled])."""


@dataclass(frozen=True)
class LocalSteps:
    """The steps of a client, and the objective that it follows.

    step_size: eta.
    num_steps: K.
    proximal: mu of mu / 2 |z - w|^2, which every client adds to its loss at z; None omits this term.
    sharpness: rho; the gradient at z is taken at z + rho g / |g|, where g is the gradient at z; None takes it at z.
    bound: lambda of lambda / 2 max(0, |z - w|^2 - (eta C)^2), which every client adds to its loss: it pulls back a
        client whose message would be clipped; None omits this term.
    """

    step_size: float | Array
    num_steps: int
    proximal: float | Array | None = None
    sharpness: float | Array | None = None
    bound: float | Array | None = None

    @property
    def at_start(self) -> bool:
        """Whether Delta_i is the gradient at w, since no term of the objective changes it there."""
        return self.num_steps == 1 and self.sharpness is None


jax.tree_util.register_dataclass(LocalSteps, ["step_size", "proximal", "sharpness", "bound"], meta_fields=["num_steps"])


def _direction(norm: Array) -> Array:
    """Return 1 / norm, and 0 where there is no direction."""
    return jnp.where(norm > 0, 1 / jnp.where(norm > 0, norm, 1.0), 0.0)


Sent = Callable[[Tree, Any], Tree]
"""(Delta_i, common) -> what client i sends, before it is clipped; `common`, the same for all clients, is the fourth
argument of the steps."""


def dense(
    loss: Callable,
    nothing_local: Tree,
    local: LocalSteps,
    message: Sent | None = None,
    summed: ClippedSum = clipped_sum,
) -> Steps:
    """Return the steps on a loss that need only be differentiable.

    Args:
        loss: f(w, theta_i, example) -> scalar.
        nothing_local: theta_i, which stays as it is.
        local: the steps.
        message: what a client sends; None sends Delta_i.
        summed: the clipped sum of the messages.
    """
    gradient = of_batch(loss)

    def travelled(shared, examples, weight):
        """Return what one client sends."""
        w, theta, local, clip_norm, common = shared

        def slope(total):
            here = jax.tree.map(lambda z, g: z - local.step_size * g, w, total)
            found = gradient(here, theta, examples, weight)
            if local.sharpness is not None:
                length = local.sharpness * _direction(optax.tree.norm(found))
                uphill = jax.tree.map(lambda z, g: z + length * g, here, found)
                found = gradient(uphill, theta, examples, weight)
            if local.proximal is not None:
                found = jax.tree.map(lambda g, z, start: g + local.proximal * (z - start), found, here, w)
            if local.bound is not None:
                pull = jnp.where(optax.tree.norm(total) > clip_norm, local.bound * local.step_size, 0.0)
                found = jax.tree.map(lambda g, moved: g - pull * moved, found, total)
            return found

        def local_step(total, _):
            return jax.tree.map(jnp.add, total, slope(total)), None

        if local.at_start:
            total = gradient(w, theta, examples, weight)
        else:
            total = jax.lax.scan(local_step, jax.tree.map(jnp.zeros_like, w), length=local.num_steps)[0]
        return total if message is None else message(total, common)

    def steps(w, batch, clip_norm, common=()):
        shared = w, nothing_local, local, clip_norm, common
        sent = over_clients(travelled, shared, batch.examples, batch.weight, size=optax.tree.size(w))
        return summed(sent, clip_norm)

    return steps


def dual(gram: Float[Array, "client example example"], local: LocalSteps, message: Sent | None = None) -> Steps:
    """Return the steps on stored examples (x, y [output]) under the loss |w x - y|^2 / 2.

    Args:
        gram: X_i X_i^T of every client's stored inputs.
        local: the steps.
        message: what a client sends; None sends Delta_i, which is then never formed.
    """

    def sent(common, inputs, total):
        """Return what one client sends, from the residuals of Delta_i."""
        assert message is not None
        alone = jax.tree.map(lambda leaf: leaf[None], (inputs, total))
        return message(linear_sum(*alone), common)

    def steps(w, batch, clip_norm, common=()):
        inputs, targets = batch.examples
        products = within(gram, batch)
        errors = shared_scores(inputs, w) - targets
        weight = batch.weight[..., None]

        def slope(total):
            """Return the residuals of the gradient after `total`, of which a client's place is w - eta total^T X."""
            moved = errors - local.step_size * jnp.einsum("qmn,qnk->qmk", products, total)
            if local.sharpness is not None:
                uphill = weight * moved
                length = local.sharpness * _direction(linear_norms(uphill, products))
                moved = moved + length[:, None, None] * jnp.einsum("qmn,qnk->qmk", products, uphill)
            found = weight * moved
            if local.proximal is not None:
                found = found - local.proximal * local.step_size * total
            if local.bound is not None:
                far = linear_norms(total, products) > clip_norm
                found = found - jnp.where(far, local.bound * local.step_size, 0.0)[:, None, None] * total
            return found

        def local_step(total, _):
            return total + slope(total), None

        total = weight * errors if local.sharpness is None else slope(jnp.zeros_like(errors))
        if local.num_steps > 1:
            total = jax.lax.scan(local_step, total, length=local.num_steps - 1)[0]
        if message is None:
            return clipped_sum_linear(inputs, total, products, clip_norm)
        return clipped_sum(over_clients(sent, common, inputs, total, size=w.size), clip_norm)

    return steps
