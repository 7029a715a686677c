"""What Figures 1b, 1c and 1d of Bietti et al. 2022 share: test accuracy against rounds at three noise levels."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.ppsgd import common
from figures.ppsgd import digits as digits


def table(runs: pd.DataFrame, panels: Sequence[float], curves: Sequence[float]) -> pd.DataFrame:
    """Test accuracy by noise, personalisation, round and way of tuning; local learning stands in every panel."""
    out = select.tuned_curves(
        common.in_panels(common.shown(runs), panels, curves),
        by=["noise_multiplier", "personalization", "rounds"],
        value="test_accuracy",
        best="max",
        tunings=digits.TUNINGS,
        carry=common.EPSILONS,
    )
    return out.assign(**select.where_from(runs))


def draw(
    table: pd.DataFrame,
    panels: Sequence[float],
    curves: Sequence[float],
    *,
    title: str,
    ylabel: str,
    handles: Sequence[Line2D] = (),
    notes: Sequence[str] = (),
):
    """Columns are the noise levels, under them epsilon; solid as the paper tuned, dotted on held-out data.

    Args:
        panels: the noise levels.
        curves: the personalisation of each.
        title, ylabel: of the figure.
        handles: legend entries of the curves, where they are not the usual ones.
        notes: under it, after what the data stand in for, and before what all of these figures say.
    """
    handles = handles or style.personalization_handles(curves)
    tunings = style.present(table, "tuned_on", digits.TUNINGS)
    figure, axes = style.with_epsilon(1, len(panels), height=3.8)
    for ax, low, sigma in zip(*axes, panels, strict=True):
        panel = table[table["noise_multiplier"] == sigma]
        style.curves(ax, panel, "rounds", "test_accuracy", curves, tunings)
        style.noise_title(ax, panel, sigma)
        style.epsilon(low, panel)
    axes[0, 0].set_ylabel(ylabel)
    style.percent(axes[0, 0].yaxis)
    axes[-1, 0].set_ylabel(r"$\varepsilon$", color=style.EPSILON_COLOR)
    style.plain_log_ticks(axes[-1, 0].yaxis)
    style.head(
        figure,
        title,
        handles,
        [*style.tuning_handles(tunings, digits.TUNING_TITLES), *style.epsilon_handles()],
    )
    style.footer(
        figure,
        table,
        common.stand_in(table),
        *notes,
        "Every point of a curve has its own best step size. Numbers of the paper's curves are not published.",
        digits.EPSILON_NOTE,
    )
    return figure
