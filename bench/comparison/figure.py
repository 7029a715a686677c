"""Methods compared: the score against epsilon, and for each epsilon rank and paired difference to the best baseline.

Not of a paper: `python -m bench compare` makes it. Local learning, which reveals nothing, is a level line, and runs
without noise stand at the right end. A panel for each statement of privacy: epsilons of different units of privacy
never share an axis.
"""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style, tables
from bench.analysis.files import write_whole
from bench.comparison import budget
from bench.comparison.result import Comparison, at_epsilon
from bench.comparison.table import PANEL, costs, heading, printed, table, titles
from bench.defaults import BUDGET, COMPARISON
from bench.errors import InputError

COLORS = ["#12355b", "#c8443c", "#2a8a4a", "#e07b39", "#7a3b9a", "#3c78b4", "#e6a532", "#a02c6b", "#5a4fb0", "#5b5b5b"]
MARKERS = "osD^v<>PX*"
FLAT: style.Look = {"linestyle": "--", "marker": ""}  # of what reveals nothing
A_ROW = 4  # names of the legend
ALTS = {
    COMPARISON: "The score of methods against epsilon, a line for each, a panel for each statement of privacy.",
    BUDGET: "The held-out score that a budget of settings buys, a line for each method.",
}
COST = (
    "What a run costs, all clients together: numbers sent up, gradients of one example, and examples (one counts in "
    "every round that uses it). Last, the ε of a private choice among settings drawn at random, in place of this "
    "search: the best of a random number of runs, on average as many as were tried here (Papernot and Steinke 2022), "
    "if the scores are part of what a run releases. Scores on held-out data of the same clients are not covered."
)


def looks(table: pd.DataFrame) -> dict[str, style.Look]:
    """Colour and marker of each method, in the order of the legend."""
    names = list(dict.fromkeys(table["algorithm"]))
    return {
        name: {"color": COLORS[place % len(COLORS)], "marker": MARKERS[place % len(MARKERS)]}
        for place, name in enumerate(sorted(names))
    }


def draw(table: pd.DataFrame, held_out: str):
    """A panel for each statement of privacy. `held_out`: how the tuning data are held out, in words."""
    metric = table["metric"].iloc[0]
    panels = list(table.groupby(PANEL, sort=True))
    figure, axes = style.subplots(
        1, len(panels), figsize=(max(6.4 * len(panels), 7.0), 4.6), squeeze=False, sharey=True
    )
    look_of = looks(table)
    for ax, ((unit, relation), rows) in zip(axes[0], panels, strict=True):
        _panel(ax, rows, metric, look_of)
        ax.set_title(f"one {unit}, {relation}")
    axes[0, 0].set_ylabel(style.literal(metric.replace("_", " ")))
    if metric.endswith(("accuracy", "error")):
        style.percent(axes[0, 0].yaxis)
    title_of = titles(table)
    level = set(table.loc[table["reveals_nothing"], "algorithm"])
    handles = [
        Line2D([], [], label=style.literal(title_of[name]), **(look | FLAT if name in level else look))
        for name, look in look_of.items()
    ]
    rows = [handles[at : at + A_ROW] for at in range(0, len(handles), A_ROW)]
    style.head(figure, f"Methods on {style.literal(table['task'].iloc[0])}", *rows)
    counts = sorted(set(table["settings_tried"]))
    num_settings = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    style.footer(
        figure,
        table,
        "Noise of every method by an accountant proven for its sampler, at delta = "
        f"{table['delta'].iloc[0]:.2g}; level lines reveal nothing. Right end: the same without noise.",
        f"Arguments chosen on each split by held-out data ({style.literal(held_out)}) among {num_settings} settings "
        "a method, then run again with fresh randomness and tested once. What the choice reveals is not counted in "
        "epsilon.",
    )
    return figure


def _panel(ax, rows: pd.DataFrame, metric: str, look_of: dict[str, style.Look]) -> None:
    finite = sorted(e for e in rows["target_epsilon"].unique() if 0 < e < np.inf)
    end = (finite[-1] if finite else 1.0) * 2.2
    level = rows.groupby("algorithm")["reveals_nothing"].first()
    for number, (name, look) in enumerate(look_of.items()):
        line = rows[rows["algorithm"] == name].sort_values("target_epsilon")
        if line.empty:
            continue
        private = line[np.isfinite(line["target_epsilon"])].rename(columns={"target_epsilon": "x"})
        if level[name] and len(private):
            ax.axhline(private[metric].iloc[0], color=look["color"], linewidth=1.2, linestyle="--", zorder=1)
            if np.isfinite(private["low"].iloc[0]):
                with style.same_limits(ax):
                    ax.axhspan(private["low"].iloc[0], private["high"].iloc[0], color=look["color"], alpha=0.12, lw=0)
            continue
        style.curve(ax, private, "x", metric, **look)
        if len(private) == 1 and np.isfinite(private["low"]).all():  # a band of one point has no width
            ax.vlines(private["x"], private["low"], private["high"], color=look["color"], linewidth=0.9)
        at_end = line[np.isinf(line["target_epsilon"])]
        x = end * 1.06 ** (number - len(look_of) / 2)
        for _, row in at_end.iterrows():
            ax.plot([x], [row[metric]], linestyle="", **look)
            if np.isfinite(row["low"]):
                ax.plot([x, x], [row["low"], row["high"]], color=look["color"], linewidth=0.9)
    ax.set_xscale("log")
    ax.set_xticks([*finite, end], [*(f"{e:g}" for e in finite), "no\nnoise"])
    ax.minorticks_off()
    ax.set_xlabel(r"$\varepsilon$")


def draw_budget(curves: pd.DataFrame, whole: pd.DataFrame, metric: str):
    """What a budget buys, a panel for each epsilon.

    Args:
        curves: of `bench.comparison.budget.curves`.
        whole: of `table`, of the same methods.
        metric: that settings are chosen by.
    """
    look_of, title_of = looks(whole), titles(whole)
    epsilons = [epsilon for epsilon in sorted(curves["target_epsilon"].unique()) if epsilon > 0] or [0.0]
    across = min(len(epsilons), 3)
    down = -(-len(epsilons) // across)
    size = (max(3.4 * across, 7.0), 3.0 * down + 1.0)
    figure, axes = style.subplots(down, across, figsize=size, squeeze=False, sharey=True)
    for ax in axes.flat[len(epsilons) :]:
        ax.set_visible(False)
    for ax, epsilon in zip(axes.flat, epsilons, strict=False):
        for name, line in curves[curves["target_epsilon"].isin([0.0, epsilon])].groupby("algorithm"):
            line, look = line.sort_values("num_settings"), look_of[str(name)]
            bare: style.Look = look | {"marker": ""}
            style.curve(ax, line, "num_settings", metric, **bare)
            closer = line[line["looks"] > 0]
            ax.plot(closer["num_settings"], closer[metric], linestyle="", **look)
        ax.set_xscale("log")
        ax.set_title(at_epsilon(epsilon))
        style.plain_log_ticks(ax.xaxis)
        ax.set_xlabel("settings tried")
    for ax in axes[:, 0]:
        ax.set_ylabel(f"held-out {metric.replace('validation_', '').replace('_', ' ')}")
    if metric.endswith(("accuracy", "error")):
        style.percent(axes[0, 0].yaxis)
    handles = [Line2D([], [], label=style.literal(title_of[name]), **look) for name, look in look_of.items()]
    rows = [handles[at : at + A_ROW] for at in range(0, len(handles), A_ROW)]
    style.head(figure, f"What a budget of tuning buys on {style.literal(whole['task'].iloc[0])}", *rows)
    style.footer(
        figure,
        curves.assign(**whole[["task", "source", "scale"]].iloc[0]),
        "Lines: expected score of the best of so many settings from all over the space. Marks: the score after a "
        "closer look at settings near the best.",
    )
    return figure


def write(comparison: Comparison) -> pd.DataFrame:
    """Write tables, pictures, notes and tuning runs into the folder of the comparison.

    Returns:
        Of `table`, with "better_from": the number of settings from which on the method is expected to be better than
        the best baseline with as many, by the held-out score.

    Raises:
        InputError: where they cannot be written.
    """
    request = comparison.plan.request
    problem, folder = request.problem, request.folder
    whole = table(
        comparison.runs,
        metric=problem.metric,
        best=problem.best,
        baselines=comparison.baselines,
        num_settings=comparison.tuning.num_settings,
    )
    tried = {"metric": problem.tuned_by, "best": problem.best}
    lines = budget.curves(comparison.tuning.runs, **tried)
    whole["better_from"] = budget.all_better_from(lines, whole, **tried)
    try:
        with style.applied():
            style.save(draw(whole, problem.held_out), whole, folder, COMPARISON, ALTS[COMPARISON])
            style.save(draw_budget(lines, whole, problem.tuned_by), lines, folder, BUDGET, ALTS[BUDGET])
        shown, notes = printed(whole), "".join(f"\n{note}.\n" for note in comparison.notes)
        write_whole(folder / f"{COMPARISON}.tex", tables.latex(shown))
        parts = (heading(whole), tables.markdown(shown), COST, tables.markdown(costs(whole)))
        write_whole(folder / f"{COMPARISON}.md", "\n\n".join(part.strip() for part in parts) + f"\n{notes}")
        write_whole(folder / "tuning.csv", comparison.tuning.runs.to_csv(index=False, float_format="%.6g"))
    except OSError as error:
        raise InputError(f"cannot write {error.filename or folder}: {error.strerror}; choose --out") from None
    return whole
