"""Small documents by client, for tests."""

import numpy as np
from scipy import sparse

from bench.data.task import Task
from bench.data.tasks.bag_of_words import Bags, tag_task


def documents(rng, size: int, num_words: int = 30, num_tags: int = 5, length: int = 6) -> Bags:
    """Random documents with one or two tags each; a document's first word tells one of its tags."""
    tags = np.zeros((size, num_tags), bool)
    words = rng.integers(0, num_words, (size, length))
    tags[np.arange(size)[:, None], rng.integers(0, num_tags, (size, 2))] = True
    words[:, 0] = np.argmax(tags, axis=1)
    values = np.full(words.size, 1 / length, np.float32)
    matrix = sparse.csr_matrix((values, words.ravel(), np.arange(size + 1) * length), (size, num_words))
    matrix.sum_duplicates()
    return Bags(matrix, tags)


def tiny(seed: int = 0, sizes=(9, 4, 14, 8, 8), batch_size: int = 4) -> Task:
    """A tag problem of five clients; the third has a remainder for validation, as has the first."""
    rng = np.random.default_rng(seed)
    clients = [(documents(rng, size), documents(rng, 3)) for size in sizes]
    return tag_task(
        clients, name="tiny", source="made up", checksum="0", batch_size=batch_size, capacity=(6, 16, 16, 6)
    )
