"""Picture tasks: a pool that clients draw from, published normalisation, plain accuracy, memory that is shared."""

import os
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checked_task import wrong_fields
from tiny_data import photographs, pictures, stand_in, write

from bench.data import scattering
from bench.data.dataset import LocalCopy
from bench.data.tasks import images
from bench.data.tasks.registry import TASKS
from bench.errors import InputError
from bench.models.linear import Personal
from bench.models.networks import NETWORKS

PUBLISHED = dict(images.PICTURES)  # of the real size
FILES = {"mnist": pictures(1), "fashion_mnist": pictures(2), "cifar10": photographs(3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tiny stand-ins for the three data sets, in a cache of their own: 20 + 5 pictures, 15 + 3 in colour."""
    here = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_CACHE", str(here))
        for name, files in FILES.items():
            write(here / name, stand_in(patch, name, files))
            size = 15 if name == "cifar10" else 20
            patch.setitem(images.PICTURES, name, PUBLISHED[name]._replace(num_train=size))
        images._copy.cache_clear()
        yield here
    images._copy.cache_clear()


pytestmark = pytest.mark.usefixtures("folder")


def raw(dataset):
    here = Path(os.environ["BENCH_CACHE"]) / dataset
    return images.PICTURES[dataset].read(LocalCopy(dataset, {name: here / name for name in FILES[dataset]}, "", ""))


@pytest.mark.parametrize(
    ("dataset", "sizes", "shape", "mean", "deviation"),
    [
        ("mnist", (20, 5), (28, 28, 1), 0.1307, 0.3081),
        ("fashion_mnist", (20, 5), (28, 28, 1), 0.5, 0.5),
        ("cifar10", (15, 3), (32, 32, 3), (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    ],
)
def test_the_pool_is_the_training_pictures_and_the_test_pictures_only_measure(dataset, sizes, shape, mean, deviation):
    task, arrays = images.images(0, dataset=dataset, model="cnn_relu"), raw(dataset)
    assert wrong_fields(task) == []
    for (inputs, labels), split, size in zip(
        (task.network.pool, task.evaluation["test"]), ("train", "test"), sizes, strict=True
    ):
        wanted = (arrays[f"{split}_images"].reshape(size, *shape) / 255.0 - np.array(mean)) / np.array(deviation)
        assert inputs.dtype == np.float32
        assert labels.dtype == np.int32
        np.testing.assert_allclose(inputs, wanted, atol=1e-6)
        np.testing.assert_array_equal(labels, arrays[f"{split}_labels"])


@pytest.mark.parametrize(
    ("dataset", "model"), [("mnist", "scatter_linear"), pytest.param("cifar10", "scatter_cnn", marks=pytest.mark.slow)]
)
def test_scattering_models_see_features_of_raw_pixels_in_half_precision(dataset, model):
    task, arrays = images.images(0, dataset=dataset, model=model), raw(dataset)
    for (inputs, _), split in ((task.network.pool, "train"), (task.evaluation["test"], "test")):
        wanted = scattering.features(dataset, arrays[f"{split}_images"], f"raw {split}").astype(np.float32)
        assert inputs.dtype == np.float16
        np.testing.assert_allclose(inputs.astype(np.float32), wanted, rtol=2**-10, atol=1e-5)
    logits = task.network.module.apply({"params": task.init_params}, inputs.astype(np.float32))
    assert logits.shape == (len(inputs), 10)


@pytest.mark.parametrize(("num_clients", "size"), [(1, 20), (4, 5), (10, 2), (25, 2)])
def test_a_client_has_a_tenth_of_the_pool_or_its_even_share_if_that_is_more(num_clients, size):
    task = images.images(0, dataset="mnist", model="cnn_relu", num_clients=num_clients)
    assert task.num_clients == num_clients
    assert task.num_examples.tolist() == [size] * num_clients
    assert task.train.shape == (num_clients, size)
    assert task.train.dtype == np.int32
    for mine in np.asarray(task.train):
        assert len(set(mine.tolist())) == size
        assert set(mine.tolist()) <= set(range(20))
    assert task.name == f"mnist_cnn_relu_{num_clients}"


def test_disjoint_clients_share_no_picture():
    task = images.images(0, dataset="mnist", model="cnn_relu", num_clients=6, disjoint=True)
    assert task.train.shape == (6, 3)
    assert len(np.unique(task.train)) == 18
    assert task.name == "mnist_cnn_relu_6_disjoint"


def test_a_trial_is_a_draw_and_an_initial_model_and_shares_everything_else():
    first, again, other = (images.images(trial, dataset="mnist", model="cnn_relu") for trial in (0, 0, 1))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert not np.array_equal(first.train, other.train)
    for a, b in zip(jax.tree.leaves(first.init_params), jax.tree.leaves(other.init_params), strict=True):
        assert not np.array_equal(a, b)
    assert jax.tree.structure(first) == jax.tree.structure(other)
    for kept, same in ((first.network.pool, other.network.pool), (first.evaluation["test"], other.evaluation["test"])):
        assert all(a is b for a, b in zip(kept, same, strict=True))


# ---- Loss and accuracy ----


@pytest.mark.parametrize("chunk", [2, 5, 500])
def test_accuracy_and_loss_are_means_over_all_test_pictures(monkeypatch, chunk):
    monkeypatch.setattr(images, "TESTED_TOGETHER", (chunk, chunk))
    task = images.images(0, dataset="mnist", model="scatter_linear")
    inputs, labels = task.evaluation["test"]
    logits = np.asarray(task.network.module.apply({"params": task.init_params}, inputs.astype(np.float32)), float)
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    labels = np.asarray(labels).copy()
    labels[:3] = logits[:3].argmax(-1)
    labels[3:] = logits[3:].argmin(-1)
    object.__setattr__(task, "evaluation", {"test": (inputs, jnp.asarray(labels))})
    found = task.metrics(task.init_params, task)
    assert float(found["test_accuracy"]) == pytest.approx(3 / 5)
    assert float(found["test_loss"]) == pytest.approx(-np.log(chances[np.arange(5), labels]).mean(), rel=1e-5)
    each = [task.loss(task.init_params, None, (x, jnp.asarray(y))) for x, y in zip(inputs, labels, strict=True)]
    assert np.mean(each) == pytest.approx(float(found["test_loss"]), rel=1e-5)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf, -jnp.inf])
def test_a_model_that_is_not_finite_has_neither(bad):
    task = images.images(0, dataset="mnist", model="cnn_relu")
    metrics = jax.jit(task.metrics)
    for place in range(len(jax.tree.leaves(task.init_params))):
        leaves, form = jax.tree.flatten(task.init_params)
        leaves[place] = leaves[place].at[(0,) * leaves[place].ndim].set(bad)
        found = metrics(jax.tree.unflatten(form, leaves), task)
        assert np.isnan([found["test_accuracy"], found["test_loss"]]).all()


# ---- By name, and what is refused ----


def test_every_model_of_every_data_set_has_a_task_of_ten_clients():
    names = [f"{dataset}_{model}_10" for dataset, models in NETWORKS.items() for model in models]
    assert set(names) <= set(TASKS)
    for name in ("mnist_cnn_relu_10", "cifar10_tramer_scatter_linear_10"):
        task = TASKS[name].make(0)
        assert (task.name, task.num_clients) == (name, 10)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"normalisation": "svhn"}, "normalisation is called 'svhn'"),
        ({"model": "scatter_cnn", "normalisation": "fashion_mnist"}, "does not fit scattering of mnist"),
        ({"share": 0.0}, "share = 0.0"),
        ({"num_clients": 21, "disjoint": True}, "21 clients share 20 examples"),
    ],
)
def test_what_cannot_be_is_one_line(change, line):
    with pytest.raises(InputError, match=line):
        images.images(0, **({"dataset": "mnist", "model": "cnn_relu"} | change))


def test_another_normalisation_changes_the_pixels_and_nothing_else():
    own, other = (images.images(0, dataset="mnist", model="cnn_relu", normalisation=n) for n in ("", "fashion_mnist"))
    pixels = raw("mnist")["train_images"][..., None] / 255.0
    np.testing.assert_allclose(other.network.pool[0], 2 * pixels - 1, atol=1e-6)
    np.testing.assert_array_equal(own.train, other.train)
    assert (own.name, other.name) == ("mnist_cnn_relu_10", "mnist_cnn_relu_10_as_fashion_mnist")
    assert own.checksum != other.checksum


def test_the_pictures_to_tune_on_are_held_out_of_the_training_pictures(monkeypatch):
    monkeypatch.setattr(images, "NUM_VALIDATION", 6)
    whole = images.images(0, dataset="mnist", model="cnn_relu", num_clients=2)
    part = images.images(0, dataset="mnist", model="cnn_relu", num_clients=2, part="validation")
    np.testing.assert_array_equal(part.network.pool[0], whole.network.pool[0][:-6])
    np.testing.assert_array_equal(part.evaluation["test"][0], whole.network.pool[0][-6:])
    np.testing.assert_array_equal(part.evaluation["test"][1], whole.network.pool[1][-6:])
    assert int(part.train.max()) < 14
    assert part.name == f"{whole.name}_validation"
    with pytest.raises(InputError, match="part"):
        images.images(0, dataset="mnist", model="cnn_relu", part="tests")


def test_disjoint_clients_may_differ_in_their_classes():
    args = {"dataset": "mnist", "model": "cnn_relu", "num_clients": 4}
    plain = images.images(0, **args, disjoint=True)
    alike, skewed = (images.images(0, **args, disjoint=True, concentration=alpha) for alpha in (np.inf, 0.1))
    np.testing.assert_array_equal(plain.train, alike.train)
    assert plain.name == alike.name
    assert skewed.name == "mnist_cnn_relu_4_disjoint_dirichlet_0.1"
    assert sorted(np.asarray(skewed.train).ravel()) == list(range(20))
    with pytest.raises(InputError, match=r"concentration = 0.1 only applies to disjoint clients"):
        images.images(0, **args, concentration=0.1)


@pytest.mark.slow
def test_clients_whose_classes_differ_are_also_tested_on_their_own_mix_of_classes():
    """Second implementation: a client's own test set, in which every picture of a class is repeated in proportion."""
    args = {"dataset": "mnist", "model": "cnn_relu", "num_clients": 2, "disjoint": True}
    task = images.images(0, **args, concentration=0.2)
    assert set(images.images(0, **args).metrics(task.init_params, task)) == {"test_accuracy", "test_loss"}
    inputs, labels = (np.asarray(leaf) for leaf in task.evaluation["test"])
    tested = set(labels)
    pool = np.asarray(task.network.pool[1])
    pool = np.where(np.isin(pool, list(tested)), pool, labels[0])  # every class of a client can be tested
    task = replace(task, network=replace(task.network, pool=(task.network.pool[0], jnp.asarray(pool))))
    keys = jax.random.split(jax.random.key(3), 2)
    models = jax.tree.map(
        lambda leaf: jnp.stack([leaf + 0.5 * jax.random.normal(key, leaf.shape) for key in keys]), task.init_params
    )

    def hits(client):
        model = jax.tree.map(lambda leaf: leaf[client], models)
        logits = task.network.module.apply({"params": model}, jnp.asarray(inputs))
        return np.argmax(np.asarray(logits), -1) == labels

    def local(client, right):
        owned = pool[np.asarray(task.train[client])]
        return np.mean([right[labels == one].mean() for one in owned])

    own = task.metrics(Personal(models, jnp.ones(())), task)
    wanted = np.mean([local(client, hits(client)) for client in range(2)])
    np.testing.assert_allclose(own["local_test_accuracy"], wanted, rtol=1e-5)
    np.testing.assert_allclose(own["test_accuracy"], np.mean([hits(0).mean(), hits(1).mean()]), rtol=1e-5)
    common = task.metrics(jax.tree.map(lambda leaf: leaf[0], models), task)
    wanted = np.mean([local(client, hits(0)) for client in range(2)])
    np.testing.assert_allclose(common["local_test_accuracy"], wanted, rtol=1e-5)
    plain = images.accuracy(Personal(models, jnp.ones(())), task)
    for name in ("test_accuracy", "test_loss"):
        np.testing.assert_allclose(own[name], plain[name], rtol=1e-5)
    diverged = task.metrics(jax.tree.map(lambda leaf: leaf[0] * jnp.nan, models), task)
    assert all(np.isnan(value) for value in diverged.values())
