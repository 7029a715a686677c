"""Figures 2a and 2b of Bellet et al. 2018, with code for p2p_allocation: one budget in few or many updates."""

from functools import partial

import pandas as pd

from bench.analysis import style
from figures.p2p import common, drawing
from figures.p2p.published import published
from figures.shared.derived import derived
from figures.shared.figure import Figure

SWEEP = "p2p_private"
METRICS = ("objective", "test_accuracy")
KEYS = ["calibration", "clip_norm", "allocation", "target_epsilon"]
AS_PUBLISHED = {"calibration": common.PUBLISHED, "allocation": "equal"}
EPSILON = 0.5  # of the updates in Figure 2a: the paper gives no budget; with this one the objective ends as published
CARRY = ["max_updates", "mu", "lipschitz", *common.EPSILONS]


def named(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with "series" (T/n), "variant" (the budget of the updates) and "iterations"."""
    updates = runs["max_updates"].map("T/n = {:g}".format)
    iterations = runs["rounds"] * runs["num_ticks"]
    return runs.assign(series=updates, variant=runs["target_epsilon"].map(variant), iterations=iterations)


def variant(epsilon: float) -> str:
    """Return a budget of the updates, in words."""
    return f"{common.epsilon_name(epsilon)} for the updates"


@derived
def table(runs: pd.DataFrame, figure: str, start: str) -> pd.DataFrame:
    """Objective and accuracy from one start by T/n, calibration, clipping norm, allocation and iterations.

    Raises:
        InputError: where there are no runs from it with the paper's calibration and split of the budget.
    """
    runs = named(common.runs_with(runs, algorithm="private CD", start=start))
    common.runs_with(runs, **AS_PUBLISHED)
    frames = [common.curves(runs, by=["series", "variant", *KEYS], x="iterations", y=y, carry=CARRY) for y in METRICS]
    return common.labelled(pd.concat(frames, ignore_index=True), runs, figure, series=list(runs["series"].unique()))


def updates_published() -> list[float]:
    """Return the values of T/n of the published curves."""
    return sorted(float(name.split("=")[1]) for name in published("p2p_fig2a")["series"].unique())


def drawn(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the paper's calibration and split of the budget, and the published ones."""
    return table[(table["origin"] != common.HERE) | common.matching(table, **AS_PUBLISHED)]


def draw(table: pd.DataFrame, title: str):
    """A row of panels for each budget, with objective and accuracy against iterations: published calibration, equal
    split."""
    shown = drawn(table)
    epsilons = sorted(common.here(shown)["target_epsilon"].unique(), reverse=True)
    rows = len(epsilons)
    figure, axes = style.subplots(
        rows, 2, figsize=(11.5, 3.6 * rows + 1.0), sharex=True, sharey="col" if rows > 1 else False, squeeze=False
    )
    look = drawing.looks(common.here(table).sort_values("max_updates")["series"].unique())
    for row, epsilon in zip(axes, epsilons, strict=True):
        of_budget = shown[(shown["origin"] != common.HERE) | (shown["target_epsilon"] == epsilon)]
        for ax, y in zip(row, METRICS, strict=True):
            drawing.draw(ax, of_budget, look, {variant(epsilon): {}}, y_name=y)
            ax.set_ylabel(drawing.NAMES[y])
            if rows > 1:
                ax.set_title(drawing.symbol(variant(epsilon)))
        style.percent(row[1].yaxis)
    for ax in axes[-1]:
        ax.set_xlabel(drawing.NAMES["iterations"])
    totals = common.here(shown).groupby("target_epsilon")["epsilon"].max()
    updates, spent = (" or ".join(f"{epsilon:.3g}" for epsilon in budgets) for budgets in (epsilons, totals))
    return style.finish(
        figure,
        shown,
        title,
        [drawing.handles(look), drawing.published_handles(table, look)],
        common.privacy_note(table),
        f"Each agent updates T/n times. The updates have epsilon {updates}, in total {spent} as the paper counts.",
        common.published_note(table),
        differs=f"The paper gives no budget. {common.true_note(shown)}",
    )


APART = (*KEYS, "max_updates")
FIGURE_2A = Figure(
    """\
Bellet et al. 2018, Figure 2a: private coordinate descent from a constant start, epsilon 0.5 in 1 to 8 updates.

Neither the budget nor the value of the constant is in the paper. Expected: few updates add little noise and stay far
from the minimum, many updates the reverse; at T/n = 8 the objective rises.
""",
    (SWEEP,),
    partial(table, figure="p2p_fig2a", start="constant"),
    partial(draw, title="Private coordinate descent from a constant (Bellet et al. 2018, Fig. 2a)"),
    apart=APART,
)
FIGURE_2B = Figure(
    """\
Bellet et al. 2018, Figure 2b: as Figure 2a, from a private warm start that costs epsilon 0.05 more.

The paper gives neither the budget of this panel nor how its warm start was made private. Its curves end where ours do
with twice the budget (upper row), not where ours do with the 0.5 of Figure 2a (lower row). Expected: every curve ends
above its cold start in accuracy and below it in the objective.
""",
    (SWEEP,),
    partial(table, figure="p2p_fig2b", start="propagation"),
    partial(draw, title="Private coordinate descent from a warm start (Bellet et al. 2018, Fig. 2b)"),
    apart=APART,
)
