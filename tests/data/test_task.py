"""Every problem's Task is what its annotations say: shapes, dtypes, and one length for each named dimension."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stand_in_tasks
import tiny_networks
import tiny_peers
import tiny_ratings
import tiny_tags
from checked_task import changed, wrong_fields
from tiny_data import pictures, stand_in, write

from bench.audit.tasks import FAMILIES
from bench.data.dataset import LocalCopy
from bench.data.task import Task
from bench.data.tasks import digits, images, movielens, odd_even
from bench.data.tasks.bounded import bounded
from bench.data.tasks.clients_file import clients_file
from bench.data.tasks.gossip import gossip
from bench.data.tasks.noise_only import nothing
from bench.data.tasks.quadratic import quadratic
from bench.data.tasks.rare_features import rare_features
from bench.data.tasks.registry import TASKS
from bench.data.tasks.school import made_up_schools
from bench.data.tasks.softmax import softmax
from bench.data.tasks.synthetic import synthetic
from bench.data.tasks.tags import made_up_tags


def pictures_of_digits(monkeypatch, count=700):
    """Random pictures in place of MNIST, their labels going round."""
    rng = np.random.default_rng(1)
    made_up = rng.integers(0, 256, (count, 28, 28)).astype(np.uint8)
    copy = LocalCopy("mnist", {}, "made up", "0123")
    monkeypatch.setattr(digits, "mnist", lambda data_files: (made_up, np.arange(count) % 10, copy))
    monkeypatch.setattr(odd_even, "_features", odd_even._features.__wrapped__)


def by_style(monkeypatch, tmp_path, **args) -> Task:
    pictures_of_digits(monkeypatch)
    return digits.mnist_by_style(0, **args)


def odd_and_even(monkeypatch, tmp_path, make=odd_even.odd_even) -> Task:
    pictures_of_digits(monkeypatch)
    return make(0)


def ratings(monkeypatch, tmp_path) -> Task:
    tiny_ratings.put(tiny_ratings.made_up(), tmp_path, monkeypatch)
    monkeypatch.setattr(movielens, "_ratings", movielens._ratings.__wrapped__)
    monkeypatch.setattr(movielens, "_prepared", movielens._prepared.__wrapped__)
    return movielens.movielens(0, **tiny_ratings.SMALL)


def photographs(monkeypatch, tmp_path) -> Task:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(images, "_copy", images._copy.__wrapped__)
    monkeypatch.setitem(images.PICTURES, "mnist", images.PICTURES["mnist"]._replace(num_train=20))
    write(tmp_path / "mnist", stand_in(monkeypatch, "mnist", pictures(1)))
    return images.images(0, dataset="mnist", model="cnn_relu", num_clients=3)


def with_made_up_examples(name: str, monkeypatch, tmp_path) -> Task:
    return stand_in_tasks.stand_in(TASKS[name].make, monkeypatch)


def file_of_clients(monkeypatch, tmp_path) -> Task:
    places = np.arange(40)
    np.savez(tmp_path / "mine.npz", inputs=np.outer(places, [1.0, 2.0]), targets=places % 3, clients=places % 4)
    return clients_file(0, path=tmp_path / "mine.npz")


def plain(make, *args, **kwargs):
    return lambda monkeypatch, tmp_path: make(*args, **kwargs)


SMALL_TAGS = dict(num_clients=3, num_documents=(20, 30), num_test=2, num_words=40, num_tags=5, length=5)
PROBLEMS = {
    "synthetic": plain(synthetic, 0, num_clients=7, num_features=6),
    "bounded": plain(bounded, 0, num_clients=7, num_features=4),
    "bounded, unequal": plain(bounded, 0, num_clients=7, num_features=4, largest=5, spread=0.3),
    "quadratic": plain(quadratic, 0, num_records=4),
    "nothing": plain(nothing, 0),
    "rare_features": plain(rare_features, 0, num_users=3, num_examples=4, num_features=2),
    "gossip": plain(gossip, 0, num_agents=3, num_examples=4, num_features=2),
    "made_up_schools": plain(made_up_schools, 0, num_schools=3),
    "softmax": plain(softmax, 0, num_clients=3, num_records=10, num_features=4, num_classes=3),
    "made_up_tags": plain(made_up_tags, 0, batch_size=4, **SMALL_TAGS),
    "linear_p2p": plain(tiny_peers.logistic_peers),
    "mnist_by_style": by_style,
    "mnist_by_style, cnn": partial(by_style, model="cnn"),
    "odd_even": odd_and_even,
    "odd_even_hinge": partial(odd_and_even, make=odd_even.odd_even_hinge),
    "odd_even_dirichlet": partial(odd_and_even, make=odd_even.odd_even_dirichlet),
    "movielens": ratings,
    **{name: partial(with_made_up_examples, name) for name in ("cifar_users", "insteval", "shakespeare")},
    "images": photographs,
    "clients_file": file_of_clients,
    "tests: tags": plain(tiny_tags.tiny),
    "tests: network": plain(tiny_networks.task, [[0, 1, 2], [3, 4, 5]]),
    **{f"audit: {name}": plain(family.task, jnp.eye(1, 9)[0], jnp.array(True)) for name, family in FAMILIES.items()},
}
ALIKE = {  # problems whose Task is made by the same function as that of another
    "emnist_digits": "mnist_by_style",
    "mnist_by_writer": "mnist_by_style",
    "debian_tags": "made_up_tags",
    "stackoverflow_tags": "made_up_tags",
    "school": "made_up_schools",
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_field_is_what_it_is_annotated_as(name, monkeypatch, tmp_path):
    assert wrong_fields(PROBLEMS[name](monkeypatch, tmp_path)) == []


def test_every_problem_is_checked():
    """A new one gets a row of PROBLEMS."""
    makers = {getattr(of.make, "func", of.make).__name__ for of in TASKS.values()}
    assert {ALIKE.get(name, name) for name in makers} <= set(PROBLEMS)


def longer(leaf, axis=0):
    return jnp.concatenate([leaf, leaf[:1] if axis == 0 else leaf[:, :1]], axis)


WRONG = {
    "train": lambda task: jax.tree.map(longer, task.train),
    "loss": lambda task: "squared",
    "peers.graph.weights": lambda task: longer(task.peers.graph.weights, 1),
}


@pytest.mark.parametrize("place", WRONG)
def test_a_field_of_another_shape_or_type_is_named(place):
    task = tiny_peers.logistic_peers()
    assert place in wrong_fields(changed(task, place, WRONG[place](task)))
