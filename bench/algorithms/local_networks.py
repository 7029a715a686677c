"""Local learning with networks: every client trains its own network alone, so nothing is sent or released.

This is what a client of `dpsgd_fedavg` would have without the others: minibatch SGD with momentum on its own examples,
from the same initial parameters, without clipping and noise. The score is the mean over the clients' networks.
"""

import math
from typing import Any

from bench.algorithms.base import Algorithm, Cost, Method, Role
from bench.algorithms.parts.local_dpsgd import LocalDpsgdArguments, local_dpsgd
from bench.algorithms.parts.local_dpsgd import check as check_dpsgd
from bench.algorithms.ranges import BelowOne, Count, Positive
from bench.algorithms.search_space import OWN_EPOCHS, OWN_STEP
from bench.data.task import Network, Task
from bench.privacy.events import ADD_OR_REMOVE, nothing_released

ALONE: dict[str, Any] = {"num_epochs": math.inf, "clip_norm": math.inf, "noise_multiplier": 0.0, "sampler": "in_order"}


def local_networks(
    task: Task, *, total_epochs: Count, batch_size: Count, step_size: Positive, momentum: BelowOne
) -> Algorithm:
    """SGD of every client on its own examples; a round is one epoch of every client.

    Args:
        task: with a network and equally many examples for every client.
        total_epochs: T, epochs of a client.
        batch_size: L; a batch has L consecutive examples, and the last one of an epoch those that are left.
        step_size: eta > 0.
        momentum: mu, 0 <= mu < 1.
    """
    shared = LocalDpsgdArguments(
        total_epochs=total_epochs, batch_size=batch_size, step_size=step_size, momentum=momentum, **ALONE
    )
    return local_dpsgd(task, shared, personal=True)._replace(public=lambda state: ())


def releases(task: Task, *, delta: float, **_) -> dict:
    """Return empty releases, since nothing is sent."""
    silent = nothing_released(
        delta=delta, privacy_unit="example", protects_against="the server", neighbors=ADD_OR_REMOVE
    )
    return {"paper": silent}


def cost(task: Task, **_) -> Cost:
    """Return the cost of one epoch of every client."""
    examples = float(task.train.shape[0] * task.train.shape[1])
    return Cost(0.0, examples, examples)


def check(task: Task, *, total_epochs: int, batch_size: int, **_) -> None:
    """Refuse clients with unequally many examples, and batches larger than a client."""
    one_round = {**ALONE, "num_epochs": 1.0}  # every number of epochs is a whole number of rounds
    check_dpsgd(task, total_epochs=total_epochs, batch_size=batch_size, **one_round)


METHOD = Method(
    local_networks,
    releases,
    version=1,
    check=check,
    needs=(Network,),
    cost=cost,
    divides=True,
    roles=lambda **_: {"step_size": Role(OWN_STEP, momentum="momentum"), "total_epochs": Role(OWN_EPOCHS)},
)
