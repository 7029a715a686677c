"""Bietti et al. 2022, Theorems 5.2 and B.4: measured excess risk under their bounds, with some of the users in a round.

200 users whose data differ in number only, 20 of them in a round on average (Poisson), inputs of norm 1, noise for one
budget over the whole run, the step of the theorem, the average iterate. Algorithm 2 sums the gradients of a user's
examples, and its theorem bounds the risk weighted by their number; Algorithm 3 averages them, and its theorem bounds
the average risk. Expected: the bound above every point.
"""

import pandas as pd

from bench.analysis import select, style
from figures.ppsgd import common, theory
from figures.shared.figure import Figure
from figures.shared.runs import ended

ALGORITHMS = {
    "Algorithm 2": ("weighted_risk", "Theorem 5.2", "excess risk, weighted"),
    "Algorithm 3": ("excess_risk", "Theorem B.4", "excess risk, average"),
}
BY = ["target_epsilon", "samples", "personalization"]


def of_repetitions(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs after their last round, with "algorithm" as in ALGORITHMS, and "risk", which its theorem
    bounds."""
    last = ended(runs)
    last = last.assign(algorithm=last["algorithm"].str.split(",").str[0])
    parts = [last[last["algorithm"] == name].assign(risk=last[risk]) for name, (risk, _, _) in ALGORITHMS.items()]
    return pd.concat(parts, ignore_index=True)


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the final risk of each algorithm that its theorem bounds, with its interval, and the bound, by budget,
    number of rounds and alpha D, where D is the expected divisor of a round's sum."""
    last, parts = of_repetitions(runs), []
    for name in style.present(last, "algorithm", ALGORITHMS):
        rows, theorem = last[last["algorithm"] == name], ALGORITHMS[name][1]
        measured = select.interval(rows, by=BY, value="risk", means=["bound", "clipped", *common.EPSILONS])
        parts.append(measured.assign(algorithm=name, theorem=theorem))
    return pd.concat(parts, ignore_index=True).assign(**select.where_from(runs))


def draw(table: pd.DataFrame):
    """A row of panels for each algorithm and a column for each budget; risk solid, bound dashed."""
    targets, names = sorted(table["target_epsilon"].unique()), style.present(table, "algorithm", ALGORITHMS)
    figure, axes = style.subplots(
        len(names), len(targets), figsize=(11.5, 3.4 * len(names)), sharex=True, sharey="row", squeeze=False
    )
    for ax, rows, (name, target) in style.panels(axes, table, algorithm=names, target_epsilon=targets):
        theory.risk_and_bound(ax, rows, "risk")
        ax.set_title(f"{name}, {theory.budget_name(target)}")
    style.label(axes, "rounds T", *(f"{ALGORITHMS[name][2]}\n({ALGORITHMS[name][1]})" for name in names))
    return style.finish(
        figure,
        table,
        "Users of unequal size, sampled: risk under its bound (Bietti et al. 2022, Theorems 5.2 and B.4)",
        [theory.handles("D")],
        f"Step size of the theorem as its proof has it, average iterate; {theory.clipped_share(table)}. D is the "
        "expected number of examples (Algorithm 2) or of users (Algorithm 3) in a round. Epsilon at delta = 1e-4 is "
        "for the whole run, whatever its length, by RDP for Poisson sampling; one user added or removed, against all "
        "others together, who see w (joint DP).",
        differs="The paper states the bounds and has no experiment; D is the expected divisor of a round's sum.",
    )


FIGURE = Figure(__doc__, ("ppsgd_sampled_theory",), table, draw)
