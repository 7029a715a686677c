"""The features of MovieLens' films by alternating least squares, and the graph of its users."""

import numpy as np
from tiny_peers import dense
from tiny_ratings import SMALL, USERS

from bench.data.files import DataFiles
from bench.data.graphs import nearest_neighbors
from bench.data.tasks import movielens as module
from bench.data.tasks.movielens import factors, movielens, numbered, split


def als_objective(ratings, users, films, ridge):
    """By a loop over ratings."""
    total = 0.0
    for u, f, r in zip(ratings.user, ratings.film, ratings.rating, strict=True):
        total += (r - users[u] @ films[f]) ** 2
        total += ridge * (users[u] @ users[u] + films[f] @ films[f])
    return total


def test_alternating_least_squares_descends_to_a_stationary_point(table):
    ratings = split(numbered(table), 0).train
    shape = USERS, int(ratings.film.max()) + 1
    values = []
    for sweeps in (1, 2, 3, 5, 10, 2000):
        users, films = factors(ratings, shape, rank=3, ridge=0.1, sweeps=sweeps)
        values.append(als_objective(ratings, users, films, 0.1))
    assert (np.diff(values) < 0).all()
    for vectors in (users, films):
        for sign in (-1e-3, 1e-3):
            vectors[2, 1] += sign
            assert als_objective(ratings, users, films, 0.1) > values[-1]
            vectors[2, 1] -= sign


def test_a_sweep_solves_for_films_given_users_one_by_one(table):
    ratings = split(numbered(table), 0).train
    shape = USERS, int(ratings.film.max()) + 3  # two films that nobody rated
    users, films = factors(ratings, shape, rank=3, ridge=0.1, sweeps=2)
    for film in range(shape[1] - 2):
        mine = ratings.film == film
        u, r = users[ratings.user[mine]], ratings.rating[mine]
        np.testing.assert_allclose(films[film], np.linalg.solve(u.T @ u + 0.1 * mine.sum() * np.eye(3), u.T @ r))
    assert (films[-2:] == 0).all()


def test_the_graph_joins_users_whose_training_ratings_are_nearest(here):
    task = movielens(0, **SMALL)
    ratings, _ = module._ratings(DataFiles())
    fold = split(ratings, 0)
    vectors = np.zeros((USERS, int(ratings.film.max()) + 1))
    vectors[fold.train.user, fold.train.film] = fold.train.rating
    expected = nearest_neighbors(vectors, num_neighbors=3).toarray()
    np.testing.assert_array_equal(dense(task), expected)
