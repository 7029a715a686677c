"""Federated Stack Overflow as TensorFlow Federated (TFF) distributes it, read without TensorFlow."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bench.data.dataset import LocalCopy
from bench.data.read.emnist import parse_example
from bench.errors import InputError, cut, in_one_line


class Post(NamedTuple):
    """A question or an answer.

    tokens: words of title and text.
    tags: of its question.
    """

    tokens: list[str]
    tags: list[str]


def vocabulary(copy: LocalCopy, num_words: int, num_tags: int) -> tuple[list[str], list[str]]:
    """Return the most frequent words and tags of the whole data set, from the counts that come with it."""
    words, tags = (_counts(copy.files[f"stackoverflow.{kind}_count"]) for kind in ("word", "tag"))
    return [word for word, _ in words.most_common(num_words)], [tag for tag, _ in tags.most_common(num_tags)]


def clients(copy: LocalCopy, num_clients: int, max_documents: int) -> list[tuple[list[Post], list[Post]]]:
    """Return training and test posts of the first users by id among those in the test split.

    Args:
        copy: with the database.
        num_clients: the number of users.
        max_documents: the most training posts of a user; the first ones are kept.

    Raises:
        InputError: the file cannot be read or has another format.
    """
    path = copy.files["stackoverflow.sqlite"]
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            ids = database.execute(
                "SELECT client_id FROM client_metadata WHERE split_name = 'test' ORDER BY client_id LIMIT ?",
                (num_clients,),
            ).fetchall()
            if not ids:
                raise ValueError("no split is called test")
            return [(_posts(database, id, "train", max_documents), _posts(database, id, "test", -1)) for (id,) in ids]
    except (OSError, ValueError, KeyError, IndexError, UnicodeDecodeError, sqlite3.Error) as error:
        reason = cut(in_one_line(error))
        raise InputError(f"{path}: not federated Stack Overflow as TFF distributes it ({reason}): replace it") from None


def _posts(database: sqlite3.Connection, client: str, split: str, limit: int) -> list[Post]:
    rows = database.execute(
        "SELECT serialized_example_proto FROM examples WHERE client_id = ? AND split_name = ? ORDER BY rowid LIMIT ?",
        (client, split, limit),
    )
    posts = []
    for (example,) in rows:
        fields = parse_example(example)
        title, tokens, tags = (fields[name][0].decode() for name in ("title", "tokens", "tags"))
        posts.append(Post([word for word in f"{title} {tokens}".split(" ") if word], tags.split("|")))
    return posts


def _counts(path: Path) -> Counter[str]:
    """Return counts by word, from a JSON object, or from lines "word count"."""
    try:
        text = path.read_text(encoding="utf-8")
        is_json = text.lstrip()[:1] == "{"
        pairs = json.loads(text).items() if is_json else (line.rsplit(None, 1) for line in text.splitlines() if line)
        return Counter({word: int(count) for word, count in pairs})
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not counts of words ({error}): replace it by the original") from None
