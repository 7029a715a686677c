"""Tag prediction by user, from three data sets with one interface.

- `stackoverflow_tags`: federated Stack Overflow from the TensorFlow Federated file, as in Bietti et al. 2022;
- `debian_tags`: descriptions of Debian's packages by the person who maintains them, with about six times fewer
  documents a user;
- `made_up_tags`: generated, with exactly the paper's numbers of users, documents, words and tags.

Vocabulary and tags to predict are the most frequent words and tags of all documents and count as public, as in the
paper.
"""

import re
from functools import cache

import numpy as np
from scipy import sparse

from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.partition import by_label
from bench.data.read import debian, stackoverflow
from bench.data.task import Task, recipe_checksum
from bench.data.tasks.bag_of_words import Bags, bags, most_frequent, tag_task

NUM_WORDS, NUM_TAGS = 5000, 80
WORD = re.compile(r"[a-z][a-z0-9+#-]*")
MEAN_REMAINDER = 6  # places for a client's validation documents, on average; the remainder by ten is 4.5 on average


@cache
def _debian(
    data_files: DataFiles, num_words: int, num_tags: int, min_documents: int, max_words: int
) -> tuple[Bags, np.ndarray, np.ndarray, LocalCopy]:
    """Return the bags of all packages of people with enough packages, person and source of each, and the data set."""
    copy = retrieval.get("debian_packages", data_files)
    packages = debian.documents(copy)
    persons = np.unique([p.person for p in packages], return_inverse=True)[1]
    chosen = [p for p, count in zip(packages, np.bincount(persons)[persons], strict=True) if count >= min_documents]
    tokens = [WORD.findall(p.text.lower())[:max_words] for p in chosen]
    tags = [p.tags for p in chosen]
    documents = bags(tokens, tags, most_frequent(tokens, num_words), most_frequent(tags, num_tags))
    person, source = (
        np.unique([getattr(p, name) for p in chosen], return_inverse=True)[1] for name in ("person", "source")
    )
    return documents, person, source, copy


def debian_tags(
    trial: int,
    *,
    batch_size: int = 10,
    num_words: int = NUM_WORDS,
    num_tags: int = NUM_TAGS,
    min_documents: int = 20,
    max_documents: int = 200,
    max_words: int = 128,
    test_fraction: float = 0.2,
) -> Task:
    """Debian's package descriptions by maintainer: 312 people with 20 to 200 packages each, 59 on average.

    Packages of one source share text, so all packages of a source are in training or all are in the test.

    Args:
        trial: the number of the split of each person's sources.
        batch_size: see `tag_task`.
        num_words: in the vocabulary.
        num_tags: to predict.
        min_documents: people with fewer are left out.
        max_documents: the most of a person; for people with more, this number is drawn at random.
        max_words: the most of a description; the rest is cut off.
        test_fraction: share of a person's packages for the test, at most.
    """
    documents, person, source, copy = _debian(DataFiles(), num_words, num_tags, min_documents, max_words)
    rng = np.random.default_rng([trial, 0xDEB])
    clients, room = [], 0
    for members in by_label(person):
        size = min(len(members), max_documents)
        limit = round(test_fraction * size)
        train, test = _by_source(rng.permutation(members)[:size], source, limit, rng)
        room += limit
        clients.append((documents.select(train[: max_documents - limit]), documents.select(test)))
    recipe = (batch_size, num_words, num_tags, min_documents, max_documents, max_words, test_fraction)
    entries = int(np.diff(documents.words.indptr).max())
    return tag_task(
        clients,
        name="debian_tags",
        source=f"Debian packages by maintainer ({copy.source})",
        checksum=recipe_checksum((copy.checksum, *recipe)),
        batch_size=batch_size,
        capacity=(entries, max_documents, room, MEAN_REMAINDER * len(clients)),
    )


def _by_source(members: np.ndarray, source: np.ndarray, limit: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test documents: whole sources, in random order, go to the test up to its limit."""
    test, train = [], []
    for group in (group for _, group in sorted(zip(rng.random(len(members)), by_label(source[members]), strict=False))):
        (test if len(group) + sum(map(len, test)) <= limit else train).append(members[group])
    return rng.permutation(np.concatenate(train)), np.concatenate([members[:0], *test])


def stackoverflow_tags(trial: int, *, batch_size: int = 10, num_clients: int = 500, max_documents: int = 500) -> Task:
    """The first 500 users of federated Stack Overflow's test clients, in the file's order and with its own
    split.

    The split is fixed, so trials differ only in their randomness.

    Args:
        trial: not used.
        batch_size: see `tag_task`.
        num_clients: number of the file's test clients that are used.
        max_documents: the most training documents of a user; the first ones are kept.
    """
    del trial
    copy = retrieval.get("federated_stackoverflow")
    words, labels = stackoverflow.vocabulary(copy, NUM_WORDS, NUM_TAGS)
    rng = np.random.default_rng(0x50)
    clients = []
    for train, test in stackoverflow.clients(copy, num_clients, max_documents):
        halves = [bags([d.tokens for d in half], [d.tags for d in half], words, labels) for half in (train, test)]
        clients.append((halves[0].select(rng.permutation(len(train))), halves[1]))
    entries = max(int(np.diff(half.words.indptr).max(initial=1)) for client in clients for half in client)
    longest = max(len(train) for train, _ in clients)
    return tag_task(
        clients,
        name="stackoverflow_tags",
        source=f"federated Stack Overflow ({copy.source})",
        checksum=copy.checksum,
        batch_size=batch_size,
        capacity=(entries, longest, sum(len(test) for _, test in clients), batch_size * len(clients)),
    )


def made_up_tags(
    trial: int,
    *,
    batch_size: int = 10,
    num_clients: int = 500,
    num_documents: tuple[int, int] = (300, 500),
    num_test: int = 30,
    num_words: int = NUM_WORDS,
    num_tags: int = NUM_TAGS,
    length: int = 60,
    topical: float = 0.15,
    own_topic: float = 0.3,
) -> Task:
    """Documents drawn from a model, of the size of the paper's Stack Overflow data.

    A word's frequency falls as a power of its rank. A user has a few favourite tags. A document has one to three of
    them, and each of its words comes from the common language, from the common words of one of its tags, or from this
    user's words of that tag.

    Args:
        trial: the number of the draw.
        batch_size: see `tag_task`.
        num_clients: users.
        num_documents: the fewest and the most training documents of a user.
        num_test: test documents of a user.
        num_words, num_tags: numbers of words and tags.
        length: words in a document.
        topical: share of a document's words that belong to one of its tags.
        own_topic: share of the topical words that are the user's own.
    """
    recipe = (batch_size, num_clients, num_documents, num_test, num_words, num_tags, length, topical, own_topic)
    rng = np.random.default_rng([trial, 0x7A65])
    language = np.cumsum(1 / np.arange(1, num_words + 1))
    popularity = 1 / np.arange(1, num_tags + 1)
    topics = rng.integers(num_words // 50, num_words, (num_tags, 40))
    clients = []
    for _ in range(num_clients):
        liked = rng.dirichlet(10 * popularity / popularity.sum())
        own_words = rng.integers(num_words // 50, num_words, (num_tags, 10))
        halves = []
        for size in (rng.integers(num_documents[0], num_documents[1] + 1), num_test):
            drawn_tags = rng.choice(num_tags, (size, 3), p=liked)
            tags = np.where(np.arange(3) < rng.integers(1, 4, (size, 1)), drawn_tags, drawn_tags[:, :1])
            about = np.take_along_axis(tags, rng.integers(0, 3, (size, length)), axis=1)
            words = np.searchsorted(language, rng.random((size, length)) * language[-1])
            kind = rng.random((size, length))
            on_topic = topics[about, rng.integers(0, topics.shape[1], about.shape)]
            in_own_words = own_words[about, rng.integers(0, own_words.shape[1], about.shape)]
            words = np.where(kind < topical, np.where(kind < topical * own_topic, in_own_words, on_topic), words)
            halves.append(_counted(words, tags, num_words, num_tags))
        clients.append(tuple(halves))
    return tag_task(
        clients,
        name="made_up_tags",
        source="generated",
        checksum=recipe_checksum(recipe),
        batch_size=batch_size,
        capacity=(length, num_documents[1], num_test * num_clients, MEAN_REMAINDER * num_clients),
    )


def _counted(words: np.ndarray, tags: np.ndarray, num_words: int, num_tags: int) -> Bags:
    size, length = words.shape
    values = np.full(words.size, 1 / length, np.float32)
    matrix = sparse.csr_matrix((values, words.ravel(), np.arange(size + 1) * length), (size, num_words))
    matrix.sum_duplicates()
    multi_hot = np.zeros((size, num_tags), bool)
    multi_hot[np.arange(size)[:, None], tags] = True
    return Bags(matrix, multi_hot)
