"""Code shared by the figures and claims of Bietti et al. 2022: the runs that they read, and notes on the data."""

import math
from collections.abc import Callable
from typing import Any

import pandas as pd

from bench.analysis import select
from bench.analysis.select import REPETITION
from bench.errors import InputError
from figures.ppsgd.digits import POOLED, with_held_out
from figures.shared.derived import derived
from figures.shared.figure import Figure

LOCAL, GLOBAL = 0.0, math.inf
ALONE = "Learning alone"
PUBLISHED, FURTHER = "PPSGD", "PPSGD, further step sizes"  # the published grid, and what lies beyond it
CLIP_NORM = 10.0
CLIP_NORMS = {"ppsgd_tags": 0.01, "ppsgd_tags_made_up": 0.01, "ppsgd_cnn": 0.1}  # shown, where it is another
EPSILONS = ["epsilon", "epsilon_sampler", "epsilon_tight", "epsilon_worst_case"]
STAND_INS = {
    "mnist_by_writer": "836 real writers of MNIST replace the paper's 1,000 writers of federated EMNIST.",
    "debian_tags": "Descriptions of Debian's packages by 312 maintainers, with 43 training documents each, replace the "
    "paper's 500 users of Stack Overflow with 300 to 500: about six times fewer per user before the split, and a pass "
    "of 137 rounds instead of 2,000. The last evaluation is the one before fewer than ten users have documents left.",
    "made_up_tags": "Generated documents replace the paper's Stack Overflow data.",
    "mnist_by_style": "1,000 pseudo-writers of MNIST, grouped by slant and stroke width, replace the paper's 1,000 "
    "writers of federated EMNIST.",
}
REPLACED = {
    "mnist_by_writer": "836 writers of MNIST replace 1,000 of EMNIST.",
    "debian_tags": "312 Debian maintainers, 43 documents each, replace 500 users of Stack Overflow.",
    "made_up_tags": "Generated documents replace Stack Overflow.",
    "mnist_by_style": "1,000 pseudo-writers of MNIST replace 1,000 of EMNIST.",
}

# The settings that the figures of these sweeps distinguish, and those of them that have another name in the numbers.
APART = ("delta_std", "noise_multiplier", "personalization", "legend_personalization")
RENAMED = {"legend_personalization": "personalization"}
TUNED = ("step_size", "legend_step_size")


def own_values(runs: pd.DataFrame) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
    """Return clipping norm, noise levels and personalisations of a user's runs over values of their own.

    Raises:
        InputError: where PPSGD has no run, or several clipping norms.
    """
    rows = runs[runs["algorithm"] == PUBLISHED]
    norms = sorted(rows["clip_norm"].unique())
    if len(norms) != 1:
        number = ", ".join(f"{norm:g}" for norm in norms) or "none"
        raise InputError(f"PPSGD's runs have several clipping norms, or none ({number}): choose one by --where")
    name = "legend_personalization" if "legend_personalization" in rows else "personalization"
    curves = sorted(rows[name].unique())
    shared = rows[rows[name] > LOCAL]
    panels = sorted((shared if len(shared) else rows)["noise_multiplier"].unique())
    return float(norms[0]), tuple(panels), tuple(curves)


def figure_of(
    about: str | None,
    *,
    sweep: str,
    table: Callable[..., pd.DataFrame],
    draw: Callable[..., Any],
) -> Figure:
    """Return a figure with a panel for each noise level and a curve for each personalisation.

    Args:
        about: what it shows.
        sweep: whose runs it reads.
        table: its numbers, from runs and, for a user's own values, panels, curves and the clipping norm.
        draw: draws those numbers; for a user's own values also takes panels and curves.
    """

    def own(runs: pd.DataFrame) -> Figure:
        clip_norm, panels, curves = own_values(runs)
        return published._replace(
            table=lambda runs: table(runs, panels, curves, clip_norm),
            draw=lambda numbers: draw(numbers, panels, curves),
        )

    published = Figure(about, (sweep,), table, draw, apart=APART, renamed=RENAMED, tuned=TUNED, own=own)
    return published


@derived
def ppsgd_runs(
    runs: pd.DataFrame, clip_norm: float | None = None, *, legend: bool = False, further: bool = False
) -> pd.DataFrame:
    """Return PPSGD's runs at the clipping norm shown. Local learning has no noise, so it occurs once, at sigma 0.

    Args:
        runs: of one sweep.
        clip_norm: default that of the paper's figures.
        legend: whether `personalization` of the network is what the authors' program calls a, Q times the ratio
            alpha Q.
        further: whether step sizes beyond the published grid count as well.

    Raises:
        InputError: where there are none.
    """
    if clip_norm is None:
        clip_norm = CLIP_NORMS.get(next(iter(runs["sweep"]), ""), CLIP_NORM)
    names = [PUBLISHED, FURTHER] if further else [PUBLISHED]
    rows = runs[runs["algorithm"].isin(names) & (runs["clip_norm"] == clip_norm)]
    if rows.empty:
        raise InputError(f"no run of PPSGD with clip_norm = {clip_norm:g}: run the whole sweep, without --where")
    if legend and "legend_personalization" in rows and rows["legend_personalization"].notna().all():
        rows = rows.assign(personalization=rows["legend_personalization"], step_size=rows["legend_step_size"])
    local = rows[rows["personalization"] == LOCAL].sort_values("noise_multiplier", kind="stable")
    once = local.drop_duplicates([*REPETITION, "task", "step_size", "rounds"]).assign(noise_multiplier=0.0)
    whole = pd.concat([rows[rows["personalization"] > LOCAL], once], ignore_index=True)
    return with_held_out(whole) if POOLED in whole else whole


def at_step_without_noise(runs: pd.DataFrame, on: str) -> pd.DataFrame:
    """Return the runs at one step size for each personalisation: the best one after the last round without noise.
    "edge" says where it is an end of the grid.

    Args:
        runs: of `ppsgd_runs`.
        on: the metric to choose by, of which more is better.
    """
    silent = runs[(runs["noise_multiplier"] == 0) & (runs["rounds"] == runs["num_rounds"])]
    keys = ["personalization", "step_size"]
    best = select.tune(silent, by=["personalization"], over="step_size", on=on, best="max")
    return runs.merge(best[[*keys, "edge"]].drop_duplicates(), on=keys)


def alone(runs: pd.DataFrame, tunings: dict[str, str]) -> pd.DataFrame:
    """Final accuracy of users who learn alone, for longer than the rounds that draw them; empty without such runs."""
    rows = runs[(runs["algorithm"] == ALONE) & (runs["rounds"] == runs["num_rounds"])]
    if rows.empty:
        return pd.DataFrame(columns=["tuned_on", "test_accuracy", "low", "high", "num_rounds"])
    rows = with_held_out(rows)
    return select.tuned_curves(rows, by=["num_rounds"], value="test_accuracy", best="max", tunings=tunings)


def in_panels(runs: pd.DataFrame, sigmas, curves) -> pd.DataFrame:
    """Return the runs of some curves at some noise levels, local learning at each of them.

    Raises:
        InputError: where there are none.
    """
    runs = runs[runs["personalization"].isin(curves) & (runs["rounds"] > 0)]
    local = runs[runs["personalization"] == LOCAL]
    shared = runs[(runs["personalization"] > LOCAL) & runs["noise_multiplier"].isin(sigmas)]
    out = pd.concat([shared, *(local.assign(noise_multiplier=sigma) for sigma in sigmas)], ignore_index=True)
    if out.empty:
        raise InputError("no run of the curves and noise levels shown: run the whole sweep, without --where")
    return out


def replaced(table: pd.DataFrame) -> str:
    """Return `stand_in` in few words, for a footer that has little room, on every task of the table."""
    tasks = {name for tasks in table["task"].unique() for name in tasks.split(", ")}
    return " ".join(sentence for task, sentence in REPLACED.items() if task in tasks)


def stand_in(table: pd.DataFrame) -> str:
    """Return a sentence on data that replace the paper's; empty where the paper's data are used."""
    return " ".join(sentence for task, sentence in STAND_INS.items() if task in table["task"].iloc[0].split(", "))
