"""Bietti et al. 2022, Figure 2 (EMNIST, linear): final test accuracy against epsilon on digits by client.

One line per alpha over the noise levels, local learning as a horizontal line, and in black the best that
personalisation reaches at an epsilon or less. To expect: small alpha > 0 is the best at small epsilon, and
somewhere in between personalisation beats both local and global learning.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from figures import ppsgd_digits as digits
from figures import select, style

SWEEP = "ppsgd_digits"
CURVES = (0.0, 0.1, 1.0, 10.0, 100.0, float("inf"))
AXIS = (1e3, 1e-1)  # inverted, as in the paper
SAME_EPSILON = 0.01  # closer values are one point of the black curve, as in the authors' plot


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final accuracy by personalisation, noise and way of tuning, and the black curve with personalization NaN."""
    runs = digits.shown(runs, CURVES)
    final = runs[runs["rounds"] == runs["num_rounds"]]
    lines = select.tuned_curves(
        final,
        by=["personalization", "noise_multiplier"],
        value="test_accuracy",
        best="max",
        tunings=digits.TUNINGS,
        carry=digits.EPSILONS,
    ).assign(curve="alpha")
    best = [_best_so_far(rows) for _, rows in lines.groupby("tuned_on")]
    return pd.concat([lines, *best], ignore_index=True).assign(**select.where_from(runs))


def _best_so_far(lines: pd.DataFrame) -> pd.DataFrame:
    """The running maximum of accuracy as epsilon grows, over all alpha > 0 and sigma, from local learning on."""
    shared = lines[(lines["personalization"] > 0) & np.isfinite(lines["epsilon"])].sort_values("epsilon")
    local = lines.loc[lines["personalization"] == 0, "test_accuracy"].max()
    start = pd.DataFrame({"epsilon": [shared["epsilon"].min()], "test_accuracy": [local]})
    points = pd.concat([start, shared[["epsilon", "test_accuracy"]]], ignore_index=True)
    points["test_accuracy"] = points["test_accuracy"].cummax()
    last = points["epsilon"].diff().shift(-1).fillna(np.inf) >= SAME_EPSILON
    return points[last].assign(curve="best so far", tuned_on=lines["tuned_on"].iloc[0], personalization=np.nan)


def draw(table: pd.DataFrame):
    """One panel per way of tuning; noise-free values stand at the left edge."""
    tunings = style.present(table, "tuned_on", digits.TUNINGS)
    figure, axes = plt.subplots(1, len(tunings), figsize=(5.75 * len(tunings), 4.2), sharey=True, squeeze=False)
    for ax, label in zip(axes[0], tunings, strict=True):
        panel = table[table["tuned_on"] == label]
        for a in style.present(panel, "personalization", CURVES):
            line = panel[panel["personalization"] == a]
            color = style.PERSONALIZATION_COLORS[a]
            if a == 0:
                local = line.iloc[0]
                ax.axhline(local["test_accuracy"], color=color)
                ax.axhspan(local["low"], local["high"], color=color, alpha=0.18, linewidth=0)
                continue
            noisy, silent = line[np.isfinite(line["epsilon"])], line[line["noise_multiplier"] == 0]
            style.curve(ax, noisy, "epsilon", "test_accuracy", color=color, marker="o", markersize=3)
            ax.plot([AXIS[0]], silent["test_accuracy"], marker="<", color=color, clip_on=False, markersize=6)
        best = panel[panel["curve"] == "best so far"].sort_values("epsilon")
        ax.step(best["epsilon"], best["test_accuracy"], color="black", where="post")
        ax.set_xscale("log")
        ax.set_xlim(*AXIS)
        ax.set_title(digits.TUNING_TITLES[label])
        ax.set_xlabel(r"$\varepsilon$ at $\delta = 10^{-4}$ (more private to the right)")
    axes[0, 0].set_ylabel("final test accuracy, pooled")
    axes[0, 0].set_ylim(0, 1)
    handles = style.personalization_handles(style.present(table, "personalization", CURVES))
    handles.append(Line2D([], [], color="black", label=r"best so far, any $\alpha$"))
    style.head(figure, "Accuracy against privacy, digits by client, linear (Bietti et al. 2022, Fig. 2)", handles)
    style.footer(
        figure,
        table.iloc[0],
        "Triangles at the left edge: no noise.",
        "Epsilon as the paper accounts (RDP, Poisson at rate Q/N, add-or-remove one user); the values for the",
        "sampler that ran and without amplification are in the CSV.",
        "Numbers of the paper's curves are not published.",
    )
    return figure
