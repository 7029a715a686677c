"""MR-MTL (Liu, Hu, Wu, Smith, NeurIPS 2022) for networks: every client has a model of its own, near the mean of all.

Every client runs DP-SGD on its own model theta_k plus lambda (theta_k - w) (`parts.local_dpsgd`), and after every E
epochs w becomes the mean of all theta_k. What is private is one example of one client, against the server, which sees
every theta_k. With lambda = 0 clients learn privately by themselves: what they send is still private, but nobody uses
it. Unlike in `mr_mtl`, the pull is added after clipping and noise, since it is public, and clients have equally many
examples.
"""

from bench.algorithms.base import Algorithm, Method
from bench.algorithms.parts.local_dpsgd import LocalDpsgdArguments, check, cost, local_dpsgd, releases, roles
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.ranges import NonNegative
from bench.algorithms.search_space import Interval
from bench.data.task import Network, Task


@sharing(LocalDpsgdArguments, num_epochs=1.0)
def dpsgd_mrmtl(task: Task, shared: LocalDpsgdArguments, *, regularization: NonNegative) -> Algorithm:
    """DP-SGD at every client on a model of its own, held near the mean of all.

    Args:
        task: with a network and equally many examples for every client.
        shared: see LocalDpsgdArguments.
        regularization: lambda >= 0; eta lambda should be at most 1.
    """
    return local_dpsgd(task, shared, pull=regularization, personal=True)


METHOD = Method(
    dpsgd_mrmtl,
    releases,
    version=1,
    check=check,
    space={"regularization": Interval(0.01, 3.0)},
    needs=(Network,),
    cost=cost,
    divides=True,
    roles=roles,
)
