"""Private FedAvg with fixed norms and with norms that follow a quantile (after Andrew et al. 2021), at one epsilon.

Left: training loss by the initial norm, in units of the typical length of a message, at the best step of the server.
Right: the share of messages that are clipped in the last 20 rounds. Expected: with the median as the norm, the loss is
that of the best fixed norm and does not depend on the initial norm; the clipped share converges to 1 minus the
quantile.
"""

import pandas as pd

from bench.analysis import select, style
from figures.shared.bands import without_draws
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.runs import at_end

SWEEP, METRIC = "server_clipping", "train_loss"
FIXED, ADAPTIVE = "Fixed", "Adaptive"
MEDIAN = 0.5
LOOKS = {0.0: style.GREY, 0.2: style.ORANGE, 0.5: style.RED, 0.8: style.NAVY}  # by quantile, 0 for a fixed norm


@derived
def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round at the server's step with the lowest mean loss for each initial norm.

    followed: the quantile, 0 for a fixed norm.
    step: the server's step, times the factor of a fixed norm.
    """
    last = at_end(runs)
    fixed = last["algorithm"] == FIXED
    step = last["server_step_size"].where(~fixed, last["server_step_size"] * last["factor"]).round(6)
    last = last.assign(followed=last["quantile"].where(~fixed, 0.0), step=step)
    return select.tune(last, by=["algorithm", "followed", "factor"], over="step", on=METRIC, best="min")


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Loss and clipped share by method, quantile and initial norm, with the step that was chosen and epsilon."""
    rows, by = tuned(runs), ["algorithm", "followed", "factor", "step", "edge"]
    alike = without_draws(rows, value=METRIC, panel=["task"], point=["followed", "factor"])
    losses, shares = select.interval(alike, by=by, value=METRIC), select.beside(rows, by=by, value="clipped")
    spent = rows.groupby(by)["epsilon_tight"].mean().reset_index()
    out = losses.merge(shares, on=by).merge(spent, on=by)
    return out.assign(delta=rows["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A panel for losses and one for clipped shares."""
    figure, axes = style.subplots(1, 2, figsize=(9.2, 3.9))
    shares = table.drop(columns=["low", "high"]).rename(columns={"clipped_low": "low", "clipped_high": "high"})
    for ax, numbers, metric, words in (
        (axes[0], table, METRIC, "training loss"),
        (axes[1], shares, "clipped", "share of messages clipped"),
    ):
        style.curves(ax, numbers, "followed", LOOKS, "factor", metric)
        ax.set(xscale="log", xlabel="initial norm / typical message", ylabel=words)
        style.plain_log_ticks(ax.xaxis, subs=(1, 3))
    style.percent(axes[1].yaxis)
    words = {0.0: "fixed norm"} | {quantile: f"quantile {quantile:g}" for quantile in LOOKS if quantile}
    return style.finish(
        figure,
        table,
        "Clipping at a quantile of the messages' lengths (after Andrew et al. 2021)",
        [style.handles(table, "followed", LOOKS, words)],
        "Logistic regression on 100 features, of which the k-th is in 1 / (2 k) of the examples. In each of 100 rounds "
        "Poisson sampling draws about 100 of 1,000 users. Every point has the server's step with the lowest mean loss.",
        "Bands of losses exclude the effect of a draw of the data on all losses (Morey 2008).",
        f"All points have epsilon = {table['epsilon_tight'].max():.3g} at delta = {table['delta'].iloc[0]:g}: one user "
        "added or removed, against everybody who sees the shared model and the norms.",
        differs="Logistic regression with rare features, not the paper's data.",
    )


FIGURE = Figure(__doc__, (SWEEP,), table, draw, apart=("algorithm", "quantile", "factor"), tuned=("server_step_size",))
