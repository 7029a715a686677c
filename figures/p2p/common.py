"""Code shared by the figures and claims of Bellet et al. 2018: the runs that they read, their tuning, and their
epsilons.

Tables are long:

series: the legend entry.
x_name, x, y_name, y: the axis and the number.
low, high: the interval of the number.
origin: whether the number is from the runs here or from the paper.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.p2p.published import published
from figures.shared import edges
from figures.shared.derived import derived
from figures.shared.published import HERE
from figures.shared.published import PUBLISHED as OF_PAPER
from figures.shared.runs import at_end, ended, matching, runs_with

LOCAL, NON_PRIVATE = "local", "non-private"
EXACT, DESCENT = "exact minimisers", "short descent"  # of the local objectives, where the paper names no solver
SOLVERS = {EXACT: "newton", DESCENT: "descent"}
PAPER_MU, AS_PAPER = 0.04, "mu as in the paper"  # and the variant that has it although tuning chose another
PUBLISHED, CLIPPED, GAUSSIAN = "published", "clipped", "gaussian"  # calibrations of the noise
EPSILONS = ["epsilon", "epsilon_tight", "epsilon_true"]
PRIVACY = ["privacy_unit", "neighbors", "delta"]
ONE_RELEASE, ONCE = "one release", "one release, smoothed"  # the algorithm, and the variant that shows it
SETTINGS = ["num_updates", "clip_norm", "mu"]  # what is tuned for a budget, the fewest updates first
CONTINUOUS = ("iterations", "vectors_sent")  # axes on which curves are interpolated linearly between evaluations
BEYOND = 1.01  # times our last x, as the ends of published curves are extracted with an error
FEWEST_UPDATES = 1.0  # per agent: without updates only the start is left, which is shown as one release


def curves(
    rows: pd.DataFrame, *, by: Sequence[str], x: str, y: str, carry: Sequence[str] = (), log: bool = False
) -> pd.DataFrame:
    """Means of y over repetitions with their intervals, for each x, in the long form.

    Args:
        rows: one row per repetition in each group.
        by: columns of a curve.
        carry: further columns, whose largest value in a group is kept: epsilons, and what all its rows share.
        log: as for `select.interval`.
    """
    keys = [*by, x]
    table = select.interval(rows, by=keys, value=y, log=log)
    carried = rows.reindex(columns=[*keys, *carry])  # adds the columns that these runs do not have
    largest = carried.groupby(keys, observed=True)[list(carry)].max().reset_index()
    table = table.merge(largest, on=keys)
    return table.rename(columns={x: "x", y: "y"}).assign(x_name=x, y_name=y)


def labelled(table: pd.DataFrame, runs: pd.DataFrame, figure: str, **shown) -> pd.DataFrame:
    """Return the table with data source, scale and privacy beside its numbers, and the published points below them.

    Args:
        table: the numbers.
        runs: the runs that they were computed from.
        figure: the figure whose published points are added.
        shown: column -> values to which the published points are kept.
    """
    points = published(figure)
    return pd.concat([from_here(table, runs), points[matching(points, origin=OF_PAPER, **shown)]], ignore_index=True)


def from_here(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the table with data source, scale and privacy of its runs beside its numbers."""
    facts = select.where_from(runs) | {name: runs[name].dropna().iloc[0] for name in PRIVACY}
    return table.assign(origin=HERE, **facts)


def here(table: pd.DataFrame, **values) -> pd.DataFrame:
    """Return the rows of the runs here, without the published points, with these values."""
    return table[matching(table, origin=HERE, **values)]


def compared(table: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's published points and ours at the same x: series, variant, x_name, x, y_name, here,
    published."""
    measured, printed = here(table), table[table["origin"] == OF_PAPER]
    frames = []
    for (series, variant, x_name, y_name), line in measured.groupby(["series", "variant", "x_name", "y_name"]):
        points = printed[matching(printed, series=series, x_name=x_name, y_name=y_name)]
        line = line.sort_values("x")
        if x_name in CONTINUOUS:
            points = points[points["x"] <= BEYOND * line["x"].max()]
        else:
            points = points[points["x"].isin(line["x"])]
        interpolated = np.interp(points["x"], line["x"], line["y"])
        named = points[["series", "x_name", "x", "y_name"]]
        frames.append(named.assign(variant=str(variant), here=interpolated, published=points["y"]))
    return pd.concat(frames, ignore_index=True)


def epsilon_name(budget: float) -> str:
    """Return the name of a budget as a series."""
    return f"epsilon {budget:g}"


def budget_of(name: str) -> float:
    """Return the budget from its name as a series."""
    return float(name.removeprefix("epsilon "))


def privacy_note(table: pd.DataFrame) -> str:
    """Return a sentence on what is protected, against whom, under which neighbouring relation."""
    facts = here(table).iloc[0]
    return (
        f"Privacy: one data {facts['privacy_unit']} of one agent ({facts['neighbors']}), against all other agents "
        f"together, at delta = {facts['delta']:.4g}."
    )


def coordinate_note(rows: pd.DataFrame) -> str:
    """Return a sentence on what is protected where agents learn from perturbed inputs, from their rows of a table."""
    facts, spent = rows.iloc[0], rows["epsilon_true"].max()
    return (
        f"Privacy: one {facts['privacy_unit']} of one input of one agent ({facts['neighbors']}), against everybody. A "
        "whole input of p coordinates costs p times as much. delta is 0. Labels are not perturbed, so epsilon is "
        f"{'infinite' if np.isinf(spent) else f'{spent:g}'} for a data point with its label."
    )


def true_note(table: pd.DataFrame) -> str:
    """Return a sentence on the factor by which the published noise is too small, from the rows of the published
    calibration."""
    rows = here(table, calibration=PUBLISHED)
    ratio = (rows["epsilon_true"] / rows["epsilon"])[rows["epsilon"] > 0]
    if ratio.empty:
        return ""
    return (
        f"The true epsilon is up to {float(f'{ratio.max():.2g}'):,g} times the nominal one, since the published noise "
        "assumes gradients of norm 1."
    )


def published_note(table: pd.DataFrame) -> str:
    """Return a sentence with the source of the published curves; empty where there are none."""
    return "Pale: published, from the paper's vector graphics." if (table["origin"] == OF_PAPER).any() else ""


# ---- What was tuned, on other problem instances ----


def with_edges(tuned: pd.DataFrame, others: pd.DataFrame, by: Sequence[str], over: Sequence[str]) -> pd.DataFrame:
    """Return the rows of `edges.of_settings`, with one update per agent not counted as an edge."""
    return edges.of_settings(tuned, others, by, over, {"num_updates": FEWEST_UPDATES})


def tuned_elsewhere(
    rows: pd.DataFrame, by: Sequence[str], over: Sequence[str], on: str = "test_accuracy", best: str = "max"
) -> pd.DataFrame:
    """Return the final rows on test instances at the settings that are best on validation instances, with "edge".

    Raises:
        InputError: where there are no runs on one of them.
    """
    tested, others = (ended(runs_with(rows, instances=kind)) for kind in ("test", "validation"))
    tuned = select.tuned_elsewhere(tested, others, by=by, over=over, on=on, best=best)
    return with_edges(tuned, others, by, over)


def _tuning_mu(runs: pd.DataFrame) -> pd.DataFrame:
    """Final rows of coordinate descent without privacy on the instances to tune on."""
    return at_end(runs_with(runs, algorithm="CD", instances="validation"))


@derived
def tuned_mu(runs: pd.DataFrame) -> float:
    """Return the mu with which coordinate descent without privacy is the most accurate on the instances to tune on.

    Averaged over numbers of features, as the paper has one mu for all.
    """
    others = _tuning_mu(runs)
    best = select.choose(others, by=["algorithm"], over="mu", on="test_accuracy", best="max")["mu"]
    return float(best.iloc[0])


def tuned_private(
    runs: pd.DataFrame, calibration: str, mu: float | None = None, algorithm: str = "private CD"
) -> pd.DataFrame:
    """Final rows of private runs, their settings chosen for each budget and number of features, with "series".

    Args:
        runs: of the sweep over numbers of features.
        calibration: of the noise.
        mu: the only mu to use; None chooses mu as well.
        algorithm: coordinate descent, or one release without updates.
    """
    rows = runs_with(runs, algorithm=algorithm, calibration=calibration, **({} if mu is None else {"mu": mu}))
    if algorithm == ONE_RELEASE:
        rows = rows.assign(num_updates=0.0)
    rows = tuned_elsewhere(rows, ["num_features", "budget"], SETTINGS)
    return rows.assign(series=rows["budget"].map(epsilon_name))


def without_privacy(runs: pd.DataFrame, mu: float) -> pd.DataFrame:
    """Final rows of coordinate descent without privacy at one mu, with "series" and "calibration"."""
    rows = ended(runs_with(runs, algorithm="CD", instances="test", mu=mu))
    return rows.assign(series=NON_PRIVATE, calibration="none")


def local_rows(runs: pd.DataFrame, algorithm: str = "local") -> list[pd.DataFrame]:
    """Final rows of local models for each solver in the runs, with "series" and "variant"."""
    tested = runs[matching(runs, algorithm=algorithm, instances="test")]
    rows = {name: tested[matching(tested, solver=solver)] for name, solver in SOLVERS.items()}
    return [ended(local).assign(series=LOCAL, variant=name) for name, local in rows.items() if len(local)]


@derived
def tuned_runs(runs: pd.DataFrame, calibrations: Sequence[str] = (PUBLISHED,)) -> pd.DataFrame:
    """Return the final rows that are shown, with "series", "calibration", "edge", and "variant" (local models, one
    release).

    The published calibration has the mu of the run without privacy, as in the paper; with the others mu is tuned too.
    """
    mu = tuned_mu(runs)
    free = with_edges(without_privacy(runs, mu), _tuning_mu(runs), ["algorithm"], ["mu"])
    frames = [*(rows.assign(calibration="none") for rows in local_rows(runs)), free.assign(variant="")]
    for calibration, (algorithm, variant) in product(calibrations, (("private CD", ""), (ONE_RELEASE, ONCE))):
        if not matching(runs, algorithm=algorithm, calibration=calibration).any():
            continue
        private = tuned_private(runs, calibration, mu if calibration == PUBLISHED else None, algorithm)
        if calibration == PUBLISHED:  # its mu is that of the run without privacy, and so is its edge
            of_mu = "; ".join(edges.distinct(free))
            private["edge"] = [f"{edge}; {of_mu}".strip("; ") for edge in private["edge"]]
        frames.append(private.assign(variant=variant))
    return pd.concat(frames, ignore_index=True)


@derived
def with_paper_mu(runs: pd.DataFrame) -> pd.DataFrame:
    """Final rows as of `tuned_runs`, but at the paper's mu; empty where it was not run, or was chosen anyway."""
    if tuned_mu(runs) == PAPER_MU or PAPER_MU not in set(runs["mu"]):
        return runs.iloc[:0]
    frames = [without_privacy(runs, PAPER_MU)]
    if matching(runs, algorithm="private CD", calibration=PUBLISHED).any():
        frames.append(tuned_private(runs, PUBLISHED, PAPER_MU))
    return pd.concat(frames, ignore_index=True).assign(variant=AS_PAPER)


@derived
def as_published(runs: pd.DataFrame) -> pd.DataFrame:
    """Return local models, and all others at the paper's mu; at that of `tuned_runs` where the paper's was not run."""
    tuned, at_paper_mu = tuned_runs(runs), with_paper_mu(runs)
    return tuned if at_paper_mu.empty else pd.concat([tuned[tuned["series"] == LOCAL], at_paper_mu.assign(variant="")])
