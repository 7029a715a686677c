"""Graphs of clients: packing against dense matrices, what is refused, and the makers of weights."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse
from tiny_peers import ring_with_chords, weights_of

from bench.data.graphs import by_angle, from_weights, nearest_neighbors
from bench.errors import InputError
from bench.kernels import graph as kernel
from bench.kernels.graph import confidence, neighbor_sum, propagate, roughness


def connected(seed, count=12, density=0.3):
    """A dense symmetric matrix of weights: a ring, so that it is connected, and random chords."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((count, count)) * (rng.random((count, count)) < density), 1)
    upper[np.arange(count - 1), np.arange(1, count)] = 0.5 + rng.random(count - 1)
    return upper + upper.T


# ---- Packing ----


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.coo_array, sparse.csc_matrix])
@pytest.mark.parametrize("slots", [0, 13])
def test_a_graph_holds_the_weights_it_was_made_of(form, slots):
    weights = connected(0)
    graph = from_weights(form(weights), slots=slots)
    np.testing.assert_allclose(weights_of(graph), weights, rtol=1e-6)
    np.testing.assert_allclose(graph.degrees, weights.sum(1), rtol=1e-6)
    np.testing.assert_array_equal(graph.num_neighbors, (weights > 0).sum(1))
    assert graph.neighbors.shape[1] == max(slots, (weights > 0).sum(1).max())


def test_reverse_is_the_slot_in_which_the_neighbour_lists_this_client():
    graph = from_weights(connected(1), slots=13)
    neighbors, weights, reverse = (np.asarray(leaf) for leaf in graph)
    for i in range(len(neighbors)):
        for slot in range(13):
            if weights[i, slot] > 0:
                j = neighbors[i, slot]
                assert neighbors[j, reverse[i, slot]] == i
                assert weights[j, reverse[i, slot]] == weights[i, slot]
            else:
                assert neighbors[i, slot] == i
                assert reverse[i, slot] == 0


def test_stored_zeros_and_repeated_entries_of_a_sparse_matrix_make_no_edges_of_their_own():
    rows, columns, values = [0, 1, 0, 1, 1, 2, 0, 2], [1, 0, 1, 0, 2, 1, 2, 0], [1, 1, 2, 2, 4, 4, 0, 0]
    graph = from_weights(sparse.coo_matrix((values, (rows, columns)), (3, 3)))
    np.testing.assert_array_equal(weights_of(graph), [[0, 3, 0], [3, 0, 4], [0, 4, 0]])
    assert graph.num_neighbors.tolist() == [1, 2, 1]


def test_rounding_does_not_make_a_graph_directed():
    weights = connected(2)
    graph = from_weights(weights + np.triu(1e-12 * weights))
    np.testing.assert_array_equal(weights_of(graph), weights_of(graph).T)


@pytest.mark.parametrize("slots", [0, 15])
@pytest.mark.parametrize("largest", [1024, 0], ids=["by a product", "by edges"])
def test_sums_over_neighbours_are_products_with_the_matrix(slots, largest, monkeypatch):
    monkeypatch.setattr(kernel, "DENSE", largest)
    weights = connected(3)
    graph = from_weights(weights, slots=slots)
    models = np.random.default_rng(4).standard_normal((12, 3)).astype(np.float32)
    np.testing.assert_allclose(neighbor_sum(graph, jnp.asarray(models)), weights @ models, rtol=1e-5, atol=1e-6)
    pairs = [(i, j) for i in range(12) for j in range(i)]
    rough = sum(weights[i, j] * np.sum((models[i] - models[j]) ** 2) for i, j in pairs)
    assert float(roughness(graph, jnp.asarray(models))) == pytest.approx(rough, rel=1e-5)
    laplacian = np.diag(weights.sum(1)) - weights
    assert rough == pytest.approx(np.trace(models.T @ laplacian @ models), rel=1e-5)


@pytest.mark.parametrize("largest", [1024, 0], ids=["directly", "by conjugate gradients"])
@pytest.mark.parametrize("anchored", [12, 3])
def test_propagation_is_the_dense_solution(anchored, largest, monkeypatch):
    """Also where most clients have no anchor, and their models come from the others alone."""
    monkeypatch.setattr(kernel, "DENSE", largest)
    weights, rng = connected(5), np.random.default_rng(6)
    local = rng.standard_normal((12, 2))
    anchor = np.where(np.arange(12) < anchored, 0.04 + rng.random(12), 0)
    degrees = weights.sum(1)
    closed = np.linalg.solve(np.diag(degrees * (1 + anchor)) - weights, (degrees * anchor)[:, None] * local)
    found = propagate(from_weights(weights), jnp.asarray(local, jnp.float32), jnp.asarray(anchor, jnp.float32))
    np.testing.assert_allclose(found, closed, atol=2e-5)


def test_confidence_is_the_share_of_the_largest_and_small_but_not_0_without_examples():
    np.testing.assert_allclose(confidence(jnp.array([50, 100, 10])), [0.5, 1, 0.1])
    some = np.asarray(confidence(jnp.array([0, 1, 100])))
    assert 0 < some[0] < some[1]
    np.testing.assert_allclose(confidence(jnp.array([0, 0])), 1)


def test_a_hundred_thousand_clients_fit():
    """A matrix of clients by clients would take 80 GB."""
    graph = from_weights(ring_with_chords(100_000, 10))
    assert graph.neighbors.shape == (100_000, 10)
    assert int(graph.num_neighbors.min()) > 6


# ---- What is refused ----


def entry(i, j, value, both=True):
    weights = connected(7)
    weights[i, j] = value
    if both:
        weights[j, i] = value
    return weights


def apart(*sizes):
    return sparse.block_diag([sparse.coo_array(np.ones((n, n)) - np.eye(n)) for n in sizes])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.ones((2, 3)), "not a square matrix"),
        (entry(1, 4, -0.5), r"W\[1, 4\] = -0.5 is negative"),
        (entry(2, 5, np.nan), r"W\[2, 5\] = nan is not finite"),
        (entry(3, 3, 1.0), "client 3 is its own neighbour"),
        (entry(1, 2, 0.123, both=False), "differs from .* make it symmetric"),
        (apart(3, 2, 4), r"3 components \(no path joins clients 0 and 3\): add edges, or keep the largest"),
        (apart(3, 1), r"2 components \(client 3 has no neighbour\)"),
        (1e-60 * connected(8), r"12 components"),
    ],
)
def test_a_matrix_that_is_no_graph_is_refused(weights, said, form):
    with pytest.raises(InputError, match=said):
        from_weights(form(weights.toarray() if sparse.issparse(weights) else weights))


# ---- Makers of weights ----


ANGLES = np.array([0, 0.1, 2.0, 2.1])  # at the first cut only the two pairs are joined


@pytest.mark.parametrize(
    "models",
    [np.random.default_rng(0).standard_normal((30, 2)), np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)],
    ids=["at random", "far apart"],
)
def test_weights_by_angle_are_the_formula_cut_where_the_graph_is_connected_and_have_mean_degree_1(models):
    count = len(models)
    kept = by_angle(models, width=0.1).toarray()
    full = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if i != j:
                cosine = models[i] @ models[j] / np.sqrt((models[i] @ models[i]) * (models[j] @ models[j]))
                full[i, j] = np.exp((cosine - 1) / 0.1)
    edges = kept > 0
    scale = kept[edges] / full[edges]
    np.testing.assert_allclose(scale, scale[0], rtol=1e-9)
    assert kept.sum(1).mean() == pytest.approx(1)
    cuts = [full.max() * 10 ** (-k / 2) for k in range(1, 40)]
    components = [sparse.csgraph.connected_components(full >= cut)[0] for cut in cuts]
    np.testing.assert_array_equal(edges, full >= cuts[components.index(1)])


def test_weights_by_angle_that_underflow_are_said_to_be_disconnected():
    with pytest.raises(InputError, match="2 components"):
        from_weights(by_angle(np.array([[1.0, 0], [1.0, 0.001], [-1.0, 0], [-1.0, 0.001]]), width=1e-4))
    with pytest.raises(InputError, match="2 components"):
        from_weights(by_angle(np.array([[1.0, 0], [-1.0, 0]]), width=1e-4))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_nearest_neighbours_are_those_of_a_double_loop(form):
    vectors = np.random.default_rng(1).standard_normal((30, 5))
    found = nearest_neighbors(form(vectors), num_neighbors=4).toarray()
    expected = np.zeros((30, 30))
    for i in range(30):
        cosines = {
            j: vectors[i] @ vectors[j] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j])
            for j in range(30)
            if j != i
        }
        for j in sorted(cosines, key=cosines.get)[-4:]:
            expected[i, j] = expected[j, i] = 1
    np.testing.assert_array_equal(found, expected)
    assert (found.sum(1) >= 4).all()


def test_nearest_is_by_angle_not_by_length_and_zero_vectors_have_neighbours_too():
    vectors = np.array([[1.0, 0], [100.0, 1], [0, 1.0], [0, 0]])
    np.testing.assert_array_equal(
        nearest_neighbors(vectors, num_neighbors=1).toarray(), [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
    )
