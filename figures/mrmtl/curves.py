"""Liu et al. 2022, School by lambda: squared error of MR-MTL beside FedAvg and private local learning, by epsilon.

Left batches are shuffled, as in the paper, whose epsilon counts them as Poisson samples; right they are Poisson
samples, for which that is proven. To expect: lowest at a lambda between the two ends, larger where epsilon is small.
"""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from bench.errors import InputError
from figures.shared.figure import Figure
from figures.shared.published import of_figure

SWEEP = "mrmtl_school"
MR_MTL, FEDAVG, LOCAL = "MR-MTL", "FedAvg", "Local"
METRIC = "test_squared_error"
STEP = 0.01  # of the published numbers
TITLES = {"shuffled": "shuffled batches, as published", "poisson": "Poisson samples: $\\varepsilon$ is proven"}
LOOKS: dict[str, style.Look] = {
    MR_MTL: {"color": "#444444", "marker": "o"},
    FEDAVG: {"color": "#444444", "linestyle": "--"},
    LOCAL: {"color": "#444444", "linestyle": ":"},
}
COLOURS = ("#e6a532", "#c8443c", "#2a8a4a", "#12355b", "#7a3f98", "#3c78b4")


def at_end(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs after their last round.

    Raises:
        InputError: where there are none.
    """
    runs = runs[runs["rounds"] == runs["num_rounds"]]
    if runs.empty:
        raise InputError("no run has come to its last round: run the whole sweep")
    return runs


def published() -> pd.DataFrame:
    """The numbers in the readme of the authors' program: five splits, series by series, no spread given."""
    return of_figure("figures.mrmtl", "mrmtl_lambda")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Squared error by series, sampler, target epsilon and lambda at the published step, and what epsilon is."""
    rows = at_end(runs)
    rows = rows[rows["step_size"] == STEP]
    by = ["algorithm", "sampler", "target_epsilon", "regularization"]
    out = select.interval(rows, by=by, value=METRIC)
    spent = rows.groupby(by, observed=True)[["epsilon", "epsilon_tight", "epsilon_worst_case"]].mean()
    out = out.merge(spent.reset_index(), on=by).assign(step_size=STEP)
    return out.assign(delta=rows["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A panel for each sampler; a colour for each epsilon; FedAvg and local learning as levels."""
    samplers = style.present(table, "sampler", TITLES)
    figure, axes = style.subplots(
        1, max(len(samplers), 1), figsize=(5.5 * max(len(samplers), 1), 4.4), sharey=True, squeeze=False
    )
    epsilons = sorted(table["target_epsilon"].unique())
    colours = {epsilon: COLOURS[place % len(COLOURS)] for place, epsilon in enumerate(epsilons)}
    for ax, sampler in zip(axes[0], samplers, strict=False):
        panel = table[table["sampler"] == sampler]
        for epsilon in epsilons:
            _curves(ax, panel[panel["target_epsilon"] == epsilon], colours[epsilon])
        real = table["source"].str.startswith("School").all()
        if sampler == "shuffled" and real and 6 in colours:
            _published(ax, colours[6])
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(r"$\lambda$")
        ax.set_title(TITLES[sampler])
    style.plain_log_ticks(axes[0, 0].yaxis, (1, 2, 3, 5))
    axes[0, 0].set_ylabel("squared error on test pupils, scores in [0, 1]")
    style.head(
        figure,
        "School: mean-regularised multi-task learning in 139 silos",
        [Line2D([], [], label=name, **LOOKS[name]) for name in style.present(table, "algorithm", LOOKS)],
        [Line2D([], [], color=colours[epsilon], label=rf"$\varepsilon$ = {epsilon:g}") for epsilon in epsilons],
    )
    style.footer(
        figure,
        table,
        f"Step {STEP:g}. Epsilon at delta = {table['delta'].iloc[0]:g}, by Renyi DP as the authors count: one pupil "
        "of one school added or removed, against the server and the other schools. Splits are shared by all curves: "
        "where bands overlap, curves can still differ in every one of them.",
        "Crosses: published, at epsilon 6 (MR-MTL at lambda = 1; at the left edge FedAvg below, local learning above)."
        f" Without amplification the shuffled batches cost {_worst(table)}.",
    )
    return figure


def _curves(ax, rows: pd.DataFrame, colour: str) -> None:
    look: style.Look = LOOKS[MR_MTL] | {"color": colour}
    style.curve(ax, rows[rows["algorithm"] == MR_MTL], "regularization", METRIC, **look)
    for name in (FEDAVG, LOCAL):
        for level in rows.loc[rows["algorithm"] == name, METRIC]:
            ax.axhline(level, **LOOKS[name] | {"color": colour, "linewidth": 1.1})


def _published(ax, colour: str) -> None:
    for row in published().to_dict("records"):
        at = row["regularization"] or 0.08  # at the left edge, where there is no lambda
        ax.plot([at], [row["squared_error"]], linestyle="", marker="x", color=colour, markersize=7, markeredgewidth=1.6)


def _worst(table: pd.DataFrame) -> str:
    """What shuffled batches are proven to cost, by target epsilon."""
    rows = table[table["sampler"] == "shuffled"].groupby("target_epsilon")["epsilon_worst_case"].max()
    return ", ".join(f"{spent:.3g} (for {target:g})" for target, spent in rows.items()) or "what the table says"


FIGURE = Figure(
    about=__doc__,
    sweeps=(SWEEP,),
    table=table,
    draw=draw,
    apart={"target_epsilon": "target_epsilon", "sampler": "sampler", "regularization": "regularization"},
)
