"""FedProx (Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith, MLSys 2020), private for users.

This is `dp_fedavg` with a proximal term: a user takes its steps on its loss plus mu / 2 |z - w|^2,

    z      <- z - eta (gradient of user i's loss at z + mu (z - w)),   K times from z = w
    Delta_i = (w - z) / eta
    w      <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

With mu = 0, and with K = 1, this is `dp_fedavg`. The paper lets a user solve its problem to any accuracy; here all take
K steps. What is protected is all data of one user, against everybody who sees w.
"""

from bench.algorithms.base import Algorithm, Method
from bench.algorithms.parts.averaging import AveragingArguments, averaging, descent
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.user_changes import user_changes
from bench.algorithms.ranges import NonNegative
from bench.algorithms.search_space import Interval
from bench.data.task import Task


@sharing(AveragingArguments, num_steps=5)
def dp_fedprox(task: Task, shared: AveragingArguments, *, proximal: NonNegative = 0.1) -> Algorithm:
    """Private FedProx on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: see AveragingArguments.
        proximal: mu >= 0; eta mu should be at most 1.
    """

    def send(w, batch):
        return user_changes(task, w, batch, shared.num_steps, shared.step_size, proximal=proximal)

    return averaging(task, shared, send, descent(shared.server_step_size))


METHOD = Method(
    dp_fedprox,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check_participation,
    space={"proximal": Interval(0.001, 1.0)},
    cost=cost_of_sums,
    divides=True,
)
