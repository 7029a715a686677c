"""Gao et al. 2024, Theorems 3.1, 3.4 and D.5 measured (not in the paper): localized methods under the hinge loss.

Subgradients (Algorithm 4) against convolution smoothing (Algorithm 6) and Moreau envelopes, both with the accelerated
method inside; all silos answer, exact calibration. To expect: by the theorems, the same risk up to logarithms.
"""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from figures import isrl_runs, select, style

SWEEP = "isrl_nonsmooth"
LOOKS = {
    "Subgradients": {"color": "#12355b", "marker": "o"},
    "Convolution": {"color": "#2a8a4a", "marker": "s"},
    "Moreau envelopes": {"color": "#c8443c", "marker": "^"},
}


def by_trial(runs: pd.DataFrame) -> pd.DataFrame:
    """Test error by method, target epsilon and trial."""
    runs = isrl_runs.at_end(runs).assign(series=lambda rows: rows["algorithm"])
    return isrl_runs.by_trial(runs, ["series", "calibration", "target_epsilon"], "test_error", "train_loss")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Test error by method and target epsilon, with what was chosen."""
    out = isrl_runs.over_trials(by_trial(runs), ["series", "calibration", "target_epsilon"], "test_error")
    return out.assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """Test error against exact epsilon."""
    figure, ax = plt.subplots(figsize=(6.5, 4.4))
    for name, look in LOOKS.items():
        line = table[(table["series"] == name) & (table["calibration"] == isrl_runs.EXACT)]
        style.curve(ax, line, "target_epsilon", "test_error", **look)
        for value in table.loc[(table["series"] == name) & (table["calibration"] == isrl_runs.SILENT), "test_error"]:
            ax.plot([1.0], [value], "<", transform=ax.get_yaxis_transform(), color=look["color"], clip_on=False)
    ax.set_xscale("log")
    ticks = sorted(table.loc[table["calibration"] == isrl_runs.EXACT, "target_epsilon"].unique())
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(r"exact $\varepsilon$")
    ax.set_ylabel("test error, all silos together")
    style.percent(ax.yaxis)
    style.head(
        figure,
        "Losses that are not smooth: localized, hinge loss",
        [Line2D([], [], label=name, **look) for name, look in LOOKS.items()],
    )
    style.footer(
        figure,
        table,
        "In each trial the setting with the lowest training loss, of 96 settings for each method. One record of one "
        "silo replaced, against the server and the other silos. Triangles at the right edge: without noise. Trials "
        "share their data: where bands overlap, curves can still differ in every one of them. "
        "The paper has no such experiment.",
    )
    return figure
