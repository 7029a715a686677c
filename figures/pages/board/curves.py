"""Mean rank against epsilon, a picture for each unit of privacy."""

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bench.analysis import style
from bench.analysis.looks import in_rows, looks
from bench.ranking import EVERY

APART = 1.03  # ratio of the places of two methods at one epsilon
TOUCHES = 1e-9  # from here on an end lies on the first or the last rank: means of ranks are rounded


def open_ends(row: Mapping[Any, float]) -> tuple[bool, bool]:
    """Return whether the interval of a mean rank is cut at the first rank, and whether it is at the last.

    No rank lies beyond these: such an end is no bound that was found, and the interval is one-sided.

    Args:
        row: of `bench.ranking.mean_ranks`.
    """
    return row["low"] <= 1 + TOUCHES, row["high"] >= row["last"] - TOUCHES


def bar(ax: Axes, row: Mapping[Any, float], color: str) -> None:
    """Draw the interval of a mean rank as a bar, with a cap at each end that is a bound.

    Args:
        ax: the axes.
        row: of `bench.ranking.mean_ranks`, with its place "x".
        color: of the method.
    """
    ax.plot([row["x"]] * 2, [row["low"], row["high"]], color=color, linewidth=0.9)
    bounds = [end for end, is_open in zip((row["low"], row["high"]), open_ends(row), strict=True) if not is_open]
    ax.plot([row["x"]] * len(bounds), bounds, color=color, linestyle="", marker="_", markersize=5, markeredgewidth=0.9)


def picture(ranks: pd.DataFrame, panel: str) -> bytes:
    """Return a PNG file with the mean ranks of a unit of privacy against epsilon.

    Args:
        ranks: of `figures.pages.board.collect.Board.mean_ranks`.
        panel: the statement of privacy, in words.
    """
    ranks = ranks[ranks["target_epsilon"] != EVERY]
    finite = sorted(value for value in ranks["target_epsilon"].unique() if np.isfinite(value))
    end = (finite[-1] if finite else 1.0) * 2.2
    look_of = looks(ranks["algorithm"])
    with style.applied():
        figure, ax = style.subplots(figsize=(7.0, 4.4))
        for number, (name, look) in enumerate(look_of.items()):
            line = ranks[ranks["algorithm"] == name].sort_values("target_epsilon")
            aside = APART ** (number - (len(look_of) - 1) / 2)  # bars would cover each other
            line = line.assign(x=aside * line["target_epsilon"].replace(np.inf, end))
            private = np.isfinite(line["target_epsilon"])
            marks: style.Look = look | {"linestyle": ""}
            ax.plot(line["x"][private], line["mean_rank"][private], **look)
            ax.plot(line["x"][~private], line["mean_rank"][~private], **marks)
            for row in line.dropna(subset=["low", "high"]).to_dict("records"):
                bar(ax, row, look["color"])
        ax.set_xscale("log")
        ax.set_xticks([*finite, end], [*(f"{value:g}" for value in finite), "no\nnoise"])
        ax.minorticks_off()
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel(r"$\varepsilon$")
        ax.set_ylabel("mean rank over tasks")
        ax.invert_yaxis()
        low, high = sorted(ax.get_ylim())
        ax.set_ylim(max(high, ranks["last"].max() + 0.3), min(low, 0.7))
        handles = [Line2D([], [], label=name, **look) for name, look in look_of.items()]
        style.head(figure, f"Mean rank: {panel[0].lower()}{panel[1:]}", *in_rows(handles))
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight", metadata={"Software": None})
    return out.getvalue()
