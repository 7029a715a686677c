"""Code shared by the figures and claims of Bietti et al. 2022: the runs that they read, and notes on the data.

The paper chooses the step size by test accuracy, which makes every curve optimistic. The same curve is also shown with
the step size chosen on held-out training examples. A user has 0 to 9 of those whatever its size, so the users'
accuracies on them are weighted by their numbers of training examples.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from bench.analysis.select import REPETITION
from bench.errors import InputError
from bench.papers.ppsgd import norm_shown
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.runs import WHOLE, ended, not_empty, runs_with

LOCAL, GLOBAL = 0.0, math.inf
ALONE = "Learning alone"
PUBLISHED, FURTHER = "PPSGD", "PPSGD, further step sizes"  # the published grid, and what lies beyond it
EPSILONS = ["epsilon", "epsilon_sampler", "epsilon_tight", "epsilon_worst_case"]
HELD_OUT = "validation_accuracy_by_size"
BY_SIZE = "weighs users by their training examples"
TUNINGS = {"test": "test_accuracy", "validation": HELD_OUT}
TUNING_TITLES = {"test": "step size by test accuracy, as in the paper", "validation": "step size by held-out accuracy"}
EPSILON_NOTE = (
    "Epsilon at delta = 1e-4 as accounted in the paper (RDP, Poisson sampling of users, add-or-remove one user), of "
    "all data of one user, against all others together. The published schedule is no such sample, and what is proven "
    "for it is a larger epsilon."
)
REPLACED = {
    "mnist_by_writer": "836 writers of MNIST replace 1,000 of EMNIST.",
    "debian_tags": "312 Debian maintainers, 43 documents each, replace 500 users of Stack Overflow.",
    "made_up_tags": "Generated documents replace Stack Overflow.",
    "mnist_by_style": "1,000 pseudo-writers of MNIST replace 1,000 of EMNIST.",
}

# The settings that the figures of these sweeps distinguish, and those of which they show the best.
APART = ("delta_std", "noise_multiplier", "personalization", "legend_personalization")
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
    sweep: str,
    panels: Sequence[float],
    curves: Sequence[float],
    table: Callable[..., pd.DataFrame],
    draw: Callable[..., Any],
) -> Figure:
    """Return a figure with a panel for each noise level and a curve for each personalisation.

    Args:
        about: what it shows.
        sweep: whose runs it reads.
        panels, curves: the published noise levels and personalisations; a user's own runs have their own.
        table: its numbers, from runs, panels, curves and, for a user's own runs, the clipping norm.
        draw: draws those numbers, with panels and curves.
    """

    def showing(panels: Sequence[float], curves: Sequence[float], **norm: float) -> Figure:
        values = {"panels": panels, "curves": curves}
        of_values = partial(table, **values, **norm), partial(draw, **values)
        return Figure(about, (sweep,), *of_values, apart=APART, tuned=TUNED, own=own)

    def own(runs: pd.DataFrame) -> Figure:
        clip_norm, panels, curves = own_values(runs)
        return showing(panels, curves, clip_norm=clip_norm)

    return showing(panels, curves)


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
        clip_norm = norm_shown(next(iter(runs["sweep"]), ""))
    names = [PUBLISHED, FURTHER] if further else [PUBLISHED]
    rows = runs_with(runs, algorithm=names, clip_norm=clip_norm)
    if legend and "legend_personalization" in rows and rows["legend_personalization"].notna().all():
        rows = rows.assign(personalization=rows["legend_personalization"], step_size=rows["legend_step_size"])
    local = rows[rows["personalization"] == LOCAL].sort_values("noise_multiplier", kind="stable")
    once = local.drop_duplicates([*REPETITION, "task", "step_size", "rounds"]).assign(noise_multiplier=0.0)
    return pd.concat([rows[rows["personalization"] > LOCAL], once], ignore_index=True)


def alone(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of users who learn alone, for longer than the rounds that draw them, after the last round."""
    return ended(runs[runs["algorithm"] == ALONE])


def in_panels(runs: pd.DataFrame, sigmas, curves) -> pd.DataFrame:
    """Return the runs of some curves at some noise levels, local learning at each of them.

    Raises:
        InputError: where there are none.
    """
    runs = runs[runs["personalization"].isin(curves) & (runs["rounds"] > 0)]
    local = runs[runs["personalization"] == LOCAL]
    shared = runs[(runs["personalization"] > LOCAL) & runs["noise_multiplier"].isin(sigmas)]
    out = pd.concat([shared, *(local.assign(noise_multiplier=sigma) for sigma in sigmas)], ignore_index=True)
    return not_empty(out, f"no run of the curves and noise levels shown: {WHOLE}")


def replaced(table: pd.DataFrame) -> str:
    """Return sentences on data of the table that replace the paper's; empty where the paper's data are used."""
    tasks = {name for tasks in table["task"].unique() for name in tasks.split(", ")}
    return " ".join(sentence for task, sentence in REPLACED.items() if task in tasks)
