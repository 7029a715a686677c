"""The experiments of Bhaskar et al. 2025 (section 4, Tables 2 to 5), accuracy against epsilon, and smaller scales."""

import math

import pandas as pd

from bench.papers.pfl import examined
from bench.papers.pfl.cells import EPSILONS, MODELS, SPLITS, sweep_of_cells
from bench.sweeps.spec import Sweep, grid

CLIENTS = [1, 10, 25, 50, 100]
CURVE = [0.5, 1.0, 2.0, 4.0, 8.0]


def pfl_splits(scale: str) -> Sweep:
    """Tables 2 to 4: T = 20 epochs split into R rounds of E, ten clients, without and with privacy."""
    cells = pd.concat(
        grid(data=data, algorithm=list(MODELS), target_epsilon=[math.inf, *epsilons], num_epochs=SPLITS, num_clients=10)
        for data, epsilons in EPSILONS.items()
    )
    smoke = (
        "data == 'mnist' and num_epochs in (1, 20) and "
        "(target_epsilon == 2.93 or target_epsilon == inf and algorithm in ('SN+Lin', 'CNN+RL'))"
    )
    return sweep_of_cells(
        "pfl_splits",
        "Bhaskar et al. 2025, Tables 2, 3 and 4",
        cells,
        scale,
        smoke=smoke,
    )


def pfl_clients(scale: str) -> Sweep:
    """Table 5: the number of clients, at one local epoch a round and the larger budget of each data set."""
    cells = pd.concat(
        grid(data=data, algorithm=list(MODELS), target_epsilon=epsilons[0], num_epochs=1, num_clients=CLIENTS)
        for data, epsilons in EPSILONS.items()
    )
    laptop = (
        "data != 'cifar10' or algorithm == 'SN+Lin' or num_clients <= 10 or "
        "(algorithm == 'SN+CNN' and num_clients == 25)"
    )
    smoke = "data == 'mnist' and algorithm == 'SN+Lin' and num_clients in (10, 25)"
    return sweep_of_cells(
        "pfl_clients",
        "Bhaskar et al. 2025, Table 5",
        cells,
        scale,
        laptop=laptop,
        smoke=smoke,
    )


def pfl_epsilon(scale: str) -> Sweep:
    """Accuracy against epsilon, at one local epoch a round, which is the best split; not in the paper."""
    cells = grid(
        data=list(EPSILONS), algorithm=list(MODELS), target_epsilon=[*CURVE, math.inf], num_epochs=1, num_clients=10
    )
    laptop = "data != 'cifar10' or algorithm == 'SN+Lin'"
    smoke = "data == 'mnist' and algorithm == 'SN+Lin' and target_epsilon in (0.5, 8)"
    return sweep_of_cells(
        "pfl_epsilon",
        "Bhaskar et al. 2025, accuracy against epsilon (not in the paper)",
        cells,
        scale,
        laptop=laptop,
        smoke=smoke,
    )


SWEEPS = {
    "pfl_splits": pfl_splits,
    "pfl_clients": pfl_clients,
    "pfl_epsilon": pfl_epsilon,
    "pfl_averaging": examined.pfl_averaging,
    "pfl_normalisation": examined.pfl_normalisation,
    "pfl_one_client": examined.pfl_one_client,
    "pfl_small_epsilon": examined.pfl_small_epsilon,
    "pfl_alone": examined.pfl_alone,
}
