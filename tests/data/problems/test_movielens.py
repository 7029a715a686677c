"""MovieLens by user: splits, features, graph, scores and damaged tables, on a small u.data of our own."""

import hashlib
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import linalg
from tiny_data import stand_in, write

from bench.data.graphs import nearest_neighbors
from bench.data.problems import movielens as module
from bench.data.problems.movielens import checked, factors, movielens, split
from bench.errors import InputError
from bench.kernels.graph import confidence
from bench.models.linear import Personal

pytestmark = pytest.mark.usefixtures("quick_compilation")

USERS, FILMS = 12, 30
SMALL = {"rank": 3, "num_neighbors": 3, "sweeps": 4}


def made_up(seed=0):
    """A table like u.data: 12 users with 10 to 25 of 30 films each, in random order, numbers with gaps."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(USERS):
        for film in rng.permutation(FILMS)[: rng.integers(10, 26)]:
            rows.append((3 * user + 2, 5 * film + 1, rng.integers(1, 6), 880_000_000 + len(rows)))
    return rng.permutation(np.array(rows))


def lines(table):
    return "".join("\t".join(map(str, row)) + "\n" for row in table.tolist()).encode()


@pytest.fixture(scope="module")
def table():
    return made_up()


@pytest.fixture(autouse=True)
def forget():
    """Nothing that one test prepared is there for the next."""
    module._ratings.cache_clear()
    module._prepared.cache_clear()
    yield
    module._ratings.cache_clear()
    module._prepared.cache_clear()


@pytest.fixture
def here(table, tmp_path, monkeypatch):
    """The made-up table where BENCH_DATA points."""
    files = stand_in(monkeypatch, "movielens_100k", {"u.data": lines(table)})
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_DATA", str(write(tmp_path / "mine", files)))
    return files


@jax.jit
def scores(params, task):
    return task.metrics(params, task)


def triples(ratings, mean=0.0):
    """The ratings as a set, centred values made whole again."""
    values = ratings.rating + (mean[ratings.user] if np.ndim(mean) else mean)
    return {(int(u), int(f), round(float(r))) for u, f, r in zip(ratings.user, ratings.film, values, strict=True)}


# ---- The table ----


def test_users_and_films_are_numbered_without_gaps_in_their_own_order(table):
    ratings = checked(table, "u.data")
    np.testing.assert_array_equal(ratings.user, (table[:, 0] - 2) // 3)
    np.testing.assert_array_equal(np.unique(ratings.film), np.arange(len(np.unique(table[:, 1]))))
    assert (np.argsort(ratings.film, kind="stable") == np.argsort(table[:, 1], kind="stable")).all()
    np.testing.assert_array_equal(ratings.rating, table[:, 2])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda t: t.__setitem__((6, 2), 0), "line 7: its rating is not 1 to 5"),
        (lambda t: t.__setitem__((8, 2), 6), "line 9: its rating is not 1 to 5"),
        (lambda t: t.__setitem__((4, 0), -1), "line 5: its user or film is not a number from 1 up"),
        (lambda t: t.__setitem__((4, 1), 0), "line 5: its user or film is not a number from 1 up"),
        (lambda t: t.__setitem__((5, slice(2)), t[2, :2]), "line 6: its user has rated that film on a line before"),
        (lambda t: t.__setitem__((3, 0), 1000), "line 4: its user has fewer than 3 ratings"),
    ],
)
def test_a_damaged_line_is_named(table, damage, said):
    table = table.copy()
    damage(table)
    with pytest.raises(InputError, match=f"folder/u.data: {said}: replace the file by the original") as error:
        checked(table, "folder/u.data")
    assert "\n" not in str(error.value)


def test_a_table_of_nobody_or_of_one_user_is_refused(table):
    with pytest.raises(InputError, match="no ratings: replace it"):
        checked(table[:0], "u.data")
    with pytest.raises(InputError, match="only one user: replace it"):
        checked(table[table[:, 0] == 2], "u.data")


def test_ratings_out_of_range_in_the_file_itself_are_refused(tmp_path, monkeypatch):
    table = made_up()
    table[10, 2] = 7
    files = stand_in(monkeypatch, "movielens_100k", {"u.data": lines(table)})
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_DATA", str(write(tmp_path / "mine", files)))
    with pytest.raises(InputError, match=r"u\.data: line 11: its rating is not 1 to 5"):
        movielens(0)


# ---- The split ----


@pytest.mark.parametrize("trial", [0, 1])
def test_training_and_test_are_disjoint_and_together_everything(table, trial):
    ratings = checked(table, "u.data")
    fold = split(ratings, trial)
    train, test = triples(fold.train, fold.mean), triples(fold.test, fold.mean)
    assert not train & test
    assert train | test == triples(ratings)
    counts, held = np.bincount(ratings.user), np.bincount(fold.test.user)
    np.testing.assert_array_equal(held, np.round(0.2 * counts))
    assert (np.diff(fold.train.user) >= 0).all()


def test_validation_splits_the_training_set_and_never_contains_a_test_rating(table):
    ratings = checked(table, "u.data")
    outer, inner = split(ratings, 3), split(ratings, 3, part="validation")
    test = triples(outer.test, outer.mean)
    train, validation = triples(inner.train, inner.mean), triples(inner.test, inner.mean)
    assert not (train | validation) & test
    assert not train & validation
    assert train | validation == triples(outer.train, outer.mean)
    np.testing.assert_array_equal(np.bincount(inner.test.user), np.round(0.2 * np.bincount(outer.train.user)))


def test_trials_split_differently_and_the_same_trial_the_same(table):
    ratings = checked(table, "u.data")
    folds = [split(ratings, trial) for trial in (0, 1, 0)]
    sets = [triples(fold.train, fold.mean) for fold in folds]
    assert sets[0] != sets[1]
    assert sets[0] == sets[2]


def test_ratings_are_centred_by_the_users_own_training_ratings(table):
    ratings = checked(table, "u.data")
    fold = split(ratings, 0)
    for user in range(USERS):
        mine = fold.train.rating[fold.train.user == user]
        assert abs(mine.mean()) < 1e-12
        whole = triples(fold.train, fold.mean)
        assert fold.mean[user] == pytest.approx(np.mean([r for u, _, r in whole if u == user]))


def test_a_test_rating_moves_nothing_that_is_trained_on(here, tmp_path, monkeypatch):
    """One test rating changed: inputs, targets, graph and curvature stay; one validation rating the same inside."""
    for part in module.PARTS:
        module._ratings.cache_clear()
        module._prepared.cache_clear()
        ratings, found = module._ratings()
        fold = split(ratings, 0, part=part)
        before = movielens(0, part=part, **SMALL)
        row = np.flatnonzero((ratings.user == fold.test.user[0]) & (ratings.film == fold.test.film[0]))
        other = ratings.rating.copy()
        other[row] = other[row] % 5 + 1
        changed = ratings._replace(rating=other)
        with monkeypatch.context() as patch:
            module._prepared.cache_clear()
            patch.setattr(module, "_ratings", lambda changed=changed, found=found: (changed, found))
            after = movielens(0, part=part, **SMALL)
        for name in ("train", "peers", "num_examples"):
            jax.tree.map(np.testing.assert_array_equal, getattr(before, name), getattr(after, name))
        assert not np.array_equal(before.evaluation["test"][1], after.evaluation["test"][1])


# ---- Features and graph ----


def als_objective(ratings, users, films, ridge, weighted):
    """By a loop over ratings."""
    total = 0.0
    for u, f, r in zip(ratings.user, ratings.film, ratings.rating, strict=True):
        total += (r - users[u] @ films[f]) ** 2
        total += ridge * (users[u] @ users[u] + films[f] @ films[f]) if weighted else 0
    return total if weighted else total + ridge * (np.sum(users**2) + np.sum(films**2))


@pytest.mark.parametrize("weighted", [True, False])
def test_alternating_least_squares_descends_to_a_stationary_point(table, weighted):
    ratings = split(checked(table, "u.data"), 0).train
    shape = USERS, int(ratings.film.max()) + 1
    args = {"rank": 3, "ridge": 0.1, "weighted": weighted}
    values = []
    for sweeps in (1, 2, 3, 5, 10, 2000):
        users, films = factors(ratings, shape, sweeps=sweeps, **args)
        values.append(als_objective(ratings, users, films, 0.1, weighted))
    assert (np.diff(values) < 0).all()
    for vectors in (users, films):
        for sign in (-1e-3, 1e-3):
            vectors[2, 1] += sign
            assert als_objective(ratings, users, films, 0.1, weighted) > values[-1]
            vectors[2, 1] -= sign


def test_a_sweep_solves_for_films_given_users_one_by_one(table):
    ratings = split(checked(table, "u.data"), 0).train
    shape = USERS, int(ratings.film.max()) + 3  # two films that nobody rated
    users, films = factors(ratings, shape, rank=3, ridge=0.1, sweeps=2)
    for film in range(shape[1] - 2):
        mine = ratings.film == film
        u, r = users[ratings.user[mine]], ratings.rating[mine]
        np.testing.assert_allclose(films[film], np.linalg.solve(u.T @ u + 0.1 * mine.sum() * np.eye(3), u.T @ r))
    assert (films[-2:] == 0).all()


def test_films_that_only_the_test_set_rates_have_features_of_0(here):
    table = made_up()
    film = table[0, 1]
    keep = (table[:, 1] != film) | (np.arange(len(table)) == 0)  # rated once
    ratings = checked(table[keep], "u.data")
    number = ratings.film[0]
    trial = next(t for t in range(100) if number not in split(ratings, t).train.film)
    _, films = factors(split(ratings, trial).train, (USERS, int(ratings.film.max()) + 1), rank=3, ridge=0.1, sweeps=3)
    assert (films[number] == 0).all()
    assert (np.abs(films).sum(1) == 0).sum() == 1


@pytest.mark.parametrize("similarity", ["centred", "raw"])
def test_the_graph_joins_users_whose_training_ratings_are_nearest(here, similarity):
    task = movielens(0, similarity=similarity, **SMALL)
    ratings, _ = module._ratings()
    fold = split(ratings, 0)
    vectors = np.zeros((USERS, int(ratings.film.max()) + 1))
    vectors[fold.train.user, fold.train.film] = fold.train.rating
    if similarity == "raw":
        vectors[fold.train.user, fold.train.film] += fold.mean[fold.train.user]
    expected = nearest_neighbors(vectors, num_neighbors=3).toarray()
    found = np.zeros((USERS, USERS))
    i, slot = np.nonzero(np.asarray(task.peers.graph.weights))
    found[i, np.asarray(task.peers.graph.neighbors)[i, slot]] = np.asarray(task.peers.graph.weights)[i, slot]
    np.testing.assert_array_equal(found, expected)


# ---- The task ----


def test_examples_are_the_features_of_the_films_a_user_rated(here):
    task = movielens(1, **SMALL)
    _, found = module._ratings()
    fold, features, _ = module._prepared(1, "test", 0.2, 3, "centred", rank=3, ridge=0.1, weighted=True, sweeps=4)
    for ours, part in ((task.train, fold.train), (task.evaluation["test"], fold.test)):
        inputs, targets = (np.asarray(leaf) for leaf in ours[:2])
        for user in range(USERS):
            mine = part.user == user
            np.testing.assert_allclose(inputs[user, : mine.sum()], features[part.film[mine]], rtol=1e-6)
            np.testing.assert_allclose(targets[user, : mine.sum()], part.rating[mine], rtol=1e-6)
            assert not inputs[user, mine.sum() :].any()
            assert not targets[user, mine.sum() :].any()
    np.testing.assert_array_equal(task.num_examples, np.bincount(fold.train.user))
    assert task.source == f"MovieLens-100K ({found.source})"
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
    def program(task):
        leaves, structure = jax.tree.flatten(task)
        return structure, [(leaf.shape, leaf.dtype, leaf.weak_type) for leaf in leaves]

    tasks = [movielens(trial, part=part, **SMALL) for trial in (0, 1) for part in module.PARTS]
    assert len({str(program(task)) for task in tasks}) == 1
    assert all(program(task) == program(tasks[0]) for task in tasks)
    assert movielens(0, **SMALL | {"sweeps": 3}).checksum != tasks[0].checksum


def test_the_checksum_is_of_the_file_too(here, tmp_path, monkeypatch):
    before = movielens(0, **SMALL)
    changed = made_up()
    changed[0, 2] = changed[0, 2] % 5 + 1
    files = stand_in(monkeypatch, "movielens_100k", {"u.data": lines(changed)})
    monkeypatch.setenv("BENCH_DATA", str(write(tmp_path / "other", files)))
    module._ratings.cache_clear()
    module._prepared.cache_clear()
    assert movielens(0, **SMALL).checksum != before.checksum
    assert hashlib.md5(lines(changed)).hexdigest() == hashlib.md5(files["u.data"]).hexdigest()


def test_the_work_on_the_host_is_done_once(here, monkeypatch):
    first = movielens(0, **SMALL)
    monkeypatch.setattr(module, "factors", None)
    jax.tree.map(np.testing.assert_array_equal, first, movielens(0, **SMALL))
    with pytest.raises(TypeError):
        movielens(1, **SMALL)


def test_scores_are_those_of_loops_over_users(here):
    task = movielens(0, **SMALL)
    models = np.random.default_rng(0).standard_normal((USERS, 3)).astype(np.float32)
    found = scores(Personal(jnp.asarray(models), jnp.asarray(0.04)), task)
    inputs, targets, sizes = (np.asarray(leaf) for leaf in task.evaluation["test"])
    errors, plain = [], []
    for user in range(USERS):
        x, y = inputs[user, : sizes[user]], targets[user, : sizes[user]]
        errors.append(np.sqrt(np.mean((x @ models[user] - y) ** 2)))
        plain.append(np.sqrt(np.mean(y**2)))
    assert float(found["test_rmse"]) == pytest.approx(np.mean(errors), rel=1e-5)
    assert float(found["user_mean_rmse"]) == pytest.approx(np.mean(plain), rel=1e-5)
    assert float(scores(task.init_params, task)["test_rmse"]) == pytest.approx(np.mean(plain), rel=1e-5)

    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes, graph = np.asarray(task.num_examples), jax.tree.map(np.asarray, task.peers.graph)
    total = 0.0
    for i in range(USERS):
        weights = graph.weights[i]
        for j, weight in zip(graph.neighbors[i], weights, strict=True):
            total += 0.25 * weight * np.sum((models[i] - models[j]) ** 2)
        errors = inputs[i, : sizes[i]] @ models[i] - targets[i, : sizes[i]]
        own = np.mean(errors**2) + np.sum(models[i] ** 2) / sizes[i]
        total += 0.04 * weights.sum() * sizes[i] / sizes.max() * own
    assert float(found["objective"]) == pytest.approx(total, rel=1e-5)
    assert np.isnan(scores(task.init_params, task)["objective"])


def test_padding_has_no_effect(here):
    task = movielens(0, **SMALL)
    padded = np.arange(task.train[0].shape[1]) >= np.asarray(task.num_examples)[:, None]
    test_inputs, test_targets, sizes = task.evaluation["test"]
    test_padded = np.arange(test_inputs.shape[1]) >= np.asarray(sizes)[:, None]
    assert padded.any()
    assert test_padded.any()
    other = replace(
        task,
        train=(jnp.where(padded[..., None], 5.0, task.train[0]), jnp.where(padded, -9.0, task.train[1])),
        evaluation={
            "test": (
                jnp.where(test_padded[..., None], 5.0, test_inputs),
                jnp.where(test_padded, -9.0, test_targets),
                sizes,
            )
        },
    )
    models = np.random.default_rng(0).standard_normal((USERS, 3)).astype(np.float32)
    params = Personal(jnp.asarray(models), jnp.asarray(0.04))
    jax.tree.map(np.testing.assert_array_equal, scores(params, task), scores(params, other))


def test_the_minimum_of_the_objective_is_the_dense_linear_solution(here):
    """(D - W) theta + 2 mu D c ((Phi^T Phi / m + lambda) theta - Phi^T r / m) = 0 for all users at once."""
    task, mu = movielens(0, **SMALL), 0.04
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    weights = np.zeros((USERS, USERS))
    i, slot = np.nonzero(np.asarray(task.peers.graph.weights))
    weights[i, np.asarray(task.peers.graph.neighbors)[i, slot]] = 1
    pull = 2 * mu * weights.sum(1) * np.asarray(confidence(task.num_examples))
    own = [x.T @ x / m + np.eye(3) / m for x, m in zip(inputs, sizes, strict=True)]
    right = np.stack([p * x.T @ y / m for p, x, y, m in zip(pull, inputs, targets, sizes, strict=True)])
    system = np.kron(np.diag(weights.sum(1)) - weights, np.eye(3))
    system += linalg.block_diag(*(p * a for p, a in zip(pull, own, strict=True)))
    best = np.linalg.solve(system, right.ravel()).reshape(USERS, 3)

    def value(models):
        return task.metrics(Personal(models, jnp.asarray(mu)), task)["objective"]

    found, slope = jax.jit(jax.value_and_grad(value))(jnp.asarray(best, jnp.float32))
    assert np.abs(slope).max() < 1e-5 * float(found)
    assert float(found) < float(value(jnp.zeros((USERS, 3))))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"part": "tets"}, "no part is called 'tets': did you mean test"),
        ({"similarity": "centered"}, "no similarity is called 'centered': did you mean centred"),
        ({"rank": 0}, "rank = 0, sweeps = 4: at least 1"),
        ({"sweeps": 0}, "sweeps = 0: at least 1"),
        ({"ridge": 0.0}, "ridge = 0.0: positive"),
        ({"test_fraction": 0.0}, "test_fraction = 0.0: above 0"),
        ({"test_fraction": 0.9}, "test_fraction = 0.9: above 0 and at most"),
        ({"num_neighbors": 12}, "num_neighbors = 12: with 12 clients"),
    ],
)
def test_bad_values_are_refused_in_one_line(here, args, said):
    with pytest.raises(InputError, match=said) as error:
        movielens(0, **SMALL | args)
    assert "\n" not in str(error.value)
