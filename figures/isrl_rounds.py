"""Gao et al. 2024, Theorem 2.1 measured (not in the paper): excess risk against communication rounds, by n and epsilon.

A quadratic with known minimiser in 25 silos, every method at its best step size for every number of rounds. The
dashed line is the lowest risk of one-pass MB-SGD at any number of rounds; the CSV says how many rounds each method
needs to reach it. To expect by the theorem: the localized accelerated method needs fewest.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from figures import isrl_runs, select, style

SWEEP = "isrl_rounds"
ONE_PASS, LOCALIZED = "One-pass MB-SGD", "Localized accelerated"
LOOKS = {
    ONE_PASS: {"color": "#12355b", "marker": "o"},
    "Multi-pass MB-SGD": {"color": "#8c8c8c", "marker": "^"},
    "Accelerated": {"color": "#444444", "marker": "v"},
    "Localized MB-SGD": {"color": "#e6a532", "marker": "D"},
    LOCALIZED: {"color": "#c8443c", "marker": "s"},
}
PANEL = ["num_records", "target_epsilon"]


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Excess risk by n, epsilon, method and rounds, step size (and lambda) the best on average over repetitions.

    `target` is the lowest risk of one-pass MB-SGD in the panel, `rounds_to_target` the fewest rounds that reach it.
    """
    runs = isrl_runs.at_end(runs)
    by = [*PANEL, "algorithm", "num_rounds"]
    best = select.tune(runs, by=by, over="point", on="excess_risk", best="min", log=True)
    out = select.interval(best, by=by, value="excess_risk", log=True)
    spent = best.groupby(by, observed=True)[["epsilon", "epsilon_exact", "step_size"]].mean().reset_index()
    out = out.merge(spent, on=by)
    one_pass = out[out["algorithm"] == ONE_PASS].groupby(PANEL)["excess_risk"].min().rename("target").reset_index()
    out = out.merge(one_pass, on=PANEL, how="left")
    reached = out[out["excess_risk"] <= out["target"]].groupby([*PANEL, "algorithm"])["num_rounds"].min()
    out = out.merge(reached.rename("rounds_to_target").reset_index(), on=[*PANEL, "algorithm"], how="left")
    return out.assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """Rows epsilon, columns n."""
    sizes, budgets = sorted(table["num_records"].unique()), sorted(table["target_epsilon"].unique())
    figure, axes = plt.subplots(
        len(budgets), len(sizes), figsize=(11, 2.7 * len(budgets) + 0.9), sharex=True, sharey="row", squeeze=False
    )
    for row, epsilon in zip(axes, budgets, strict=True):
        for ax, n in zip(row, sizes, strict=True):
            panel = table[(table["num_records"] == n) & (table["target_epsilon"] == epsilon)]
            for name, look in LOOKS.items():
                style.curve(ax, panel[panel["algorithm"] == name], "num_rounds", "excess_risk", **look)
            ax.set_xscale("log", base=2)
            ax.set_yscale("log")
            with style.same_limits(ax):
                for target in panel["target"].dropna().unique()[:1]:
                    ax.axhline(target, color=LOOKS[ONE_PASS]["color"], linestyle="--", linewidth=0.8)
            low = panel["excess_risk"].min()
            ax.set_ylim(0.7 * low, min(panel["excess_risk"].max() * 1.3, 60 * low))
            ax.set_title(f"n = {n:g}, " + (rf"$\varepsilon$ = {epsilon:g}" if np.isfinite(epsilon) else "no noise"))
            style.plain_log_ticks(ax.yaxis, subs=(1, 2, 5))
        row[0].set_ylabel("excess risk")
    for ax in axes[-1]:
        ax.set_xlabel("communication rounds")
        ax.set_xticks([1, 4, 16, 64], ["1", "4", "16", "64"])
    style.head(
        figure,
        "Rounds to a risk: a quadratic in 25 silos that differ (Gao et al. 2024, Theorem 2.1, measured)",
        [Line2D([], [], label=name, **look) for name, look in LOOKS.items()],
    )
    style.footer(
        figure,
        table,
        "Every point at its best step size (localized: and lambda, 1 or 1/10 of the theorem's) by exact risk. Phases, "
        "growth of lambda and rounds of the phases as in Theorem C.1. Dashed: the lowest risk of one-pass MB-SGD. "
        "Exact epsilon at delta = 1e-6, one record of one silo replaced. The paper has no such experiment.",
    )
    return figure
