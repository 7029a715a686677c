"""The tasks of every sweep, with a handful of made-up examples where real ones would have to be fetched or be many.

What is compiled is that of the real tasks: their models, losses and metrics.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from tiny_tags import documents

from bench.data.dataset import LocalCopy
from bench.data.task import Task
from bench.data.tasks import (
    bag_of_words,
    bounded,
    cifar_users,
    digits,
    gossip,
    images,
    movielens,
    noise_only,
    odd_even,
    peers,
    quadratic,
    rare_features,
    ratings,
    school,
    shakespeare,
    softmax,
    synthetic,
    tags,
)

USERS, EACH = 60, 30  # more users than take part in a round of any sweep
COPY = LocalCopy("made up", {}, "made up", "0")


def _digits(rng) -> digits.Digits:
    users = [(rng.random((EACH + 1, 784), np.float32), rng.integers(0, 10, EACH + 1)) for _ in range(USERS)]
    return digits.Digits(users, users)


def _pictures(rng, model: str) -> list:
    """Training inputs and labels, test inputs and labels of MNIST; every class is in both."""
    pixels = model.startswith("cnn")
    out = []
    for size in (700, 20):
        shape, dtype = ((28, 28, 1), np.float32) if pixels else ((7, 7, 81), np.float16)
        out += [jnp.asarray(rng.random((size, *shape)), dtype), jnp.asarray(rng.permutation(size) % 10, jnp.int32)]
    return out


def _ratings(rng) -> movielens.FilmRatings:
    rows = [(user, film) for user in range(USERS) for film in rng.permutation(25)[:15]]
    user, film = np.array(rows).T
    return movielens.FilmRatings(user, film, rng.integers(1, 6, len(rows)).astype(float))


def _of_lectures(rng) -> ratings.Ratings:
    """Ten ratings of each student, of one feature of each kind beside the bias."""
    kinds, size = len(ratings.KINDS), 3
    features = 1 + rng.integers(0, size, (10 * USERS, kinds)) + size * np.arange(kinds)
    index = np.concatenate([np.zeros((len(features), 1), np.int32), features.astype(np.int32)], axis=1)
    values = rng.integers(1, 6, len(index)).astype(float)
    return ratings.Ratings(index, values, np.repeat(np.arange(USERS), 10), 1 + kinds * size)


def _few_cifar_users(rng, monkeypatch, function, given: dict) -> Task:
    """CIFAR-10 by user, of twelve users with eight pictures each."""
    users, each = 12, 8
    labels = rng.permutation(users * each * 4) % 10
    pictures = [rng.integers(0, 256, (len(labels), 32, 32, 3)).astype(np.uint8) for _ in range(2)]
    features = [rng.random((len(labels), 9), np.float32) for _ in range(2)]
    monkeypatch.setattr(cifar_users, "_labels", lambda files: (COPY, labels.astype(np.int32), labels.astype(np.int32)))
    monkeypatch.setattr(cifar_users, "_pictures", lambda files: pictures)
    monkeypatch.setattr(cifar_users, "_features", lambda files: features)
    for name in ("NUM_TEST", "NUM_VALIDATION"):
        monkeypatch.setattr(cifar_users, name, 2)
    monkeypatch.setattr(cifar_users, "NUM_COMMON", 20)
    return function(0, **given | {"num_users": users, "size": each})


def _roles(rng) -> list[list[np.ndarray]]:
    """Six short speeches of each role."""
    return [[rng.integers(2, shakespeare.NUM_CHARACTERS, 5).astype(np.uint8) for _ in range(6)] for _ in range(12)]


def stand_in(make: partial, monkeypatch) -> Task:
    """Trial 0 of a sweep's task.

    Args:
        make: as a sweep has it.
        monkeypatch: for the examples that would be read.
    """
    function, given = (make.func, make.keywords) if isinstance(make, partial) else (make, {})
    rng = np.random.default_rng(0)
    common = dict(name="made up", source="made up", checksum="0", batch_size=10)
    if function in (digits.mnist_by_writer, digits.mnist_by_style, digits.emnist_digits):
        return digits.digit_task(_digits(rng), model=given.get("model", "linear"), **common)
    if function in (tags.debian_tags, tags.stackoverflow_tags):
        users = [(documents(rng, EACH), documents(rng, 3)) for _ in range(USERS)]
        return bag_of_words.tag_task(users, capacity=(6, EACH, 3 * USERS, USERS), **common)
    if function is tags.made_up_tags:
        few = {"num_clients": USERS, "num_documents": (EACH, EACH), "num_words": 100, "num_tags": 20}
        return function(0, **given | few)
    if function in (odd_even.odd_even, odd_even.odd_even_hinge, odd_even.odd_even_dirichlet):
        features = rng.random((10, 80, odd_even.NUM_FEATURES), np.float32)
        monkeypatch.setattr(odd_even, "_features", lambda files: (features, np.ones(800), "made up", "0"))
    elif function is images.images:
        monkeypatch.setattr(images, "_examples", lambda *_: (COPY, _pictures(rng, given["model"])))
        monkeypatch.setattr(images, "NUM_VALIDATION", 100)
        given = given | {"share": 1.0}  # of so few pictures
    elif function is movielens.movielens:
        monkeypatch.setattr(movielens, "_ratings", lambda files: (_ratings(rng), COPY))
        return function(0, rank=3, num_neighbors=3, sweeps=2, **given)
    elif function in (school.school, school.made_up_schools):
        return school.made_up_schools(0, num_schools=USERS, **given)
    elif function is ratings.insteval:
        return ratings.rating_task(0, _of_lectures(rng), name="made up", source="made up", checksum="0")
    elif function is shakespeare.shakespeare:
        monkeypatch.setattr(shakespeare, "_roles", lambda files: (_roles(rng), COPY))
        network, _ = shakespeare.MODELS["lstm"]
        monkeypatch.setitem(shakespeare.MODELS, "lstm", (network, 3))  # eighty characters take minutes
    elif function is cifar_users.cifar_users:
        return _few_cifar_users(rng, monkeypatch, function, given)
    else:
        generated = (
            *(synthetic.synthetic, bounded.bounded, quadratic.quadratic, peers.linear_p2p, softmax.softmax),
            *(gossip.gossip, noise_only.nothing, rare_features.rare_features),
        )
        assert function in generated, function
    return function(0, **given)
