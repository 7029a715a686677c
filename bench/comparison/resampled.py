"""The score of a test run on users drawn with replacement, for the standard error due to the choice of users.

All runs of a comparison draw the same users, so that differences between methods are paired by user: a bootstrap over
users within every split. It costs one more pass over the scores of the users, not over their examples.
"""

import jax
import jax.numpy as jnp

from bench.analysis.drawn_users import DRAWS, names

KEY = 0x5EED  # of the draws of users, the same in all runs


def resampled(metric: str, totals: jax.Array, weights: jax.Array) -> dict[str, jax.Array]:
    """Return a metric on each draw of users.

    Args:
        metric: its name.
        totals: sum of the score over each user's test examples, [user].
        weights: how much each user counts, such as its number of test examples, [user]; the metric is the sum of totals
            over the sum of weights.
    """
    num_users = len(weights)

    def score(key):
        drawn = jax.random.randint(key, (num_users,), 0, num_users)
        times = jnp.zeros(num_users).at[drawn].add(1.0)
        return jnp.sum(jnp.where(times > 0, times * totals, 0.0)) / (times @ weights.astype(jnp.float32))

    keys = jax.random.split(jax.random.key(KEY), DRAWS)
    return dict(zip(names(metric), jax.lax.map(score, keys), strict=True))
