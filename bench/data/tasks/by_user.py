"""Accuracy per user, in addition to the pooled accuracy of all examples.

Pooled accuracy weights a user by its number of examples, so users with few examples hardly count. Here the accuracy of
each user is computed, and its mean is reported over all users, over the worst tenth, and over the users with the fewest
and with the most training examples. Users without test examples are left out.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from bench.data.task import Task

WORST = 10  # the worst tenth of the users


BY_USER = tuple(f"test_accuracy_{name}" for name in ("per_user", "worst_tenth", "small_users", "large_users"))


def test_accuracies(hits: jax.Array, counts: jax.Array, sizes: jax.Array) -> dict[str, jax.Array]:
    """Return accuracies on test examples.

    Args:
        hits: right answers of each user, [user].
        counts: test examples of each user, [user].
        sizes: training examples of each user, [user].

    Returns:
        test_accuracy: of all examples together.
        test_accuracy_per_user: mean over users.
        test_accuracy_worst_tenth: mean over the tenth of users with the lowest accuracy, rounded up to whole users.
        test_accuracy_small_users: mean over the users whose training examples are at most the lower tercile.
        test_accuracy_large_users: mean over the users whose training examples are at least the upper tercile.
    """
    present = counts > 0
    of_user = jnp.where(present, hits / jnp.maximum(counts, 1), jnp.inf)
    terciles = jnp.asarray([1 / 3, 2 / 3], jnp.float32)
    lower, upper = jnp.quantile(sizes.astype(jnp.float32), terciles, method="nearest").astype(sizes.dtype)
    worst = jnp.arange(len(counts)) < -(-jnp.sum(present) // WORST)
    return {
        "test_accuracy": jnp.sum(hits) / jnp.sum(counts),
        "test_accuracy_per_user": _mean(of_user, present),
        "test_accuracy_worst_tenth": _mean(jnp.sort(of_user), worst),
        "test_accuracy_small_users": _mean(of_user, present & (sizes <= lower)),
        "test_accuracy_large_users": _mean(of_user, present & (sizes >= upper)),
    }


def validation_accuracies(hits: jax.Array, counts: jax.Array, sizes: jax.Array) -> dict[str, jax.Array]:
    """Return accuracies on held-out examples; arguments as for `test_accuracies`, for held-out examples.

    The held-out examples are those left over by the blocks, 0 to m - 1 per user for any size, so the pooled value gives
    users with few examples more weight than the test does.

    Returns:
        validation_accuracy: of all examples together.
        validation_accuracy_by_size: mean over users, each weighted by its training examples, as if the held-out
            examples were in proportion to them.
    """
    of_user = hits / jnp.maximum(counts, 1)
    return {
        "validation_accuracy": jnp.sum(hits) / jnp.sum(counts),
        "validation_accuracy_by_size": _mean(of_user, jnp.where(counts > 0, sizes, 0)),
    }


def _mean(values: jax.Array, weights: jax.Array) -> jax.Array:
    """Return the mean of the values whose weight is not 0; NaN where there are none."""
    weights = weights.astype(jnp.float32)
    return jnp.sum(jnp.where(weights > 0, values, 0) * weights) / jnp.sum(weights)


def by_client(hits: jax.Array, real: jax.Array, client: jax.Array, num_clients: int) -> tuple[jax.Array, jax.Array]:
    """Return right answers and examples of each user, [user], from a list of examples of all users.

    Args:
        hits: whether the answer is right, bool [example].
        real: whether the example is no padding, bool [example].
        client: the owner of the example, int32 [example].
        num_clients: users.
    """
    right, counts = (
        jax.ops.segment_sum(leaf.astype(jnp.int32), client, num_segments=num_clients) for leaf in (hits & real, real)
    )
    return right, counts


def or_nan(hits: jax.Array, counts: jax.Array, finite: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return right answers, NaN where the model is not finite, and examples of each user, [user]."""
    return jnp.where(finite, hits.astype(jnp.float32), jnp.nan), counts


def accuracies(hits_of: Callable[..., tuple[jax.Array, jax.Array, jax.Array]], params, task: Task) -> dict:
    """Return the metrics of test and of held-out examples; NaN where the model is not finite.

    Args:
        hits_of: (params, task, "test" or "validation") -> right answers and examples of each user, [user], and whether
            the model is finite.
    """
    out = {}
    for split, measure in (("test", test_accuracies), ("validation", validation_accuracies)):
        hits, counts, finite = hits_of(params, task, split)
        for name, value in measure(hits, counts, task.num_examples).items():
            out[name] = jnp.where(finite, value, jnp.nan)
    return out
