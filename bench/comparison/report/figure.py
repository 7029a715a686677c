"""The figure of a comparison: score against epsilon, with rank and paired difference to the best baseline.

It belongs to no paper: `python -m bench compare` draws it. Methods that release nothing, such as local learning, are
horizontal lines, and runs without noise are at the right end. Where clients are tested on their own data, and the task
has a test that all have in common, a second panel has that.
"""

import textwrap

import numpy as np
import pandas as pd

from bench.analysis import measured, metric_limits, select, style, tables
from bench.analysis.measured import PANEL
from bench.analysis.saving import save_picture, save_printed
from bench.analysis.tables import without_formulas
from bench.comparison.defaults import COMPARISON, CONVERGENCE
from bench.comparison.population import FACTOR
from bench.comparison.report import beside, convergence
from bench.comparison.report.curves import draw_convergence
from bench.comparison.report.looks import legend, method_looks, named
from bench.comparison.report.page import page
from bench.comparison.report.table import extrapolated, latex, privacy, table
from bench.comparison.result import Comparison
from bench.errors import writing
from bench.files import write_whole
from bench.sweeps.columns import is_reserved

ALTS = {
    COMPARISON: "The score of each method against epsilon.",
    CONVERGENCE: "The test score of each method against its cost so far in the run, one row of panels per epsilon.",
}
MOST_BANDS = 8  # curves whose intervals are bands; of more, which would cover each other, they are bars side by side
ASIDE = 1.012  # ratio of neighbouring curves' epsilons then
BARS = "bars, beside each other so that none hides another,"
TITLE_LETTERS = 52  # in a line above a panel
BELOW = 3.0  # times below the smallest mean ends a logarithmic axis of risks


def draw(table: pd.DataFrame, held_out: str, remark: str = "", common: str = ""):
    """Draw one panel per metric.

    Args:
        table: of the comparison, as `write` makes it.
        held_out, remark: those of the problem, for the footer.
        common: the further metric that has panels of its own; "" for none.
    """
    metric = table["metric"].iloc[0]
    metrics = [metric, common] if common in measured.names(table) else [metric]
    size = max(6.4 * len(metrics), 7.0), 4.6
    figure, axes = style.subplots(1, len(metrics), figsize=size, squeeze=False, sharey=True)
    look_of = method_looks(table)
    log = bool(metric.endswith("risk") and (table[metric] > 0).all())  # risks span powers of ten
    for ax, name in zip(axes[0], metrics, strict=True):
        _panel(ax, _of_metric(table, name), name, look_of, log=log)
        on = measured.words(table, name)
        title = "one {}, {}".format(*table[PANEL].iloc[0]) if len(metrics) == 1 else f"measured on {on}" * bool(on)
        ax.set_title(style.literal("\n".join(textwrap.wrap(title, TITLE_LETTERS))))
        if ax is axes[0, 0] or len(metrics) > 1:
            words = f"{'test ' * name.startswith('test_')}{named(name)}"
            better = " (lower is better)" if table["best"].iloc[0] == "min" else ""
            ax.set_ylabel(style.literal(words + better))
    if log:
        axes[0, 0].set_yscale("log")
        # The interval of a mean may reach to 0 and below, which would leave the means no height.
        axes[0, 0].set_ylim(bottom=max(axes[0, 0].get_ylim()[0], table[metric].min() / BELOW))
    if metric_limits.are_shares(table[metric]):
        style.percent(axes[0, 0].yaxis)
    style.head(figure, f"Methods on {style.literal(table['title'].iloc[0])}", *legend(table, level_lines=True))
    num_settings = select.span((table["settings_tried"].min(), table["settings_tried"].max()))
    on = measured.words(table, metric)
    style.footer(
        figure,
        table.assign(scale=""),
        "The noise of every method is found by an accountant whose bound is proven for its sampler. Horizontal lines: "
        "methods that release nothing; right end: no noise.",
        f"Arguments were chosen on each split among {num_settings} settings per method, tuned on "
        f"{style.literal(held_out)}, then rerun with fresh randomness and tested once. This choice is not "
        "included in epsilon. "
        + style.literal(" ".join(filter(None, (f"Measured on {on}." if len(metrics) == 1 and on else "", remark)))),
        differs=style.literal(f"{extrapolated(table)}{privacy(table)}"),
        bands="bands and bars" if table["algorithm"].nunique() <= MOST_BANDS else BARS,
    )
    return figure


def _of_metric(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return rows of the table with the means of a metric under its name, and its intervals as "low" and "high"."""
    if name != rows["metric"].iloc[0]:
        rows = rows.assign(low=rows[f"{name}_low"], high=rows[f"{name}_high"])
    return metric_limits.within(rows, name)


def _panel(ax, rows: pd.DataFrame, metric: str, look_of: dict[str, style.Look], *, log: bool) -> None:
    """Draw the methods of a panel. On a logarithmic axis an interval that reaches to 0 is a line down to the end of the
    axis: as a band it would fill the panel.
    """
    finite = sorted(e for e in rows["target_epsilon"].unique() if 0 < e < np.inf)
    end = (finite[-1] if finite else 1.0) * 2.2
    level = rows.groupby("algorithm")["reveals_nothing"].first()
    bands = len(level) <= MOST_BANDS
    for number, (name, look) in enumerate(look_of.items()):
        line = rows[rows["algorithm"] == name].sort_values("target_epsilon")
        if line.empty:
            continue
        private = line[np.isfinite(line["target_epsilon"])].rename(columns={"target_epsilon": "x"})
        if level[name] and len(private):
            ax.axhline(private[metric].iloc[0], color=look["color"], linewidth=1.2, linestyle="--", zorder=1)
            if np.isfinite(private["low"].iloc[0]) and not (log and private["low"].iloc[0] <= 0):
                with style.same_limits(ax):
                    ax.axhspan(private["low"].iloc[0], private["high"].iloc[0], color=look["color"], alpha=0.12, lw=0)
            continue
        if not bands:
            private = private.assign(x=private["x"] * ASIDE ** (number - (len(look_of) - 1) / 2))
        to_zero = log & (private["low"] <= 0)
        style.curve(ax, private.assign(low=private["low"].mask(to_zero)), "x", metric, band=bands, **look)
        # A band of one point has no width.
        lines = private[to_zero | ((len(private) == 1 or not bands) & np.isfinite(private["low"]))]
        least = lines[metric] / 1e6 if log else -np.inf
        ax.vlines(lines["x"], lines["low"].clip(lower=least), lines["high"], color=look["color"], linewidth=0.9)
        at_end = line[np.isinf(line["target_epsilon"])]
        x = end * 1.06 ** (number - len(look_of) / 2)
        for _, row in at_end.iterrows():
            ax.plot([x], [row[metric]], **(look | {"linestyle": ""}))
            if np.isfinite(row["low"]):
                ax.plot([x, x], [row["low"], row["high"]], color=look["color"], linewidth=0.9)
    ax.set_xscale("log")
    ax.set_xticks([*finite, end], [*(f"{e:g}" for e in finite), "no\nnoise"])
    ax.minorticks_off()
    ax.set_xlabel(r"$\varepsilon$")


def write(comparison: Comparison, width: float | None = None) -> pd.DataFrame:
    """Write tables, figures, notes and tuning runs into the folder of the comparison.

    Figures for print that show another table than the new one are removed.

    Args:
        comparison: what was compared.
        width: inches, of a further PDF of the figure, for print, and of the LaTeX table.

    Returns:
        The `table` with the columns of `convergence.growth`; .attrs["replaced"] says whether the folder had another.

    Raises:
        InputError: where they cannot be written.
    """
    request = comparison.plan.request
    problem, folder = request.problem, request.folder
    rows = table(
        comparison.runs,
        problem=problem.name,
        title=problem.title,
        metric=problem.metric,
        best=problem.best,
        baselines=comparison.baselines,
        num_settings=comparison.tuning.num_settings,
        against=comparison.adversaries,
        test_ratio=problem.test_ratio,
        num_tests=comparison.num_tests,
    )
    if request.population > 1:
        private = np.isfinite(rows["target_epsilon"]) & ~rows["reveals_nothing"]
        rows = rows.assign(extrapolated=private, **{FACTOR: request.population})
    rows = convergence.joined(rows, comparison.growth)
    rows = beside.joined(rows, comparison.runs, problem.also, problem.measured_on)
    stored = folder / f"{COMPARISON}.csv"
    before = stored.read_bytes() if stored.is_file() else None
    courses = convergence.curves(comparison.evaluations, metric=problem.metric)
    with writing(folder):
        with style.applied():
            drawn = draw(rows, problem.held_out, problem.remark, problem.common)
            save_picture(drawn, rows, folder, COMPARISON, ALTS[COMPARISON], pdf=True)
            save_picture(draw_convergence(courses, rows), courses, folder, CONVERGENCE, ALTS[CONVERGENCE], pdf=True)
        replaced = before is not None and before != stored.read_bytes()
        for printed in folder.glob(f"{COMPARISON}_*in.pdf") if replaced else ():
            printed.unlink()
        if width is not None:
            with style.applied(width):
                save_printed(draw(rows, problem.held_out, common=problem.common), folder, COMPARISON, ALTS[COMPARISON])
        write_whole(folder / f"{COMPARISON}.tex", latex(rows, width or tables.PAGE_INCHES))
        text = page(rows, comparison.searched, comparison.notes, own_first=request.own_first)
        write_whole(folder / f"{COMPARISON}.md", text)
        runs = comparison.tuning.runs
        facts = [name for name in map(str, runs) if is_reserved(name) and name not in ("algorithm", "trial", "seed")]
        write_whole(
            folder / "tuning.csv", without_formulas(runs.drop(columns=facts)).to_csv(index=False, float_format="%.6g")
        )
    rows.attrs["replaced"] = replaced
    return rows
