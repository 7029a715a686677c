"""The comparisons of the claims of Bellet et al. 2018 on the numbers that the paper published, at face value.

Their intervals are not known, so each comparison is met or missed by the published points themselves.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise, product

import pandas as pd

from figures.p2p import fig1
from figures.p2p.common import LOCAL, NON_PRIVATE
from figures.p2p.pairs import BETTER, PLACES
from figures.p2p.published import published
from figures.shared.verdicts import Verdict, at_face_value


def lines(figure: str, y: str, x_name: str | None = None) -> pd.DataFrame:
    """Return the published values of one figure: a column for each series, a row for each of its points in order."""
    points = published(figure)
    points = points[(points["y_name"] == y) & (True if x_name is None else points["x_name"] == x_name)]
    points = points.sort_values("x", kind="stable")
    return points.assign(place=points.groupby("series").cumcount()).pivot(index="place", columns="series", values="y")


def by_x(figure: str, y: str) -> pd.DataFrame:
    """Return the same of a figure whose series have the same x, by x."""
    points = published(figure)
    return points[points["y_name"] == y].pivot(index="x", columns="series", values="y")


def ahead_of_admm(x: str, y: str) -> Callable[[], Verdict]:
    """CD ahead of ADMM at every point after the start, which are the same up to the error of the extraction."""

    def check() -> Verdict:
        both = lines("p2p_fig1", y, x).iloc[1:]
        lead = BETTER[y] * (both["CD"] - both["ADMM"])
        return at_face_value({f"point {place}": value for place, value in lead.items()}, "points")

    return check


def ends_ahead_of_admm() -> Verdict:
    """CD ahead of ADMM at the last point of all four panels."""
    found = {}
    for x, y in product(fig1.AXES, fig1.METRICS):
        last = lines("p2p_fig1", y, x).iloc[-1]
        found[f"{y} by {PLACES[x]}"] = BETTER[y] * (last["CD"] - last["ADMM"])
    return at_face_value(found, "panels")


def warm_ends_better(y: str) -> Callable[[], Verdict]:
    """Return every T/n ends better from the warm start than from the cold one."""

    def check() -> Verdict:
        cold, warm = (lines(figure, y).iloc[-1] for figure in ("p2p_fig2a", "p2p_fig2b"))
        return at_face_value((BETTER[y] * (warm - cold)).to_dict(), "values of T/n")

    return check


def between() -> Verdict:
    """From either start some T/n ends lower than the start, and than the most updates."""
    found = {}
    for figure in ("p2p_fig2a", "p2p_fig2b"):
        objective = lines(figure, "objective")
        first, ends = objective.iloc[0].max(), objective.iloc[-1]
        *others, most = sorted(ends.index, key=lambda name: float(name.split("=")[1]))
        found[f"Figure {figure[-2:]}"] = min(first, ends[most]) - ends[others].min()
    return at_face_value(found, "starts")


def most_is_highest() -> Verdict:
    """From either start the most updates end with the highest objective."""
    found = {}
    for figure in ("p2p_fig2a", "p2p_fig2b"):
        ends = lines(figure, "objective").iloc[-1]
        *others, most = sorted(ends.index, key=lambda name: float(name.split("=")[1]))
        found |= {f"{name}, Figure {figure[-2:]}": ends[most] - ends[name] for name in others}
    return at_face_value(found)


def order(series: Sequence[str], fewest: float) -> Verdict:
    """Accuracies of Figure 2c in this order, from a number of features on."""
    accuracy = by_x("p2p_fig2c", "test_accuracy")
    accuracy = accuracy[accuracy.index >= fewest]
    found = {
        f"{better} over {worse}, p = {p:g}": row[better] - row[worse]
        for better, worse in pairwise(series)
        for p, row in accuracy.iterrows()
    }
    return at_face_value(found)


def beats_local(name: str) -> Verdict:
    """Return a curve of Figure 2c above local models at every number of features."""
    accuracy = by_x("p2p_fig2c", "test_accuracy")
    return at_face_value({f"p = {p:g}": gain for p, gain in (accuracy[name] - accuracy[LOCAL]).items()}, "values of p")


def everybody_gains(series: Sequence[str]) -> Verdict:
    """These curves of Figure 3 above local models in every group of agents."""
    accuracy = by_x("p2p_fig3", "test_accuracy")
    found = {
        f"{name} from m = {m:g} ({row[name]:.3f} < {row[LOCAL]:.3f})": row[name] - row[LOCAL]
        for name in series
        for m, row in accuracy.iterrows()
    }
    return at_face_value(found, "groups of agents")


def small_gain_most(series: Sequence[str]) -> Verdict:
    """In Figure 3 the agents with the least data gain more over local models than those with the most."""
    accuracy = by_x("p2p_fig3", "test_accuracy")
    gains = accuracy[list(series)].sub(accuracy[LOCAL], axis=0)
    return at_face_value({str(name): float(gain) for name, gain in (gains.iloc[0] - gains.iloc[-1]).items()}, "budgets")


def perturbed_is_worse(by: float) -> Verdict:
    """In Figure 4 local models from perturbed inputs are less accurate than from the inputs, by more than this."""
    accuracy = by_x("p2p_fig4", "test_accuracy")
    found = {
        f"{name}, p = {p:g}": row[LOCAL] - row[name] - by
        for name in accuracy.columns.drop(LOCAL)
        for p, row in accuracy.iterrows()
    }
    return at_face_value(found)


def _table1() -> pd.Series:
    return published("p2p_table1").set_index("series")["y"]


def little_is_lost(allowed: float) -> Verdict:
    """RMSE at epsilon 1 of Table 1 at most this above that without privacy."""
    rmse = _table1()
    return at_face_value({"epsilon 1": rmse[NON_PRIVATE] + allowed - rmse["epsilon 1"]})


def grows(series: Sequence[str]) -> Verdict:
    """RMSE of Table 1 grows in this order."""
    rmse = _table1()
    return at_face_value({f"{less} to {more}": rmse[more] - rmse[less] for less, more in pairwise(series)})


def below_local() -> Verdict:
    """Return every RMSE of Table 1 below that of local models."""
    rmse = _table1()
    return at_face_value({str(name): rmse[LOCAL] - value for name, value in rmse.drop(LOCAL).items()}, "numbers")
