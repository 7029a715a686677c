"""Noise that neighbours share: what it hides of an agent, in closed form and by taking agents out one at a time."""

import numpy as np
import pytest

from bench.privacy.pair_noise import covariance, hidden_from_one, hidden_from_outsiders


def random_graph(n: int, seed: int) -> np.ndarray:
    """A ring with chords, bool [agent, agent]."""
    near = np.roll(np.eye(n), 1, axis=0) + np.triu(np.random.default_rng(seed).random((n, n)) < 0.3, 1)
    return ((near + near.T) > 0) & ~np.eye(n, dtype=bool)


def laplacian_of(near: np.ndarray) -> np.ndarray:
    """By loops over pairs."""
    out = np.zeros(near.shape)
    for i in range(len(near)):
        for j in range(len(near)):
            if near[i, j]:
                out[i, i] += 1
                out[i, j] -= 1
    return out


@pytest.mark.parametrize("pair", [0.0, 0.5, 3.0, 300.0])
@pytest.mark.parametrize("n", [3, 16])
def test_on_a_ring_it_is_the_mean_of_the_inverse_eigenvalues(n, pair):
    near = np.roll(np.eye(n, dtype=bool), 1, axis=0) | np.roll(np.eye(n, dtype=bool), -1, axis=0)
    eigenvalues = 1 + pair**2 * (2 - 2 * np.cos(2 * np.pi * np.arange(n) / n))
    expected = np.mean(1 / eigenvalues) ** -0.5
    np.testing.assert_allclose(hidden_from_outsiders(np.ones(n), near, pair), expected, rtol=1e-8)
    assert 1 <= expected <= np.sqrt(n)  # from an agent's own noise to that of all together


def test_much_shared_noise_hides_an_agent_behind_the_noise_of_all():
    near = random_graph(9, 0)
    own = np.random.default_rng(1).uniform(1, 2, 9)
    np.testing.assert_allclose(hidden_from_outsiders(own, near, 1e3), np.sqrt(np.sum(own**2)), rtol=1e-4)


@pytest.mark.parametrize("pair", [0.0, 0.7, 5.0, 1000.0])
@pytest.mark.parametrize("seed", range(3))
def test_one_agent_who_knows_its_seeds_leaves_the_graph_without_it(seed, pair):
    near, own = random_graph(8, seed), np.random.default_rng(seed).uniform(1, 4, 8)
    least = np.full(8, np.inf)
    for k in range(8):
        others = np.delete(np.arange(8), k)
        rest = np.diag(own[others] ** 2) + pair**2 * laplacian_of(near[np.ix_(others, others)])
        least[others] = np.minimum(least[others], np.diagonal(np.linalg.inv(rest)) ** -0.5)
    found = hidden_from_one(own, near, pair)
    np.testing.assert_allclose(found, least, rtol=1e-6)
    assert np.all(own * (1 - 1e-9) <= found)
    assert np.all(found <= hidden_from_outsiders(own, near, pair) * (1 + 1e-9))


def test_who_knows_the_noise_of_all_pairs_is_left_with_an_agents_own():
    own = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(covariance(own, np.zeros((3, 3), bool), 5.0), np.diag(own**2))
    np.testing.assert_allclose(hidden_from_outsiders(own, np.zeros((3, 3), bool), 5.0), own)


def test_a_pair_hides_nothing_from_the_other_one_and_one_agent_alone_has_no_pair():
    both = np.array([[False, True], [True, False]])
    np.testing.assert_allclose(hidden_from_one(np.ones(2), both, 3.0), 1, rtol=1e-9)
    assert hidden_from_outsiders(np.ones(2), both, 3.0).min() > 1.3
    np.testing.assert_allclose(hidden_from_one(np.ones(1), np.zeros((1, 1), bool), 3.0), 1)
