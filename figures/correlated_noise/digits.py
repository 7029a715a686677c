"""Kalinin and Lampert 2024, and the queue of Bietti et al. 2022: accuracy on digits against the epsilon that is proven.

One linear model is trained on 836 writers, with 50 of them in each of 200 rounds. The queue keeps no distance between
the rounds of a user, so its proven epsilon allows for a user in every round; the dashed curve has the epsilon of the
paper's accountant for the same runs. With users in 17 groups that take turns, each user takes part in at most 12
rounds, and banded noise costs exactly as much as independent noise.
"""

import pandas as pd
from matplotlib.lines import Line2D

from bench.analysis import select, style
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.margins import need
from figures.shared.runs import at_end

SWEEP = "correlated_noise_digits"
QUEUE, CYCLIC, BANDED = "Queue, as published", "In turn, independent noise", "In turn, banded noise"
HELD_OUT = "validation_accuracy_by_size"
LOOKS = {QUEUE: style.GREY, CYCLIC: style.NAVY, BANDED: style.RED}
NOMINAL: style.Look = {"color": "#8c8c8c", "linestyle": "--", "marker": ""}


@derived
def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round, at the step size with the best held-out accuracy.

    Raises:
        InputError: where there are none.
    """
    last = at_end(runs)
    need(HELD_OUT in last, f"the runs have no {HELD_OUT}: run the sweep again, into a new folder")
    return select.tune(last, by=["algorithm", "level"], over="step_size", on=HELD_OUT, best="max")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Final test accuracy by curve and noise, with the proven epsilon and that of the paper's accountant."""
    best, by = tuned(runs), ["algorithm", "level"]
    told = ["noise_multiplier", "epsilon_worst_case", "epsilon", "step_size"]
    out = select.interval(best, by=by, value="test_accuracy", means=told)
    out = out.merge(best.groupby(by)["edge"].first().reset_index(), on=by)
    return out.rename(columns={"epsilon": "epsilon_as_counted"}).assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """A line for each way of scheduling users and drawing noise."""
    figure, ax = style.subplots(figsize=(6.4, 4.6))
    style.curves(ax, table, "algorithm", LOOKS, "epsilon_worst_case", "test_accuracy")
    queue = table[table["algorithm"] == QUEUE]
    style.curve(ax, queue, "epsilon_as_counted", "test_accuracy", band=False, **NOMINAL)
    ax.set(xscale="log", xlabel=r"proven $\varepsilon$ (dashed: as in the paper)", ylabel="final test accuracy")
    style.plain_log_ticks(ax.xaxis, subs=(1, 2, 5))
    style.percent(ax.yaxis)
    nominal = Line2D([], [], label="the queue, as if Poisson-sampled", **NOMINAL)
    ax.legend(handles=[*style.handles(table, "algorithm", LOOKS), nominal], fontsize=8)
    return style.finish(
        figure,
        table,
        "Digits at the epsilon that is proven (after Kalinin and Lampert 2024)",
        [],
        "836 writers of MNIST, linear model, PPSGD with alpha Q = inf, 200 rounds of 50 users, step size by held-out "
        "accuracy. Banded noise has 16 bands of the square root.",
        "Proven epsilon at delta = 1e-4: all data of one user replaced, against all others, without amplification. "
        "Dashed: RDP for Poisson sampling of users, one user added or removed, which is not how the queue samples.",
        differs="Not the paper's data: linear models of digits, 836 writers.",
    )


FIGURE = Figure(__doc__, (SWEEP,), table, draw, apart=("algorithm", "level"), tuned=("step_size",))
