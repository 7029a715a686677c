"""Bietti et al. 2022, Figure 1c: test accuracy on digits by client against rounds, linear models, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 1 and 5 are shown (epsilon infinite, about 9 and about 1).
To expect: local learning is poor; global is better without noise, and an intermediate alpha is the best; with
much noise small alpha > 0 is the best of those that share.
"""

import matplotlib.pyplot as plt
import pandas as pd

from figures import ppsgd_digits as digits
from figures import select, style

SWEEP = "ppsgd_digits"
PANELS = (0.0, 1.0, 5.0)
CURVES = (0.0, 0.1, 1.0, 10.0, float("inf"))


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy by noise, personalisation, round and way of tuning; local learning stands in every panel."""
    runs = digits.shown(runs, CURVES)
    local = runs[runs["personalization"] == 0]
    shared = runs[(runs["personalization"] > 0) & runs["noise_multiplier"].isin(PANELS)]
    runs = pd.concat([shared, *(local.assign(noise_multiplier=sigma) for sigma in PANELS)])
    out = select.tuned_curves(
        runs[runs["rounds"] > 0],
        by=["noise_multiplier", "personalization", "rounds"],
        value="test_accuracy",
        best="max",
        tunings=digits.TUNINGS,
        carry=digits.EPSILONS,
    )
    return out.assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """Rows are the two ways of tuning, columns the noise levels."""
    tunings = style.present(table, "tuned_on", digits.TUNINGS)
    figure, axes = plt.subplots(
        len(tunings), len(PANELS), figsize=(11.5, 3.1 * len(tunings)), sharex=True, sharey=True, squeeze=False
    )
    for row, label in zip(axes, tunings, strict=True):
        for ax, sigma in zip(row, PANELS, strict=True):
            panel = table[(table["tuned_on"] == label) & (table["noise_multiplier"] == sigma)]
            for a in CURVES:
                line = panel[panel["personalization"] == a]
                style.curve(ax, line, "rounds", "test_accuracy", color=style.PERSONALIZATION_COLORS[a])
            spent = panel.loc[panel["personalization"] > 0].groupby("rounds")["epsilon"].first().iloc[-1]
            ax.set_title(rf"$\sigma$ = {sigma:g}, final $\varepsilon$ = " + (f"{spent:.2g}" if sigma else r"$\infty$"))
        row[0].set_ylabel(f"test accuracy, pooled\n{digits.TUNING_TITLES[label]}")
    for ax in axes[-1]:
        ax.set_xlabel("communication rounds")
    axes[0, 0].set_ylim(0, 1)
    title = "Personalised private SGD, digits by client, linear (Bietti et al. 2022, Fig. 1c)"
    style.head(figure, title, style.personalization_handles(CURVES))
    style.footer(
        figure,
        table.iloc[0],
        "Every point of a curve has its own best step size.",
        "Epsilon as the paper accounts (Poisson at rate Q/N, add-or-remove one user, delta = 1e-4).",
        "Numbers of the paper's curves are not published.",
    )
    return figure
