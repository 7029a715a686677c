"""Gao et al. 2024, Theorems 3.1, 3.4 and D.5 measured (not in the paper): localized methods under the hinge loss.

Subgradients (Algorithm 4) are compared with convolution smoothing (Algorithm 6) and Moreau envelopes, which both use
the accelerated method. All silos answer, and the noise is calibrated exactly. Expected by the theorems: the same risk
up to logarithms.
"""

import pandas as pd

from bench.analysis import select, style
from figures.isrl import common
from figures.shared.figure import Figure
from figures.shared.runs import at_end

LOOKS: dict[str, style.Look] = {
    "Subgradients": {"color": "#12355b", "marker": "o"},
    "Convolution": {"color": "#2a8a4a", "marker": "s"},
    "Moreau envelopes": {"color": "#c8443c", "marker": "^"},
}


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Test error by method and target epsilon, with the settings chosen."""
    out = common.over_trials(common.by_trial(at_end(runs).assign(series=lambda rows: rows["algorithm"])))
    most = runs.groupby("algorithm", observed=True)["phase_rounds"].max().rename("most_rounds")
    out = out.merge(most, left_on="series", right_index=True)
    return out.assign(delta=runs["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """Test error against exact epsilon."""
    figure, ax = style.subplots(figsize=(6.5, 4.4))
    private = table[table["calibration"] == common.EXACT]
    style.curves(ax, private, "series", LOOKS, "target_epsilon", "test_error")
    style.stretch(ax, private, "target_epsilon")
    ax.set_xscale("log")
    ticks = sorted(private["target_epsilon"].unique())
    words = [f"{tick:g}" for tick in ticks]
    silent = table[table["calibration"] == common.SILENT].set_index("series")
    if ticks and len(silent):
        ticks, words = [*ticks, ticks[-1] * 2.0], [*words, "no\nnoise"]
        for number, (name, look) in enumerate(LOOKS.items()):
            if name in silent.index:
                end, at = silent.loc[name], ticks[-1] * 1.1 ** (number - 1)
                ax.plot([at], [end["test_error"]], linestyle="", **look)
                ax.vlines([at], end["low"], end["high"], color=look["color"], linewidth=0.9)
    ax.set_xticks(ticks, words)
    ax.minorticks_off()
    ax.set(xlabel=r"exact $\varepsilon$", ylabel="test error, all silos together")
    style.percent(ax.yaxis)
    most = [
        f"{rounds:g} ({name})" for name, rounds in table.groupby("series", sort=False)["most_rounds"].first().items()
    ]
    return style.finish(
        figure,
        table,
        "Losses that are not smooth: localized, hinge loss (after Gao et al. 2024, section 3)",
        [style.handles(table, "series", LOOKS)],
        f"Each trial has the setting with the lowest training loss, of {common.tried(table)} per method. "
        f"At most {', '.join(most)} rounds in each of two phases.",
        common.privacy_note(table),
        differs="The paper has no such experiment.",
    )


FIGURE = Figure(__doc__, ("isrl_nonsmooth",), table, draw)
