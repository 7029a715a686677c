"""Gao et al. 2024, Theorem 2.1 and Table 1 measured (not in the paper): lowest excess risk against heterogeneity.

The problem is that of isrl_rounds with 512 records per silo. The models of the silos lie around the common minimiser,
whose norm is 1, and the largest distance is on the horizontal axis; at 0 all silos have the same distribution. The
inputs have one distribution in all silos. In every round 12 of the 25 silos answer, so a mean gradient depends on which
of them do, the more so the farther they are apart; if all answered, the distance would not change the mean gradient. At
every distance the same bound on gradients holds, so noise is the same. Every method has its best number of rounds, step
size and, where it has phases, lambda. Expected by the theorem: with noise, the risk of the localized accelerated method
is of one order at every distance, and below that of the earlier method, one-pass accelerated MB-SGD.
"""

import numpy as np
import pandas as pd

from bench.analysis import select, style
from figures.isrl import common
from figures.isrl.rounds import LOCALIZED, LOOKS, ONE_PASS_ACCELERATED, lowest
from figures.shared import edges
from figures.shared.figure import Figure

PANEL = ["target_epsilon", "spread"]
BY = [*PANEL, "algorithm"]
BANDS = (LOCALIZED, ONE_PASS_ACCELERATED)  # the paper's method, and the earlier one


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Lowest excess risk over settings and rounds, by distance, epsilon and method.

    ratio, ratio_low, ratio_high: the ratio of the risk to that in silos with one distribution, both at settings that
        are best on other trials, and its 95 % interval over trials, which share inputs, labels' noise and minimiser at
        every distance.
    num_rounds, step_size: the best setting; edge: which of its values are the smallest or largest tried.
    settings: the number of settings of which it is the best.
    """
    best = lowest(runs, PANEL)
    names = ("epsilon", "epsilon_exact", "num_sampled", "num_rounds", "step_size", "theorem_lambda")
    told = [name for name in names if name in best]
    out = select.interval(best, by=BY, value="excess_risk", log=True, means=told)
    out = out.merge(best.drop_duplicates(BY)[[*BY, "edge"]], on=BY)
    tried = runs.groupby(BY, observed=True)["point"].nunique().rename("settings").reset_index()
    out = out.merge(tried, on=BY)
    out = out.merge(select.beside(against_identical(runs), by=BY, value="ratio", log=True), on=BY, how="left")
    return out.assign(delta=runs["delta"].iloc[0], mean="geometric", **select.where_from(runs))


def against_identical(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs at settings that are best on other trials, with "ratio": their risk over that of the same method
    and trial in silos with one distribution."""
    best = lowest(runs, PANEL, apart=True)
    keys = ["target_epsilon", "algorithm", *select.REPETITION]
    identical = best.loc[best["spread"] == 0, [*keys, "excess_risk", "edge"]]
    both = best.merge(identical, on=keys, suffixes=("", "_of_identical"))
    return both.assign(ratio=both["excess_risk"] / both["excess_risk_of_identical"])


def draw(table: pd.DataFrame):
    """One column for each epsilon: the risk above, and below its ratio to the risk in silos with one distribution."""
    budgets = sorted(table["target_epsilon"].unique())
    figure, axes = style.subplots(2, len(budgets), figsize=(3.6 * len(budgets) + 0.4, 6.4), sharex=True, squeeze=False)
    looks: dict[str, style.Look] = {name: look | {"band": name in BANDS} for name, look in LOOKS.items()}
    ratios = table.rename(columns={"low": "risk_low", "high": "risk_high", "ratio_low": "low", "ratio_high": "high"})
    for (above, below), epsilon in zip(axes.T, budgets, strict=True):
        for ax, rows, y in ((above, table, "excess_risk"), (below, ratios, "ratio")):
            panel = rows[rows["target_epsilon"] == epsilon]
            style.curves(ax, panel, "algorithm", looks, "spread", y)
            style.stretch(ax, panel[panel["algorithm"].isin(BANDS)], "spread")
        above.set(yscale="log", title=rf"$\varepsilon$ = {epsilon:g}" if np.isfinite(epsilon) else "no noise")
        style.plain_log_ticks(above.yaxis, subs=(1, 1.5, 2, 3, 5, 7))
    style.label(axes, "distance of the silos' models", "excess risk", "ratio to distance 0")
    return style.finish(
        figure,
        table,
        "Risk and heterogeneity: a quadratic in 25 silos (Gao et al. 2024, Theorem 2.1, measured)",
        [style.handles(table, "algorithm", LOOKS)],
        f"{table['num_sampled'].iloc[0]:g} of 25 silos answer in a round. Points have the best of "
        f"{common.tried(table)} by exact risk; ratios have those that are best on other trials. "
        f"{edges.note(table)}".strip(),
        common.privacy_note(table, "Exact epsilon"),
        differs="The paper has no such experiment; only its method and the earlier one have bands.",
    )


FIGURE = Figure(__doc__, ("isrl_heterogeneity",), table, draw)
