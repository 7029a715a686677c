"""The figure and the tables of an extrapolation: score against the number of users at one epsilon."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bench.analysis import metric_limits, style, tables
from bench.analysis.looks import in_rows, looks
from bench.analysis.saving import save_picture
from bench.comparison.extrapolation import ALONE, FACTOR, crossing
from bench.comparison.report.looks import named
from bench.files import write_whole

NAME = "extrapolated"  # of the files, without the ending
ALT = "The score of each method against the number of users, measured for those that exist and else extrapolated."
HOLLOW: style.Look = {"linestyle": "--", "markerfacecolor": "white"}  # of what was not measured
WHAT = (
    "Extrapolated (dashed, hollow): the users that exist, with the noise on the mean of a round that so many users "
    "would have at the same rate of sampling and the same noise multiplier, as if all were like those that exist. "
    "Nothing was measured there."
)


def draw(found: pd.DataFrame, sentences: Sequence[str], held_out: str) -> Figure:
    """Draw the measured point of each method apart from the extrapolated ones, and learning alone as a level line.

    Args:
        found: of `bench.comparison.extrapolation.table`.
        sentences: of `bench.comparison.extrapolation.said`.
        held_out: what the settings were chosen by, to follow "tuned on".
    """
    metric, title = found["metric"].iloc[0], style.literal(found["problem"].iloc[0])
    found = metric_limits.within(found, metric)
    private = found[found[FACTOR].notna()]
    epsilon = private["target_epsilon"].iloc[0]
    end = 1.8 * private["users"].max()
    figure, ax = style.subplots(figsize=(7.0, 4.6))
    handles = []
    alone = found[(found["method"] == ALONE) & (found["target_epsilon"] == epsilon)]
    if len(alone):
        _level(ax, alone.iloc[0], metric)
        handles.append(Line2D([], [], color="#444444", linestyle=":", label="learning alone"))
    for number, (name, look) in enumerate(looks(private["method"]).items()):
        rows = private[private["method"] == name].sort_values("users")
        bare = found[(found["method"] == name) & np.isinf(found["target_epsilon"])]
        hollow: style.Look = look | HOLLOW
        mark: style.Look = look | {"linestyle": ""}
        large: style.Look = mark | {"markersize": 7}
        _points(ax, rows, metric, hollow)
        _points(ax, rows[~rows["extrapolated"]], metric, large)
        _points(ax, bare.assign(users=end * 1.08**number), metric, mark)
        where = crossing(rows[FACTOR].tolist(), rows["gain"].tolist())
        if where.at is not None:
            ax.axvline(where.at * rows["users"].min(), color=look["color"], linewidth=0.8, alpha=0.6)
        handles.append(Line2D([], [], label=style.literal(name), **mark))
    handles += [
        Line2D([], [], color="#444444", linestyle="", marker="o", markersize=7, label="measured"),
        Line2D([], [], color="#444444", marker="o", label="extrapolated", linestyle="--", markerfacecolor="white"),
    ]
    places = private.drop_duplicates("users").sort_values("users")
    ax.set_xscale("log")
    counted = [f"{row.users:,.0f}\n×{getattr(row, FACTOR):g}" for row in places.itertuples()]
    ax.set_xticks([*places["users"], end], [*counted, "no\nnoise"], fontsize=7.5)
    ax.minorticks_off()
    ax.set_xlabel("users; × is how many times those that exist (beyond ×1 extrapolated)")
    ax.set_ylabel(style.literal(f"test {named(metric)}" if metric.startswith("test_") else named(metric)))
    if metric_limits.are_shares(found[metric]):
        style.percent(ax.yaxis)
    style.head(figure, f"{title} at ε = {epsilon:g}: score against the number of users", *in_rows(handles))
    notes = [*(f"{sentence}." for sentence in sentences), delta_words(found), tuned_words(found, held_out)]
    style.footer(figure, found.assign(scale=""), WHAT, *map(style.literal, notes), bands="bars and the band")
    return figure


def _level(ax: Axes, row: pd.Series, metric: str) -> None:
    ax.axhline(row[metric], color="#444444", linestyle=":", linewidth=1.2, zorder=1)
    if np.isfinite([row["low"], row["high"]]).all():
        ax.axhspan(row["low"], row["high"], color="#444444", alpha=0.12, linewidth=0)


def _points(ax: Axes, rows: pd.DataFrame, metric: str, look: style.Look) -> None:
    """Draw scores against users, with their intervals as bars."""
    known = rows[np.isfinite(rows["low"]) & np.isfinite(rows[metric])]
    ax.vlines(known["users"], known["low"], known["high"], color=look["color"], linewidth=0.9)
    ax.plot(rows["users"], rows[metric], **look)


def delta_words(found: pd.DataFrame) -> str:
    """Return what happens to delta as the users grow, in a sentence."""
    most = found[found[FACTOR].notna()].sort_values(FACTOR).iloc[-1]
    return (
        f"δ is {most['delta']:.2g} throughout, so that users times δ reaches {most['users_times_delta']:.2g} at "
        f"×{most[FACTOR]:g}; at a δ that falls as the users grow, the same noise has ε = "
        f"{most['epsilon_at_lower_delta']:.3g} there, not {most['target_epsilon']:g}."
    )


def tuned_words(found: pd.DataFrame, held_out: str) -> str:
    """Return what settings were chosen by, and among how many, in a sentence."""
    tried = found.groupby(found["method"] == ALONE)["settings_tried"].first()
    alone = f", those of learning alone among {tried[True]}" if True in tried.index else ""
    return (
        f"Arguments were chosen for every number of users and split among {tried[False]} settings{alone}, "
        f"tuned on {held_out}."
    )


def cells(found: pd.DataFrame) -> pd.DataFrame:
    """Return the table for readers: one row per method and number of users."""
    metric = found["metric"].iloc[0]
    form = tables.digits_for(metric)
    listed = []
    for row in found.to_dict("records"):
        noisy, alone = not math.isnan(row[FACTOR]), row["method"] == ALONE
        if alone and not math.isfinite(row["target_epsilon"]):
            continue  # the same as with noise
        kind = "extrapolated" if row["extrapolated"] else "measured"
        gain = (
            ""
            if math.isnan(row["gain"])
            else tables.with_interval(row["gain"], row["gain_low"], row["gain_high"], f"+{form}")
        )
        listed.append(
            {
                "method": row["method"] if noisy or alone else f"{row['method']} (no noise)",
                "users": f"{row['users']:,.0f}" if noisy else "",
                "how": f"{kind}, ×{row[FACTOR]:g}" if noisy else kind,
                metric: tables.with_interval(row[metric], row["low"], row["high"], form, metric),
                "gain over learning alone": gain,
                "ε if δ falls as users grow": f"{row['epsilon_at_lower_delta']:.3g}" if noisy else "",
            }
        )
    return pd.DataFrame(listed)


def write(found: pd.DataFrame, sentences: Sequence[str], folder: Path, held_out: str) -> list[Path]:
    """Write extrapolated.png, .csv and .md into a folder, and return their paths.

    Args:
        found: of `bench.comparison.extrapolation.table`.
        sentences: of `bench.comparison.extrapolation.said`.
        folder: where the files go.
        held_out: as for `draw`.
    """
    with style.applied():
        figure = draw(found, sentences, held_out)
    paths = save_picture(figure, found, folder, NAME, ALT)
    first = found[found[FACTOR].notna()].iloc[0]
    heading = f"# {tables.no_markup(first['title'])}, at ε = {first['target_epsilon']:g}: from how many users on?\n"
    notes = [f"{sentence}.\n" for sentence in sentences]
    text = "\n".join([heading, f"{WHAT}\n", *notes, f"{delta_words(found)}\n", tables.markdown(cells(found))])
    path = folder / f"{NAME}.md"
    write_whole(path, text)
    return [*paths, path]
