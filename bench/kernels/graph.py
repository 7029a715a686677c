"""Weighted graphs of clients as padded lists of neighbours: work and memory grow with the edges, not with clients^2."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Float32, Int, Int32

DENSE = 1024  # number of clients up to which solving with a matrix of clients x clients is faster


class Graph(NamedTuple):
    """A symmetric weighted graph without loops.

    neighbors: an empty slot holds the client's own number.
    weights: W_ij; 0 in an empty slot.
    reverse: the slot in which the neighbour lists this client; 0 in an empty slot.
    """

    neighbors: Int32[Array, "client slot"]
    weights: Float32[Array, "client slot"]
    reverse: Int32[Array, "client slot"]

    @property
    def degrees(self) -> Float32[Array, " client"]:
        """Return D_ii = sum_j W_ij."""
        return self.weights.sum(1)

    @property
    def num_neighbors(self) -> Int32[Array, " client"]:
        """Return |N_i|."""
        return jnp.sum(self.weights > 0, axis=1, dtype=jnp.int32)


def neighbor_sum(graph: Graph, models: Float[Array, "client feature"]) -> Float[Array, "client feature"]:
    """Return sum_j W_ij theta_j for every client."""
    return jnp.einsum("nk,nkd->nd", graph.weights, models[graph.neighbors], precision="highest")


def roughness(graph: Graph, models: Float[Array, "client feature"]) -> Float[Array, ""]:
    """Return sum_{i<j} W_ij |theta_i - theta_j|^2.

    Up to DENSE clients it is computed as theta^T (D - W) theta: under vmap that is one product of matrices, ten times
    faster.
    """
    if models.shape[0] <= DENSE:
        laplacian = jnp.diag(graph.degrees) - dense(graph)
        return jnp.sum(models * jnp.matmul(laplacian, models, precision="highest"))
    squares = jnp.sum(jnp.square(models[:, None] - models[graph.neighbors]), axis=-1)
    return 0.5 * jnp.sum(graph.weights * squares)


def dense(graph: Graph) -> Float[Array, "client client"]:
    """Return W as a matrix; for small graphs."""
    num_clients = graph.weights.shape[0]
    rows = jnp.broadcast_to(jnp.arange(num_clients)[:, None], graph.neighbors.shape)
    return jnp.zeros((num_clients, num_clients)).at[rows, graph.neighbors].add(graph.weights)


def propagate(
    graph: Graph,
    local: Float[Array, "client feature"],
    anchor: Float[Array, " client"],
    *,
    tolerance: float = 1e-5,
) -> Float[Array, "client feature"]:
    """Return the models that minimise sum_{i<j} W_ij |theta_i - theta_j|^2 + sum_i D_ii a_i |theta_i - local_i|^2.

    They solve (D - W + D a) theta = D a local: directly up to DENSE clients, where that is faster under vmap, and by
    conjugate gradients above, with one product with W an iteration.

    Args:
        graph: connected.
        local: the models to smooth.
        anchor: a_i >= 0, not all 0.
        tolerance: of the residual of conjugate gradients, relative to the right side.
    """
    degrees = graph.degrees[:, None]
    pull = degrees * anchor[:, None]
    if local.shape[0] <= DENSE:
        system = jnp.diag((degrees + pull)[:, 0]) - dense(graph)
        return jax.scipy.linalg.solve(system, pull * local, assume_a="pos")

    def product(models):
        return (degrees + pull) * models - neighbor_sum(graph, models)

    # With Jacobi's preconditioner the number of iterations does not depend on how unequal the degrees are.
    solution, _ = jax.scipy.sparse.linalg.cg(
        product, pull * local, x0=local, tol=tolerance, maxiter=1000, M=lambda x: x / (degrees + pull)
    )
    return solution


def confidence(num_examples: Int[Array, " client"]) -> Float[Array, " client"]:
    """Return c_i = m_i / max_j m_j; a client without examples counts as having a hundredth of an example."""
    sizes = jnp.maximum(num_examples.astype(jnp.float32), 0.01)
    return sizes / jnp.max(sizes)
