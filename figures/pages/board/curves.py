"""Mean rank against epsilon, a picture for each unit of privacy."""

import io

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from bench.analysis.looks import in_rows, looks
from bench.ranking import EVERY


def picture(ranks: pd.DataFrame, panel: str) -> bytes:
    """A PNG file.

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
            private = line[np.isfinite(line["target_epsilon"])]
            style.curve(ax, private, "target_epsilon", "mean_rank", **look)
            mark: style.Look = look | {"linestyle": ""}
            x = end * 1.05 ** (number - len(look_of) / 2)
            for row in line[np.isinf(line["target_epsilon"])].to_dict("records"):
                ax.plot([x], [row["mean_rank"]], **mark)
                if np.isfinite(row["low"]):
                    ax.plot([x, x], [row["low"], row["high"]], color=look["color"], linewidth=0.9)
        ax.set_xscale("log")
        ax.set_xticks([*finite, end], [*(f"{value:g}" for value in finite), "no\nnoise"])
        ax.minorticks_off()
        ax.set_xlabel(r"$\varepsilon$")
        ax.set_ylabel("mean rank over tasks")
        ax.invert_yaxis()
        handles = [Line2D([], [], label=name, **look) for name, look in look_of.items()]
        style.head(figure, f"Mean rank: {panel[0].lower()}{panel[1:]}", *in_rows(handles))
        out = io.BytesIO()
        figure.savefig(out, format="png", bbox_inches="tight", metadata={"Software": None})
    return out.getvalue()
