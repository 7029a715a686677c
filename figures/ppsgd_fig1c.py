"""Bietti et al. 2022, Figure 1c: test accuracy on digits by client against rounds, linear models, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 1 and 5 are shown (epsilon infinite, about 9 and about 1).
To expect: local learning is poor; without noise global is better; with much noise small alpha > 0 is the best
of those that share.
"""

import pandas as pd

from figures import ppsgd_digits as digits
from figures import ppsgd_runs, select, style

SWEEP = "ppsgd_digits"
PANELS = (0.0, 1.0, 5.0)
CURVES = (0.0, 0.1, 1.0, 10.0, float("inf"))
TUNINGS = digits.TUNINGS


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy by noise, personalisation, round and way of tuning; local learning stands in every panel."""
    out = select.tuned_curves(
        ppsgd_runs.in_panels(ppsgd_runs.shown(runs), PANELS, CURVES),
        by=["noise_multiplier", "personalization", "rounds"],
        value="test_accuracy",
        best="max",
        tunings=TUNINGS,
        carry=ppsgd_runs.EPSILONS,
    )
    return out.assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """Columns are the noise levels, under them epsilon; solid as the paper tuned, dotted on held-out data."""
    tunings = style.present(table, "tuned_on", TUNINGS)
    figure, axes = style.with_epsilon(1, len(PANELS), height=3.8)
    for ax, low, sigma in zip(*axes, PANELS, strict=True):
        panel = table[table["noise_multiplier"] == sigma]
        style.curves(ax, panel, "rounds", "test_accuracy", CURVES, tunings)
        style.noise_title(ax, panel, sigma)
        style.epsilon(low, panel)
    axes[0, 0].set_ylabel("test accuracy, examples of all users")
    style.percent(axes[0, 0].yaxis)
    axes[-1, 0].set_ylabel(r"$\varepsilon$", color=style.EPSILON_COLOR)
    style.plain_log_ticks(axes[-1, 0].yaxis)
    style.head(
        figure,
        "Personalised private SGD, digits by client, linear (Bietti et al. 2022, Fig. 1c)",
        style.personalization_handles(CURVES),
        [*style.tuning_handles(tunings, digits.TUNING_TITLES), *style.epsilon_handles()],
    )
    style.footer(
        figure,
        table,
        ppsgd_runs.stand_in(table),
        "Every point of a curve has its own best step size. Numbers of the paper's curves are not published.",
        digits.EPSILON_NOTE,
    )
    return figure
