"""Methods compared: the score against epsilon, and for each epsilon rank and paired difference to the best baseline.

Not of a paper: `python -m bench compare` makes it. Local learning, which reveals nothing, is a level line, and runs
without noise stand at the right end. A panel for each statement of privacy: epsilons of different units of privacy
never share an axis.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style, tables
from bench.analysis.files import write_whole
from bench.comparison.result import Comparison
from bench.defaults import COMPARISON
from bench.errors import InputError

COLORS = ["#12355b", "#c8443c", "#2a8a4a", "#e07b39", "#7a3b9a", "#3c78b4", "#e6a532", "#a02c6b", "#5a4fb0", "#5b5b5b"]
MARKERS = "osD^v<>PX*"
LEVEL: style.Look = {"linestyle": "--", "marker": ""}  # of what reveals nothing
SIGN = {"max": 1.0, "min": -1.0}
A_ROW = 4  # names of the legend
PANEL = ["privacy_unit_compared", "neighbors_compared"]


def table(
    runs: pd.DataFrame, *, metric: str, best: str, baselines: Sequence[str], num_settings: Mapping[str, int]
) -> pd.DataFrame:
    """One row per method and epsilon.

    Args:
        runs: one row per method, epsilon and split, as of `bench.comparison.Comparison`.
        metric: the column that is tested.
        best: "max" or "min".
        baselines: names of the methods that a difference is taken to.
        num_settings: how many settings of each method were tried.

    Returns:
        algorithm, privacy unit and relation, target_epsilon, the metric with low, high and repetitions; rank among the
        methods at this epsilon, 1 the best, and NaN where a run diverged; best_baseline, and gain: how much better
        than it, mean over splits of the differences on the same split, with gain_low and gain_high (95 %, Student's
        t); settings_tried; reveals_nothing; not_private, of what promises nothing and was run without noise alone. What
        reveals nothing takes part at every epsilon.
    """
    rows = _at_every_epsilon(runs)
    by = [*PANEL, "target_epsilon", "algorithm"]
    out = select.interval(rows, by=by, value=metric)
    out["rank"] = (SIGN[best] * out[metric]).groupby([out[c] for c in by[:-1]]).rank(ascending=False, method="min")
    pieces = []
    for _, group in out.groupby(by[:-1], sort=True):
        pieces.append(_with_gains(group, rows, metric, best, baselines))
    out = pd.concat(pieces, ignore_index=True)
    out["settings_tried"] = out["algorithm"].map(num_settings)
    out["reveals_nothing"] = out["algorithm"].isin(runs.loc[runs["target_epsilon"] == 0, "algorithm"])
    out["not_private"] = ~out["algorithm"].isin(runs.loc[np.isfinite(runs["target_epsilon"]), "algorithm"])
    facts = select.where_from(rows)
    return out.assign(metric=metric, best=best, delta=rows["delta"].iloc[0], **facts)


def _at_every_epsilon(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs, those that reveal nothing repeated at every epsilon of every panel."""
    silent = runs[runs["target_epsilon"] == 0]
    others = runs[runs["target_epsilon"] > 0]
    copies = [
        silent.assign(**dict(zip([*PANEL, "target_epsilon"], place, strict=True)))
        for place in others[[*PANEL, "target_epsilon"]].drop_duplicates().itertuples(index=False)
    ]
    return pd.concat([others, *copies] if copies else [silent], ignore_index=True)


def _with_gains(group: pd.DataFrame, rows: pd.DataFrame, metric: str, best: str, baselines) -> pd.DataFrame:
    """The methods at one epsilon, with their paired differences to the baseline of the best mean."""
    at_epsilon = rows[(rows[[*PANEL, "target_epsilon"]] == group[[*PANEL, "target_epsilon"]].iloc[0]).all(axis=1)]
    candidates = group[group["algorithm"].isin(baselines)].dropna(subset="rank")
    if candidates.empty:
        return group.assign(best_baseline="", gain=np.nan, gain_low=np.nan, gain_high=np.nan)
    reference = candidates.sort_values("rank").iloc[0]["algorithm"]
    scores = at_epsilon.pivot(index="trial", columns="algorithm", values=metric).astype(float)
    gains = SIGN[best] * scores.sub(scores[reference], axis=0)
    gains = gains.replace([np.inf, -np.inf], np.nan)
    mean = gains.mean().where(gains.notna().all())
    half = select.half_width(gains.std(ddof=1), len(gains))
    names = group["algorithm"]
    return group.assign(
        best_baseline=reference,
        gain=names.map(mean),
        gain_low=names.map(mean - half),
        gain_high=names.map(mean + half),
    )


def looks(table: pd.DataFrame) -> dict[str, style.Look]:
    """Colour and marker of each method, in the order of the legend."""
    names = list(dict.fromkeys(table["algorithm"]))
    return {
        name: {"color": COLORS[place % len(COLORS)], "marker": MARKERS[place % len(MARKERS)]}
        for place, name in enumerate(sorted(names))
    }


def titles(table: pd.DataFrame) -> dict[str, str]:
    """What each method is called where a reader sees it."""
    not_private = set(table.loc[table["not_private"], "algorithm"])
    return {name: f"{name} (not private)" if name in not_private else name for name in table["algorithm"].unique()}


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
        Line2D([], [], label=style.literal(title_of[name]), **(look | LEVEL if name in level else look))
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


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Methods by epsilon: mean [interval], (rank), and gain over the best baseline [interval]."""
    cells = {}
    for row in table.to_dict("records"):
        epsilon = "no noise" if np.isinf(row["target_epsilon"]) else f"ε = {row['target_epsilon']:g}"
        score = tables.with_interval(row[row["metric"]], row["low"], row["high"])
        rank = "" if np.isnan(row["rank"]) else f" (rank {row['rank']:.0f})"
        reference = row["algorithm"] == row["best_baseline"]
        if reference:
            gain = "best baseline"
        elif np.isnan(row["gain"]):
            gain = ""
        else:
            gain = f"gain {tables.with_interval(row['gain'], row['gain_low'], row['gain_high'], '+.4f')}"
        key = (row["algorithm"], row[PANEL[0]], row[PANEL[1]])
        cells.setdefault(key, {})[epsilon] = ", ".join(filter(None, (f"{score}{rank}", gain)))
    several, title_of = len({key[1:] for key in cells}) > 1, titles(table)
    rows = [
        {"method": f"{title_of[name]} (one {unit}, {relation})" if several else title_of[name], **by_epsilon}
        for (name, unit, relation), by_epsilon in cells.items()
    ]
    return pd.DataFrame(rows).fillna("")


def heading(table: pd.DataFrame) -> str:
    """What the table's numbers are, in a sentence each."""
    first = table.iloc[0]
    better = "larger" if first["best"] == "max" else "smaller"
    splits = " to ".join(map(str, sorted(set(table["repetitions"].astype(int)))))
    units = table[PANEL].drop_duplicates().itertuples(index=False, name=None)
    protected = "; ".join(f"one {unit}, {relation}" for unit, relation in units)
    return (
        f"{first['metric']} on the test data of {tables.no_markup(first['task'])}, the {better} the better: mean and "
        f"95 % interval over {splits} splits, rank at that ε, and gain over the best baseline, paired on the same "
        f"splits. ε at delta = {first['delta']:.2g}: {protected}."
    )


def write(comparison: Comparison) -> pd.DataFrame:
    """Write table, picture, notes and tuning runs into the folder of the comparison.

    Returns:
        Of `table`.

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
        num_settings=comparison.num_settings,
    )
    try:
        with style.applied():
            style.save(draw(whole, problem.held_out), whole, folder, COMPARISON)
        shown, notes = printed(whole), "".join(f"\n{note}.\n" for note in comparison.notes)
        write_whole(folder / f"{COMPARISON}.tex", tables.latex(shown))
        write_whole(folder / f"{COMPARISON}.md", f"{heading(whole)}\n\n{tables.markdown(shown)}{notes}")
        write_whole(folder / "tuning.csv", comparison.tuning.to_csv(index=False, float_format="%.6g"))
    except OSError as error:
        raise InputError(f"cannot write {error.filename or folder}: {error.strerror}; choose --out") from None
    return whole
