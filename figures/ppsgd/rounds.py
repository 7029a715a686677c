"""Figures 1b and 1c of Bietti et al. 2022, with code for 1d: accuracy against rounds at three noise levels."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.ppsgd import common, drawing
from figures.ppsgd import digits as digits
from figures.shared import edges
from figures.shared.figure import Figure


def table(
    runs: pd.DataFrame,
    panels: Sequence[float],
    curves: Sequence[float],
    clip_norm: float | None = None,
    *,
    further: bool = False,
) -> pd.DataFrame:
    """Test accuracy by noise, personalisation, round and way of tuning; local learning stands in every panel.

    further: whether step sizes beyond the published grid count as well.
    """
    shown = common.in_panels(common.ppsgd_runs(runs, clip_norm, legend=True, further=further), panels, curves)
    out = select.tuned_curves(
        shown,
        by=["noise_multiplier", "personalization", "rounds"],
        value="test_accuracy",
        best="max",
        tunings=digits.TUNINGS,
        carry=common.EPSILONS,
    )
    return out.assign(held_out=shown["held_out"].iloc[0], **select.where_from(runs))


def draw(
    table: pd.DataFrame,
    panels: Sequence[float],
    curves: Sequence[float],
    *,
    title: str,
    ylabel: str,
    handles: Sequence[Line2D] = (),
    notes: Sequence[str] = (),
    grid: str = "published grid",
):
    """Columns are the noise levels, under them epsilon; solid as the paper tuned, dotted on held-out data.

    Args:
        panels: the noise levels.
        curves: the personalisation of each.
        title, ylabel: of the figure.
        handles: legend entries of the curves; the usual ones where empty.
        notes: in the footer, between the note on the data and the notes that all of these figures have.
        grid: what step sizes are chosen from, in words.
    """
    handles = handles or drawing.personalization_handles(curves)
    tunings = style.present(table, "tuned_on", digits.TUNINGS)
    figure, axes = drawing.with_epsilon(1, len(panels), height=3.8)
    for ax, low, sigma in zip(*axes, panels, strict=True):
        panel = table[table["noise_multiplier"] == sigma]
        drawing.curves(ax, panel, "rounds", "test_accuracy", curves, tunings)
        drawing.noise_title(ax, panel, sigma)
        drawing.epsilon(low, panel)
    axes[0, 0].set_ylabel(ylabel)
    style.percent(axes[0, 0].yaxis)
    axes[-1, 0].set_ylabel(r"$\varepsilon$", color=drawing.EPSILON_COLOR)
    style.plain_log_ticks(axes[-1, 0].yaxis)
    style.head(
        figure,
        title,
        handles,
        [*drawing.tuning_handles(tunings, digits.TUNING_TITLES), *drawing.epsilon_handles()],
    )
    style.footer(
        figure,
        table,
        common.replaced(table),
        *notes,
        f"Every point has its own best step size of the {grid}.",
        edges.short(table, "step size"),
        digits.EPSILON_SHORT,
        running=True,
    )
    return figure


def figure_of(
    about: str, *, sweep: str, panels: Sequence[float], curves: Sequence[float], title: str, ylabel: str
) -> Figure:
    """Return the figure of a sweep; the arguments are those of `draw`."""

    return common.figure_of(
        about,
        sweep=sweep,
        table=lambda runs, panels=panels, curves=curves, clip_norm=None: table(runs, panels, curves, clip_norm),
        draw=lambda numbers, panels=panels, curves=curves: draw(numbers, panels, curves, title=title, ylabel=ylabel),
        tunings=digits.TUNINGS,
    )


FIGURE_1B = figure_of(
    """\
Bietti et al. 2022, Figure 1b: top-1 accuracy of tag prediction against rounds, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 0.5 and 2 are shown. Expected: without noise an intermediate
alpha is the best; with noise large alpha degrades, and a small alpha is the best of all alpha > 0.
""",
    sweep="ppsgd_tags",
    panels=(0.0, 0.5, 2.0),
    curves=(0.0, 0.1, 1.0, 10.0, 100.0, float("inf")),
    title="Personalised private SGD, tag prediction, linear (Bietti et al. 2022, Fig. 1b)",
    ylabel="top-1 accuracy, test documents of all users",
)
FIGURE_1B_MADE_UP = figure_of(
    """\
Bietti et al. 2022, Figure 1b, on generated documents of the paper's numbers of users, documents, words and tags.

Shows what the paper's sizes do to the curves of `ppsgd_fig1b`, which has real but fewer documents.
""",
    sweep="ppsgd_tags_made_up",
    panels=(0.0, 0.2, 1.0),
    curves=(0.0, 1.0, 10.0, float("inf")),
    title="Personalised private SGD, generated documents (after Bietti et al. 2022, Fig. 1b)",
    ylabel="top-1 accuracy, test documents of all users",
)
FIGURE_1C = figure_of(
    """\
Bietti et al. 2022, Figure 1c: test accuracy on digits by client against rounds, linear models, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 1 and 5 are shown (epsilon infinite, about 9 and about 1).
Expected: local learning is poor; without noise global learning is better; with much noise a small alpha is the best of
all alpha > 0.
""",
    sweep="ppsgd_digits",
    panels=(0.0, 1.0, 5.0),
    curves=(0.0, 0.1, 1.0, 10.0, float("inf")),
    title="Personalised private SGD, digits by client, linear (Bietti et al. 2022, Fig. 1c)",
    ylabel="test accuracy, examples of all users",
)
