"""Figures 1b and 1c of Bietti et al. 2022, with code for 1d: accuracy against rounds at three noise levels.

A curve whose step size is the best at every round is an upper envelope over step sizes, which hides a decline during
training. Figure 1b therefore also shows curves of one step size.
"""

from collections.abc import Sequence
from functools import partial

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.ppsgd import common, drawing
from figures.shared import edges
from figures.shared.runs import ended

EVERY_POINT, ONCE = "at every point", "once, without noise"  # where the step size is chosen, column "step_chosen"
TAGS = "top-1 accuracy, test documents of all users"
NOISE_LEVELS = "The noise levels are ours, the paper names none."
FAINT: style.Look = {"linestyle": "-", "linewidth": 1.0, "alpha": 0.5, "marker": ""}  # of curves of one step size
ONE_STEP = "one step size in all panels (the best without noise)"


def table(
    runs: pd.DataFrame,
    panels: Sequence[float],
    curves: Sequence[float],
    clip_norm: float | None = None,
    *,
    further: bool = False,
    one_step: bool = False,
) -> pd.DataFrame:
    """Test accuracy by noise, personalisation, round and way of tuning; local learning stands in every panel.

    Args:
        further: whether step sizes beyond the published grid count as well.
        one_step: whether to add the curves of the one step size that is the best after the last round without noise,
            told apart by "step_chosen".
    """
    at_norm = common.ppsgd_runs(runs, clip_norm, legend=True, further=further)
    out = _curves(common.in_panels(at_norm, panels, curves), common.TUNINGS)
    if one_step:
        once = [_at_one_step(at_norm, panels, curves, *tuning) for tuning in common.TUNINGS.items()]
        out = pd.concat([out.assign(step_chosen=EVERY_POINT), *once], ignore_index=True)
    return out.assign(held_out=common.BY_SIZE, **select.where_from(runs))


def _at_one_step(
    runs: pd.DataFrame, panels: Sequence[float], curves: Sequence[float], label: str, metric: str
) -> pd.DataFrame:
    """Return curves of one step size for each personalisation, the best one after the last round without noise; "edge"
    says where it is an end of the grid. Without such runs there are none."""
    last = ended(runs[runs["personalization"].isin(curves)])
    silent, by = last[last["noise_multiplier"] == 0], ["personalization"]
    if silent.empty:
        return pd.DataFrame()
    best = select.tune(silent, by=by, over="step_size", on=metric, best="max").drop_duplicates(by)
    rows = runs.merge(best[[*by, "step_size"]])
    found = _curves(common.in_panels(rows, panels, curves), {label: metric}).drop(columns="edge")
    return found.merge(best[[*by, "edge"]]).assign(step_chosen=ONCE)


def _curves(shown: pd.DataFrame, tunings: dict[str, str]) -> pd.DataFrame:
    return select.tuned_curves(
        shown,
        by=["noise_multiplier", "personalization", "rounds"],
        value="test_accuracy",
        best="max",
        tunings=tunings,
        carry=common.EPSILONS,
    )


def draw(
    table: pd.DataFrame,
    panels: Sequence[float],
    curves: Sequence[float],
    *,
    title: str,
    ylabel: str = "test accuracy, examples of all users",
    handles: Sequence[Line2D] = (),
    notes: Sequence[str] = (),
    grid: str = "published grid",
):
    """A column for each noise level, with epsilon below; solid as the paper tuned, dotted on held-out data.

    Args:
        panels: the noise levels.
        curves: the personalisation of each.
        title, ylabel: of the figure.
        handles: legend entries of the curves; the usual ones where empty.
        notes: in the footer, between the note on the data and the notes that all of these figures have.
        grid: what step sizes are chosen from, in words.
    """
    handles = handles or drawing.alpha_handles(drawing.looks(curves))
    chosen_once = table["step_chosen"] == ONCE if "step_chosen" in table else pd.Series(False, table.index)
    table, once = table[~chosen_once], table[chosen_once]
    tunings, looks = style.present(table, "tuned_on", common.TUNINGS), drawing.looks(curves)
    figure, axes = drawing.with_epsilon(table, panels, 1, height=3.8)
    for ax, panel, (sigma,) in style.panels(axes[0], table, noise_multiplier=panels):
        drawing.curves(ax, panel, "rounds", "test_accuracy", curves, tunings)
        faintly = once[(once["noise_multiplier"] == sigma) & (once["tuned_on"] == tunings[0])]
        style.curves(ax, faintly, "personalization", looks, "rounds", "test_accuracy", band=False, **FAINT)
    axes[0, 0].set_ylabel(ylabel)
    style.percent(axes[0, 0].yaxis)
    faint = [Line2D([], [], label=ONE_STEP, **(drawing.NEUTRAL | FAINT))] if len(once) else []
    every = f"Every point has its own best step size of the {grid}"
    return style.finish(
        figure,
        table,
        title,
        [handles, [*drawing.tuning_handles(tunings, common.TUNING_TITLES), *drawing.epsilon_handles()], faint],
        f"{every}, which hides declines; faint curves keep one." if len(once) else f"{every}.",
        edges.short(table, "step size"),
        common.EPSILON_NOTE,
        differs=" ".join([common.replaced(table), *notes, NOISE_LEVELS]),
    )


FIGURE_1B = common.figure_of(
    """\
Bietti et al. 2022, Figure 1b: top-1 accuracy of tag prediction against rounds, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 0.5 and 2 are shown. As in the paper every point has its own
best step size, so that a curve is an upper envelope and can hardly fall. The faint curves keep one step size in all
panels, that which is the best at the end without noise. Expected: without noise an intermediate alpha is the best; with
noise large alpha degrades, and a small alpha is the best of all alpha > 0.
""",
    "ppsgd_tags",
    (0.0, 0.5, 2.0),
    (0.0, 0.1, 1.0, 10.0, 100.0, float("inf")),
    partial(table, one_step=True),
    partial(draw, title="Personalised private SGD, tag prediction, linear (Bietti et al. 2022, Fig. 1b)", ylabel=TAGS),
)
FIGURE_1B_MADE_UP = common.figure_of(
    """\
Bietti et al. 2022, Figure 1b, on generated documents of the paper's numbers of users, documents, words and tags.

Shows what the paper's sizes do to the curves of `ppsgd_fig1b`, which has real but fewer documents. The faint curves
keep one step size in all panels, as there.
""",
    "ppsgd_tags_made_up",
    (0.0, 0.2, 1.0),
    (0.0, 1.0, 10.0, float("inf")),
    partial(table, one_step=True),
    partial(
        draw, title="Personalised private SGD, generated documents (after Bietti et al. 2022, Fig. 1b)", ylabel=TAGS
    ),
)
FIGURE_1C = common.figure_of(
    """\
Bietti et al. 2022, Figure 1c: test accuracy on digits by writer against rounds, linear models, three noise levels.

The panels' noise levels are not in the paper: sigma 0, 1 and 5 are shown (epsilon infinite, about 9 and about 1).
Expected: local learning is poor; without noise global learning is better; with much noise a small alpha is the best of
all alpha > 0.
""",
    "ppsgd_digits",
    (0.0, 1.0, 5.0),
    (0.0, 0.1, 1.0, 10.0, float("inf")),
    table,
    partial(draw, title="Personalised private SGD, digits by writer, linear (Bietti et al. 2022, Fig. 1c)"),
)
