"""Bietti et al. 2022, Figure 1a: excess risk on the synthetic stream against rounds, three noise levels.

Every point of a curve has its own best step size, as in the paper. The paper does not give the noise levels of the
panels, and is ambiguous about delta_std: the rows show both values of delta_std, the columns sigma 0, 1 and 10.
Expected: without noise the order from 20 to 50 rounds is global < ... < local, and global stops at its floor; with
sigma = 10, local is the best after some 200 rounds.
"""

from collections.abc import Sequence

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.ppsgd import common, drawing

PANELS = (0.0, 1.0, 10.0)
CURVES = (0.0, 0.3, 1.0, 3.0, float("inf"))
TUNINGS = {"risk": "excess_risk", "validation": "validation_loss"}  # the paper's way first
TUNING_TITLES = {"risk": "step size by exact risk, as in the paper", "validation": "step size by held-out loss"}
WHOSE = {0.01: "as printed", 0.1: "as in the program"}  # users' spread
FLOOR: style.Look = {"color": "#333333", "linestyle": (0, (7, 3, 1, 3)), "linewidth": 0.9}


def table(
    runs: pd.DataFrame, panels: Sequence[float], curves: Sequence[float], clip_norm: float | None = None
) -> pd.DataFrame:
    """Excess risk by delta_std, noise, personalisation, round and way of tuning the step size.

    "risk" tunes on the exact risk, as the paper did; "validation" on examples that nobody trains on. Local
    learning has no noise: its one curve stands in every panel.
    """
    out = select.tuned_curves(
        common.in_panels(common.ppsgd_runs(runs, clip_norm), panels, curves),
        by=["delta_std", "noise_multiplier", "personalization", "rounds"],
        value="excess_risk",
        best="min",
        tunings=TUNINGS,
        carry=[*common.EPSILONS, "global_floor"],
        log=True,
    )
    return out.assign(mean="geometric", **select.where_from(runs))


def draw(table: pd.DataFrame, panels: Sequence[float], curves: Sequence[float]):
    """A row of panels for each delta_std, a column for each sigma, with epsilon below; solid as the paper tuned, dotted
    by held-out data."""
    deltas, tunings = sorted(table["delta_std"].unique()), style.present(table, "tuned_on", TUNINGS)
    figure, axes = drawing.with_epsilon(table, panels, len(deltas), height=2.8)
    for ax, panel, _ in style.panels(axes, table, delta_std=deltas, noise_multiplier=panels):
        drawing.curves(ax, panel, "rounds", "excess_risk", curves, tunings)
        ax.set_yscale("log")
        with style.same_limits(ax):
            for floor in panel["global_floor"].unique()[:1]:
                ax.axhline(floor, **FLOOR)
    for row, delta in zip(axes, deltas, strict=False):
        spread = f"\n({WHOSE[delta]})" if delta in WHOSE else ""
        row[0].set_ylabel(f"excess risk / $d$, $\\delta_{{\\mathrm{{std}}}}$ = {delta:g}{spread}")
    return style.finish(
        figure,
        table,
        "Personalised private SGD, synthetic stream (Bietti et al. 2022, Fig. 1a)",
        [
            [*drawing.alpha_handles(drawing.looks(curves)), Line2D([], [], label="floor of global learning", **FLOOR)],
            [*drawing.tuning_handles(tunings, TUNING_TITLES), *drawing.epsilon_handles()],
        ],
        "Every point of a curve has its own best step size. Most of the spread comes from the parameters drawn, which "
        "all curves of a repetition share: even where bands overlap, curves can differ in every repetition.",
        "Epsilon so far at delta = 1e-4, for all data of a user against all others together, who see w (joint DP), by "
        "RDP for one user added or removed, as in the paper. All users take part in every round. The numbers of the "
        "paper's curves are not published.",
        differs="The noise levels are ours, the paper names none. The paper's risk is not divided by d = 100; the "
        "upper row has its printed spread, the lower that of its program.",
    )


FIGURE = common.figure_of(__doc__, "ppsgd_synthetic", PANELS, CURVES, table, draw)
