"""Server optimisers on features of very different frequency (after Reddi et al. 2021), without noise and with it.

Training loss by the server's step, for FedAdam and FedYogi at the tau with the lowest mean loss. Expected: without
noise the adaptive optimisers reach a lower loss than FedAvg, whose step is bounded by the frequent features.
"""

import pandas as pd

from bench.analysis import select, style
from figures.shared import edges
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.runs import at_end

SWEEP, METRIC = "server_optimisers", "train_loss"
FEDAVG, MOMENTUM, ADAM, YOGI = "FedAvg", "FedAvgM", "FedAdam", "FedYogi"
LOOKS = {FEDAVG: style.GREY, MOMENTUM: style.ORANGE, ADAM: style.RED, YOGI: style.NAVY}


@derived
def by_step(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round at the tau with the lowest mean loss, for every method, noise and step."""
    last = at_end(runs)
    last = last.assign(tau=last["tau"].fillna(0.0) if "tau" in last else 0.0)
    by = ["algorithm", "noise_multiplier", "server_step_size"]
    return select.tune(last, by=by, over="tau", on=METRIC, best="min")


@derived
def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `by_step` at the best step, with the edges of tau and step in "edge"."""
    return edges.tuned_next(by_step(runs), ["algorithm", "noise_multiplier"], "server_step_size", METRIC)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Loss by method, noise and step, with the tau that was chosen and epsilon."""
    rows, by = by_step(runs), ["algorithm", "noise_multiplier", "server_step_size", "tau"]
    out = select.interval(rows, by=by, value=METRIC, means=["test_loss", "epsilon_tight"])
    return out.assign(delta=rows["delta"].iloc[0], **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A panel for each noise."""
    noises = sorted(table["noise_multiplier"].unique())
    figure, axes = style.subplots(1, len(noises), figsize=(4.6 * len(noises), 3.9), sharey=True, squeeze=False)
    for ax, panel, (noise,) in style.panels(axes, table, noise_multiplier=noises):
        style.curves(ax, panel, "algorithm", LOOKS, "server_step_size", METRIC)
        epsilon = panel["epsilon_tight"].max()
        ax.set(xscale="log", title=rf"$\varepsilon$ = {epsilon:.2g}" if noise else "no noise")
        ax.set_ylim(top=1.0)
    style.label(axes, "step of the server", "training loss")
    return style.finish(
        figure,
        table,
        "Server optimisers where features are rare (after Reddi et al. 2021)",
        [style.handles(table, "algorithm", LOOKS)],
        "Logistic regression on 100 features, of which the k-th is in 1 / (2 k) of the examples. In each of 100 rounds "
        "Poisson sampling draws about 100 of 1,000 users. FedAdam and FedYogi have the best tau at every point. Losses "
        "above 1 are cut off. All curves share the draws: even where bands overlap, curves can differ in every draw.",
        f"Epsilon at delta = {table['delta'].iloc[0]:g}: one user added or removed, against everybody who sees the "
        "shared model.",
        differs="Logistic regression with rare features, not the paper's data.",
    )


FIGURE = Figure(
    __doc__, (SWEEP,), table, draw, apart=("algorithm", "noise_multiplier", "server_step_size"), tuned=("tau",)
)
