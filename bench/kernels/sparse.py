"""Sparse inputs, such as bags of words: rows that hold few of many features, multiplied without the zeros.

A minibatch of documents uses few of the words. Its products need only the words in use: those rows of the model are
gathered once, and the rest is a small dense product. Which words are in use depends on the data alone, so a sweep
finds them once for all its points.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

FEW = 8  # entries of a row; with no more, rows are multiplied entry by entry
DISTINCT = 2048  # most words of the small product; a minibatch with more words is multiplied entry by entry


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rows:
    """Sparse vectors with the same number of entries each, an array [..., feature].

    index: feature numbers, int32 [..., entry]; the values of a feature that occurs twice add up.
    value: float32 [..., entry]; 0 for padding.
    num_features: length of the vectors.
    """

    index: Array
    value: Array
    num_features: int = field(metadata={"static": True})

    def flat(self) -> "Rows":
        """Return the same vectors as one list, [row, entry]."""
        index, value = (leaf.reshape(-1, leaf.shape[-1]) for leaf in (self.index, self.value))
        return Rows(index, value, self.num_features)


def densify(rows: Rows) -> Float[Array, "... {rows.num_features}"]:
    """Return the rows as an array."""
    flat = rows.flat()
    out = jnp.zeros((flat.index.shape[0], rows.num_features))
    out = out.at[jnp.arange(out.shape[0])[:, None], flat.index].add(flat.value)
    return out.reshape(*rows.index.shape[:-1], rows.num_features)


def product(rows: Rows, model: Float[Array, "{rows.num_features} output"]) -> Float[Array, "... output"]:
    """Return X w for rows X [..., feature] and the model w."""
    flat = rows.flat()

    def by_words(words, small):
        return jnp.matmul(small, model.at[words].get(mode="fill", fill_value=0), precision="highest")

    def by_entries():
        return jnp.einsum("re,reo->ro", flat.value, model[flat.index], precision="highest")

    return _by_words_or_entries(flat, by_words, by_entries).reshape(*rows.index.shape[:-1], model.shape[1])


def transposed_product(
    rows: Rows, coefficients: Float[Array, "*rows output"]
) -> Float[Array, "{rows.num_features} output"]:
    """Return X^T A for rows X [..., feature] and coefficients A of the same rows."""
    flat, coefficients = rows.flat(), coefficients.reshape(-1, coefficients.shape[-1])

    def by_words(words, small):
        sums = jnp.matmul(small.T, coefficients, precision="highest")
        is_used = _words_used(flat)
        return jnp.where(is_used[:, None], sums[jnp.cumsum(is_used) - 1], 0)

    def by_entries():
        empty = jnp.zeros((rows.num_features, coefficients.shape[-1]))
        return empty.at[flat.index].add(flat.value[..., None] * coefficients[:, None, :])

    return _by_words_or_entries(flat, by_words, by_entries)


def _by_words_or_entries(flat: Rows, by_words: Callable, by_entries: Callable) -> Array:
    """Apply `by_words` to the words in use and the rows over them, or `by_entries` where there are too many words."""
    if flat.index.shape[-1] <= FEW:
        return by_entries()
    bound = min(flat.index.size, flat.num_features)
    if bound <= DISTINCT:
        return by_words(*_small_rows(flat, bound))
    count = jnp.sum(_words_used(flat))
    return jax.lax.cond(count <= DISTINCT, lambda: by_words(*_small_rows(flat, DISTINCT)), by_entries)


def _words_used(flat: Rows) -> Array:
    return jnp.zeros(flat.num_features, bool).at[flat.index].set(True)


def _small_rows(flat: Rows, room: int) -> tuple[Array, Array]:
    """Return the features that occur, ascending and padded with increasing numbers beyond the last feature, int32
    [room], and the rows over them, [row, room].
    """
    is_used = _words_used(flat)
    fillers = flat.num_features + jnp.arange(room)
    words = jnp.flatnonzero(is_used, size=room, fill_value=flat.num_features)
    words = jnp.where(words < flat.num_features, words, fillers)
    place = jnp.cumsum(is_used) - 1
    return words, densify(Rows(place[flat.index], flat.value, room))
