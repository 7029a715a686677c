"""Clipping and noise, the two operations shared by all private gradient methods."""

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jaxtyping import Bool, Float, Int32, PRNGKeyArray, PyTree

from bench.kernels import draws, sparse
from bench.kernels.platforms import made_once, unless

# Within one call, all pytrees have the same structure.
Tree = PyTree[Float[Array, "..."], " T"]
ClientTrees = PyTree[Float[Array, "client ..."], " T"]


def clip_factor(norm: Float[Array, "*norm"], clip_norm: float | Float[Array, ""]) -> Float[Array, "*norm"]:
    """Return the factor that scales a vector of length `norm` to length at most `clip_norm`, by `scaled`.

    The factor min(1, C / norm) is computed as 1 / max(1, norm / C), which is finite at norm 0, and 1 for C = inf. It is
    0 where the norm is not finite, since a sum that is not finite would tell who sent such a vector.
    """
    return 1.0 / jnp.where(jnp.isfinite(norm), jnp.maximum(1.0, norm / clip_norm), jnp.inf)


def scaled(vector: Float[Array, "..."], factor: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the vector times the factor, and 0 where the factor is 0, also of numbers that are not finite."""
    return jnp.where(factor != 0, vector * factor, 0.0)


def masked(counts: Bool[Array, " client"], values: Float[Array, "client ..."]) -> Float[Array, "client ..."]:
    """Return what every client has, and 0 for those that do not count, whose numbers may not be finite."""
    return jnp.where(jnp.expand_dims(counts, range(1, values.ndim)), values, 0.0)


def clip(tree: Tree, clip_norm: float | Float[Array, ""]) -> Tree:
    """Return the pytree scaled to joint L2 norm at most `clip_norm`; unchanged where it is shorter, and 0 where its
    norm is not finite.
    """
    factor = clip_factor(optax.tree.norm(tree), clip_norm)
    return jax.tree.map(lambda leaf: scaled(leaf, factor), tree)


def batch_gradient(loss: Callable) -> Callable[[Tree, Tree, PyTree, Array], Tree]:
    """Return (w, theta, examples, weight) -> sum_k weight_k grad f(w, theta, example_k), a client's gradient in w.

    Args:
        loss: f(w, theta, example) -> scalar.
    """

    def weighted_loss(w, theta, examples, weight):
        return weight @ jax.vmap(lambda example: loss(w, theta, example))(examples)

    return jax.grad(weighted_loss)


def norms_of(trees: ClientTrees) -> Float[Array, " client"]:
    """Return the norm of every client's gradient, joint over its leaves."""
    squares = [jnp.sum(jnp.square(leaf), axis=range(1, leaf.ndim)) for leaf in jax.tree.leaves(trees)]
    return jnp.sqrt(sum(squares))


def weighted_sum(
    trees: ClientTrees, norms: Float[Array, " client"], factors: Float[Array, " client"] | ClientTrees
) -> Tree:
    """Return sum_i factor_i g_i over the clients whose gradient has a finite norm; the others add nothing.

    Scale-and-sum is one tensordot, because XLA on a CPU would otherwise recompute the factor per element.

    Args:
        trees: g_i.
        norms: |g_i|.
        factors: of a client's whole gradient, or of each of its leaves.
    """

    def sum_of_all(trees, factors, _=None):
        total = partial(jnp.tensordot, axes=1, precision="highest")
        return jax.tree.map(lambda leaf, factor: total(factor, leaf), trees, factors)

    def sum_of_finite(trees, factors, finite):
        return sum_of_all(*jax.tree.map(partial(masked, finite), (trees, factors)))

    finite = jnp.isfinite(norms)
    factor_trees = jax.tree.map(lambda _: factors, trees) if isinstance(factors, Array) else factors
    return unless(~jnp.all(finite), sum_of_all, sum_of_finite, trees, factor_trees, finite)


def clipped_sum(trees: ClientTrees, clip_norm: float | Float[Array, ""]) -> tuple[Tree, Float[Array, " client"]]:
    """Return the sum over clients of their clipped gradients, sum_i clip(g_i, C), and the norms before clipping.

    Replacing one client's gradient moves the sum by at most 2 C, removing it by at most C, in L2.

    Args:
        trees: the norm is joint over all leaves of one client.
        clip_norm: C > 0; inf does not clip.

    Returns:
        The sum (leaves without the client axis) and the norms before clipping.
    """
    norms = norms_of(trees)
    return weighted_sum(trees, norms, clip_factor(norms, clip_norm)), norms


def clipped_sum_by_layer(
    trees: ClientTrees, clip_norm: float | Float[Array, ""]
) -> tuple[Tree, Float[Array, " client"]]:
    """Return `clipped_sum` where each of the L layers of a gradient is clipped by itself, to C / sqrt(L).

    All layers together then have length at most C, so the sum moves no further than that of `clipped_sum`.

    Args:
        trees: a layer is an inner container, such as the kernel and the bias of a module, or a leaf in none.
        clip_norm: C > 0; inf does not clip.

    Returns:
        The sum (leaves without the client axis), and sqrt(L) times the norm of the longest layer before clipping, which
        is above C where something is clipped.
    """
    paths, structure = jax.tree.flatten_with_path(trees)
    layers: dict[tuple, list[Array]] = {}
    for path, leaf in paths:
        layers.setdefault(path[:-1] or path, []).append(leaf)
    lengths = {layer: math.sqrt(len(layers)) * norms_of(leaves) for layer, leaves in layers.items()}
    longest = jnp.max(jnp.stack([*lengths.values()]), axis=0)
    factors = [clip_factor(lengths[path[:-1] or path], clip_norm) for path, _ in paths]
    return weighted_sum(trees, longest, jax.tree.unflatten(structure, factors)), longest


def linear_norms(
    residuals: Float[Array, "client example output"], gram: Float[Array, "client example example"]
) -> Float[Array, " client"]:
    """Return |R_i^T X_i| of every client, without forming these gradients of linear models.

    The squared norm is <R_i, X_i X_i^T R_i>. Where terms cancel, rounding could make it too small and leave a long
    gradient unclipped, so an allowance for rounding is added: at worst a gradient is clipped by a few millionths more
    than necessary.

    Args:
        residuals: R_i; a padded example has residual 0.
        gram: X_i X_i^T of the same examples.
    """
    squares = jnp.einsum("qik,qij,qjk->q", residuals, gram, residuals, precision="highest")
    lengths = jnp.sqrt(jnp.diagonal(gram, axis1=1, axis2=2))
    longest = jnp.einsum("qik,qi->qk", jnp.abs(residuals), lengths, precision="highest")  # as if no terms cancelled
    without_cancelling = jnp.sum(jnp.square(longest), axis=1)
    rounding = 4 * residuals.shape[1] * jnp.finfo(gram.dtype).eps * without_cancelling
    return jnp.sqrt(jnp.maximum(squares, 0.0) + rounding)


def linear_sum(
    inputs: Float[Array, "client example feature"] | sparse.Rows, residuals: Float[Array, "client example output"]
) -> Float[Array, "output feature"] | Float[Array, "feature output"]:
    """Return sum_i R_i^T X_i, [output, feature], or of sparse rows [feature, output]."""
    if isinstance(inputs, sparse.Rows):
        return sparse.transposed_product(inputs, residuals)
    return jnp.einsum("qmk,qmd->kd", residuals, inputs, precision="highest")


def rows_of_finite(
    inputs: Float[Array, "client example feature"] | sparse.Rows, gram: Float[Array, "client example example"]
) -> Float[Array, "client example feature"] | sparse.Rows:
    """Return the inputs with 0 in place of a row whose squared norm is not finite.

    Which rows these are depends on the data alone, so that many models still share one product with the inputs.

    Args:
        inputs: X_i.
        gram: X_i X_i^T of the same examples.
    """

    def zeroed(inputs, finite):
        return jax.tree.map(lambda leaf: jnp.where(finite[..., None], leaf, 0), inputs)

    finite = jnp.isfinite(jnp.diagonal(gram, axis1=1, axis2=2))
    return unless(~jnp.all(finite), lambda inputs, _: inputs, zeroed, inputs, finite)


def gaussian_like(key: PRNGKeyArray, tree: Tree) -> Tree:
    """Draw standard normal noise of the pytree's shape, the direction that each point scales by its own std."""
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    noise = [draws.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    return made_once(jax.tree.unflatten(structure, noise))


def gaussian_rows_like(
    key: PRNGKeyArray, trees: ClientTrees, numbers: Int32[Array, " client"] | None = None
) -> ClientTrees:
    """Draw the noise of `gaussian_like` for many clients as one matrix, which compiles much faster for many leaves.

    Args:
        key: of one draw.
        trees: of the clients.
        numbers: of the clients among all clients, where these are part of them. Their noise is then the same as if all
            clients were given together.
    """
    leaves, structure = jax.tree.flatten(trees)
    rows = leaves[0].shape[0]
    ends = np.cumsum([leaf.size // rows for leaf in leaves])
    width = int(ends[-1])
    noise = draws.normal(key, (rows, width)) if numbers is None else draws.normal_rows(key, numbers, width)
    blocks = jnp.split(noise, ends[:-1], axis=1)
    return jax.tree.unflatten(structure, [p.reshape(leaf.shape) for p, leaf in zip(blocks, leaves, strict=True)])


def noise_scale(noise_multiplier: float | Float[Array, ""], clip_norm: float | Float[Array, ""]) -> Float[Array, ""]:
    """Return sigma C, the std of the noise on a sum of clipped terms; exactly 0 for sigma = 0, also when C = inf."""
    silent = jnp.asarray(noise_multiplier) == 0
    return jnp.where(silent, 0.0, noise_multiplier * jnp.where(silent, 1.0, clip_norm))
