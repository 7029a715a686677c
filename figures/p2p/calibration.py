"""The cost of correctly calibrated noise: beyond Bellet et al. 2018, whose noise ignores the size of the inputs.

Accuracy against the number of features for the published noise and for noise that is scaled to a clipping norm:
Laplace noise for gradients clipped in L1, and Gaussian noise for gradients clipped in L2. Each is used by coordinate
descent from its warm start and, with scaled noise, by one release per agent that has the whole budget and is smoothed
over the graph (dotted). The lower panels have the true epsilon of each curve.

Updates per agent, clipping norm and mu are tuned for each point on other problem instances. The published noise keeps
the mu of the run without privacy, as in the paper. Laplace noise is composed by the paper's Theorem 1, so its true
epsilon is below the nominal one. Gaussian noise is calibrated exactly, together with its warm start.
"""

from itertools import product

import pandas as pd

from bench.analysis import style
from figures.p2p import common, drawing, fig2c
from figures.p2p.common import CLIPPED, EXACT, GAUSSIAN, LOCAL, NON_PRIVATE, ONCE, PUBLISHED
from figures.shared.figure import Figure

CALIBRATIONS = {
    PUBLISHED: "as published: Laplace, for gradients of norm 1",
    CLIPPED: "clipped in L1, Laplace",
    GAUSSIAN: "clipped in L2, Gaussian",
}
STYLES: dict[str, style.Look] = {
    PUBLISHED: {"color": "#c8443c", "marker": "o", "linestyle": (0, (4, 2))},
    CLIPPED: {"color": "#2a8a4a", "marker": "s"},
    GAUSSIAN: {"color": "#3c78b4", "marker": "D"},
}
VARIANTS: dict[str, style.Look] = {"": {}, ONCE: {"linestyle": ":", "markerfacecolor": "white"}}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final accuracy by calibration, variant, budget and number of features, with what was spent and what was tuned."""
    rows = common.tuned_runs(runs, list(CALIBRATIONS))
    common.runs_with(rows, calibration=list(CALIBRATIONS))  # raises where no run is private
    accuracy = common.curves(rows, by=fig2c.KEYS, x="num_features", y="test_accuracy", carry=fig2c.CARRY)
    return common.here(common.labelled(accuracy, rows, "p2p_fig2c"))


def draw(table: pd.DataFrame):
    """A column for each budget: accuracy, and under it the true epsilon."""
    names = drawing.budgets(table)[::-1]
    figure, axes = style.subplots(
        2, len(names), figsize=(11.5, 6.2), sharex=True, sharey="row", squeeze=False, height_ratios=[2.2, 1]
    )
    beside = {NON_PRIVATE: "", LOCAL: EXACT}
    for (ax, low), name in zip(axes.T, names, strict=True):
        ax.set_title(drawing.symbol(name))
        for other, variant in beside.items():
            line = table[(table["series"] == other) & (table["variant"] == variant)]
            style.curve(ax, line, "x", "y", **drawing.LOOKS[other])
        for calibration, variant in product(STYLES, VARIANTS):
            look = STYLES[calibration] | VARIANTS[variant]
            line = common.here(table, series=name, calibration=calibration, variant=variant)
            style.curve(ax, line, "x", "y", **look)
            style.curve(low, line, "x", "epsilon_true", band=False, **look)
        style.stretch(ax, table[table["series"] == name], "x")
        low.axhline(common.budget_of(name), color="#333333", linewidth=0.9, linestyle=":")
        low.set_yscale("log")
        drawing.feature_axis(low, table)
        low.tick_params(axis="x", labelsize=7.5)
    axes[0, 0].set_ylabel(drawing.NAMES["test_accuracy"])
    axes[1, 0].set_ylabel(r"true $\varepsilon$")
    style.percent(axes[0, 0].yaxis)
    style.plain_log_ticks(axes[1, 0].yaxis)
    with_once = (table["variant"] == ONCE).any()
    budget = "Budgets include the warm start." + (" One release spends the whole budget." if with_once else "")
    others = drawing.variant_handles({ONCE: VARIANTS[ONCE] | {"marker": "s"}} if with_once else {})
    others += drawing.handles({other: drawing.LOOKS[other] for other in beside}, {LOCAL: f"local: {EXACT}"})
    others += drawing.handles({"": {"color": "#333333", "linestyle": ":"}}, {"": r"nominal $\varepsilon$"})
    clipped = table[table["calibration"].isin([CLIPPED, GAUSSIAN])]
    norms = ", ".join(f"{norm:g}" for norm in sorted(clipped["clip_norm"].unique()))
    return style.finish(
        figure,
        table,
        "Noise as published, and for gradients of bounded norm (after Bellet et al. 2018, Fig. 2c)",
        [style.handles(table, "calibration", STYLES, CALIBRATIONS), others],
        f"{common.privacy_note(table)} {budget}",
        f"Updates per agent, clipping norm (chosen: {norms}) and mu are tuned for each point on other problem "
        "instances. The published noise keeps the mu of the run without privacy, as in the paper.",
        "The true epsilon is computed by privacy loss distributions, for the bound that the gradients really have.",
        differs="The paper has the published noise only.",
    )


FIGURE = Figure(__doc__, ("p2p_dimensions",), table, draw)
