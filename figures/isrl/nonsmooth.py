"""Gao et al. 2024, Theorems 3.1, 3.4 and D.5 measured (not in the paper): localized methods under the hinge loss.

Subgradients (Algorithm 4) are compared with convolution smoothing (Algorithm 6) and Moreau envelopes, which both use
the accelerated method. All silos answer, and the noise is calibrated exactly. Expected by the theorems: the same risk
up to logarithms.
"""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.isrl import common
from figures.shared.figure import Figure
from figures.shared.runs import at_end

LOOKS: dict[str, style.Look] = {
    "Subgradients": {"color": "#12355b", "marker": "o"},
    "Convolution": {"color": "#2a8a4a", "marker": "s"},
    "Moreau envelopes": {"color": "#c8443c", "marker": "^"},
}


def by_trial(runs: pd.DataFrame) -> pd.DataFrame:
    """Test error by method, target epsilon and trial."""
    runs = at_end(runs).assign(series=lambda rows: rows["algorithm"])
    return common.by_trial(runs, ["series", "calibration", "target_epsilon"], "test_error", "train_loss")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Test error by method and target epsilon, with the settings chosen."""
    out = common.over_trials(by_trial(runs), ["series", "calibration", "target_epsilon"], "test_error")
    most = runs.groupby("algorithm", observed=True)["phase_rounds"].max().rename("most_rounds")
    out = out.merge(most, left_on="series", right_index=True)
    return out.assign(delta=runs["delta"].iloc[0], **select.where_from(runs))


def _most(table: pd.DataFrame) -> str:
    rows = table.drop_duplicates("series")
    return ", ".join(f"{rounds:g} ({name})" for name, rounds in zip(rows["series"], rows["most_rounds"], strict=True))


def draw(table: pd.DataFrame):
    """Test error against exact epsilon."""
    figure, ax = style.subplots(figsize=(6.5, 4.4))
    for name, look in LOOKS.items():
        line = table[(table["series"] == name) & (table["calibration"] == common.EXACT)]
        style.curve(ax, line, "target_epsilon", "test_error", **look)
    private = table[table["calibration"] == common.EXACT]
    edges = private[["low", "high"]].stack().to_numpy()
    ax.update_datalim([(at, edge) for at in private["target_epsilon"] for edge in edges])
    ax.autoscale_view()
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
    ax.set_xlabel(r"exact $\varepsilon$")
    ax.set_ylabel("test error, all silos together")
    style.percent(ax.yaxis)
    style.head(
        figure,
        "Losses that are not smooth: localized, hinge loss (after Gao et al. 2024, section 3)",
        [Line2D([], [], label=name, **look) for name, look in LOOKS.items()],
    )
    style.footer(
        figure,
        table,
        f"Each trial has the setting with the lowest training loss, of {common.tried(table)} per method. "
        f"At most {_most(table)} rounds in each of two phases.",
        f"Epsilon at delta = {table['delta'].iloc[0]:.2g}: one record of one silo replaced, against the server and the "
        "other silos.",
        differs="The paper has no such experiment.",
    )
    return figure


FIGURE = Figure(about=__doc__, sweeps=("isrl_nonsmooth",), table=table, draw=draw)
