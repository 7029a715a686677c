"""What Figures 2a and 2b of Bellet et al. 2018 share, and p2p_allocation: one budget in few or many updates."""

import matplotlib.pyplot as plt
import pandas as pd

from bench.analysis import style
from bench.errors import InputError
from figures.p2p import common, drawing
from figures.shared.published import published

METRICS = ("objective", "test_accuracy")
KEYS = ["calibration", "clip_norm", "allocation", "target_epsilon"]
SHOWN = {"calibration": common.PUBLISHED, "allocation": "equal"}
EPSILON = 0.5  # of the published runs, by the text
CARRY = ["max_updates", "mu", "lipschitz", *common.EPSILONS]


def named(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with "series", T/n, and "variant", the budget of the updates, and "iterations"."""
    updates = runs["max_updates"].map("T/n = {:g}".format)
    iterations = runs["rounds"] * runs["num_ticks"]
    return runs.assign(series=updates, variant=runs["target_epsilon"].map(variant), iterations=iterations)


def variant(epsilon: float) -> str:
    """A budget of the updates, in words."""
    return f"{common.epsilon_name(epsilon)} for the updates"


def table(runs: pd.DataFrame, figure: str, start: str) -> pd.DataFrame:
    """Objective and accuracy from one start by T/n, calibration, clipping norm, allocation and iterations."""
    runs = named(common.part(runs, algorithm="private CD", start=start))
    frames = [common.curves(runs, by=["series", "variant", *KEYS], x="iterations", y=y, carry=CARRY) for y in METRICS]
    return common.labelled(pd.concat(frames, ignore_index=True), runs, figure, series=list(runs["series"].unique()))


def updates_published() -> list[float]:
    """T/n of the published curves."""
    return sorted(float(name.split("=")[1]) for name in published("p2p_fig2a")["series"].unique())


def as_published(table: pd.DataFrame, epsilon: float | None = EPSILON) -> pd.Series:
    """Which rows have the paper's calibration and split of the budget, and this budget; None for any."""
    wanted = SHOWN if epsilon is None else SHOWN | {"target_epsilon": epsilon}
    return (table[list(wanted)] == pd.Series(wanted)).all(axis=1)


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with the paper's calibration and split of the budget, and the published ones.

    Raises:
        InputError: where the runs have no such.
    """
    chosen = as_published(table, None)
    if not chosen.any():
        said = ", ".join(f"{name} = {value}" for name, value in SHOWN.items())
        raise InputError(f"no run of p2p_private with {said}: run the whole sweep, no --where")
    return table[(table["origin"] != common.HERE) | chosen]


def draw(table: pd.DataFrame, title: str):
    """Objective and accuracy against iterations: published calibration, equal split of the budget."""
    shown = drawn(table)
    epsilons = sorted(common.here(shown)["target_epsilon"].unique())
    variants = dict(zip(map(variant, epsilons), ({}, drawing.SECOND), strict=False))
    figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.6), sharex=True)
    ordered = common.here(table).sort_values("max_updates")
    look = drawing.looks(ordered["series"].unique())
    for ax, y in zip(axes, METRICS, strict=True):
        drawing.draw(ax, shown, look, variants, y_name=y)
        ax.set_xlabel(drawing.NAMES["iterations"])
        ax.set_ylabel(drawing.NAMES[y])
    style.percent(axes[1].yaxis)
    legend = [*drawing.handles(look), *drawing.published_handles(table)]
    style.head(figure, title, [*legend, *(drawing.variant_handles(variants) if len(variants) > 1 else [])])
    epsilons = common.here(shown).groupby("target_epsilon")["epsilon"].max()
    spent = " or ".join(f"{epsilon:.3g}" for epsilon in epsilons)
    style.footer(
        figure,
        shown,
        common.privacy_note(table)
        + f" Each agent updates T/n times; epsilon spent in all, as the paper counts: {spent}.",
        common.true_note(shown),
        common.published_note(table) + " The CSV has the other calibrations and splits of the budget as well.",
    )
    return figure
