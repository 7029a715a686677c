"""DP-SGD on every client, and averaging (Bhaskar et al. 2025): what is private is one example of one client.

All k clients take part in each of R communication rounds. In a round each starts from the average of all, with a fresh
optimiser, and runs E epochs of DP-SGD on its own n examples; then the server averages the clients' models with equal
weights. The adversary is the server, which sees every client's model after every round. The steps of an epoch are in
`parts.local_dpsgd`, here without a pull.

Without noise and clipping, this is FedAvg (McMahan et al. 2017).
"""

from bench.algorithms.base import Algorithm, Method
from bench.algorithms.parts.local_dpsgd import LocalDpsgdArguments, check, cost, local_dpsgd, releases, roles
from bench.algorithms.parts.shared_arguments import sharing
from bench.data.task import Network, Task


@sharing(LocalDpsgdArguments)
def dpsgd_fedavg(task: Task, shared: LocalDpsgdArguments) -> Algorithm:
    """DP-SGD + FedAvg on a task with a network and a pool of examples.

    Args:
        task: with a network and equally many examples for every client.
        shared: see LocalDpsgdArguments.
    """
    return local_dpsgd(task, shared)


METHOD = Method(
    dpsgd_fedavg,
    releases,
    version=1,
    check=check,
    needs=(Network,),
    cost=cost,
    divides=True,
    roles=roles,
)
