"""Sweeps over cells of the experiments of Bhaskar et al. 2025: a model, a data set, a budget, a split and clients."""

import math
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts.local_dpsgd import local_release
from bench.data.tasks.images import PICTURES, client_size, images
from bench.privacy.accounting import noise_multiplier
from bench.sweeps.condition import condition
from bench.sweeps.spec import Entry, Later, Sweep

DELTA = 1e-5
EPOCHS = 20  # T = E R of a client
SPLITS = [1, 2, 4, 5, 10, 20]
EPSILONS = {"mnist": [2.93, 1.2], "fashion_mnist": [2.7, 1.2], "cifar10": [7.53, 3.0]}  # the first also in Table 5
MODELS = {"SN+Lin": "scatter_linear", "CNN+RL": "cnn_relu", "CNN+TS": "cnn_tempered", "SN+CNN": "scatter_cnn"}
SINGLE_NODE = {"clip_norm": 0.1, "step_size": 0.1, "momentum": 0.9}  # of the authors' program without federation
SETTINGS: dict[str, Any] = {"batch_size": 64, "step_size": 0.3, "momentum": 0.5, "clip_norm": 1.0}
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


@cache
def _noise(epsilon: float, data: str, num_clients: int, share: float, batch_size: int) -> float:
    """sigma for T epochs on what one of so many clients holds, in batches of that size, by PLD."""
    if math.isinf(epsilon):
        return 0.0
    num_examples = client_size(PICTURES[data].num_train, num_clients, share=share)

    def release(sigma):
        return local_release(sigma, num_examples=num_examples, batch_size=batch_size, delta=DELTA)

    return noise_multiplier(epsilon, release, EPOCHS)


def _completed(points: pd.DataFrame, model: str, share: float) -> pd.DataFrame:
    """Return the points with their tasks, and with sampler, clipping and noise for their targets."""
    private = points["target_epsilon"] < math.inf
    data = points["dataset"].map({pictures.title: name for name, pictures in PICTURES.items()})
    cells = zip(points["target_epsilon"], data, points["num_clients"], points["batch_size"], strict=True)
    noise = [Later(_noise, (epsilon, dataset, number, share, size)) for epsilon, dataset, number, size in cells]
    return points.assign(
        task=data + f"_{model}_" + points["num_clients"].astype(str),
        data_share=share,
        noise_multiplier=pd.Series(noise, points.index, dtype=object),
        sampler=np.where(private, "poisson", "in_order"),
        clip_norm=points["clip_norm"].where(private, math.inf),
        total_epochs=EPOCHS,
    )


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
    selected = {"paper": None, "laptop": laptop, "smoke": smoke}[scale]
    cells = cells if selected is None else cells[condition(selected, cells)]
    repetitions = dict.fromkeys(MODELS, seeds) if scale == "laptop" and seeds else SEEDS[scale]
    share = share * SMOKE_SHARE if scale == "smoke" else share
    entries, tasks = {}, {}
    for group, rows in cells.groupby("algorithm", sort=False):
        label = str(group)
        model = MODELS[label]
        for data, clients in rows[["data", "num_clients"]].drop_duplicates().itertuples(index=False):
            make = partial(images, dataset=data, model=model, num_clients=clients, share=share, **options)
            tasks[f"{data}_{model}_{clients}"] = make
        titles = rows["data"].map({name: data.title for name, data in PICTURES.items()})
        settings = {name: rows.get(name, value) for name, value in SETTINGS.items()}
        entries[label] = Entry(
            ALGORITHMS["dpsgd_fedavg"],
            rows.drop(columns=["algorithm", "data"]).assign(dataset=titles, **settings).reset_index(drop=True),
            seeds=repetitions[label],
            complete=partial(_completed, model=model, share=share),
            computed=("noise_multiplier", "sampler"),
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
    )
