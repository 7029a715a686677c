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
    digits,
    gossip,
    images,
    movielens,
    odd_even,
    peers,
    quadratic,
    rare_features,
    school,
    softmax,
    synthetic,
    tags,
)
from bench.data.tasks import noise_only as nothing

USERS, EACH = 60, 30  # more users than take part in a round of any sweep
COPY = LocalCopy("made up", {}, "made up", "0")


def _digits(rng) -> digits.Digits:
    users = [(rng.random((EACH + 1, 784), np.float32), rng.integers(0, 10, EACH + 1)) for _ in range(USERS)]
    return digits.Digits(users, users)


def _pictures(rng, model: str) -> list:
    """Training inputs and labels, test inputs and labels of MNIST."""
    pixels = model.startswith("cnn")
    out = []
    for size in (700, 20):
        shape, dtype = ((28, 28, 1), np.float32) if pixels else ((7, 7, 81), np.float16)
        out += [jnp.asarray(rng.random((size, *shape)), dtype), jnp.asarray(rng.integers(0, 10, size), jnp.int32)]
    return out


def _ratings(rng) -> movielens.Ratings:
    rows = [(user, film) for user in range(USERS) for film in rng.permutation(25)[:15]]
    user, film = np.array(rows).T
    return movielens.Ratings(user, film, rng.integers(1, 6, len(rows)).astype(float))


def stand_in(make: partial, monkeypatch) -> Task:
    """Trial 0 of a sweep's task.

    Args:
        make: as a sweep has it.
        monkeypatch: for the examples that would be read.
    """
    function, given = (make.func, make.keywords) if isinstance(make, partial) else (make, {})
    rng = np.random.default_rng(0)
    common = dict(name="made up", source="made up", checksum="0", batch_size=10)
    if function is digits.best_available:
        return digits.digit_task(_digits(rng), model=given.get("model", "linear"), **common)
    if function is tags.best_available:
        users = [(documents(rng, EACH), documents(rng, 3)) for _ in range(USERS)]
        return bag_of_words.tag_task(users, capacity=(6, EACH, 3 * USERS, USERS), **common)
    if function is tags.made_up_tags:
        return function(0, num_clients=USERS, num_documents=(EACH, EACH), num_words=100, num_tags=20)
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
    elif function in (school.best_available, school.school):
        return school.made_up_schools(0, num_schools=USERS, **given)
    else:
        generated = (
            *(synthetic.synthetic, bounded.bounded, quadratic.quadratic, peers.linear_p2p, softmax.softmax),
            *(gossip.gossip, nothing.nothing, rare_features.rare_features),
        )
        assert function in generated, function
    return function(0, **given)
