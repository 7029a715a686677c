"""Bietti et al. 2022, Figure 1a: excess risk on the synthetic stream against rounds, three noise levels.

Every point of a curve has its own best step size, as in the paper. The paper gives neither the noise levels of
the panels nor delta_std beyond doubt: the rows show both values of delta_std, the columns sigma 0, 1 and 10.
To expect: without noise the order from 20 to 50 rounds is global < ... < local; with sigma = 10, local is the
best after some 200 rounds.
"""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from figures import select, style

SWEEP = "ppsgd_synthetic"
PANELS = (0.0, 1.0, 10.0)
CURVES = (0.0, 0.3, 1.0, 3.0, float("inf"))
CLIP_NORM = 10.0
TUNINGS = {"risk": "excess_risk", "validation": "validation_loss"}
LOOKS = {"risk": {"linestyle": "-"}, "validation": {"linestyle": ":", "linewidth": 1}}
EPSILONS = ("epsilon", "epsilon_sampler", "epsilon_tight", "epsilon_worst_case")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Excess risk by delta_std, noise, personalisation, round and way of tuning the step size.

    "risk" tunes on the exact risk, as the paper did; "validation" on examples that nobody trains on. Local
    learning has no noise: its one curve stands in every panel.
    """
    runs = runs[(runs["clip_norm"] == CLIP_NORM) & runs["personalization"].isin(CURVES) & (runs["rounds"] > 0)]
    local = runs[runs["personalization"] == 0]
    shared = runs[(runs["personalization"] > 0) & runs["noise_multiplier"].isin(PANELS)]
    runs = pd.concat([shared, *(local.assign(noise_multiplier=sigma) for sigma in PANELS)])
    out = select.tuned_curves(
        runs,
        by=["delta_std", "noise_multiplier", "personalization", "rounds"],
        value="excess_risk",
        best="min",
        tunings=TUNINGS,
        carry=[*EPSILONS, "global_floor"],
        log=True,
    )
    return out.assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """Rows delta_std, columns sigma; solid lines as the paper tuned, dotted on held-out data; epsilon in green."""
    deltas = sorted(table["delta_std"].unique())
    figure, axes = plt.subplots(
        len(deltas), len(PANELS), figsize=(11.5, 3.3 * len(deltas)), sharex=True, sharey="row", squeeze=False
    )
    for row, delta in zip(axes, deltas, strict=True):
        for ax, sigma in zip(row, PANELS, strict=True):
            panel = table[(table["delta_std"] == delta) & (table["noise_multiplier"] == sigma)]
            for a in CURVES:
                color = style.PERSONALIZATION_COLORS[a]
                lines = panel[panel["personalization"] == a]
                for tuning, look in LOOKS.items():
                    line = lines[lines["tuned_on"] == tuning]
                    style.curve(ax, line, "rounds", "excess_risk", color=color, **look)
            ax.set_yscale("log")
            ax.set_title(rf"$\sigma$ = {sigma:g}, $\delta_{{std}}$ = {delta:g}")
            _epsilon_axis(ax, panel, last=ax is row[-1])
        row[0].set_ylabel("excess risk, mean over users\nand coordinates")
    for ax in axes[-1]:
        ax.set_xlabel("communication rounds")
    handles = style.personalization_handles(CURVES)
    handles.append(Line2D([], [], color=style.EPSILON_COLOR, linestyle="--", label=r"$\varepsilon$ (right axis)"))
    style.head(figure, "Personalised private SGD, synthetic stream (Bietti et al. 2022, Fig. 1a)", handles)
    style.footer(
        figure,
        table.iloc[0],
        "Step size: best at every point, by the exact risk as in the paper (solid) or by held-out examples (dotted).",
        "Green: epsilon so far, delta = 1e-4, as the paper accounts (dashed, add-or-remove one user) and for",
        "replacing one user (dotted). Numbers of the paper's curves are not published.",
    )
    return figure


def _epsilon_axis(ax, panel: pd.DataFrame, last: bool) -> None:
    shared = panel[(panel["personalization"] == panel["personalization"].max())]
    shared = shared[shared["tuned_on"] == "risk"].sort_values("rounds")
    if not (shared["noise_multiplier"] > 0).all():
        ax.text(0.97, 0.95, r"$\varepsilon = \infty$", transform=ax.transAxes, ha="right", color=style.EPSILON_COLOR)
        return
    right = ax.twinx()
    right.plot(shared["rounds"], shared["epsilon"], "--", color=style.EPSILON_COLOR, linewidth=1.2)
    right.plot(shared["rounds"], shared["epsilon_worst_case"], ":", color=style.EPSILON_COLOR, linewidth=1)
    right.set_yscale("log")
    style.plain_log_ticks(right.yaxis)
    right.tick_params(colors=style.EPSILON_COLOR, which="both", labelsize=7.5)
    right.grid(False)
    if last:
        right.set_ylabel(r"$\varepsilon$ at $\delta = 10^{-4}$", color=style.EPSILON_COLOR)
