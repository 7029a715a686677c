"""Code shared by the figures and claims of Bhaskar et al. 2025: the runs that they read, and notes on the numbers.

A cell is a setting over whose runs the paper averages: a data set, an epsilon (inf without privacy), local epochs E,
clients k and a model, after the last round.
"""

import numpy as np
import pandas as pd

from bench.analysis import select, style
from bench.errors import InputError
from figures.pfl.published import published_cells
from figures.shared.derived import derived
from figures.shared.runs import ended, not_empty

TABLES = ("pfl_table2", "pfl_table3", "pfl_table4", "pfl_table5")
DATASETS = ("MNIST", "Fashion-MNIST", "CIFAR-10")
MODELS = ("CNN+RL", "CNN+TS", "SN+Lin", "SN+CNN")
CELL = ["dataset", "target_epsilon", "num_epochs", "num_clients", "total_epochs", "algorithm"]
EPSILONS = ["epsilon", "epsilon_rdp", "epsilon_average", "epsilon_worst"]
SETTINGS = ["noise_multiplier", "clip_norm", "step_size", "momentum", "batch_size", "data_share"]


@derived
def finished(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the paper's four models as the authors ran them, after the last round.

    Private runs draw batches by Poisson sampling, those without privacy take them in order; clients draw their data
    independently of each other.
    """
    sampler = np.where(np.isfinite(runs["target_epsilon"]), "poisson", "in_order")
    kept = runs["algorithm"].isin(MODELS) & (runs["sampler"] == sampler) & ~runs["task"].str.endswith("_disjoint")
    return ended(runs[kept])


@derived
def final(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the finished runs.

    Raises:
        InputError: where there are none, or some differ in what the figures do not show.
    """
    sweep = " ".join(runs["sweep"].unique())
    missing = f"no run of {sweep} as in the paper has reached its last round: run it without --where"
    rows = not_empty(finished(runs), missing)
    twice = rows[rows.duplicated([*CELL, *select.REPETITION])]
    if len(twice):
        cell = ", ".join(f"{name} = {twice[name].iloc[0]}" for name in CELL)
        raise InputError(f"{sweep} has several runs of one seed at {cell}: move those of other settings elsewhere")
    return rows


def averaged(rows: pd.DataFrame, *apart: str) -> pd.DataFrame:
    """Mean accuracy of each cell, its interval, runs and how many of them diverged; mean epsilons and settings.

    "accuracy_of_finite" is the mean over the runs that did not diverge, NaN where all did.

    `apart`: settings by which a cell is several rows.
    """
    by = [*CELL, *apart]
    table = select.interval(rows, by=by, value="test_accuracy")
    finite = np.isfinite(rows["test_accuracy"].astype(float))
    accuracy = rows["test_accuracy"].where(finite)
    groups = rows.assign(diverged=~finite, accuracy_of_finite=accuracy).groupby(by)
    carried = [name for name in (*EPSILONS, *SETTINGS) if name in rows and name not in apart]
    more = groups[[*carried, "accuracy_of_finite"]].mean().join(groups["diverged"].sum())
    return table.merge(more.reset_index(), on=by)


def published_tables(*figures: str) -> pd.DataFrame:
    """Return the cells of published tables, with "published"."""
    cells = pd.concat([published_cells(name) for name in figures], ignore_index=True)
    return cells.rename(columns={"test_accuracy": "published"})


def contradictions() -> pd.DataFrame:
    """Cells that two published tables print differently: the columns of a cell, and a column for each table."""
    cells = pd.concat([published_cells(name).assign(table=name) for name in TABLES], ignore_index=True)
    wide = cells.pivot(index=CELL, columns="table", values="test_accuracy")
    return wide[wide.max(axis=1) > wide.min(axis=1)].dropna(axis="columns").reset_index()


def epsilon_name(epsilon: float) -> str:
    """Return an epsilon in words; without privacy in the words of the paper."""
    return f"epsilon {epsilon:g}" if np.isfinite(epsilon) else "FedAvg"


def epsilon_symbol(epsilon: float) -> str:
    """Return an epsilon as a formula for tables and titles."""
    return epsilon_name(epsilon).replace("epsilon ", r"$\varepsilon$ = ")


def facts(runs: pd.DataFrame) -> dict[str, str | float]:
    """Data sets, in place of the many tasks, scale and privacy of the numbers; delta is NaN where no run is private."""
    private = runs[np.isfinite(runs["target_epsilon"])]
    names = style.present(runs, "dataset", DATASETS)
    privacy = {name: ", ".join(sorted(private[name].unique())) for name in ("privacy_unit", "neighbors")}
    return select.where_from(runs) | {"task": ", ".join(names)} | privacy | {"delta": private["delta"].max()}


# ---- Footers ----


def privacy_note(table: pd.DataFrame, overlap: bool = True) -> str:
    """Return a sentence on what is protected, against whom, under which neighbouring relation, and by which accountant.

    overlap: whether to say what holds for examples of several clients, where there are several clients.
    """
    row = table.iloc[0]
    if not np.isfinite(row["delta"]):
        return "There are no private runs."
    several = overlap and not ("num_clients" in table and table["num_clients"].max() == 1)
    shared = "; larger for an example of several clients (figure pfl_overlap)" if several else ""
    return (
        f"Epsilon: for one {row['privacy_unit']} of one client, against the server ({row['neighbors']}; Poisson "
        f"sampling), at delta = {row['delta']:g}{shared}."
    )


def training_note(table: pd.DataFrame) -> str:
    """Return a sentence on how models were trained and scored, with the settings of the runs."""
    words = {"step_size": "step size", "momentum": "momentum", "clip_norm": "clipping norm", "batch_size": "batches of"}
    rows = table[np.isfinite(table["target_epsilon"])]
    known = [name for name in words if name in rows and rows[name].notna().any()]
    ends = {name: sorted({rows[name].min(), rows[name].max()}) for name in known}
    settings = [f"{words[name]} {' to '.join(f'{value:g}' for value in ends[name])}" for name in known]
    published = "published settings, " if all(rows[name].nunique() == 1 for name in known) else ""
    part = share_note(table)
    return f"Accuracy of the averaged model after the last round, {published}untuned ({', '.join(settings)}).{part}"


def share_note(table: pd.DataFrame) -> str:
    """Return a sentence, after a space, on the share of the data that runs use; empty where they use all."""
    share = table["data_share"].min()
    return f" Only {100 * share:.3g} % of the data of each client are used." if share < 1 else ""
