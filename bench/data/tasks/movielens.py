"""MovieLens-100K by user: each user learns a linear model on shared features of the films.

A user's rating of a film, less the user's mean training rating, is predicted by <theta_i, phi_film>. Features come from
alternating least squares on all training ratings, and users with similar training ratings are neighbours in the graph.
The features, the graph, the centring and the curvature of each user's objective are computed from the private ratings
but treated as given: the privacy analysis covers only what is sent once they are fixed.

Source: Bellet et al. 2018, section 5 and appendix D; the features after Zhou et al. 2008 (ALS-WR).
"""

from functools import cache
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy import sparse

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.graphs import from_weights, nearest_neighbors
from bench.data.partition import PARTS, by_label, hold_out, stack
from bench.data.read import formats
from bench.data.task import Linear, Peers, Task, recipe_checksum
from bench.data.tasks.peers import mean_of_real, objective, scores
from bench.errors import check_name
from bench.models.linear import personal, squared, squared_loss

TEST_FRACTION = 0.2  # share of a user's ratings held out, at least one rating
RIDGE = 0.1  # of the features, as weighted by numbers of ratings
# Length of the neighbour lists: with ten nearest neighbours the longest of 80 splits was 72. A graph with longer lists
# needs a separately compiled program.
SLOTS = 88


class FilmRatings(NamedTuple):
    """Users, films and ratings; users and films are numbered from 0 without gaps."""

    user: np.ndarray
    film: np.ndarray
    rating: np.ndarray

    def select(self, index) -> "FilmRatings":
        return FilmRatings(self.user[index], self.film[index], self.rating[index])


class Fold(NamedTuple):
    """One split of the ratings, and the means of its training ratings.

    train, test: ordered by user, ratings less the user's mean in `train`.
    mean: that mean, [user].
    """

    train: FilmRatings
    test: FilmRatings
    mean: np.ndarray


def numbered(table: np.ndarray) -> FilmRatings:
    """Return the ratings of a table int [rating, 4], as from `formats.movielens`."""
    user, film = (np.unique(column, return_inverse=True)[1] for column in table.T[:2])
    return FilmRatings(user, film, table[:, 2].astype(np.float64))


@cache
def _ratings(data_files: DataFiles) -> tuple[FilmRatings, LocalCopy]:
    copy = retrieval.get("movielens_100k", data_files)
    return numbered(formats.movielens(copy)), copy


def split(ratings: FilmRatings, trial: int, *, part: str = "test") -> Fold:
    """Split each user's ratings at random into training and test; for validation, split each training set once more."""
    rng = np.random.default_rng([trial, 0x30F1E5])
    halves = [hold_out(rows, TEST_FRACTION, rng) for rows in by_label(ratings.user)]
    if part == "validation":
        halves = [hold_out(train, TEST_FRACTION, rng) for train, _ in halves]
    train, test = (ratings.select(np.concatenate(half)) for half in zip(*halves, strict=True))
    mean = np.bincount(train.user, train.rating) / np.bincount(train.user)
    return Fold(*(half._replace(rating=half.rating - mean[half.user]) for half in (train, test)), mean)


def factors(
    ratings: FilmRatings, shape: tuple[int, int], *, rank: int, ridge: float, sweeps: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute alternating least squares: vectors u of users and f of films that minimise, one half at a time,

        sum (r - <u, f>)^2 + ridge (sum_users n_u |u|^2 + sum_films n_f |f|^2),

    with n the number of ratings. A film or user without ratings gets 0.

    Args:
        ratings: to fit.
        shape: numbers of users and films.
        rank: length of the vectors.
        ridge: > 0.
        sweeps: the number of times that both halves are solved, users first.
        seed: of the films' vectors at the start.

    Returns:
        u [user, rank], f [film, rank].
    """
    values = sparse.csr_matrix((ratings.rating, (ratings.user, ratings.film)), shape)
    rated = sparse.csr_matrix((np.ones(len(ratings.user)), (ratings.user, ratings.film)), shape)
    of_users, of_films = (values, rated), (values.T.tocsr(), rated.T.tocsr())

    def solve(sides, fixed_factors):
        values, rated = sides
        outer = (fixed_factors[:, :, None] * fixed_factors[:, None, :]).reshape(len(fixed_factors), -1)
        load = ridge * np.maximum(np.diff(rated.indptr), 1)
        system = (rated @ outer).reshape(-1, rank, rank) + load[:, None, None] * np.eye(rank)
        return np.linalg.solve(system, (values @ fixed_factors)[..., None])[..., 0]

    films = np.random.default_rng([seed, 0xA15]).standard_normal((shape[1], rank)) / np.sqrt(rank)
    for _ in range(sweeps):
        users = solve(of_users, films)
        films = solve(of_films, users)
    return users, films


@cache
def _prepared(data_files: DataFiles, trial: int, part: str, num_neighbors: int, rank: int, sweeps: int):
    """Return everything that takes seconds on the host: the fold, the films' features, and the weights of the graph."""
    ratings, _ = _ratings(data_files)
    shape = int(ratings.user.max()) + 1, int(ratings.film.max()) + 1
    fold = split(ratings, trial, part=part)
    train = fold.train
    _, features = factors(train, shape, rank=rank, ridge=RIDGE, sweeps=sweeps, seed=trial)
    vectors = sparse.csr_matrix((train.rating, (train.user, train.film)), shape)
    return fold, features, nearest_neighbors(vectors, num_neighbors=num_neighbors)


def movielens(
    trial: int,
    *,
    part: str = "test",
    rank: int = 20,
    sweeps: int = 20,
    num_neighbors: int = 10,
) -> Task:
    """Rating prediction for the 943 users of MovieLens-100K, with 20 to 737 ratings each.

    All trials and both parts share all shapes (see SLOTS). lambda_i = 1/m_i, and the smoothness is the true one of
    each user's examples, 2 lambda_max(Phi_i^T Phi_i) / m_i + 2 lambda_i. Gradients are unbounded, so private methods
    clip them.

    Args:
        trial: the number of the split and of the start of alternating least squares.
        part: "test": 80 % of each user's ratings to train on, the others to test on. "validation": 80 % of those
            80 %, tested on their rest; means, features and graph are those of the smaller training set, so that nothing
            depends on a test rating.
        rank, sweeps: of the features, see `factors`.
        num_neighbors: the number of nearest users by cosine of their centred training ratings that each user is joined
            with.

    Raises:
        InputError: another part, or no u.data.
    """
    check_name("part", part, PARTS)
    data_files = DataFiles()
    ratings, copy = _ratings(data_files)
    fold, features, weights = _prepared(data_files, trial, part, num_neighbors, rank, sweeps)
    largest = int(np.bincount(ratings.user).max())
    num_held_out = max(1, round(TEST_FRACTION * largest))
    inputs, targets, sizes = _by_user(fold.train, features, largest - num_held_out)
    features_of_user, counts = np.asarray(inputs), np.asarray(sizes)
    gram = features_of_user.transpose(0, 2, 1) @ features_of_user
    regularization = 1 / counts
    # True and "centred" were options once.
    recipe = (copy.checksum, rank, RIDGE, True, sweeps, num_neighbors, "centred", TEST_FRACTION)
    return Task(
        init_params=jnp.zeros(rank),
        num_examples=sizes,
        train=(inputs, targets),
        evaluation={"test": _by_user(fold.test, features, num_held_out)},
        peers=Peers(
            graph=from_weights(weights, slots=SLOTS),
            regularization=jnp.asarray(regularization, jnp.float32),
            smoothness=jnp.asarray(2 * np.linalg.eigvalsh(gram)[:, -1] / counts + 2 * regularization, jnp.float32),
            budget=jnp.ones(len(sizes)),
        ),
        loss=squared_loss,
        linear=Linear(squared),
        metrics=rmse,
        name="movielens",
        source=f"MovieLens-100K ({copy.source})",
        checksum=recipe_checksum(recipe),
    )


def _by_user(ratings: FilmRatings, features: np.ndarray, capacity: int):
    """Return features float32 [user, capacity, rank] and ratings [user, capacity] of each user, padded with 0, and
    their numbers.
    """
    inputs, targets = features[ratings.film].astype(np.float32), ratings.rating.astype(np.float32)
    return stack([(inputs[rows], targets[rows]) for rows in by_label(ratings.user)], capacity)


def rmse(params, task: Task) -> dict:
    """Return the root mean squared error of the test ratings, by user and then averaged over users, and the objective.

    test_rmse: of the models.
    user_mean_rmse: of each user's mean training rating, theta = 0, which uses no features of films.
    objective: see `bench.data.tasks.peers.objective`.
    """
    inputs, ratings, sizes = task.evaluation["test"]

    def error(predictions):
        return jnp.mean(jnp.sqrt(mean_of_real(jnp.square(predictions - ratings), sizes)))

    return {
        "test_rmse": error(scores(personal(params, task.num_clients), inputs)),
        "user_mean_rmse": error(jnp.zeros_like(ratings)),
        "objective": objective(params, task),
    }
