"""Gao et al. 2024, Theorem 2.1 measured (not in the paper): excess risk against communication rounds, by n and epsilon.

The problem is a quadratic with known minimiser in 25 silos. "One-pass accelerated" uses every record once; it is taken
to be the earlier algorithm for silos that differ in Table 1, which the paper does not describe. Algorithm 1 of the
paper is "Localized multi-stage", whose phases run Algorithm 5; "Localized accelerated" runs a single stage of it,
Algorithm 2, in each phase. "Small batches" is taken to be the earlier algorithm for silos with one distribution, which
is known to need N n rounds. Every method has its best step size for every number of rounds; the number of phases, their
rounds and the growth of lambda are those of Theorem C.1. The dashed line is the lowest risk of one-pass MB-SGD at any
number of rounds; the CSV has the number of rounds that each method needs to reach it, with its interval. Expected by
the theorem: the localized accelerated method needs the fewest rounds.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.isrl import common
from figures.shared import edges
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.runs import at_end

ONE_PASS, ONE_PASS_ACCELERATED = "One-pass MB-SGD", "One-pass accelerated"
LOCALIZED, MULTI_STAGE = "Localized accelerated", "Localized multi-stage"
LOOKS: dict[str, style.Look] = {
    ONE_PASS: {"color": "#12355b", "marker": "o"},
    ONE_PASS_ACCELERATED: {"color": "#5b9bd5", "marker": "X"},
    "Multi-pass MB-SGD": {"color": "#8c8c8c", "marker": "^"},
    "Accelerated": {"color": "#444444", "marker": "v"},
    "Localized MB-SGD": {"color": "#e6a532", "marker": "D"},
    MULTI_STAGE: {"color": "#7a3b9a", "marker": "P"},
    LOCALIZED: {"color": "#c8443c", "marker": "s"},
    "Small batches": {"color": "#3f8f5f", "marker": "p"},
}
TARGET: style.Look = {"color": "#12355b", "linestyle": "--", "linewidth": 0.8}
PANEL = ["num_records", "target_epsilon"]
BY = [*PANEL, "algorithm", "num_rounds"]


@derived
def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Excess risk by n, epsilon, method and rounds, with the step size (and lambda) that is best on average.

    target: the lowest risk of one-pass MB-SGD in the panel.
    interior: whether one-pass MB-SGD reaches the target before the most rounds that were tried; if not, more rounds
        might lower it further.
    ratio, ratio_low, ratio_high: the ratio of the risk to the target, and its 95 % interval over trials, whose data
        all methods share.
    rounds_to_target: the fewest rounds with a mean risk of at most the target.
    rounds_low: the fewest rounds with a mean risk that is not significantly above the target.
    rounds_high: the fewest rounds with a mean risk that is significantly at most the target.
    """
    last = at_end(runs)
    best = _tuned_rows(last)
    told = [name for name in ("epsilon", "epsilon_exact", "step_size", "theorem_lambda") if name in best]
    tried = last.groupby(BY, observed=True)["point"].nunique().rename("settings")
    out = select.interval(best, by=BY, value="excess_risk", log=True, means=told).join(tried, on=BY)
    lowest = _one_pass_lowest(best)
    most = out[out["algorithm"] == ONE_PASS].groupby(PANEL)["num_rounds"].max().rename("most").reset_index()
    lowest = lowest.merge(most, on=PANEL)
    lowest["interior"] = lowest["num_rounds"] < lowest.pop("most")
    out = out.merge(select.beside(of_trials(runs), by=BY, value="ratio", log=True), on=BY, how="left")
    out = out.merge(lowest.drop(columns="num_rounds").rename(columns={"excess_risk": "target"}), on=PANEL, how="left")
    for name, bound in (("rounds_low", "ratio_low"), ("rounds_to_target", "ratio"), ("rounds_high", "ratio_high")):
        reached = out[out[bound] <= 1 + 1e-12].groupby([*PANEL, "algorithm"])["num_rounds"].min()
        out = out.merge(reached.rename(name).reset_index(), on=[*PANEL, "algorithm"], how="left")
    return out.assign(delta=last["delta"].iloc[0], mean="geometric", **select.where_from(last))


@derived
def _tuned_rows(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round, at the setting that is best on average for each method and number of
    rounds."""
    return select.tune(runs, by=BY, over="point", on="excess_risk", best="min", log=True)


def _one_pass_lowest(best: pd.DataFrame) -> pd.DataFrame:
    """Return the number of rounds at which one-pass MB-SGD has its lowest risk, and that risk, by panel."""
    means = select.interval(best[best["algorithm"] == ONE_PASS], by=BY, value="excess_risk", log=True)
    means = means.dropna(subset="excess_risk")
    return means.loc[means.groupby(PANEL)["excess_risk"].idxmin(), [*PANEL, "num_rounds", "excess_risk"]]


@derived
def of_trials(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs at settings that are best on other trials, with "ratio": their risk over that of one-pass MB-SGD
    in the same trial, at the number of rounds at which it is lowest on average."""
    runs = at_end(runs)
    best = select.tune_apart(runs, by=BY, over="point", on="excess_risk", best="min", log=True)
    target = best.merge(_one_pass_lowest(_tuned_rows(runs))[[*PANEL, "num_rounds"]], on=[*PANEL, "num_rounds"])
    target = target.loc[target["algorithm"] == ONE_PASS, [*PANEL, *select.REPETITION, "excess_risk"]]
    paired = best.merge(target, on=[*PANEL, *select.REPETITION], suffixes=("", "_of_target"))
    return paired.assign(ratio=paired["excess_risk"] / paired["excess_risk_of_target"])


@derived
def lowest(runs: pd.DataFrame, panel: list[str], *, apart: bool = False) -> pd.DataFrame:
    """Return the runs after their last round, at the setting and number of rounds that are best on average for each
    method.

    edge: which of rounds, step size and lambda are the smallest or largest tried; a single round is no edge, nor is one
        in each phase.

    Args:
        runs: of all methods and settings.
        panel: columns that are not tuned over.
        apart: choose for each trial on other trials than itself, for tests of what the risks say.
    """
    by, runs = [*panel, "algorithm"], at_end(runs)
    tune = select.tune_apart if apart else select.tune
    best = tune(runs, by=by, over="point", on="excess_risk", best="min", log=True)
    over = [name for name in ("num_rounds", "step_size", "theorem_lambda") if name in runs]
    chosen = best.drop_duplicates([*by, "point"])
    fewest = chosen["num_phases"].fillna(1) if "num_phases" in chosen else 1
    chosen = edges.of_settings(chosen, runs, by, over, {"num_rounds": fewest})[[*by, "point", "edge"]]
    return best.drop(columns="edge", errors="ignore").merge(chosen, on=[*by, "point"])


def draw(table: pd.DataFrame):
    """A row of panels for each epsilon and a column for each n."""
    title = "Rounds to a risk: a quadratic in 25 heterogeneous silos (Gao et al. 2024, Theorem 2.1, measured)"
    ticks = [4**k for k in range(int(np.log2(table["num_rounds"].max())) // 2 + 1)]
    return panels(table, "num_rounds", "communication rounds", title, ticks)


def panels(table: pd.DataFrame, x: str, label: str, title: str, ticks: Sequence[int] = ()):
    """Risk against a column on a logarithmic axis, with these ticks or powers of ten, by epsilon (rows) and n
    (columns)."""
    sizes, budgets = sorted(table["num_records"].unique()), sorted(table["target_epsilon"].unique())
    figure, axes = style.subplots(
        len(budgets), len(sizes), figsize=(11, 2.9 * len(budgets) + 0.9), sharex=True, squeeze=False
    )
    for ax, panel, (epsilon, n) in style.panels(axes, table, target_epsilon=budgets, num_records=sizes):
        style.curves(ax, panel, "algorithm", LOOKS, x, "excess_risk")
        for target in panel["target"].dropna().unique()[:1]:
            ax.axhline(target, **TARGET)
        noise = rf"$\varepsilon$ = {epsilon:g}" if np.isfinite(epsilon) else "no noise"
        ax.set(xscale="log", yscale="log", title=f"n = {n:g}, {noise}")
        style.plain_log_ticks(ax.yaxis, subs=(1, 1.5, 2, 3, 5, 7))
        if ticks:
            style.ticks(ax, ticks)
    style.label(axes, label, "excess risk")
    target = Line2D([], [], label="lowest of one-pass MB-SGD", **TARGET)
    return style.finish(
        figure,
        table,
        title,
        [[*style.handles(table, "algorithm", LOOKS), target]],
        f"Points have the best of {common.tried(table)} by exact risk: the step size, and for the localized "
        "methods lambda.",
        common.privacy_note(table, "Exact epsilon"),
        differs="The paper has no such experiment. Panels have different axes.",
    )


FIGURE = Figure(__doc__, ("isrl_rounds",), table, draw)
