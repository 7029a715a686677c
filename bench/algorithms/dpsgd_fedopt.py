"""FedAvgM, FedAdam and FedYogi (Reddi et al., ICLR 2021) with DP-SGD at every client: what is private is one example.

Every client runs E epochs of DP-SGD from w on its own examples (`parts.local_dpsgd`), and sends its model theta_k. The
server passes the mean change to an optimiser, as in `dp_fedopt`,

    Delta = mean_k (w - theta_k)
    w <- w - eta_server (direction of the optimiser for Delta)

which for "momentum", beta_1 = 0 and eta_server = 1 is `dpsgd_fedavg`. Delta is in units of the model, and the server's
step is computed from what it sees, so releases are those of `dpsgd_fedavg`.
"""

from bench.algorithms.base import Algorithm, Method
from bench.algorithms.dp_fedopt import check_optimiser, optimiser_of, stepped
from bench.algorithms.dp_fedopt import roles as roles_of_server
from bench.algorithms.parts.local_dpsgd import LocalDpsgdArguments, cost, local_dpsgd, releases, roles
from bench.algorithms.parts.local_dpsgd import check as check_local
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.ranges import BelowOne, Positive
from bench.algorithms.search_space import Interval
from bench.data.task import Network, Task


@sharing(LocalDpsgdArguments, num_epochs=1.0)
def dpsgd_fedopt(
    task: Task,
    shared: LocalDpsgdArguments,
    *,
    server_step_size: Positive = 1.0,
    beta1: BelowOne = 0.9,
    beta2: BelowOne = 0.99,
    tau: Positive = 1e-3,
    optimiser: str = "momentum",
) -> Algorithm:
    """DP-SGD at every client, and an optimiser on the server.

    Args:
        task: with a network and equally many examples for every client.
        shared: see LocalDpsgdArguments.
        server_step_size: eta_server > 0.
        beta1, beta2: in [0, 1); "momentum" does not use the second.
        tau: > 0, prevents division by zero; "momentum" does not use it.
        optimiser: "momentum", "adam" or "yogi".
    """
    on_server = optimiser_of(optimiser, beta1, beta2, tau)

    def server(w, memory, change):
        return stepped(w, memory, change, on_server, server_step_size)

    return local_dpsgd(task, shared, server=server, memory=on_server.init(task.init_params))


def check(task: Task, *, optimiser: str, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    check_optimiser(optimiser)
    check_local(task, **args)


METHOD = Method(
    dpsgd_fedopt,
    releases,
    version=1,
    check=check,
    space={
        "server_step_size": Interval(1e-3, 3.0),
        "beta1": (0.0, 0.5, 0.9),
        "beta2": (0.9, 0.99),
        "tau": Interval(1e-5, 0.1),
    },
    needs=(Network,),
    cost=cost,
    divides=True,
    roles=lambda **args: roles(**args) | roles_of_server(**args),
)
