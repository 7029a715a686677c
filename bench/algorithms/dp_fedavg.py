"""User-level private federated averaging (McMahan et al. 2018), one global model.

Every sampled user i takes K steps of SGD on its own examples from w, and sends its total update in units of a gradient,
clipped. The server adds noise and takes a step:

    Delta_i = (w - w_i,K) / eta
    w      <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

What is protected is all data of one user, against everybody who sees w. With K = 1 and eta_server = eta this is
PPSGD with personalization inf.
"""

from bench.algorithms.base import Algorithm, Method
from bench.algorithms.parts.averaging import AveragingArguments, averaging, descent
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.user_changes import user_changes
from bench.data.task import Task


@sharing(AveragingArguments)
def dp_fedavg(task: Task, shared: AveragingArguments) -> Algorithm:
    """Private FedAvg on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: see AveragingArguments.
    """

    def send(w, batch):
        return user_changes(task, w, batch, shared.num_steps, shared.step_size)

    return averaging(task, shared, send, descent(shared.server_step_size))


METHOD = Method(
    dp_fedavg,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check_participation,
    cost=cost_of_sums,
    divides=True,
)
