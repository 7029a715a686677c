"""The experiments of Bhaskar et al. 2025 (section 4, Tables 2 to 5), accuracy against epsilon, and smaller scales."""

import math
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.dpsgd_fedavg import local_release
from bench.data.problems.images import PICTURES, client_size, images
from bench.privacy.accounting import noise_multiplier
from bench.sweeps.derived import Derived
from bench.sweeps.spec import Entry, Sweep, grid
from bench.sweeps.where import condition

DELTA = 1e-5
EPOCHS = 20  # T = E R of a client
SPLITS = [1, 2, 4, 5, 10, 20]
CLIENTS = [1, 10, 25, 50, 100]
EPSILONS = {"mnist": [2.93, 1.2], "fashion_mnist": [2.7, 1.2], "cifar10": [7.53, 3.0]}  # the first also in Table 5
CURVE = [0.5, 1.0, 2.0, 4.0, 8.0]
MODELS = {"SN+Lin": "scatter_linear", "CNN+RL": "cnn_relu", "CNN+TS": "cnn_tempered", "SN+CNN": "scatter_cnn"}
PRIVATE = {"sampler": "poisson", "clip_norm": 1.0}
SILENT = {"sampler": "in_order", "clip_norm": math.inf}
SETTINGS = {"total_epochs": EPOCHS, "batch_size": 64, "step_size": 0.3, "momentum": 0.5}
NOTES = (
    "batch size, delta, the clients' draws and the batches of FedAvg are not in the paper; they are those of the "
    "authors' program"
)
# Repetitions by scale: the networks are expensive on a CPU.
SEEDS = {
    "paper": dict.fromkeys(MODELS, 10),
    "laptop": {"SN+Lin": 3, "CNN+RL": 1, "CNN+TS": 1, "SN+CNN": 1},
    "smoke": dict.fromkeys(MODELS, 1),
}
SMOKE_SHARE = 0.05


@cache
def _noise(epsilon: float, num_examples: int, batch_size: int) -> float:
    """sigma for T epochs on so many examples in batches of that size, by PLD."""
    if math.isinf(epsilon):
        return 0.0

    def release(sigma):
        return local_release(sigma, num_examples=num_examples, batch_size=batch_size, delta=DELTA)

    return noise_multiplier(epsilon, release, EPOCHS)


def _calibrated(points: pd.DataFrame, share: float) -> list[float]:
    """The noise for the budget of each point, and for what a client holds of its data set."""
    data = {known.title: name for name, known in PICTURES.items()}
    keys = zip(points["dataset"].map(data), points["num_clients"], strict=True)
    sizes = [client_size(*key, share=share) for key in keys]
    return [_noise(*key) for key in zip(points["target_epsilon"], sizes, points["batch_size"], strict=True)]


def _settled(points: pd.DataFrame, share: float) -> pd.DataFrame:
    """The points as arguments and labels: settings where they have none of their own, and task; noise is to come."""
    settings: dict[str, Any] = {name: points.get(name, value) for name, value in SETTINGS.items()}
    private = points["target_epsilon"] < math.inf
    points = points.assign(
        task=points["data"] + "_" + points["model"] + "_" + points["num_clients"].astype(str),
        dataset=points["data"].map({name: data.title for name, data in PICTURES.items()}),
        data_share=share,
        noise_multiplier=math.nan,
        **{name: [PRIVATE[name] if p else SILENT[name] for p in private] for name in PRIVATE},
        **settings,
    )
    return points.drop(columns=["data", "model"])


def _remade(points: pd.DataFrame) -> pd.DataFrame:
    """The points with sampler and clipping for their targets; noise is to come."""
    silent = np.isinf(points["target_epsilon"])
    clip_norm = points["clip_norm"].where(np.isfinite(points["clip_norm"]), PRIVATE["clip_norm"])
    points = points.assign(
        noise_multiplier=math.nan,
        sampler=np.where(silent, SILENT["sampler"], PRIVATE["sampler"]),
        clip_norm=clip_norm.mask(silent, SILENT["clip_norm"]),
    )
    return points.drop_duplicates(ignore_index=True)


def _sweep(
    name: str,
    reproduces: str,
    cells: pd.DataFrame,
    scale: str,
    *,
    smoke: str,
    laptop: str | None = None,
    eval_every: int | None = None,
    share: float = 1.0,
    **options,
) -> Sweep:
    """The sweep over cells (algorithm, data, target_epsilon, num_epochs, num_clients), on a share of every client's
    data; options of the task.

    Scale laptop has the cells that satisfy a condition, or all; scale smoke likewise, on a part of the data.
    """
    where = {"paper": None, "laptop": laptop, "smoke": smoke}[scale]
    cells = cells if where is None else cells[condition(where, cells)]
    seeds, share = SEEDS[scale], share * SMOKE_SHARE if scale == "smoke" else share
    entries, tasks = {}, {}
    for group, mine in cells.groupby("algorithm", sort=False):
        label = str(group)
        model = MODELS[label]
        for data, clients in mine[["data", "num_clients"]].drop_duplicates().itertuples(index=False):
            made = partial(images, dataset=data, model=model, num_clients=clients, share=share, **options)
            tasks[f"{data}_{model}_{clients}"] = made
        points = _settled(mine.drop(columns="algorithm").assign(model=model), share).reset_index(drop=True)
        entries[label] = Entry(
            ALGORITHMS["dpsgd_fedavg"],
            points,
            seeds=seeds[label],
            later={"noise_multiplier": partial(_calibrated, share=share)},
            derived=Derived(
                _remade,
                made=("noise_multiplier", "sampler"),
                given=("target_epsilon", "num_epochs", "batch_size", "clip_norm"),
            ),
        )
    return Sweep(
        name=name,
        reproduces=reproduces,
        tasks=tasks,
        entries=entries,
        num_rounds=lambda task, args: args["total_epochs"],
        eval_every=eval_every,
        delta=DELTA,
        seeds=max(seeds.values()),
        notes=NOTES,
        task_labels=("target_epsilon", "num_clients", "dataset", "data_share"),
    )


def pfl_splits(scale: str) -> Sweep:
    """Tables 2 to 4: T = 20 epochs split into R rounds of E, ten clients, without and with privacy."""
    cells = pd.concat(
        grid(data=data, algorithm=list(MODELS), target_epsilon=[math.inf, *epsilons], num_epochs=SPLITS, num_clients=10)
        for data, epsilons in EPSILONS.items()
    )
    laptop = "data != 'cifar10' or algorithm == 'SN+Lin' or (num_epochs in (1, 5, 20) and target_epsilon == 7.53)"
    smoke = (
        "data == 'mnist' and num_epochs in (1, 20) and "
        "(target_epsilon == 2.93 or target_epsilon == inf and algorithm in ('SN+Lin', 'CNN+RL'))"
    )
    return _sweep(
        "pfl_splits",
        "Bhaskar et al. 2025, Tables 2, 3 and 4",
        cells,
        scale,
        laptop=laptop,
        smoke=smoke,
    )


def pfl_clients(scale: str) -> Sweep:
    """Table 5: the number of clients, at one local epoch a round and the larger budget of each data set."""
    cells = pd.concat(
        grid(data=data, algorithm=list(MODELS), target_epsilon=epsilons[0], num_epochs=1, num_clients=CLIENTS)
        for data, epsilons in EPSILONS.items()
    )
    laptop = "data != 'cifar10' or algorithm == 'SN+Lin'"
    smoke = "data == 'mnist' and algorithm == 'SN+Lin' and num_clients in (10, 25)"
    return _sweep(
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
    return _sweep(
        "pfl_epsilon",
        "Bhaskar et al. 2025, accuracy against epsilon (not in the paper)",
        cells,
        scale,
        laptop=laptop,
        smoke=smoke,
    )


def pfl_averaging(scale: str) -> Sweep:
    """Why averaging once, after 20 epochs, fails: accuracy after every epoch, of the clients and of their average."""
    cells = grid(data="mnist", algorithm=list(MODELS), target_epsilon=math.inf, num_epochs=[1, EPOCHS], num_clients=10)
    return _sweep(
        "pfl_averaging",
        "Bhaskar et al. 2025, the failure of FedAvg at (20, 1) in Table 2, examined (not in the paper)",
        cells,
        scale,
        smoke="algorithm == 'SN+Lin'",
        eval_every=1,
    )


def pfl_normalisation(scale: str) -> Sweep:
    """Networks on the pixels of MNIST, brought to [-1, 1] as those of Fashion-MNIST are, and not by MNIST's own mean
    and deviation as in the authors' program: which the published accuracies look like.
    """
    cells = grid(
        data="mnist",
        algorithm=["CNN+RL", "CNN+TS"],
        target_epsilon=[math.inf, *EPSILONS["mnist"]],
        num_epochs=SPLITS,
        num_clients=10,
    )
    return _sweep(
        "pfl_normalisation",
        "Bhaskar et al. 2025, Table 2 with another normalisation of the pixels (not in the paper)",
        cells,
        scale,
        smoke="algorithm == 'CNN+RL' and num_epochs == 1 and target_epsilon == inf",
        normalisation="fashion_mnist",
    )


def pfl_one_client(scale: str) -> Sweep:
    """One client with all data, by batch size: at the size of the other cells it misses its column of Table 5."""
    cells = pd.concat(
        grid(
            data=data,
            algorithm="SN+Lin",
            target_epsilon=EPSILONS[data][0],
            num_epochs=1,
            num_clients=1,
            batch_size=[64, 128, 256, 512, 1024, 2048],
        )
        for data in ("mnist", "fashion_mnist")
    )
    return _sweep(
        "pfl_one_client",
        "Bhaskar et al. 2025, Table 5, k = 1, by batch size (not in the paper)",
        cells,
        scale,
        smoke="data == 'mnist' and batch_size == 512",
    )


def pfl_small_epsilon(scale: str) -> Sweep:
    """What would explain the columns at epsilon 1.2, which lie above ours: less noise, as of a larger epsilon, or
    larger batches.
    """
    cells = grid(data=["mnist", "fashion_mnist"], algorithm="SN+CNN", num_epochs=[1, 5, 10, 20], num_clients=10)
    settings = [(1.2, 64), (1.5, 64), (2.0, 64), (1.2, 128)]
    return _sweep(
        "pfl_small_epsilon",
        "Bhaskar et al. 2025, Tables 2 and 3 at epsilon 1.2, examined (not in the paper)",
        pd.concat([cells.assign(target_epsilon=epsilon, batch_size=size) for epsilon, size in settings]),
        scale,
        smoke="data == 'mnist' and num_epochs == 1 and target_epsilon == 1.2 and batch_size == 64",
    )


def pfl_alone(scale: str) -> Sweep:
    """What a client reaches by itself: a tenth of the data, as each of ten clients has, nobody to average with, and
    nobody to hide from.
    """
    cells = grid(data=list(EPSILONS), algorithm=list(MODELS), target_epsilon=math.inf, num_epochs=1, num_clients=1)
    return _sweep(
        "pfl_alone",
        "Bhaskar et al. 2025, what clients gain from federation (not in the paper)",
        cells,
        scale,
        laptop="data != 'cifar10' or algorithm in ('SN+Lin', 'SN+CNN')",
        smoke="data == 'mnist' and algorithm == 'SN+Lin'",
        share=0.1,
    )


SWEEPS = {
    "pfl_splits": pfl_splits,
    "pfl_clients": pfl_clients,
    "pfl_epsilon": pfl_epsilon,
    "pfl_averaging": pfl_averaging,
    "pfl_normalisation": pfl_normalisation,
    "pfl_one_client": pfl_one_client,
    "pfl_small_epsilon": pfl_small_epsilon,
    "pfl_alone": pfl_alone,
}
