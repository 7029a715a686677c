"""MovieLens by user: splits and the task, on a small u.data of our own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checked_task import program, wrong_fields
from tiny_ratings import SMALL, USERS

from bench.data.files import DataFiles
from bench.data.tasks import movielens as module
from bench.data.tasks.movielens import movielens, numbered, split
from bench.errors import InputError


def triples(ratings, mean=0.0):
    """The ratings as a set, centred values made whole again."""
    values = ratings.rating + (mean[ratings.user] if np.ndim(mean) else mean)
    return {(int(u), int(f), round(float(r))) for u, f, r in zip(ratings.user, ratings.film, values, strict=True)}


# ---- The table ----


def test_users_and_films_are_numbered_without_gaps_in_their_own_order(table):
    ratings = numbered(table)
    np.testing.assert_array_equal(ratings.user, (table[:, 0] - 2) // 3)
    np.testing.assert_array_equal(np.unique(ratings.film), np.arange(len(np.unique(table[:, 1]))))
    assert (np.argsort(ratings.film, kind="stable") == np.argsort(table[:, 1], kind="stable")).all()
    np.testing.assert_array_equal(ratings.rating, table[:, 2])


# ---- The split ----


@pytest.mark.parametrize("trial", [0, 1])
def test_training_and_test_are_disjoint_and_together_everything(table, trial):
    ratings = numbered(table)
    fold = split(ratings, trial)
    train, test = triples(fold.train, fold.mean), triples(fold.test, fold.mean)
    assert not train & test
    assert train | test == triples(ratings)
    other = split(ratings, trial + 1)
    assert triples(other.test, other.mean) != test
    counts, held = np.bincount(ratings.user), np.bincount(fold.test.user)
    np.testing.assert_array_equal(held, np.round(0.2 * counts))
    assert (np.diff(fold.train.user) >= 0).all()


def test_validation_splits_the_training_set_and_never_contains_a_test_rating(table):
    ratings = numbered(table)
    outer, inner = split(ratings, 3), split(ratings, 3, part="validation")
    test = triples(outer.test, outer.mean)
    train, validation = triples(inner.train, inner.mean), triples(inner.test, inner.mean)
    assert not (train | validation) & test
    assert not train & validation
    assert train | validation == triples(outer.train, outer.mean)
    np.testing.assert_array_equal(np.bincount(inner.test.user), np.round(0.2 * np.bincount(outer.train.user)))


def test_ratings_are_centred_by_the_users_own_training_ratings(table):
    ratings = numbered(table)
    fold = split(ratings, 0)
    for user in range(USERS):
        mine = fold.train.rating[fold.train.user == user]
        assert abs(mine.mean()) < 1e-12
        whole = triples(fold.train, fold.mean)
        assert fold.mean[user] == pytest.approx(np.mean([r for u, _, r in whole if u == user]))


def test_a_test_rating_moves_nothing_that_is_trained_on(here, tmp_path, monkeypatch):
    """One test rating changed: inputs, targets, graph and curvature stay; one validation rating the same inside."""
    for part in module.PARTS:
        ratings, copy = module._ratings(DataFiles())
        fold = split(ratings, 0, part=part)
        before = movielens(0, part=part, **SMALL)
        row = np.flatnonzero((ratings.user == fold.test.user[0]) & (ratings.film == fold.test.film[0]))
        other = ratings.rating.copy()
        other[row] = other[row] % 5 + 1
        changed = ratings._replace(rating=other)
        with monkeypatch.context() as patch:
            module._prepared.cache_clear()
            patch.setattr(module, "_ratings", lambda data_files, changed=changed, copy=copy: (changed, copy))
            after = movielens(0, part=part, **SMALL)
        module._prepared.cache_clear()
        for name in ("train", "peers", "num_examples"):
            jax.tree.map(np.testing.assert_array_equal, getattr(before, name), getattr(after, name))
        assert not np.array_equal(before.evaluation["test"][1], after.evaluation["test"][1])


# ---- The task ----


def test_examples_are_the_features_of_the_films_a_user_rated(here):
    task = movielens(1, **SMALL)
    assert wrong_fields(task) == []
    fold, features, _ = module._prepared(DataFiles(), 1, "test", 3, rank=3, sweeps=4)
    for ours, part in ((task.train, fold.train), (task.evaluation["test"], fold.test)):
        inputs, targets = (np.asarray(leaf) for leaf in ours[:2])
        for user in range(USERS):
            mine = part.user == user
            np.testing.assert_allclose(inputs[user, : mine.sum()], features[part.film[mine]], rtol=1e-6)
            np.testing.assert_allclose(targets[user, : mine.sum()], part.rating[mine], rtol=1e-6)
            assert not inputs[user, mine.sum() :].any()
            assert not targets[user, mine.sum() :].any()
    np.testing.assert_array_equal(task.num_examples, np.bincount(fold.train.user))
    assert task.source == "MovieLens-100K (user files)"
    assert task.linear.lipschitz == (np.inf, np.inf)


def test_smoothness_is_the_curvature_of_each_users_objective(here):
    task = movielens(0, **SMALL)
    params = jnp.zeros(3)

    def own(theta, user):
        sizes = task.num_examples[user].astype(jnp.float32)
        losses = jax.vmap(lambda x, y: task.loss(theta, jnp.zeros(3), (x, y)))(*(leaf[user] for leaf in task.train))
        return jnp.sum(losses) / sizes + task.peers.regularization[user] * theta @ theta  # padding: input and target 0

    hessians = jax.jit(jax.vmap(jax.hessian(own), (None, 0)))(params, jnp.arange(USERS))
    np.testing.assert_allclose(task.peers.smoothness, np.linalg.eigvalsh(hessians)[:, -1], rtol=1e-4)
    np.testing.assert_allclose(task.peers.regularization, 1 / np.asarray(task.num_examples), rtol=1e-6)


def test_all_trials_and_both_parts_are_one_program(here):
    tasks = [movielens(trial, part=part, **SMALL) for trial in (0, 1) for part in module.PARTS]
    assert all(program(task) == program(tasks[0]) for task in tasks)
    assert movielens(0, **SMALL | {"sweeps": 3}).checksum != tasks[0].checksum


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"part": "tets"}, "no part is called 'tets'"),
        ({"num_neighbors": 12}, "num_neighbors = 12: with 12 clients"),
    ],
)
def test_bad_values_are_refused_in_one_line(here, args, said):
    with pytest.raises(InputError, match=said) as error:
        movielens(0, **SMALL | args)
    assert "\n" not in str(error.value)
