"""FedProx (Li et al., MLSys 2020) with DP-SGD at every client: what is private is one example of one client.

This is `dpsgd_fedavg` with a proximal term: every step of a client goes along its noisy gradient plus mu (theta - w),
from `parts.local_dpsgd`. The term is added after clipping and noise, so that releases are those of `dpsgd_fedavg`. With
mu = 0 this is `dpsgd_fedavg`.
"""

from bench.algorithms.base import Algorithm, Method
from bench.algorithms.parts.local_dpsgd import LocalDpsgdArguments, check, cost, local_dpsgd, releases, roles
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.ranges import NonNegative
from bench.algorithms.search_space import Interval
from bench.data.task import Network, Task


@sharing(LocalDpsgdArguments, num_epochs=4.0)
def dpsgd_fedprox(task: Task, shared: LocalDpsgdArguments, *, proximal: NonNegative = 0.1) -> Algorithm:
    """DP-SGD at every client, held near the model of all, and averaging.

    Args:
        task: with a network and equally many examples for every client.
        shared: see LocalDpsgdArguments.
        proximal: mu >= 0; eta mu should be at most 1.
    """
    return local_dpsgd(task, shared, pull=proximal)


METHOD = Method(
    dpsgd_fedprox,
    releases,
    version=1,
    check=check,
    space={"proximal": Interval(0.001, 1.0)},
    needs=(Network,),
    cost=cost,
    divides=True,
    roles=roles,
)
