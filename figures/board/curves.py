"""Mean rank against epsilon, a picture for each unit of privacy."""

import io

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.board.ranks import EVERY

COLORS = ["#12355b", "#c8443c", "#2a8a4a", "#e07b39", "#7a3b9a", "#3c78b4", "#e6a532", "#a02c6b", "#5a4fb0", "#5b5b5b"]
MARKERS = "osD^v<>PX*"
A_ROW = 4  # names of the legend


def picture(ranks: pd.DataFrame, panel: str) -> bytes:
    """A PNG file.

    Args:
        ranks: of `figures.board.ranks.mean_ranks`.
        panel: the statement of privacy, in words.
    """
    ranks = ranks[ranks["target_epsilon"] != EVERY]
    finite = sorted(value for value in ranks["target_epsilon"].unique() if np.isfinite(value))
    end = (finite[-1] if finite else 1.0) * 2.2
    names = sorted(ranks["algorithm"].unique())
    # Methods beyond the colours get other pairs of colour and marker.
    looks: dict[str, style.Look] = {
        name: {"color": COLORS[number % 10], "marker": MARKERS[(number + number // 10) % 10]}
        for number, name in enumerate(names)
    }
    with style.applied():
        figure, ax = style.subplots(figsize=(7.0, 4.4))
        for number, (name, look) in enumerate(looks.items()):
            line = ranks[ranks["algorithm"] == name].sort_values("target_epsilon")
            private = line[np.isfinite(line["target_epsilon"])]
            style.curve(ax, private, "target_epsilon", "mean_rank", **look)
            x = end * 1.05 ** (number - len(names) / 2)
            for row in line[np.isinf(line["target_epsilon"])].to_dict("records"):
                ax.plot([x], [row["mean_rank"]], linestyle="", **look)
                if np.isfinite(row["low"]):
                    ax.plot([x, x], [row["low"], row["high"]], color=look["color"], linewidth=0.9)
        ax.set_xscale("log")
        ax.set_xticks([*finite, end], [*(f"{value:g}" for value in finite), "no\nnoise"])
        ax.minorticks_off()
        ax.set_xlabel(r"$\varepsilon$")
        ax.set_ylabel("mean rank over tasks")
        ax.invert_yaxis()
        handles = [Line2D([], [], label=name, **look) for name, look in looks.items()]
        rows = [handles[at : at + A_ROW] for at in range(0, len(handles), A_ROW)]
        style.head(figure, f"Mean rank: {panel[0].lower()}{panel[1:]}", *rows)
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight", metadata={"Software": None})
    return out.getvalue()
