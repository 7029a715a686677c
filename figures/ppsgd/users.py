"""Bietti et al. 2022, beyond its figures: accuracy by user and of all examples together, on digits and tags.

The paper pools the test examples of all users, so users with many examples dominate. Panels are the mean over users,
the mean of the tenth of users with the lowest accuracy, and the means of the users with the fewest and with the most
training examples; lines are noise levels, and dashed are users who learn alone for longer than the rounds that draw
them.
"""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.ppsgd import common, drawing, fig2_digits
from figures.shared.figure import Figure
from figures.shared.margins import need
from figures.shared.runs import ended

PANELS = {
    "test_accuracy": "all examples together",
    "test_accuracy_per_user": "mean over users",
    "test_accuracy_worst_tenth": "worst tenth of the users",
    "test_accuracy_small_users": "users with few examples",
    "test_accuracy_large_users": "users with many examples",
}
SIGMAS = {"ppsgd_digits": (0.0, 1.0, 5.0), "ppsgd_tags": (0.0, 0.5, 2.0)}
TITLES = {"ppsgd_digits": "digits", "ppsgd_tags": "tags"}
ALONE = "alone"
LOOKS: list[style.Look] = [
    {"color": "#12355b", "marker": "o"},
    {"color": "#c8443c", "marker": "^"},
    {"color": "#e6a532", "marker": "s"},
]


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final accuracy of users by sweep, panel, noise and personalisation, and of users who learn alone.

    The step size is the best by held-out accuracy, beyond the published grid where that ends before.

    Raises:
        InputError: where no run has accuracies by user.
    """
    tables = []
    for sweep, sigmas in SIGMAS.items():
        mine = runs[runs["sweep"] == sweep]
        if mine.empty or "test_accuracy_per_user" not in mine or mine["test_accuracy_per_user"].isna().all():
            continue
        shared = common.in_panels(common.ppsgd_runs(ended(mine), further=True), sigmas, fig2_digits.CURVES)
        alone = common.alone(mine)
        for panel in PANELS:
            parts = [_tuned(shared, panel, ["noise_multiplier", "personalization"], carry=["epsilon"])]
            if len(alone):
                parts.append(_tuned(alone, panel, ["num_rounds"]).assign(curve=ALONE))
            tables += [part.assign(sweep=sweep, panel=panel) for part in parts]
    need(tables, "no run has accuracies by user: repeat ppsgd_digits or ppsgd_tags in a new folder")
    shown = pd.concat(tables, ignore_index=True)
    source = select.where_from(runs[runs["sweep"].isin(shown["sweep"])])
    return shown.assign(held_out=common.BY_SIZE, **source)


def _tuned(runs: pd.DataFrame, panel: str, by: list[str], carry=()) -> pd.DataFrame:
    rows = select.tuned_curves(
        runs, by=by, value=panel, best="max", tunings={"validation": common.HELD_OUT}, carry=carry
    )
    return rows.rename(columns={panel: "accuracy"})


def draw(table: pd.DataFrame):
    """A row of panels for each data set and a column for each group of users."""
    sweeps = style.present(table, "sweep", SIGMAS)
    figure, axes = style.subplots(
        len(sweeps), len(PANELS), figsize=(16, 3.4 * len(sweeps) + 1.2), sharey="row", squeeze=False
    )
    places = {a: place for place, a in enumerate(fig2_digits.CURVES)}
    for ax, rows, (sweep, panel) in style.panels(axes, table, sweep=sweeps, panel=list(PANELS)):
        rows = rows.assign(place=rows["personalization"].map(places))
        style.curves(ax, rows, "noise_multiplier", dict(zip(SIGMAS[sweep], LOOKS, strict=True)), "place", "accuracy")
        for level in rows[rows["curve"] == ALONE]["accuracy"].dropna() if "curve" in rows else ():
            ax.axhline(level, **fig2_digits.ALONE)
        ax.set(title=PANELS[panel], xlabel=r"personalisation $\alpha Q$")
        ax.set_xticks(list(places.values()), ["local", "0.1", "1", "10", "100", "global"])
    for row, sweep in zip(axes, sweeps, strict=True):
        row[0].set_ylabel(f"{TITLES[sweep]}: test accuracy")
        style.percent(row[0].yaxis)
    legends = [_handles(table[table["sweep"] == sweep]) for sweep in sweeps]
    return style.finish(
        figure,
        table,
        "Accuracy by user under personalised private SGD (after Bietti et al. 2022)",
        legends,
        "Few and many: users up to the lower and from the upper tercile of training examples. The worst tenth is "
        "determined separately for every model, and includes users with one or two test examples. Step size by "
        "held-out accuracy, beyond the published grid where the best value is outside it.",
        f"Held-out accuracy {common.BY_SIZE}. {common.EPSILON_NOTE}",
        differs=f"Not in the paper. {common.replaced(table)}",
        unequal="(more on one data set than on the other)",
    )


def _handles(rows: pd.DataFrame) -> list[Line2D]:
    """Legend entries of a data set: its noise levels with their epsilon, and learning alone."""
    handles, sweep = [], rows["sweep"].iloc[0]
    title = TITLES[sweep]
    for look, sigma in zip(LOOKS, SIGMAS[sweep], strict=True):
        spent = rows.loc[(rows["noise_multiplier"] == sigma) & (rows["personalization"] > common.LOCAL), "epsilon"]
        if len(spent):
            label = rf"{title}: $\sigma$ = {sigma:g}, {drawing.epsilon_label(spent.max())}"
            handles.append(Line2D([], [], label=label, **look))
    if "curve" in rows and (rows["curve"] == ALONE).any():
        steps = rows.loc[rows["curve"] == ALONE, "num_rounds"].max()
        handles.append(Line2D([], [], label=f"{title}: alone, {steps:,.0f} steps", **fig2_digits.ALONE))
    return handles


FIGURE = Figure(__doc__, tuple(SIGMAS), table, draw, apart=common.APART, tuned=common.TUNED)
