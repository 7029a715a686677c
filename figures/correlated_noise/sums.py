"""Kalinin and Lampert 2024: noise in the sums that a model follows, at equal proven epsilon.

Users have nothing to learn, so the model is the sum of the noise of up to 200 rounds. Shown is its root mean square, in
units of the noise that independent draws add in one round. Each user takes part in every 16th round, and in at most 13.
The legend has the root mean square over rounds relative to independent noise, as measured, and in brackets as it
follows from the matrices. Expected: .348 with 16 bands of the square root, .332 with the best 16 bands.
"""

from functools import cache

import numpy as np
import pandas as pd

from bench.analysis import select, style
from bench.analysis.select import REPETITION
from bench.privacy.matrix_noise import strategy
from figures.shared.derived import derived
from figures.shared.figure import Figure
from figures.shared.margins import need
from figures.shared.runs import WHOLE, ended, not_empty

SWEEP = "correlated_noise_sums"
INDEPENDENT = "independent"
ROUNDS, SEPARATION = 200, 16
LOOKS: dict[str, style.Look] = {
    INDEPENDENT: {"color": "#8c8c8c"},
    "tree": {"color": "#e6a532"},
    "bisr": {"color": "#4f9d69", "linestyle": "--"},
    "lambda_cgd": {"color": "#8e5ea2", "linestyle": "-."},
    "blt": {"color": "#3c78b4"},
    "banded_sqrt": {"color": "#c8443c"},
    "banded": {"color": "#12355b"},
}
NAMES = {
    INDEPENDENT: "independent",
    "tree": "tree sums",
    "blt": "buffered Toeplitz, 4 buffers",
    "banded_sqrt": "square root, 16 bands",
    "bisr": "inverse square root, 16 bands",
    "lambda_cgd": "last round's noise alone",
    "banded": "best Toeplitz, 16 bands",
}


@cache
def law(noise: str, num_bands: int, rounds: int = ROUNDS) -> float:
    """Return the ratio that the matrices predict."""
    return 1.0 if noise == INDEPENDENT else strategy(noise, SEPARATION, num_bands, rounds).prefix_noise(rounds)


@derived
def ratios(runs: pd.DataFrame) -> pd.DataFrame:
    """Ratios of the root mean square over rounds to that of independent noise in the same repetition, and predicted
    ratios.

    Raises:
        InputError: where independent noise was not run, or the runs do not cost the same epsilon.
    """
    rows = runs[runs["rounds"] > 0]
    by = ["noise", "num_bands", *REPETITION]
    size = rows.groupby(by)["mean_square"].mean().pow(0.5).rename("size").reset_index()
    alone = not_empty(size[size["noise"] == INDEPENDENT], f"no run with independent noise to compare with: {WHOLE}")
    spent = ended(rows)["epsilon_worst_case"]
    need(np.allclose(spent, spent.iloc[0], rtol=1e-3), "the runs do not cost the same epsilon: leave out --grid")
    out = size.merge(alone[[*REPETITION, "size"]], on=REPETITION, suffixes=("", "_alone"))
    laws = [law(noise, bands) for noise, bands in zip(out["noise"], out["num_bands"], strict=True)]
    return out.assign(ratio=out["size"] / out["size_alone"], law=laws)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Root mean square of the model by noise and round, and the ratio of the whole run."""
    rows = runs[runs["rounds"] > 0]
    rows = rows.assign(size=np.sqrt(rows["mean_square"]))
    out = select.interval(rows, by=["noise", "num_bands", "rounds"], value="size")
    by = ["noise", "num_bands"]
    laws = ratios(runs).groupby(by, as_index=False)["law"].first()
    out = out.merge(select.beside(ratios(runs), by=by, value="ratio"), on=by).merge(laws, on=by)
    spent = {"epsilon_worst_case": rows["epsilon_worst_case"].max(), "delta": rows["delta"].iloc[0]}
    return out.assign(**spent, **select.where_from(runs))


def draw(table: pd.DataFrame):
    """A line for each noise."""
    figure, ax = style.subplots(figsize=(6.4, 4.4))
    style.curves(ax, table, "noise", LOOKS, "rounds", "size")
    found = table.drop_duplicates("noise").set_index("noise")[["ratio", "law"]].drop(index=INDEPENDENT)
    words = NAMES | {noise: f"{NAMES[noise]}: {ratio:.3f} ({exact:.3f})" for noise, ratio, exact in found.itertuples()}
    ax.set(xlabel="rounds", ylabel="noise of the sum, relative to one round's")
    ax.legend(handles=style.handles(table, "noise", LOOKS, words), fontsize=8)
    return style.finish(
        figure,
        table,
        "Noise of prefix sums at equal epsilon (after Kalinin and Lampert 2024)",
        [],
        "160 users in 16 groups of ten take turns. All their gradients are 0, so the model is the sum of the noise.",
        f"Privacy: all lines have epsilon {table['epsilon_worst_case'].iloc[0]:.3g} at delta = "
        f"{table['delta'].iloc[0]:.2g}, proven without amplification, of all data of one user (replaced), against "
        "everybody who sees the models.",
        differs="Not in the paper. In the legend: root mean square over the rounds, relative to independent noise, and "
        "in brackets what follows from the matrices.",
    )


FIGURE = Figure(__doc__, (SWEEP,), table, draw, apart=("noise",))
