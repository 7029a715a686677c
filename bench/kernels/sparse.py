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

    def by_words(words, place, small):
        return jnp.matmul(small, _rows_or_zeros(model, words), precision="highest")

    def by_entries():
        return jnp.einsum("re,reo->ro", flat.value, model[flat.index], precision="highest")

    return _by_words_or_entries(flat, by_words, by_entries).reshape(*rows.index.shape[:-1], model.shape[1])


def transposed_product(
    rows: Rows, coefficients: Float[Array, "*rows output"]
) -> Float[Array, "{rows.num_features} output"]:
    """Return X^T A for rows X [..., feature] and coefficients A of the same rows."""
    flat, coefficients = rows.flat(), coefficients.reshape(-1, coefficients.shape[-1])

    def by_words(words, place, small):
        return _rows_or_zeros(jnp.matmul(small.T, coefficients, precision="highest"), place)

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


def _rows_or_zeros(matrix: Array, index: Array) -> Array:
    """Return rows of a matrix, and zeros for an index beyond the last."""
    return matrix.at[index].get(mode="fill", fill_value=0)


def _small_rows(flat: Rows, room: int) -> tuple[Array, Array, Array]:
    """Return the features that occur, ascending, int32 [room]; the place of every feature among them, int32 [feature];
    and the rows over them, [row, room]. An empty place and a feature that does not occur have the index after the last.
    """
    is_used = _words_used(flat)
    words = jnp.flatnonzero(is_used, size=room, fill_value=flat.num_features)
    place = jnp.where(is_used, jnp.cumsum(is_used) - 1, room)
    return words, place, densify(Rows(place[flat.index], flat.value, room))
