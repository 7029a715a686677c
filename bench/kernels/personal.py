"""The local half of a personalised model: gradients of sampled clients, and two ways to keep theta_i.

Both forms offer the same four functions and the same results:

- `dense` keeps theta_i itself and differentiates any loss f(w, theta_i, example);
- `dual` keeps the coefficients of theta_i = A_i^T X_i, for linear predictions (w + theta_i) x under the
  squared loss, of dense or sparse x. From theta_i = 0, gradient steps never leave the span of the client's own
  examples X_i, so this is exact, and it is smaller and faster when a client has fewer examples than features.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Int32, PyTree, Shaped

from bench.kernels import messages, sparse
from bench.kernels.platforms import over_clients


class Batch(NamedTuple):
    """The examples of the sampled clients in one round.

    clients: None when all clients take part, in order. Those that take part are all different, and an empty place may
        repeat one of them: what clients keep is changed by adding to it, and by adding 0 at an empty place.
    rows: the rows of the client's examples that are used; None when examples are not stored.
    examples: the examples of every place, as the loss takes them.
    weight: of each example in the client's gradient: 1 / m_i for a mean, 1 for a sum, 0 for padding. A client whose
        weights are all 0 does not take part.
    """

    clients: Int32[Array, " sampled"] | None
    rows: Int32[Array, "sampled example"] | None
    examples: PyTree[Shaped[Array, "sampled example ..."]]
    weight: Float[Array, "sampled example"]


class Local(NamedTuple):
    """A form of the local models. `grads` is whatever the form passes from `gradients` to the other functions.

    init: () -> local, all theta_i = 0.
    gradients: (w, local, batch) -> grads, with g_i = sum_k weight_ik grad f(w, theta_i, example_ik).
    move: (local, batch, grads, step) -> local, theta_i <- theta_i - step g_i for the sampled clients.
    messages: (batch, grads) -> the gradients g_i in w, as `Messages`.
    """

    init: Callable
    gradients: Callable
    move: Callable
    messages: Callable


def dense(loss: Callable, init_local: PyTree[Float[Array, "..."]], num_clients: int) -> Local:
    """Return the form that keeps the local models themselves.

    Args:
        loss: f(w, theta_i, example) -> scalar, any differentiable function.
        init_local: one client's theta at the start.
        num_clients: of the task.
    """

    def init():
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (num_clients, *leaf.shape)), init_local)

    def client_gradients(w, theta, examples, weight):
        def weighted_loss(w, theta):
            return weight @ jax.vmap(lambda example: loss(w, theta, example))(examples)

        return jax.grad(weighted_loss, argnums=(0, 1))(w, theta)

    def gradients(w, local, batch):
        thetas = local if batch.clients is None else jax.tree.map(lambda leaf: leaf[batch.clients], local)
        return over_clients(client_gradients, w, thetas, batch.examples, batch.weight)

    def move(local, batch, grads, step):
        def moved_leaf(leaf, g):
            return leaf - step * g if batch.clients is None else leaf.at[batch.clients].add(-step * g)

        return jax.tree.map(moved_leaf, local, grads[1])

    return Local(init, gradients, move, lambda batch, grads: messages.formed(grads[0]))


def dual(gram: Float[Array, "client example example"], num_outputs: int) -> Local:
    """Return the form that keeps linear local models as coefficients of the client's own examples, A_i [example,
    output].

    Args:
        gram: X_i X_i^T of every client's stored inputs.
        num_outputs: K; the examples are pairs (x, y [K]) under the loss |(w + theta_i) x - y|^2 / 2. The shared model
            is w [K, feature] where x is [feature], and w [feature, K] where x is one of `sparse.Rows`.
    """

    def init():
        return jnp.zeros((*gram.shape[:2], num_outputs))

    def gradients(w, local, batch):
        inputs, targets = batch.examples
        scores = shared_scores(inputs, w) + local_scores(gram, local, batch)
        return batch.weight[..., None] * (scores - targets)

    def move(local, batch, residuals, step):
        return local.at[clients_of(gram, batch)[:, None], batch.rows].add(-step * residuals)

    def gradient_messages(batch, residuals):
        return messages.linear(batch.examples[0], residuals, within(gram, batch))

    return Local(init, gradients, move, gradient_messages)


def clients_of(gram: Float[Array, "client stored stored"], batch: Batch) -> Int[Array, " sampled"]:
    """Return the clients of a batch, one by one also where all take part."""
    return jnp.arange(gram.shape[0]) if batch.clients is None else batch.clients


def shared_scores(
    inputs: Float[Array, "sampled example feature"] | sparse.Rows,
    w: Float[Array, "_ _"],
) -> Float[Array, "sampled example output"]:
    """Return w x of every example, for w [output, feature], or [feature, output] where x is sparse."""
    return sparse.product(inputs, w) if isinstance(inputs, sparse.Rows) else jnp.einsum("qmd,kd->qmk", inputs, w)


def local_scores(
    gram: Float[Array, "client stored stored"], local: Float[Array, "client stored output"], batch: Batch
) -> Float[Array, "sampled example output"]:
    """Return theta_i x of every example, from the coefficients of theta_i."""
    clients = clients_of(gram, batch)
    rows = gram[clients[:, None], batch.rows]  # [sampled, example, stored example]
    return jnp.einsum("qmn,qnk->qmk", rows, local[clients])


def within(gram: Float[Array, "client stored stored"], batch: Batch) -> Float[Array, "sampled example example"]:
    """Return the products of the examples of every client's minibatch with each other."""
    assert batch.rows is not None
    return gram[clients_of(gram, batch)[:, None, None], batch.rows[:, :, None], batch.rows[:, None, :]]
