"""DP-FedSAM (Shi, Liu, Wei, Shen, Wang and Tao, CVPR 2023, arXiv 2303.11242): flat local models, private for users.

This is `dp_fedavg` with sharpness-aware local steps: user i follows the gradient at the point at distance rho where its
loss grows fastest,

    g       = gradient of user i's loss at z
    z      <- z - eta (gradient of user i's loss at z + rho g / |g|),   K times from z = w
    Delta_i = (w - z) / eta
    w      <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

With `kept` below 1, a user sends only the largest of its numbers, and 0 elsewhere (DP-FedSAM-top_k, arXiv 2305.00873);
which ones is private, so every number gets noise. With rho = 0 and kept = 1 this is `dp_fedavg`. What is protected is
all data of one user, against everybody who sees w.

The norm that is clipped is that of the whole message. The program of the authors clips each tensor of the model to C
and makes noise for one C, although a user can then move the sum by C times the root of the number of tensors.
"""

from bench.algorithms.base import Algorithm, Cost, Method
from bench.algorithms.parts.averaging import AveragingArguments, averaging, descent
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.sparse_messages import check_kept, largest
from bench.algorithms.parts.user_changes import user_changes
from bench.algorithms.ranges import NonNegative
from bench.algorithms.search_space import Interval
from bench.data.task import Task


@sharing(AveragingArguments, num_steps=5)
def dp_fedsam(task: Task, shared: AveragingArguments, *, sharpness: NonNegative = 0.1, kept: float = 1.0) -> Algorithm:
    """DP-FedSAM on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: see AveragingArguments.
        sharpness: rho >= 0, the radius, in units of w.
        kept: the share of a message's numbers that is sent; in (0, 1].
    """

    def send(w, batch):
        changes = user_changes(task, w, batch, shared.num_steps, shared.step_size, sharpness=sharpness)
        return largest(changes, kept)

    return averaging(task, shared, send, descent(shared.server_step_size))


def check(task: Task, *, kept: float, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    check_kept(kept)
    check_participation(task, **args)


def cost(task: Task, **args) -> Cost:
    """Return the cost of a round: two gradients in every local step."""
    total = cost_of_sums(task, **args)
    return total._replace(gradients=2 * total.gradients)


METHOD = Method(
    dp_fedsam,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check,
    space={"sharpness": Interval(0.01, 1.0), "kept": (1.0, 0.4)},
    cost=cost,
    divides=True,
)
