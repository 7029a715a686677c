"""Gradient steps of every sampled client from a common model, as the clipped sum of what the clients send.

A client follows the gradient of its minibatch for K steps, and sends the sum of its K gradients, up to a common factor
the way from w to where it ends:

    Delta_i = sum_k g_i(w - eta sum_{j<k} g_i,j)

Both forms offer the same function and the same results:

- `dense` differentiates any loss;
- `dual` is for linear predictions under the squared loss. There Delta_i = R_i^T X_i, and a further step changes R_i
  through the products X_i X_i^T of the minibatch. So all K steps take one product of the inputs with w and one for the
  sum, where `dense` takes 2 K, and forms no gradient of a client.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from bench.kernels.gradient import Tree, clipped_sum, clipped_sum_linear, of_batch
from bench.kernels.personal import Batch, shared_scores, within
from bench.kernels.platforms import over_clients

Steps = Callable[[Tree, Batch, float | Array], tuple[Tree, Float[Array, " sampled"]]]
"""(w, batch, clip_norm) -> (sum_i clip(Delta_i, C), shaped like w; norms before clipping [sampled])."""


def dense(
    loss: Callable,
    nothing_local: Tree,
    *,
    step_size: float | Array,
    num_steps: int,
    proximal: float | Array | None = None,
) -> Steps:
    """Return the steps on a loss that need only be differentiable.

    Args:
        loss: f(w, theta_i, example) -> scalar.
        nothing_local: theta_i, which stays as it is.
        step_size: eta of a client.
        num_steps: K.
        proximal: mu of mu / 2 |z - w|^2, which every client adds to its loss at z; None omits this term.
    """

    gradient = of_batch(loss, nothing_local)

    def travelled(shared, examples, weight):
        """Return Delta_i of one client."""
        w, step_size, proximal = shared

        def slope(total):
            here = jax.tree.map(lambda z, g: z - step_size * g, w, total)
            at_here = gradient(here, examples, weight)
            if proximal is None:
                return at_here
            return jax.tree.map(lambda g, z, start: g + proximal * (z - start), at_here, here, w)

        def local_step(total, _):
            return jax.tree.map(jnp.add, total, slope(total)), None

        if num_steps == 1:
            return gradient(w, examples, weight)
        return jax.lax.scan(local_step, jax.tree.map(jnp.zeros_like, w), length=num_steps)[0]

    def steps(w, batch, clip_norm):
        shared = w, step_size, proximal
        return clipped_sum(over_clients(travelled, shared, batch.examples, batch.weight), clip_norm)

    return steps


def dual(
    gram: Float[Array, "client example example"],
    *,
    step_size: float | Array,
    num_steps: int,
    proximal: float | Array | None = None,
) -> Steps:
    """Return the steps on stored examples (x, y [output]) under the loss |w x - y|^2 / 2.

    Args:
        gram: X_i X_i^T of every client's stored inputs.
        step_size, num_steps, proximal: as for `dense`.
    """

    def steps(w, batch, clip_norm):
        inputs, targets = batch.examples
        products = within(gram, batch)
        errors = shared_scores(inputs, w) - targets
        weight = batch.weight[..., None]

        def local_step(total, _):
            moved = errors - step_size * jnp.einsum("qmn,qnk->qmk", products, total)
            slope = weight * moved if proximal is None else weight * moved - proximal * step_size * total
            return total + slope, None

        total = weight * errors
        if num_steps > 1:
            total = jax.lax.scan(local_step, total, length=num_steps - 1)[0]
        return clipped_sum_linear(inputs, total, products, clip_norm)

    return steps
