"""Bellet et al. 2018, Figure 1: coordinate descent (CD) against ADMM, without privacy, from local models.

Objective and test accuracy against iterations and against vectors sent. The paper names neither the solver of the
local models nor the penalty of ADMM. Both methods start after 100 short gradient steps, where the published curves
start; from the exact minimisers, which the claims ask about as well, the numbers are in the CSV. ADMM has the penalty
whose curves are the closest to the published ones, and, as a thin line, the one that ends with the lowest objective,
chosen in its favour on the runs that are shown, against which the claim is judged. Expected: CD is ahead in all panels
at every point after the start.
"""

import numpy as np
import pandas as pd

from bench.analysis import select, style
from figures.p2p import common, drawing, vectors
from figures.p2p.common import DESCENT, EXACT
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.margins import NotTestable, need
from figures.shared.runs import ended, not_empty

SERIES = ("CD", "ADMM")
AT_BEST = "ADMM at its best penalty"
STARTS = {"local": EXACT, "descent": DESCENT}
METRICS = ("objective", "test_accuracy")
AXES = ("iterations", "vectors_sent")


@derived
def candidates(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of CD, and of ADMM with every penalty: "series", "variant" (the start), "iterations",
    "vectors_sent"."""
    runs = common.runs_with(runs, algorithm=list(SERIES), start=list(STARTS))
    variant = runs["start"].astype(object).map(STARTS)  # in the order of its own words, not of the starts'
    runs = runs.assign(penalty=runs.get("penalty", np.nan), series=runs["algorithm"], variant=variant)
    return vectors.with_vectors(runs)


def with_penalty(runs: pd.DataFrame, best: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of CD, and those of ADMM with these penalties; "edge" says where one is the smallest or largest
    tried.

    Args:
        runs: of `candidates`.
        best: "variant" and "penalty", one row per start.
    """
    admm = runs[runs["series"] == "ADMM"]
    best = best.assign(edge=select.edges(admm, best, ["variant"], "penalty"))
    return pd.concat([runs[runs["series"] == "CD"], admm.merge(best, on=["variant", "penalty"])], ignore_index=True)


@derived
def chosen(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of CD, and those of ADMM with the best penalty for each start, with the columns of
    `candidates`."""
    runs = candidates(runs)
    last = ended(runs[runs["series"] == "ADMM"])
    if last.empty:
        return runs[runs["series"] == "CD"]
    return with_penalty(runs, select.choose(last, by=["variant"], over="penalty", on="objective", best="min"))


@derived
def fitting_penalty(runs: pd.DataFrame) -> float:
    """Return the penalty with which ADMM is the closest to its published curves.

    ADMM starts from the short descent, as the published curves of ADMM and CD do. The distance is the mean, over the
    published points of all four panels, of the squared logarithm of our value over theirs; logarithms are used because
    the objective falls by a factor of four.

    Raises:
        NotTestable: where no run of ADMM can be compared.
    """
    admm = candidates(runs)
    admm = admm[(admm["series"] == "ADMM") & (admm["variant"] == DESCENT)]
    not_empty(admm, f"no run of ADMM from {DESCENT}")
    points = common.compared(table_of(admm.assign(variant=admm["penalty"])))
    points = points.assign(
        off=np.log(points["here"] / points["published"]) ** 2, penalty=points["variant"].astype(float)
    )
    off = points.groupby("penalty")["off"]
    means = off.mean().where(off.count() == off.size())  # excludes penalties whose runs diverged
    need(means.notna().any(), "no run of ADMM has any of the published points")
    return float(means.index.to_numpy(float)[np.nanargmin(means)])


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Objective and accuracy by method, start, and iterations or vectors sent; ADMM at the penalty whose curves are the
    closest to the published, and at its best one."""
    best = chosen(runs)
    try:
        penalty = fitting_penalty(runs)
    except NotTestable:
        return table_of(best)
    starts = best["variant"].unique()
    fitting = with_penalty(candidates(runs), pd.DataFrame({"variant": starts, "penalty": penalty}))
    at_best = best[best["series"] == "ADMM"].assign(series=AT_BEST)
    return table_of(pd.concat([fitting, at_best], ignore_index=True))


def table_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return `table` from runs that have the columns of `candidates`."""
    rows = {"iterations": runs, "vectors_sent": vectors.by_vectors(runs, METRICS)}
    frames = [
        common.curves(rows[x], by=["series", "variant"], x=x, y=y, carry=["penalty", "mu", *common.EPSILONS])
        for x in AXES
        for y in METRICS
    ]
    return common.labelled(pd.concat(frames, ignore_index=True), runs, "p2p_fig1")


def draw(table: pd.DataFrame):
    """A row of panels for objective and for accuracy, a column for iterations and for vectors sent; from the start of
    the published curves where there are runs from it."""
    start = style.present(table, "variant", STARTS.values())[-1]
    figure, axes = style.subplots(2, 2, figsize=(11.5, 7.2), sharex="col", sharey="row")
    shown = common.here(table, variant=start).dropna(subset="penalty").groupby("series")["penalty"].first()
    penalties = [f"{series}: {penalty:g}" for series, penalty in shown.items()]
    look = drawing.looks([*SERIES, *style.present(table, "series", [AT_BEST])])
    for ax, panel, _ in style.panels(axes, table, y_name=METRICS, x_name=AXES):
        drawing.draw(ax, panel, look, {start: {}})
    for row, y in zip(axes, METRICS, strict=True):
        row[0].set_ylabel(drawing.NAMES[y])
    axes[0, 0].set_yscale("log")
    style.plain_log_ticks(axes[0, 0].yaxis, (1, 2, 5))
    style.percent(axes[1, 0].yaxis)
    for ax, x in zip(axes[1], AXES, strict=True):
        ax.set_xlabel(drawing.NAMES[x])
    return style.finish(
        figure,
        table,
        "Coordinate descent against ADMM, linear classification, 100 features (Bellet et al. 2018, Fig. 1)",
        [[*drawing.handles(look), *drawing.published_handles(table)]],
        f"Penalty of {', of '.join(penalties)}.",
        "An iteration of ADMM has 10 gradient steps of two agents and 8 vectors; an update of CD sends one to each "
        "neighbour. No privacy.",
        differs=f"The penalty of ADMM and the start, {start}, are ours. {common.published_note(table)}",
    )


FIGURE = Figure(__doc__, ("p2p_convergence",), table, draw, tuned=("penalty",))
