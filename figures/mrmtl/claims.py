"""What Liu et al. 2022 report of School, and what is asked beyond it: the list, and how runs decide. All methods run on
the same splits, so they are compared split by split."""

import itertools
import math

import pandas as pd
from scipy.special import stdtrit

from bench.analysis import select
from figures.mrmtl.curves import FEDAVG, LOCAL, METRIC, MR_MTL, SWEEP, at_end, published
from figures.shared.margins import LEVEL, Margin, computed, every, paired, within
from figures.shared.verdicts import Claim, NotTestable, Verdict, require, verdict

UNIT = "of squared error"
SPLITS = 5  # behind a published number
SAME = 5e-4  # of squared error, below which two samplers count as alike; a threshold of ours


def by_split(runs: pd.DataFrame, sampler: str) -> pd.DataFrame:
    """Squared error by split [trial], columns (algorithm, target_epsilon, regularization).

    Raises:
        NotTestable: where there are none.
    """
    rows = at_end(runs)
    rows = rows[rows["sampler"] == sampler]
    if rows.empty:
        raise NotTestable(f"no runs with sampler = {sampler}")
    return rows.pivot_table(index="trial", columns=["algorithm", "target_epsilon", "regularization"], values=METRIC)


def of(splits: pd.DataFrame, name: str, epsilon: float) -> pd.DataFrame:
    """The splits of one method at one epsilon, a column for each lambda.

    Raises:
        NotTestable: where there are none.
    """
    names, epsilons, lambdas = (splits.columns.get_level_values(level).to_numpy() for level in range(3))
    mine = (names == name) & (epsilons == epsilon)
    if not mine.any():
        raise NotTestable(f"no runs of {name} at epsilon {epsilon:g}")
    return pd.DataFrame(splits.to_numpy()[:, mine], splits.index, pd.Index(lambdas[mine].astype(float)))


def _only(splits: pd.DataFrame, name: str, epsilon: float) -> pd.Series:
    return of(splits, name, epsilon).iloc[:, 0]


def as_published(runs: pd.DataFrame) -> Verdict:
    """Each published mean over five splits differs from ours by less than such means differ by chance."""
    if not runs["source"].str.startswith("School").all():
        raise NotTestable("the runs are of generated schools: give the file school.mat by --data-dir")
    splits = by_split(runs, "shuffled")
    margins: list[Margin] = []
    evidence = []
    for row in published().to_dict("records"):
        series, target = str(row["series"]), float(row["squared_error"])
        values = of(splits, series, row["epsilon"])
        if series == MR_MTL:
            require(values.columns, [row["regularization"]], "lambda")
            values = values[[row["regularization"]]]
        errors = values.to_numpy()[:, 0]
        ours, spread, count = float(errors.mean()), float(errors.std(ddof=1)), len(errors)
        if count < 2:
            raise NotTestable("one split shows no spread")
        allowed = stdtrit(count - 1, 1 - LEVEL) * spread * math.sqrt(1 / count + 1 / SPLITS)
        margins.append(computed(allowed - abs(ours - target), UNIT))
        evidence.append(f"{series}: {ours:.5f} over {count} splits, published {target:.5f}, allowed {allowed:.5f}")
    return verdict(every(margins), "; ".join(evidence))


def better_than_both_ends(runs: pd.DataFrame) -> Verdict:
    """At epsilon 6 MR-MTL at lambda = 1 errs less than FedAvg and than local learning."""
    splits = by_split(runs, "shuffled")
    own = of(splits, MR_MTL, 6.0)
    require(own.columns, [1.0], "lambda")
    gaps = {name: _only(splits, name, 6.0) - own[1.0] for name in (FEDAVG, LOCAL)}
    evidence = [f"{name} - {MR_MTL}: {gap.mean():+.5f}" for name, gap in gaps.items()]
    return verdict(every([paired(gap, UNIT) for gap in gaps.values()]), "; ".join(evidence))


def best_of_all_epsilons(runs: pd.DataFrame) -> Verdict:
    """At every epsilon the best lambda errs less than FedAvg and than local learning."""
    splits = by_split(runs, "shuffled")
    margins: list[Margin] = []
    evidence = []
    for epsilon in sorted(splits.columns.get_level_values("target_epsilon").unique()):
        own = of(splits, MR_MTL, epsilon)
        best = float(own.columns.to_numpy()[own.mean().to_numpy().argmin()])
        ends = [_only(splits, name, epsilon) for name in (FEDAVG, LOCAL)]
        edge = _edge(epsilon, best, own.columns)
        margins += [paired(end - own[best], UNIT).on(edge) for end in ends]
        words = ", ".join(f"{end.mean():.4f}" for end in ends)
        evidence.append(f"epsilon {epsilon:g}: {own[best].mean():.4f} at lambda = {best:g}; {words}")
    return verdict(every(margins), "; ".join(evidence) + " (FedAvg, local)")


def _edge(epsilon: float, best: float, tried) -> str:
    """Whether a chosen lambda is an end of those tried."""
    ends = {min(tried): "smallest", max(tried): "largest"}
    return f"epsilon {epsilon:g}: lambda = {best:g}, the {ends[best]} tried" if best in ends else ""


def more_together(runs: pd.DataFrame) -> Verdict:
    """What local learning errs more than FedAvg grows from each epsilon to the next smaller one."""
    splits = by_split(runs, "shuffled")
    epsilons = sorted(splits.columns.get_level_values("target_epsilon").unique())
    if len(epsilons) < 2:
        raise NotTestable("two epsilons are needed")
    gaps = {epsilon: _only(splits, LOCAL, epsilon) - _only(splits, FEDAVG, epsilon) for epsilon in epsilons}
    margins = [paired(gaps[low] - gaps[high], UNIT) for low, high in itertools.pairwise(epsilons)]
    evidence = ", ".join(f"{epsilon:g}: {gap.mean():+.4f}" for epsilon, gap in gaps.items())
    return verdict(every(margins), f"{LOCAL} - {FEDAVG} by epsilon {evidence}")


def samplers_alike(runs: pd.DataFrame) -> Verdict:
    """Poisson samples err within `SAME` of shuffled batches, at every epsilon from 1 on and every lambda."""
    first, second = by_split(runs, "poisson"), by_split(runs, "shuffled")
    gaps = (first - second).dropna(axis=1)
    gaps = gaps.loc[:, gaps.columns.get_level_values("target_epsilon") >= 1]
    if gaps.empty or len(gaps) < 2:
        raise NotTestable("both samplers are needed at an epsilon from 1 on, in two splits")
    halves = select.half_width(gaps.std(ddof=1), len(gaps))
    margins = [within(gap, half, len(gaps), SAME, UNIT) for gap, half in zip(gaps.mean(), halves, strict=True)]
    means = gaps.mean().to_numpy()
    place = int(abs(means).argmax())
    name, epsilon, pull = gaps.columns.to_list()[place]
    named = f"{name} at epsilon {epsilon:g}, lambda = {pull:g}"
    return verdict(every(margins), f"largest mean difference {means[place]:+.5f}, of {named}")


def what_shuffling_proves(runs: pd.DataFrame) -> Verdict:
    """Shuffled batches cost no more than the epsilon of the legend by what is proven for any schedule."""
    rows = at_end(runs)
    spent = rows[rows["sampler"] == "shuffled"].groupby("target_epsilon")["epsilon_worst_case"].max()
    if spent.empty:
        raise NotTestable("no runs with shuffled batches")
    margins = [computed(float(target - cost), "of epsilon") for target, cost in spent.items()]
    words = ", ".join(f"{cost:.3g} for {target:g}" for target, cost in spent.items())
    return verdict(every(margins), f"one record replaced, no amplification: {words}")


CLAIMS = [
    Claim(
        "At epsilon 6 MR-MTL (lambda = 1), FedAvg and local learning err as published",
        "readme of the authors' program, Figure 3c",
        SWEEP,
        as_published,
        "How far two means over five splits differ by chance (95 %, the spread seen here), less the difference",
    ),
    Claim(
        "At epsilon 6 MR-MTL with lambda = 1 errs less than FedAvg and than local learning",
        "readme of the authors' program, Figure 3c",
        SWEEP,
        better_than_both_ends,
        "The other's squared error less that of MR-MTL, split by split",
    ),
    Claim(
        "At every epsilon some lambda errs less than FedAvg and than local learning",
        "section 5, Figure 3c",
        SWEEP,
        best_of_all_epsilons,
        "The other's squared error less that of MR-MTL at the lambda with the lowest mean, split by split",
    ),
    Claim(
        "The smaller epsilon, the more silos gain by one model for all over learning alone",
        "section 5, Figure 3c",
        SWEEP,
        more_together,
        "Local learning's squared error less that of FedAvg, at each epsilon less the same at the next larger one",
    ),
    Claim(
        "Here: Poisson samples, for which the epsilon is proven, err as shuffled batches do, from epsilon 1 on",
        "ours",
        SWEEP,
        samplers_alike,
        f"{SAME:g} less the difference of the two, either way, for every method and lambda",
        ours=True,
    ),
    Claim(
        "Here: the shuffled batches cost no more than the epsilon of the legend by what is proven",
        "ours",
        SWEEP,
        what_shuffling_proves,
        "The epsilon of the legend less that without amplification, one record replaced",
        ours=True,
    ),
]
