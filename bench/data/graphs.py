"""Graphs of clients: functions that make sparse weight matrices, and their conversion to a Graph.

Every function that makes weights returns a symmetric scipy.sparse matrix with zero diagonal. `from_weights` checks such
a matrix, or a user's own, and converts it to the Graph that algorithms use. All of this runs on the host.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from bench.errors import InputError
from bench.kernels.graph import Graph

TOLERANCE = 1e-6  # of W_ij and W_ji relative to the largest weight, to allow for rounding


def from_weights(weights, *, slots: int = 0) -> Graph:
    """Build a graph from its weights, in time and memory linear in the number of edges.

    Args:
        weights: W, symmetric, non-negative, zero on the diagonal, connected; dense or scipy.sparse [client, client].
        slots: length of the neighbour lists, so that graphs of other trials share one shape; by default, and at
            least, the largest number of neighbours.

    Raises:
        InputError: W is not such a matrix, or some client cannot be reached from some other. Weights below
            the smallest float32 count as 0.
    """
    shape = np.shape(weights)  # of a sparse matrix, too
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError("graph: the weights are not a square matrix: give W_ij for every pair of clients.")
    matrix: Any = sparse.csr_matrix(weights, dtype=np.float64, copy=True)  # SciPy has no annotations
    matrix.sum_duplicates()
    with np.errstate(over="ignore"):
        narrow = matrix.data.astype(np.float32)
    _refuse(matrix, ~np.isfinite(narrow), "not finite", "weights are finite numbers")
    _refuse(matrix, matrix.data < 0, "negative", "weights are similarities, 0 for none")
    if matrix.diagonal().any():
        client = int(np.flatnonzero(matrix.diagonal())[0])
        raise InputError(f"graph: client {client} is its own neighbour: set the diagonal to 0.")
    gap = abs(matrix - matrix.T).tocoo()
    if gap.nnz and gap.data.max() > TOLERANCE * matrix.data.max():
        i, j = gap.row[gap.data.argmax()], gap.col[gap.data.argmax()]
        raise InputError(f"graph: W[{i}, {j}] differs from W[{j}, {i}]: make it symmetric, (W + W^T) / 2.")
    matrix = ((matrix + matrix.T) / 2).astype(np.float32)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    _refuse_pieces(matrix)
    return _pack(matrix, slots)


def _refuse(matrix, wrong: np.ndarray, fault: str, remedy: str) -> None:
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        i = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise InputError(f"graph: W[{i}, {matrix.indices[entry]}] = {matrix.data[entry]:g} is {fault}: {remedy}.")


def _refuse_pieces(matrix) -> None:
    count, labels = connected_components(matrix, directed=False)
    isolated = np.flatnonzero(np.diff(matrix.indptr) == 0)
    if not len(isolated) and count == 1:
        return
    apart = np.argmax(labels != labels[0])
    example = f"client {isolated[0]} has no neighbour" if len(isolated) else f"no path joins clients 0 and {apart}"
    raise InputError(f"graph: it has {count} components ({example}): add edges, or keep the largest component.")


def _pack(matrix, slots: int) -> Graph:
    """Return padded lists of a checked matrix with sorted rows and no stored zeros."""
    count, starts, columns = matrix.shape[0], matrix.indptr, matrix.indices
    sizes = np.diff(starts)
    rows = np.repeat(np.arange(count), sizes)
    slot = np.arange(len(columns)) - starts[rows]
    # The transpose has the same pattern, so its k-th entry is the twin (j, i) of the k-th entry (i, j).
    twin = sparse.csr_matrix((slot, columns, starts), matrix.shape).T.tocsr()
    twin.sort_indices()
    shape = (count, max(slots, int(sizes.max())))
    neighbors = np.repeat(np.arange(count, dtype=np.int32)[:, None], shape[1], axis=1)
    weights, reverse = np.zeros(shape, np.float32), np.zeros(shape, np.int32)
    neighbors[rows, slot], weights[rows, slot], reverse[rows, slot] = columns, matrix.data, twin.data
    return Graph(jnp.asarray(neighbors), jnp.asarray(weights), jnp.asarray(reverse))


def by_angle(models: np.ndarray, *, width: float):
    """Return weights exp((cos(angle) - 1) / width) between clients' models, without the small ones.

    Weights of at least max(W) 10^(-k/2) are kept, for the smallest k = 1, 2, ... at which the graph is connected, and
    divided by their mean row sum, so that the mean of D_ii is 1.

    Args:
        models: [client, coordinate], none 0.
        width: gamma > 0.

    Source: Vanhaesebrouck, Bellet and Tommasi 2017, section 5; the cut and the scale are those of the authors' program.
    """
    unit = models / np.linalg.norm(models, axis=1, keepdims=True)
    weights = np.exp((unit @ unit.T - 1) / width)
    np.fill_diagonal(weights, 0)
    k, threshold = 0, np.inf
    while threshold > 0:  # it underflows in the end, and then all are kept
        k += 1
        threshold = weights.max() * 10.0 ** (-k / 2)
        graph = sparse.csr_matrix(np.where(weights >= threshold, weights, 0))
        if connected_components(graph, directed=False)[0] == 1:
            break
    return graph * (len(models) / (graph.sum() or 1.0))  # `from_weights` refuses weights of sum 0


def nearest_neighbors(vectors, *, num_neighbors: int):
    """Return weights 1 between clients of which either is among the other's nearest by cosine.

    A client whose vector is 0 has cosine 0 with everybody; among equals the first is the nearest. Work and memory grow
    as clients^2.

    Args:
        vectors: [client, coordinate], dense or scipy.sparse.
        num_neighbors: the number k of nearest clients that each client chooses, 1 <= k < clients; a client may have
            more neighbours, which chose it.

    Raises:
        InputError: k is out of range.
    """
    count = vectors.shape[0]
    if not 1 <= num_neighbors < count:
        raise InputError(f"num_neighbors = {num_neighbors}: with {count} clients it is between 1 and {count - 1}.")
    vectors = sparse.csr_matrix(vectors, dtype=np.float64)
    norms = sparse.linalg.norm(vectors, axis=1)
    unit: Any = sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ vectors
    cosine = (unit @ unit.T).toarray()
    np.fill_diagonal(cosine, -np.inf)
    columns = np.argsort(-cosine, axis=1, kind="stable")[:, :num_neighbors].ravel()
    rows = np.repeat(np.arange(count), num_neighbors)
    named = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), (count, count))
    return named.maximum(named.T)
