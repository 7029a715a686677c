"""Tag prediction: bags of words, the three tasks, and accuracy against a plain loop."""

import json
import math
import sqlite3

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forms_of_models import FORMS, parameters_and_models
from plain_accuracies import plain_accuracies
from tf_examples import example, field
from tiny_tags import documents, tiny

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.read import debian, stackoverflow
from bench.data.tasks import bag_of_words, tags
from bench.errors import InputError
from bench.kernels import sparse


def test_a_bag_is_the_mean_of_one_hots_with_unknown_words_counted():
    found = bag_of_words.bags([["a", "b", "a", "?"], []], [["x", "y"], ["z"]], ["a", "b"], ["y", "x"])
    np.testing.assert_allclose(found.words.toarray(), [[0.5, 0.25], [0, 0]])
    np.testing.assert_array_equal(found.tags, [[True, True], [False, False]])


def test_blocks_train_and_the_remainder_validates():
    task = tiny(sizes=(9, 4, 14, 8, 8))
    assert list(task.num_examples) == [8, 4, 12, 8, 8]
    assert float(task.evaluation["validation"].count) == 1 + 2
    assert float(task.evaluation["test"].count) == 15
    targets = np.asarray(task.train[1])
    assert set(np.unique(targets[0, :8].round(6))) == {np.float32(-0.1), np.float32(0.9)}


@pytest.mark.parametrize("form", FORMS)
def test_accuracy_is_the_share_of_hits_document_by_document(form):
    task = tiny(1)
    params, models = parameters_and_models(task, form)
    found = jax.jit(task.metrics)(params, task)
    rng = np.random.default_rng(1)
    hits = [0] * 5
    for client, (model, size) in enumerate(zip(models, (9, 4, 14, 8, 8), strict=True)):
        documents(rng, size)
        test = documents(rng, 3)
        for x, of_document in zip(test.words.toarray(), test.tags, strict=True):
            hits[client] += int(of_document[np.argmax(model @ x)])
    for name, value in plain_accuracies("test", hits, [3] * 5, task.num_examples.tolist()).items():
        assert float(found[name]) == pytest.approx(value), name
    stored = np.asarray(sparse.densify(task.train[0]))
    np.testing.assert_allclose(task.gram, np.einsum("nid,njd->nij", stored, stored), atol=1e-6)
    diverged = jax.jit(task.metrics)(jnp.full((30, 5), jnp.nan), task)
    assert all(math.isnan(value) for value in diverged.values())


# Debian's packages.

PACKAGES = """Package: b
Source: src (1.0)
Maintainer: A Team <team@lists.example.org>
Description-md5: 1
Tag: role::program, works-with::{text,
 image:raster}

Package: a
Maintainer: Ann <Ann@Example.org>
Description-md5: 2
Tag: role::program

Package: untagged
Maintainer: Ann <ann@example.org>
Description-md5: 2
"""
TRANSLATION = """Package: b
Description-md5: 1
Description-en: a tool
 It does things.

Package: a
Description-md5: 2
Description-en: another
"""
SOURCES = """Package: src
Maintainer: A Team <team@lists.example.org>
Uploaders: Bob Group <x@lists.example.org>,
 Ann <ann@example.org>
"""


def test_packages_are_distilled_by_person():
    lines = debian.distil("", *(text.encode() for text in (PACKAGES, TRANSLATION, SOURCES))).decode().splitlines()
    first, second = (debian.DebianPackage(*json.loads(line)) for line in lines)
    assert (first.name, second.name) == ("a", "b")
    assert second.source == "src"
    assert second.text == "a tool\nIt does things."
    assert second.tags == ["role::program", "works-with::text", "works-with::image:raster"]
    assert first.person == second.person  # the first who is no team, whatever the case of the address
    assert "example" not in "".join(lines)


@pytest.fixture
def packages(monkeypatch, tmp_path):
    """Forty packages of three people, two of one source each."""
    rng = np.random.default_rng(0)
    rows = [
        debian.DebianPackage(
            f"p{i % 3}", f"s{i // 6}-{i % 3}", f"n{i:02}", " ".join(rng.choice(list("abcdef"), 8)), ("t", "u")
        )
        for i in range(40)
    ]
    path = tmp_path / "debian_packages.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(
        retrieval, "get", lambda name, data_files=None: LocalCopy(name, {path.name: path}, "a file", "c")
    )
    tags._debian.cache_clear()
    yield rows
    tags._debian.cache_clear()


def test_a_source_is_in_training_or_in_test(packages):
    source = np.unique([row.source for row in packages], return_inverse=True)[1]
    members = np.arange(0, 39, 3)
    for seed in range(20):
        train, test = tags._by_source(members, source, 4, np.random.default_rng(seed))
        assert sorted([*train, *test]) == sorted(members)
        assert 0 < len(test) <= 4
        assert not set(source[train]) & set(source[test])


def test_debian_splits_share_all_shapes(packages):
    def make(trial):
        return tags.debian_tags(trial, batch_size=2, num_words=10, num_tags=2, min_documents=5, max_documents=12)

    one, other = make(0), make(1)
    assert one.num_clients == 3
    assert jax.tree.map(jnp.shape, one) == jax.tree.map(jnp.shape, other)
    assert jax.tree.structure(one) == jax.tree.structure(other)
    assert int(jnp.max(one.num_examples)) <= 12


# Stack Overflow.


@pytest.fixture
def stack(tmp_path):
    """A database as TFF writes it: clients c1 and c2 in train and test, c0 in train only."""
    database = sqlite3.connect(tmp_path / "stackoverflow.sqlite")
    database.execute("CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER)")
    database.execute("CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)")
    for split, client, count in (
        ("train", "c2", 7),
        ("train", "c0", 7),
        ("train", "c1", 9),
        ("test", "c2", 2),
        ("test", "c1", 3),
    ):
        database.execute("INSERT INTO client_metadata VALUES (?, ?, ?)", (client, split, count))
        for i in range(count):
            texts = {"title": f"how {i}", "tokens": "to  do", "tags": "python|c", "type": "question"}
            row = example({name: field(1, field(1, text.encode())) for name, text in texts.items()})
            database.execute("INSERT INTO examples VALUES (?, ?, ?)", (split, client, row))
    database.commit()
    database.close()
    (tmp_path / "stackoverflow.word_count").write_text("to 9\ndo 8\nhow 10\nrare 1\n")
    (tmp_path / "stackoverflow.tag_count").write_text(json.dumps({"c": 5, "python": 7, "java": 1}))
    files = ("stackoverflow.sqlite", "stackoverflow.word_count", "stackoverflow.tag_count")
    return LocalCopy("federated_stackoverflow", {name: tmp_path / name for name in files}, "user files", "s")


def test_stack_overflow_is_read_in_the_papers_order(stack, monkeypatch):
    assert stackoverflow.vocabulary(stack, 3, 2) == (["how", "to", "do"], ["python", "c"])
    (train, test), _ = stackoverflow.clients(stack, 2, 8)
    assert (len(train), len(test)) == (8, 3)  # c1, the first in the test split, its first 8 of 9
    assert train[1] == stackoverflow.Post(["how", "1", "to", "do"], ["python", "c"])
    monkeypatch.setattr(retrieval, "get", lambda name, data_files=None: stack)
    task = tags.stackoverflow_tags(0, batch_size=4, num_clients=2, max_documents=8)
    assert list(task.num_examples) == [8, 4]
    assert float(task.evaluation["validation"].count) == 3
    np.testing.assert_allclose(np.asarray(task.train[0].value)[0, 0][:3], 0.25)


def test_another_database_is_refused_in_one_line(stack):
    stack.files["stackoverflow.sqlite"].write_bytes(b"no database")
    with pytest.raises(InputError, match="not federated Stack Overflow as TFF distributes it"):
        stackoverflow.clients(stack, 2, 8)
    stack.files["stackoverflow.word_count"].write_text("no counts here\n")
    with pytest.raises(InputError, match="not counts of words"):
        stackoverflow.vocabulary(stack, 3, 2)
