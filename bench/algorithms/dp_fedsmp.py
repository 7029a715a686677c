"""Fed-SMP with random sparsification (Hu, Guo and Gong, arXiv 2202.07178), private for users.

This is `dp_fedavg` in which a round concerns k of the d numbers of w, drawn anew in every round with public randomness.
All users send these numbers of their update, and only these get noise:

    M       = k of d coordinates, uniformly at random, the same for all users
    Delta_i = M (w - w_i,K) / eta
    w      <- w - eta_server (sum_i clip(Delta_i, C) + M sigma C N(0, I)) / D

So the noise has k / d of its squared length, at the same guarantee: a message has norm at most C, and is 0 elsewhere
whoever takes part. A factor d / k, which makes the update unbiased, is part of eta_server. With k = d this is
`dp_fedavg`. What is protected is all data of one user, against everybody who sees w. The paper's other variant, which
takes the largest coordinates of an update on public data, is not built: no task here has public data.
"""

import jax
import jax.numpy as jnp

from bench.algorithms.base import Algorithm, Cost, Method
from bench.algorithms.parts.averaging import AveragingArguments, averaging
from bench.algorithms.parts.counting import num_parameters
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.sparse_messages import check_kept, number_kept, random_mask
from bench.algorithms.parts.user_changes import user_changes
from bench.data.task import Task


@sharing(AveragingArguments, num_steps=5)
def dp_fedsmp(task: Task, shared: AveragingArguments, *, kept: float = 0.4) -> Algorithm:
    """Fed-SMP with random sparsification on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: see AveragingArguments.
        kept: k / d, in (0, 1].
    """

    def begin(key, w, clip_norm):
        return w, random_mask(key, w, kept)

    def masked(tree, mask):
        return jax.tree.map(jnp.multiply, tree, mask)

    def send(at, batch):
        w, mask = at
        changes = user_changes(task, w, batch, shared.num_steps, shared.step_size)
        return changes if kept == 1 else changes.map(masked, mask)

    def update(at, total, divisor):
        w, mask = at
        return jax.tree.map(lambda z, g: z - shared.server_step_size * g / divisor, w, masked(total, mask))

    return averaging(task, shared, send, update, begin=begin)


def check(task: Task, *, kept: float, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    check_kept(kept)
    check_participation(task, **args)


def cost(task: Task, *, kept: float, clipping: str, **args) -> Cost:
    """Return the cost of a round: users send k numbers, and need not say which."""
    total, size, extra = cost_of_sums(task, clipping=clipping, **args), num_parameters(task), clipping == "adaptive"
    return total._replace(uploads=total.uploads * (number_kept(kept, size) + extra) / (size + extra))


METHOD = Method(
    dp_fedsmp,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check,
    space={"kept": (0.1, 0.2, 0.4, 0.8)},
    cost=cost,
    divides=True,
)
