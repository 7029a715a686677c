"""How runs on the synthetic stream decide what Bietti et al. 2022 claim of Figure 1a.

Every repetition is judged by itself, so that what all its curves share (the parameters drawn) does not blur the
comparison; the step size is the one that is best on average, at every round, as in the figure.
"""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import fig1a as fig1a
from figures.ppsgd.common import GLOBAL, LOCAL, ppsgd_runs
from figures.shared.derived import derived
from figures.shared.margins import EACH, measured, paired
from figures.shared.verdicts import NotTestable, Verdict, repeated, require, spread, verdict

EARLY = (20, 50)  # rounds of the claim on the early order
CROSSING = (150, 320)
LONG = 1000
LOGS = "of the logarithm of the risks' ratio"


@derived
def _risk(runs: pd.DataFrame, delta_std: float, sigma: float, until: int = 0) -> pd.DataFrame:
    """Excess risk of the figure's curves: rows (trial, seed, rounds), a column per alpha Q; infinite where it diverged.

    Only repetitions and rounds of which all curves are there.

    Raises:
        NotTestable: where a curve is missing, there is one repetition, or the runs end before round `until`.
    """
    runs = ppsgd_runs(runs)
    require(runs["delta_std"], [delta_std], "delta_std")
    runs = runs[np.isclose(runs["delta_std"], delta_std) & (runs["rounds"] > 0)]
    runs = runs[(runs["noise_multiplier"] == sigma) | (runs["personalization"] == LOCAL)]
    where = f" at sigma = {sigma:g}, delta_std = {delta_std:g}"
    require(runs["personalization"], fig1a.CURVES, "alpha Q", where)
    runs = runs[runs["personalization"].isin(fig1a.CURVES)]
    best = select.tune(runs, by=["personalization", "rounds"], over="step_size", on="excess_risk", best="min", log=True)
    best = best.set_index([*select.REPETITION, "rounds", "personalization"])["excess_risk"].astype(float)
    if best.index.has_duplicates:
        raise NotTestable(f"the results hold several runs of one repetition{where}: which is meant is open")
    risk = best.where(np.isfinite(best), np.inf).unstack().dropna().sort_index()
    repeated(len(risk.groupby(level=select.REPETITION)))
    last = risk.index.get_level_values("rounds").max()
    if last < until:
        raise NotTestable(f"the runs end after {last} rounds, {until} are needed")
    return risk


def _deltas(runs: pd.DataFrame) -> list[float]:
    return sorted(ppsgd_runs(runs)["delta_std"].dropna().unique())


def _at_end(risk: pd.DataFrame) -> pd.DataFrame:
    """The last round's values, by repetition."""
    rounds = risk.index.get_level_values("rounds")
    return risk[rounds == rounds.max()].droplevel("rounds")


def early_order(runs: pd.DataFrame) -> Verdict:
    """sigma = 0, rounds 20 to 50: global < 3 < 1 < 0.3 < local on (geometric) average, for each delta_std."""
    order, evidence, holds, margins = sorted(fig1a.CURVES, reverse=True), [], True, []
    for delta in _deltas(runs):
        risk = _risk(runs, delta, 0.0)[order]
        risk = risk[risk.index.get_level_values("rounds").isin(range(EARLY[0], EARLY[1] + 1))]
        if risk.empty:
            raise NotTestable(f"no evaluation in rounds {EARLY[0]} to {EARLY[1]}")
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = (risk.shift(-1, axis=1) / risk).apply(np.log).iloc[:, :-1]
            means = gaps.groupby(level="rounds").mean().where(gaps.notna().groupby(level="rounds").all(), -np.inf)
        row, column = map(int, np.unravel_index(means.to_numpy().argmin(), means.shape))
        at, above, below = means.index[row], order[column], order[column + 1]
        holds &= bool((means > 0).all(axis=None))
        margins += [paired(column, LOGS) for _, rows in gaps.groupby(level="rounds") for _, column in rows.items()]
        smallest = gaps.loc[gaps.index.get_level_values("rounds") == at, above].apply(np.exp)
        evidence.append(
            f"delta_std {delta:g}: the closest neighbours are alpha Q = {above:g} and {below:g} at round {at}, "
            f"risk of the second over the first {spread(smallest)}"
        )
    return verdict(holds, "; ".join(evidence), margins)


def plateau(runs: pd.DataFrame) -> Verdict:
    """delta_std = 0.1, sigma = 0: global stops at the floor of the drawn parameters, all others go below it."""
    end = _at_end(_risk(runs, 0.1, 0.0, until=LONG))
    here = ppsgd_runs(runs)
    floors = here[np.isclose(here["delta_std"], 0.1)].groupby(select.REPETITION)["global_floor"].first()
    floor = floors.reindex(end.index)
    if floor.isna().any():
        raise NotTestable("the floor of global learning is not among the results")
    ratio, others = end[GLOBAL] / floor, end.drop(columns=GLOBAL).max(axis=1) / floor
    holds = bool(ratio.between(0.9, 1.1).all() and (others < 1).all())
    margins = [measured(one.min(), "of the floor", EACH) for one in (0.1 - (ratio - 1).abs(), 1 - others)]
    return verdict(
        holds,
        f"global ends at {spread(ratio, '.4f')} of the floor (of {floor.min():.3g} to {floor.max():.3g}); "
        f"the largest of the others ends at {spread(others)} of it",
        margins,
    )


def plateau_as_published(runs: pd.DataFrame) -> Verdict:
    """The same at the paper's own delta_std = 0.01: some alpha Q < inf is below global after 1,000 rounds."""
    logs = _at_end(_risk(runs, 0.01, 0.0, until=LONG)).apply(np.log)
    best: Any = logs.drop(columns=GLOBAL).mean().idxmin()
    ratio = (logs[best] - logs[GLOBAL]).apply(np.exp)
    return verdict(
        bool(logs[best].mean() < logs[GLOBAL].mean()),
        f"global ends at {np.exp(logs[GLOBAL].mean()):.3g}; the best other, alpha Q = {best:g}, "
        f"at {spread(ratio)} of that",
        [paired(logs[GLOBAL] - logs[best], LOGS)],
    )


def crossings(runs: pd.DataFrame, delta_std: float, sigma: float, until: int = 0) -> pd.Series:
    """By repetition, the first evaluated round from which local learning stays below all others; inf if never."""
    risk = _risk(runs, delta_std, sigma, until)
    ahead = risk[LOCAL] < risk.drop(columns=LOCAL).min(axis=1)
    rounds = pd.Series(ahead.index.get_level_values("rounds").astype(float), index=ahead.index)
    behind = rounds.where(~ahead).groupby(level=select.REPETITION).transform("max").fillna(-np.inf)
    return rounds.where(rounds > behind, np.inf).groupby(level=select.REPETITION).min()


def crossing_time(runs: pd.DataFrame) -> Verdict:
    """sigma = 10: local learning passes all others between rounds 150 and 320, in every repetition."""
    holds, evidence, margins = True, [], []
    for delta in _deltas(runs):
        at = crossings(runs, delta, 10.0, until=CROSSING[1])
        holds &= bool(at.between(*CROSSING).all())
        margins.append(measured(np.minimum(at - CROSSING[0], CROSSING[1] - at).min(), "rounds", EACH))
        evidence.append(f"delta_std {delta:g}: round {spread(at, '.0f', 'never')}")
    return verdict(holds, "; ".join(evidence), margins)


def crossing_order(runs: pd.DataFrame) -> Verdict:
    """The round at which local learning passes all others falls as sigma grows, on average over repetitions.

    Two noise levels may be alike at the ends only: both never within these rounds, or both before the first
    evaluation.
    """
    noise = ppsgd_runs(runs)["noise_multiplier"]
    sigmas = sorted(noise[noise > 0].unique())
    if len(sigmas) < 3:
        raise NotTestable(f"needs three noise levels above 0, there are {len(sigmas)}")
    holds, evidence, margins = True, [], []
    for delta in _deltas(runs):
        at = [crossings(runs, delta, sigma) for sigma in sigmas]
        means = [times.mean() for times in at]
        first = runs.loc[runs["rounds"] > 0, "rounds"].min()
        reached = {mean for mean in means if np.isfinite(mean)}
        if len(reached) < 2:
            raise NotTestable("local passes the others within these rounds at fewer than two different moments")
        holds &= all(b < a or a == b in (first, np.inf) for a, b in itertools.pairwise(means))
        margins += [
            paired(later - earlier if np.isfinite(later.mean()) else [np.inf], "rounds")
            for later, earlier in itertools.pairwise(at)
            if not later.mean() == earlier.mean() in (first, np.inf)
        ]
        rounds = ", ".join(f"{s:g} at {spread(t, '.0f', 'never')}" for s, t in zip(sigmas, at, strict=True))
        evidence.append(f"delta_std {delta:g}: sigma {rounds}")
    return verdict(holds, "; ".join(evidence), margins)
