"""BLUR and LUS (Cheng, Wang, Zhang and Cheng, CVPR 2022, arXiv 2203.03106): small local updates, private for users.

This is `dp_fedavg` with two means to lose less by clipping. Bounded local update regularization (BLUR) adds to user
i's loss lambda / 2 max(0, |z - w|^2 - (eta C)^2), so that a user whose message would be clipped is pulled back. Local
update sparsification (LUS) keeps the largest numbers of a message and sets the others to 0:

    z      <- z - eta (gradient of user i's loss at z + lambda (z - w) [|z - w| > eta C]),   K times from z = w
    Delta_i = largest((w - z) / eta)
    w      <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

With lambda = 0 and kept = 1, and with K = 1 and kept = 1, this is `dp_fedavg`. Which numbers a user keeps is private,
so every number gets noise. What is protected is all data of one user, against everybody who sees w.

The paper bounds |z - w| by a constant S; here S = eta C, at which clipping begins.
"""

import jax

from bench.algorithms.base import Algorithm, Method
from bench.algorithms.parts.averaging import AveragingArguments, averaging
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.sparse_messages import check_kept, largest
from bench.algorithms.parts.user_changes import user_changes
from bench.algorithms.ranges import Positive
from bench.algorithms.search_space import Interval
from bench.data.task import Task


@sharing(AveragingArguments, num_steps=5)
def dp_fedblur(task: Task, shared: AveragingArguments, *, bound: Positive = 1.0, kept: float = 1.0) -> Algorithm:
    """BLUR and LUS on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: see AveragingArguments.
        bound: lambda >= 0; eta lambda should be at most 1.
        kept: the share of a message's numbers that is sent; in (0, 1].
    """

    def begin(key, w, clip_norm):
        return w, clip_norm

    def send(at, batch):
        w, clip_norm = at
        changes = user_changes(task, w, batch, shared.num_steps, shared.step_size, bound=(bound, clip_norm))
        return largest(changes, kept)

    def update(at, total, divisor):
        return jax.tree.map(lambda z, g: z - shared.server_step_size * g / divisor, at[0], total)

    return averaging(task, shared, send, update, begin=begin)


def check(task: Task, *, kept: float, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    check_kept(kept)
    check_participation(task, **args)


METHOD = Method(
    dp_fedblur,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check,
    space={"bound": Interval(0.01, 10.0), "kept": (1.0, 0.4)},
    cost=cost_of_sums,
    divides=True,
)
