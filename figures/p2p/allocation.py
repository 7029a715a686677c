"""Bellet et al. 2018, Proposition 2 (not in its figures): how to split an agent's privacy budget over its updates.

Final objective and accuracy by T/n, for three splits: an equal one, Proposition 2 as printed, which lets the noise grow
with time, and Proposition 2 with the weights of Theorem 2 in the order of its recursion, which lets the noise shrink
(`bench.papers.p2p.theory` says why). All runs start from the private warm start. Theorem 1 composes an equal split by
the smallest of three sums, but an uneven split only by the sum of the epsilons; where the equal split is better, this
is the reason.
"""

import pandas as pd

from bench.analysis import style
from figures.p2p import common, drawing, private
from figures.shared.figure import Figure
from figures.shared.runs import ended

ALLOCATIONS = {
    "equal": "equal split",
    "published": "Proposition 2 as printed (noise grows)",
    "unrolled": "weights in the order of the recursion (noise shrinks)",
}
NAMES = {"objective": "the objective", "test_accuracy": "the accuracy"}
WIDTHS = (5.0, 3.0, 1.0)  # keeps curves visible that coincide


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final objective and accuracy by T/n and split of the budget, with the published calibration."""
    rows = common.runs_with(runs, algorithm="private CD", calibration=common.PUBLISHED, start="propagation")
    rows = private.named(ended(rows[rows["target_epsilon"] == private.EPSILON]))
    rows = rows.assign(series=rows["allocation"].astype(object).map(ALLOCATIONS))  # in the order of these words
    by = ["series", "variant", "allocation", "calibration"]
    frames = [common.curves(rows, by=by, x="max_updates", y=y, carry=common.EPSILONS) for y in private.METRICS]
    return common.from_here(pd.concat(frames, ignore_index=True), runs)


def apart(table: pd.DataFrame) -> str:
    """Return a sentence on how much the order of the weights changes the results; empty where one of the two is
    missing."""
    uneven = table[table["allocation"] != "equal"].pivot(index=["y_name", "x"], columns="allocation", values="y")
    if uneven.shape[1] < 2:
        return ""
    largest = uneven.diff(axis=1).iloc[:, 1].abs().groupby(level="y_name").max()
    changes = " and ".join(f"{words} by at most {largest[name]:.2g}" for name, words in NAMES.items())
    return f"The order of the weights changes {changes}."


def draw(table: pd.DataFrame):
    """A panel for the objective and one for accuracy."""
    figure, axes = style.subplots(1, 2, figsize=(11.5, 4.6))
    look = drawing.looks(style.present(table, "series", ALLOCATIONS.values()))
    for line, width in zip(look.values(), WIDTHS, strict=False):
        line |= {"linewidth": width, "markersize": width + 4}
    for ax, y in zip(axes, private.METRICS, strict=True):
        drawing.draw(ax, table, look, {private.variant(private.EPSILON): {}}, y_name=y)
        style.stretch(ax, table[table["y_name"] == y], "x")
        style.ticks(ax, sorted(table["x"].unique()), base=2)
        ax.set(xlabel="updates per agent, $T/n$", ylabel=f"final {drawing.NAMES[y]}")
    style.percent(axes[1].yaxis)
    epsilons = common.here(table)["epsilon"]
    epsilons = epsilons[epsilons > 0]
    spent = dict.fromkeys(f"{value:.2g}" for value in (epsilons.min(), epsilons.max()))
    return style.finish(
        figure,
        table,
        "How to spend a privacy budget over time (after Bellet et al. 2018, Proposition 2)",
        [drawing.handles(look)],
        f"{common.privacy_note(table)} Nominal epsilon of all updates together: {' to '.join(spent)}.",
        common.true_note(table),
        "Both uneven splits require the order of all wake-ups in advance, which an agent does not know.",
        differs=f"The paper has no such experiment. {apart(table)}".strip(),
    )


FIGURE = Figure(__doc__, ("p2p_private",), table, draw)
