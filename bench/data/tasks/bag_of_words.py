"""Documents as bags of words with tags, by client, and the linear problem of predicting a tag.

A document's vector is the mean of the one-hot vectors of its words. Words outside the vocabulary are counted but left
out, so the vector sums to at most one. Its targets are 0.9 for each of its tags and -0.1 for the other tags.

Source: Bietti et al. 2022, section 6 and the authors' program.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from bench.data.partition import pack
from bench.data.task import Task
from bench.data.tasks.by_user import accuracies, by_client, or_nan
from bench.kernels.order import first_largest
from bench.kernels.sparse import Rows, densify, product
from bench.models.additive import Additive, sparse_squared_loss

EVALUATED_TOGETHER = 2000  # documents whose vectors are made dense at once


class Bags(NamedTuple):
    """Documents.

    words: [document, word], scipy's CSR.
    tags: bool [document, tag].
    """

    words: Any  # SciPy has no annotations
    tags: np.ndarray

    def select(self, rows) -> "Bags":
        return Bags(self.words[rows], self.tags[rows])

    def __len__(self) -> int:
        return len(self.tags)


class Documents(NamedTuple):
    """Flat lists of documents to evaluate, padded.

    rows: [document, entry].
    tags: bool [document, tag]; padding has none, so it is never right.
    place: the position of a document in a flattened [client, slot] array, int32 [document].
    cross: inner products with the client's training inputs, [client, slot, stored example].
    count: the number of documents.
    """

    rows: Rows
    tags: jax.Array
    place: jax.Array
    cross: jax.Array
    count: jax.Array


def most_frequent(lists: Iterable[Sequence[str]], count: int) -> list[str]:
    """Return the `count` most frequent items; among equals the first in alphabetical order."""
    counts = Counter(item for items in lists for item in items)
    return sorted(counts, key=lambda item: (-counts[item], item))[:count]


def bags(tokens: Sequence[Sequence[str]], tags: Sequence[Sequence[str]], words: list[str], labels: list[str]) -> Bags:
    """Return documents as bags of words.

    Args:
        tokens: of each document.
        tags: of each document; those that are not labels are left out.
        words: the vocabulary.
        labels: the tags to predict.
    """
    number_of = {word: i for i, word in enumerate(words)}
    index = [[number_of[token] for token in document if token in number_of] for document in tokens]
    sizes = np.array([len(document) for document in index])
    columns = np.array([i for document in index for i in document], np.int32)
    length = np.maximum([len(document) for document in tokens], 1)
    values = np.repeat(1 / length, sizes).astype(np.float32)
    matrix = sparse.csr_matrix((values, columns, np.append(0, np.cumsum(sizes))), (len(tokens), len(words)))
    matrix.sum_duplicates()
    place = {label: i for i, label in enumerate(labels)}
    multi_hot = np.zeros((len(tags), len(labels)), bool)
    for row, document in zip(multi_hot, tags, strict=True):
        row[[place[tag] for tag in document if tag in place]] = True
    return Bags(matrix, multi_hot)


def tag_task(
    clients: Sequence[tuple[Bags, Bags]],
    *,
    batch_size: int,
    capacity: tuple[int, int, int, int],
    **origin: Any,
) -> Task:
    """Return the additive linear problem on documents by client.

    The published loop cuts a client's documents into blocks of `batch_size` and never uses the remainder. Here that
    remainder is the validation set, so tuning on held-out data takes nothing from the training set.

    Args:
        clients: training and test documents of each.
        batch_size: m; a client's last n mod m training documents become validation documents.
        capacity: places for words in a document, for training documents of a client, and for test and for validation
            documents of all clients; the same for all trials.
        origin: name, source and checksum.
    """
    num_entries, num_train, *room = capacity
    used = [len(train) // batch_size * batch_size for train, _ in clients]
    train = [documents.select(slice(n)) for (documents, _), n in zip(clients, used, strict=True)]
    held_out = {
        "test": [test for _, test in clients],
        "validation": [documents.select(slice(n, None)) for (documents, _), n in zip(clients, used, strict=True)],
    }
    num_words, num_tags = train[0].words.shape[1], train[0].tags.shape[1]
    entries = zip(*(_entries(b.words, num_entries) for b in train), strict=True)
    index, value = (jnp.asarray(pack(leaves, num_train)) for leaves in entries)
    targets = pack([b.tags.astype(np.float32) for b in train], num_train) - np.float32(0.1)
    gram = pack([_products(b, b, num_train) for b in train], num_train)
    return Task(
        init_params=jnp.zeros((num_words, num_tags)),
        num_examples=jnp.asarray(used, jnp.int32),
        train=(Rows(index, value, num_words), jnp.asarray(targets)),
        evaluation={
            split: _documents(held_out[split], train, num_entries, num_train, max(size, 1))
            for split, size in zip(held_out, room, strict=True)
        },
        gram=jnp.asarray(gram),
        loss=sparse_squared_loss,
        metrics=tag_accuracy,
        **origin,
    )


def _entries(words: sparse.csr_matrix, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and values of each row, [document, room]."""
    sizes = np.diff(words.indptr)
    row = np.repeat(np.arange(len(sizes)), sizes)
    slot = np.arange(words.nnz) - words.indptr[:-1][row]
    index, value = np.zeros((len(sizes), room), np.int32), np.zeros((len(sizes), room), np.float32)
    index[row, slot], value[row, slot] = words.indices, words.data
    return index, value


def _documents(held_out: list[Bags], train: list[Bags], num_entries: int, num_train: int, room: int) -> Documents:
    longest = max(max(map(len, held_out)), 1)
    place = np.concatenate([client * longest + np.arange(len(b)) for client, b in enumerate(held_out)])
    cross = [_products(b, t, num_train) for b, t in zip(held_out, train, strict=True)]
    leaves = zip(*(_entries(b.words, num_entries) for b in held_out), strict=True)
    tags = np.concatenate([b.tags for b in held_out])
    padded = (pack([array], room)[0] for array in (*map(np.concatenate, leaves), tags, place.astype(np.int32)))
    index, value, tags, padded_place = map(jnp.asarray, padded)
    return Documents(
        rows=Rows(index, value, train[0].words.shape[1]),
        tags=tags,
        place=padded_place,
        cross=jnp.asarray(pack(cross, longest)),
        count=jnp.asarray(len(place), jnp.int32),
    )


def _products(left: Bags, right: Bags, room: int) -> np.ndarray:
    """Return inner products of documents, [left, room]."""
    return np.pad((left.words @ right.words.T).toarray(), [(0, 0), (0, room - len(right))])


def tag_accuracy(params, task: Task) -> dict:
    """Return the top-1 accuracy, of all documents together and by user (`bench.data.tasks.by_user`), on test and
    held-out documents. A document counts as right where its best tag is one of its own.
    """
    return accuracies(_hits, params, task)


def test_hits(params, task: Task) -> tuple[jax.Array, jax.Array]:
    """Return right answers on test documents, NaN where the model is not finite, and numbers of documents, [user]."""
    return or_nan(*_hits(params, task, "test"))


def _hits(params, task: Task, split: str) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return right answers and documents of each user, [user], and whether all scores are finite."""
    model = params if isinstance(params, Additive) else Additive(params)
    documents = task.evaluation[split]
    scores = _scores(model, documents)
    hits = jnp.take_along_axis(documents.tags, first_largest(scores)[:, None], axis=-1)[:, 0]
    real, client = jnp.arange(len(hits)) < documents.count, documents.place // documents.cross.shape[1]
    return *by_client(hits, real, client, task.num_clients), jnp.all(jnp.isfinite(scores))


def _scores(model: Additive, documents: Documents) -> jax.Array:
    """Return scores [document, tag]."""
    scores = []
    size = documents.place.shape[0]
    for start in range(0, size, EVALUATED_TOGETHER):
        rows = jax.tree.map(lambda leaf, s=start: leaf[s : s + EVALUATED_TOGETHER], documents.rows)
        scores.append(densify(rows) @ model.w)
    total = jnp.concatenate(scores)
    if model.coefficients is not None:
        local_scores = jnp.einsum("nsj,njk->nsk", documents.cross, model.coefficients)
        total = total + local_scores.reshape(-1, local_scores.shape[-1])[documents.place]
    if model.theta is not None:
        client = documents.place // documents.cross.shape[1]
        total = total + jax.vmap(lambda row, theta: product(row, theta))(documents.rows, model.theta[client])
    return total
