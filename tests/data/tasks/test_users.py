"""User-level tasks: parts of a user never overlap, inputs are what they say, and metrics are those of a loop."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forms_of_models import FORMS, parameters_and_models

from bench.data.dataset import LocalCopy
from bench.data.read.r_data import Column
from bench.data.tasks import cifar_users, ratings, shakespeare
from bench.kernels.sparse import densify

ORIGIN = {"name": "tiny", "source": "made up", "checksum": "0"}


# ---- Ratings ----


def tiny_table(count=120):
    rng = np.random.default_rng(0)
    students = np.concatenate([np.arange(6).repeat(15), np.arange(6, count - 84)])  # the last have one rating each
    columns = {name: Column(rng.integers(0, 4, len(students)), ["a", "b", "c", "d"]) for name in ratings.KINDS}
    return columns | {
        "s": Column(students, [str(i) for i in range(count)]),
        "y": Column(rng.integers(1, 6, len(students)).astype(float), None),
    }


@pytest.fixture(scope="module")
def rated():
    return ratings.rating_task(0, ratings.ratings_of(tiny_table()), **ORIGIN)


def test_ratings_are_split_by_student_and_short_students_are_left_out(rated):
    assert rated.num_clients == 6
    sizes = {part: np.asarray(rated.evaluation[part][2]) for part in ("test", "validation")}
    np.testing.assert_array_equal(sizes["test"], 3)  # of 15
    np.testing.assert_array_equal(np.asarray(rated.num_examples) + sizes["test"] + sizes["validation"], 15)
    again = ratings.rating_task(1, ratings.ratings_of(tiny_table()), **ORIGIN)
    assert jax.tree.map(jnp.shape, again) == jax.tree.map(jnp.shape, rated)
    assert (again.train[0].index != rated.train[0].index).any()


def test_products_are_those_of_the_dense_inputs(rated):
    dense = np.asarray(densify(rated.train[0]))
    np.testing.assert_allclose(rated.gram, np.einsum("nid,njd->nij", dense, dense), atol=1e-5)
    assert set(dense.sum(-1)[np.arange(dense.shape[1]) < np.asarray(rated.num_examples)[:, None]]) == {6.0}


@pytest.mark.parametrize("form", FORMS)
def test_errors_of_ratings_are_those_of_a_loop(rated, form):
    params, models = parameters_and_models(rated, form)
    models = models[:, 0]
    found = jax.jit(rated.metrics)(params, rated)
    inputs, targets, sizes = rated.evaluation["test"]
    x, errors = np.asarray(densify(inputs)), []
    for user in range(6):
        for row in range(int(sizes[user])):
            points = 3 + 2 * (models[user] @ x[user, row])
            errors.append((points - (3 + 2 * float(targets[user, row]))) ** 2)
    assert float(found["test_squared_error"]) == pytest.approx(np.mean(errors), rel=1e-4)
    features, wanted = rated.evaluation["common"]
    predicted = models[:, np.asarray(features)].sum(-1)
    assert float(found["common_squared_error"]) == pytest.approx(
        np.mean(4 * (predicted - np.asarray(wanted)) ** 2), rel=1e-4
    )


# ---- CIFAR-10 by user ----


@pytest.fixture
def pictures(monkeypatch):
    rng = np.random.default_rng(3)
    labels, of_test = np.arange(600) % 10, np.arange(50) % 10
    features = rng.normal(size=(650, 4, 4, 3)).astype(np.float16)
    whole = cifar_users.averaged(features)
    raw = rng.integers(0, 256, (650, 32, 32, 3)).astype(np.uint8)
    copy = LocalCopy("cifar10", {}, "made up", "0")
    monkeypatch.setattr(cifar_users, "_labels", lambda _: (copy, labels.astype(np.int32), of_test.astype(np.int32)))
    monkeypatch.setattr(cifar_users, "_features", lambda _: (whole[:600], whole[600:]))
    monkeypatch.setattr(cifar_users, "_pictures", lambda _: (raw[:600], raw[600:]))
    return features, whole


def test_features_are_means_over_quarters_and_short(pictures):
    features, whole = pictures
    corner = features[5, :2, 2:].astype(np.float64).mean((0, 1))  # the upper right quarter
    np.testing.assert_allclose(whole[5, 3:6], corner / math.sqrt(12), rtol=1e-3)
    np.testing.assert_array_equal(whole[:, -1], 1)
    normalised = features / np.sqrt(np.square(features.astype(np.float32)).mean((1, 2, 3), keepdims=True))
    assert np.linalg.norm(cifar_users.averaged(normalised)[:, :-1], axis=1).max() <= 1 + 1e-3


@pytest.mark.parametrize("concentration", [0.3, math.inf])
def test_users_share_out_pictures_and_are_tested_on_their_own(pictures, concentration):
    task = cifar_users.cifar_users(0, concentration=concentration, num_users=12, size=50)
    rows = [
        np.asarray(task.train[0]),
        np.asarray(task.evaluation["test"][0]),
        np.asarray(task.evaluation["validation"][0]),
    ]
    assert [part.shape[1] for part in rows] == [20, 20, 10]
    everything = np.concatenate([part.reshape(-1, part.shape[-1]) for part in rows])
    assert len(np.unique(everything, axis=0)) == 600  # no picture is in two parts or of two users
    shares = np.asarray(task.train[1]).argmax(-1)
    own = np.mean(
        [np.isin(test, shares[user]).mean() for user, test in enumerate(np.asarray(task.evaluation["test"][1]))]
    )
    assert own > (0.9 if concentration < 1 else 0.5)


@pytest.mark.parametrize("form", FORMS)
def test_common_accuracy_is_the_mean_over_models(pictures, form):
    task = cifar_users.cifar_users(0, num_users=4, size=40)
    params, models = parameters_and_models(task, form)
    found = jax.jit(task.metrics)(params, task)
    x, labels = (np.asarray(leaf) for leaf in task.evaluation["common"])
    expected = np.mean([np.mean((x @ model.T).argmax(-1) == labels) for model in models])
    assert float(found["common_accuracy"]) == pytest.approx(expected)


# ---- Shakespeare ----


def test_examples_are_characters_with_those_before_them():
    text = "To be!\nOr"
    before, here = shakespeare.draw_examples([shakespeare.numbered(text)], 100, 4, np.random.default_rng(0))
    alphabet = "^?" + shakespeare.ALPHABET  # the first two are before the speech, and any other character
    found = sorted("".join(alphabet[number] for number in [*row, one]) for row, one in zip(before, here, strict=True))
    padded = "^^^^" + text
    assert found == sorted(padded[at : at + 5] for at in range(len(text)))
    assert shakespeare.numbered("é")[0] == shakespeare.OTHER
    few, _ = shakespeare.draw_examples([shakespeare.numbered(text)], 3, 4, np.random.default_rng(0))
    assert len(few) == 3


def test_the_speeches_of_a_role_are_in_one_part_each():
    """Every speech of a role has one letter of its own, so an example shows its speech."""
    roles = [[shakespeare.numbered(letter * 20) for letter in "abcdefghij"] for _ in range(3)]
    task = shakespeare.role_task(0, roles, model="window", **ORIGIN)
    letters = []
    for labels, sizes in (
        (task.train[1], task.num_examples),
        *(task.evaluation[part][1:] for part in ("test", "validation")),
    ):
        letters.append([set(np.asarray(labels[user, : int(sizes[user])]).tolist()) for user in range(3)])
    for user in range(3):
        train, test, validation = (part[user] for part in letters)
        assert (len(train), len(test), len(validation)) == (7, 2, 1)
        assert not train & test
        assert not validation & (train | test)
    assert jax.tree.map(jnp.shape, shakespeare.role_task(1, roles, model="window", **ORIGIN)) == jax.tree.map(
        jnp.shape, task
    )
