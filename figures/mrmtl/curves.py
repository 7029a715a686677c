"""Liu et al. 2022, School by lambda: squared error of MR-MTL, FedAvg and private local learning, by epsilon.

One curve has shuffled batches, as in the paper, whose epsilon counts them as Poisson samples; the other has Poisson
samples, for which this epsilon is proven. Expected: at epsilon 6 the error is lowest at a lambda between the two ends,
and at a larger lambda where epsilon is small.
"""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.shared.figure import Figure
from figures.shared.published import of_figure
from figures.shared.runs import at_end

SWEEP = "mrmtl_school"
MR_MTL, FEDAVG, LOCAL = "MR-MTL", "FedAvg", "Local"
METRIC = "test_squared_error"
STEP = 0.01  # of the published numbers
SAMPLERS: dict[str, style.Look] = {"shuffled": {"color": "#c8443c"}, "poisson": {"color": "#12355b"}}
WORDS = {"shuffled": "shuffled batches, as published", "poisson": "Poisson samples, proven"}
CROSSES = {MR_MTL: "x", FEDAVG: "+", LOCAL: "*"}  # of published numbers
LOOKS: dict[str, style.Look] = {
    MR_MTL: {"marker": "o"},
    FEDAVG: {"linestyle": "--", "linewidth": 1.1},
    LOCAL: {"linestyle": ":", "linewidth": 1.3},
}


def published() -> pd.DataFrame:
    """Return the numbers in the readme of the authors' program: means over five splits by series, without a spread."""
    return of_figure("figures.mrmtl", "mrmtl_lambda")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Squared error by series, sampler, target epsilon and lambda at the published step, with the epsilons spent."""
    rows = at_end(runs)
    rows = rows[rows["step_size"] == STEP]
    by = ["algorithm", "sampler", "target_epsilon", "regularization"]
    out = select.interval(rows, by=by, value=METRIC, means=["epsilon", "epsilon_tight", "epsilon_worst_case"])
    return out.assign(step_size=STEP, delta=rows["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A panel for each epsilon and a colour for each sampler; FedAvg and local learning are horizontal lines."""
    epsilons = sorted(table["target_epsilon"].unique())
    figure, axes = style.subplots(1, len(epsilons), figsize=(3.1 * len(epsilons), 3.6), squeeze=False)
    real = bool(table["source"].str.startswith("School").all())
    for ax, panel, (epsilon,) in style.panels(axes, table, target_epsilon=epsilons):
        for sampler, look in SAMPLERS.items():
            _curves(ax, panel[panel["sampler"] == sampler], look)
        if real:
            _published(ax, epsilon)
        ax.set(xscale="log", title=rf"$\varepsilon$ = {epsilon:g}")
    style.label(axes, r"$\lambda$", "squared error on test pupils")
    methods = style.handles(table, "algorithm", LOOKS, color="#444444")
    if real:
        methods.append(Line2D([], [], label="published", linestyle="", marker="x", color="black"))
    return style.finish(
        figure,
        table,
        "School: mean-regularised multi-task learning in 139 silos (after Liu et al. 2022)",
        [methods, style.handles(table, "sampler", SAMPLERS, WORDS)],
        "All curves share the splits: even where bands overlap, curves can differ in every split.",
        f"Epsilon at delta = {table['delta'].iloc[0]:g}, by Renyi DP as the authors count: one pupil of one school "
        "added or removed, against the server and the other schools. Without amplification the shuffled batches cost "
        f"epsilon {_proven_epsilons(table)}.",
        differs=f"The step size is {STEP:g}."
        + (" Published: MR-MTL (x) and, at the right edge, FedAvg (+) and local learning (star)." if real else ""),
    )


def _curves(ax, rows: pd.DataFrame, colour: style.Look) -> None:
    look: style.Look = LOOKS[MR_MTL] | colour
    style.curve(ax, rows[rows["algorithm"] == MR_MTL], "regularization", METRIC, **look)
    for name in (FEDAVG, LOCAL):
        for level in rows[rows["algorithm"] == name].to_dict("records"):
            ax.axhline(level[METRIC], **LOOKS[name] | colour)
            if np.isfinite(level["low"]):
                with style.same_limits(ax):
                    ax.axhspan(level["low"], level["high"], color=colour["color"], alpha=0.08, linewidth=0)


def _published(ax, epsilon: float) -> None:
    for row in published().to_dict("records"):
        if row["epsilon"] == epsilon:
            at = row["regularization"] or 13.0  # right of the curves for methods without lambda
            ax.plot([at], [row["squared_error"]], linestyle="", marker=CROSSES[row["series"]], color="black", zorder=5)


def _proven_epsilons(table: pd.DataFrame) -> str:
    """Return the proven epsilon of shuffled batches for each target epsilon, in words."""
    rows = table[table["sampler"] == "shuffled"].groupby("target_epsilon")["epsilon_worst_case"].max()
    return ", ".join(f"{spent:.3g} (for {target:g})" for target, spent in rows.items()) or "what the table says"


FIGURE = Figure(__doc__, (SWEEP,), table, draw, apart=("target_epsilon", "sampler", "regularization"))
