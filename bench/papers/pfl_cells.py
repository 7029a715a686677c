"""Sweeps over cells of the experiments of Bhaskar et al. 2025: a model, a data set, a budget, a split and clients."""

import math
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.dpsgd_fedavg import local_release
from bench.data.tasks.images import PICTURES, client_size, images
from bench.privacy.accounting import noise_multiplier
from bench.sweeps.condition import condition
from bench.sweeps.derived import Derived
from bench.sweeps.spec import Entry, Sweep

DELTA = 1e-5
EPOCHS = 20  # T = E R of a client
SPLITS = [1, 2, 4, 5, 10, 20]
EPSILONS = {"mnist": [2.93, 1.2], "fashion_mnist": [2.7, 1.2], "cifar10": [7.53, 3.0]}  # the first also in Table 5
MODELS = {"SN+Lin": "scatter_linear", "CNN+RL": "cnn_relu", "CNN+TS": "cnn_tempered", "SN+CNN": "scatter_cnn"}
PRIVATE = {"sampler": "poisson", "clip_norm": 1.0}
SILENT = {"sampler": "in_order", "clip_norm": math.inf}
SINGLE_NODE = {"clip_norm": 0.1, "step_size": 0.1, "momentum": 0.9}  # of the authors' program without federation
SETTINGS = {"total_epochs": EPOCHS, "batch_size": 64, "step_size": 0.3, "momentum": 0.5}
NOTES = (
    "batch size, delta, the clients' draws and the batches of FedAvg are not in the paper; they are those of the "
    "authors' program"
)
# Repetitions by scale: the networks are expensive on a CPU.
SEEDS: dict[str, dict[str, int]] = {
    "paper": dict.fromkeys(MODELS, 10),
    "laptop": {"SN+Lin": 3, "CNN+RL": 1, "CNN+TS": 1, "SN+CNN": 1},
    "smoke": dict.fromkeys(MODELS, 1),
}
SMOKE_SHARE = 0.05
SHARES = ("pfl_splits", "pfl_clients", "pfl_epsilon", "pfl_one_client", "pfl_small_epsilon")  # have cells in common


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
    if "clip_norm" not in points:
        points = points.assign(clip_norm=PRIVATE["clip_norm"])
    points = points.assign(
        task=points["data"] + "_" + points["model"] + "_" + points["num_clients"].astype(str),
        dataset=points["data"].map({name: data.title for name, data in PICTURES.items()}),
        data_share=share,
        noise_multiplier=math.nan,
        sampler=np.where(private, PRIVATE["sampler"], SILENT["sampler"]),
        clip_norm=points["clip_norm"].where(private, SILENT["clip_norm"]),
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


def sweep_of_cells(
    name: str,
    reproduces: str,
    cells: pd.DataFrame,
    scale: str,
    *,
    smoke: str,
    laptop: str | None = None,
    eval_every: int | None = None,
    share: float = 1.0,
    seeds: int | None = None,
    **options,
) -> Sweep:
    """The sweep over cells (algorithm, data, target_epsilon, num_epochs, num_clients), on a share of every client's
    data; options of the task.

    Scale laptop has the cells that satisfy a condition, or all; scale smoke likewise, on a part of the data. Cells may
    have settings of their own as further columns. `seeds`: of all models at scale laptop, in place of SEEDS.
    """
    where = {"paper": None, "laptop": laptop, "smoke": smoke}[scale]
    cells = cells if where is None else cells[condition(where, cells)]
    repetitions = dict.fromkeys(MODELS, seeds) if scale == "laptop" and seeds else SEEDS[scale]
    share = share * SMOKE_SHARE if scale == "smoke" else share
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
            seeds=repetitions[label],
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
        seeds=max(repetitions.values()),
        notes=NOTES,
        task_labels=("target_epsilon", "num_clients", "dataset", "data_share"),
        shares=SHARES,
    )
