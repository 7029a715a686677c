"""Bietti et al. 2022, Figure 1a continued (not in the paper): excess risk at delta_std 0.01, no noise, 4,000 rounds.

Every point of a curve has its own best step size, as in Figure 1a. At the delta_std that the paper prints, users differ
so little that global learning is still ahead after the rounds of Figure 1a. Expected: it stops at its floor, and
personalised models go below it.
"""

from collections.abc import Sequence

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import style
from figures.ppsgd import common, drawing, fig1a


def draw(table: pd.DataFrame, panels: Sequence[float], curves: Sequence[float]):
    """A row for each noise level: all rounds, and the second half with limits of its own. Solid as the paper tuned,
    dotted by held-out data."""
    tunings = style.present(table, "tuned_on", fig1a.TUNINGS)
    figure, axes = style.subplots(len(panels), 2, figsize=(11.0, 3.6 * len(panels) + 0.8), squeeze=False)
    half = table["rounds"].max() / 2
    for row, sigma in zip(axes, panels, strict=True):
        panel = table[table["noise_multiplier"] == sigma]
        for ax, rows in zip(row, (panel, panel[panel["rounds"] >= half]), strict=True):
            drawing.curves(ax, rows, "rounds", "excess_risk", curves, tunings)
            ax.set_yscale("log")
            for floor in panel["global_floor"].unique()[:1]:
                ax.axhline(floor, **fig1a.FLOOR)
            ax.set_xlabel("communication rounds")
        drawing.noise_title(row[0], panel, sigma)
        row[1].set_title(f"from round {half:g} on")
        style.plain_log_ticks(row[1].yaxis, subs=(1, 2, 5))
        row[0].set_ylabel("excess risk / $d$")
    deltas = ", ".join(f"{delta:g}" for delta in sorted(table["delta_std"].unique()))
    floor = Line2D([], [], label="floor of global learning", **fig1a.FLOOR)
    return style.finish(
        figure,
        table,
        rf"Synthetic stream, $\delta_{{\mathrm{{std}}}}$ = {deltas}, more rounds (after Bietti et al. 2022, Fig. 1a)",
        [[*drawing.alpha_handles(drawing.looks(curves)), floor], drawing.tuning_handles(tunings, fig1a.TUNING_TITLES)],
        "The floor is the mean over repetitions. Panels have different axes.",
        differs="Not in the paper. Every point has its own best step size: a plateau is the noise floor of one, and a "
        "curve falls where a smaller one takes over.",
    )


FIGURE = common.figure_of(__doc__, "ppsgd_longer", (0.0,), fig1a.CURVES, fig1a.table, draw)
