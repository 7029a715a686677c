"""What the sampled clients of a round send, as far as private methods use it: norms and weighted sums.

A private method scales every client's message by a factor that depends on its norm, and adds them up. Both forms offer
the same functions and the same results:

- `formed` has the messages as arrays;
- `linear` is for messages R_i^T X_i of linear models, such as gradients under the squared loss. It forms no message:
  norms take the products X_i X_i^T, and a weighted sum is one product.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from bench.kernels import sparse
from bench.kernels.gradient import (
    ClientTrees,
    Tree,
    clip_factor,
    clipped_sum_by_layer,
    linear_norms,
    linear_sum,
    norms_of,
    rows_of_finite,
    scaled,
    weighted_sum,
)
from bench.kernels.platforms import over_clients


class Messages(NamedTuple):
    """The messages m_i of the sampled clients.

    lengths: |m_i| as computed, joint over all leaves, [sampled]; it may not be finite.
    weighted_sum: factors [sampled] -> sum_i factor_i m_i, without those whose norm is not finite.
    each: () -> the messages, leaves [sampled, ...].
    """

    lengths: Float[Array, " sampled"]
    weighted_sum: Callable[[Array], Tree]
    each: Callable[[], ClientTrees]

    @property
    def norms(self) -> Float[Array, " sampled"]:
        """Return |m_i|; 0 for a place that nobody takes, and where it is not finite, since this message counts as 0."""
        return jnp.where(jnp.isfinite(self.lengths), self.lengths, 0.0)

    def clipped_sum(self, clip_norm: float | Array) -> Tree:
        """Return sum_i clip(m_i, C), which moves by at most C in L2 if a client is removed, 2 C if one is replaced."""
        return self.weighted_sum(clip_factor(self.lengths, clip_norm))

    def clipped(self, clip_norm: float | Array, by_layer: bool = False) -> tuple[Tree, Float[Array, ""]]:
        """Return sum_i clip(m_i, C), and the number of messages that were longer.

        Args:
            clip_norm: C > 0; inf does not clip.
            by_layer: clips every layer by itself, see `clipped_sum_by_layer`.
        """
        if by_layer:
            total, lengths = clipped_sum_by_layer(self.each(), clip_norm)
        else:
            total, lengths = self.clipped_sum(clip_norm), self.lengths
        return total, jnp.sum(lengths > clip_norm, dtype=jnp.float32)

    def map(self, function: Callable, *common: Any) -> "Messages":
        """Return the messages function(m_i, *common)."""
        trees = self.each()
        size = sum(leaf.size for leaf in jax.tree.leaves(trees)) // len(self.lengths)
        return formed(over_clients(lambda common, tree: function(tree, *common), common, trees, size=size))


def formed(trees: ClientTrees) -> Messages:
    """Return these messages, whose norm is joint over all leaves."""
    norms = norms_of(trees)
    return Messages(norms, partial(weighted_sum, trees, norms), lambda: trees)


def linear(
    inputs: Float[Array, "client example feature"] | sparse.Rows,
    residuals: Float[Array, "client example output"],
    gram: Float[Array, "client example example"],
) -> Messages:
    """Return the messages R_i^T X_i.

    Args:
        inputs: X_i, as an array or as sparse rows.
        residuals: R_i; a padded example has residual 0.
        gram: X_i X_i^T of the same examples.
    """
    norms = linear_norms(residuals, gram)

    def total(factors):
        finite_factors = jnp.where(jnp.isfinite(norms), factors, 0.0)
        return linear_sum(rows_of_finite(inputs, gram), scaled(residuals, finite_factors[:, None, None]))

    def all_messages():
        def message_of_client(_, inputs, residuals):
            return linear_sum(*jax.tree.map(lambda leaf: leaf[None], (inputs, residuals)))

        features = inputs.num_features if isinstance(inputs, sparse.Rows) else inputs.shape[-1]
        return over_clients(message_of_client, (), inputs, residuals, size=features * residuals.shape[-1])

    return Messages(norms, total, all_messages)
