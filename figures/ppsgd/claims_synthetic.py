"""Checks of the claims of Bietti et al. 2022 on Figure 1a, by runs on the synthetic stream.

Curves are compared within each repetition, which removes the effect of the parameters drawn that they share. The step
size is the best on average at every round, as in the figure.
"""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.ppsgd import fig1a as fig1a
from figures.ppsgd.common import GLOBAL, LOCAL, ppsgd_runs
from figures.shared.derived import derived
from figures.shared.margins import Margin, every, paired, some
from figures.shared.verdicts import NotTestable, Verdict, require, spread, verdict

SETTINGS = ["delta_std", "noise_multiplier", "personalization", "step_size"]
EARLY = (20, 50)  # rounds that are called initial
SMALL = 1.0  # the largest alpha Q that is called small
CROSSING = (150, 320)
LONG, LONGER = 1000, 4000
PRINTED = 0.01  # delta_std in the text of the paper
LOGS = "of the logarithm of the risks' ratio"


@derived
def _tuned(runs: pd.DataFrame, delta_std: float, sigma: float) -> pd.DataFrame:
    """Return the runs of the figure's curves at the best step size of every round.

    Raises:
        NotTestable: where a curve is missing.
    """
    runs = ppsgd_runs(runs)
    require(runs["delta_std"], [delta_std], "delta_std")
    runs = runs[[*select.REPETITION, *SETTINGS, "rounds", "excess_risk"]]
    runs = runs[np.isclose(runs["delta_std"], delta_std) & (runs["rounds"] > 0)]
    runs = runs[(runs["noise_multiplier"] == sigma) | (runs["personalization"] == LOCAL)]
    where = f" at sigma = {sigma:g}, delta_std = {delta_std:g}"
    require(runs["personalization"], fig1a.CURVES, "alpha Q", where)
    runs = runs[runs["personalization"].isin(fig1a.CURVES)]
    return select.tune(runs, by=["personalization", "rounds"], over="step_size", on="excess_risk", best="min", log=True)


def _edges(runs: pd.DataFrame, delta_std: float, sigma: float, rounds: Iterable[int] | None = None) -> list[str]:
    """Return the edges of the grid of steps behind the curves, in some rounds or in the last."""
    tuned = _tuned(runs, delta_std, sigma)
    shown = tuned["rounds"].isin([tuned["rounds"].max()] if rounds is None else list(rounds))
    edges = tuned[shown & (tuned["edge"] != "")].drop_duplicates(["personalization", "edge"])
    return [f"alpha Q = {row.personalization:g}: {row.edge}" for row in edges.itertuples()]


@derived
def _risk(runs: pd.DataFrame, delta_std: float, sigma: float, until: int = 0) -> pd.DataFrame:
    """Excess risk of the figure's curves: rows (trial, seed, rounds), a column per alpha Q; infinite where it diverged.

    Only repetitions and rounds with all curves are kept. `_edges` has the edges of the grid of steps.

    Raises:
        NotTestable: where a curve is missing, or the runs end before round `until`.
    """
    best, where = _tuned(runs, delta_std, sigma), f" at sigma = {sigma:g}, delta_std = {delta_std:g}"
    best = best.set_index([*select.REPETITION, "rounds", "personalization"])["excess_risk"].astype(float)
    if best.index.has_duplicates:
        raise NotTestable(f"the results have several runs of the same repetition{where}, which is ambiguous")
    risk = best.where(np.isfinite(best), np.inf).unstack().dropna().sort_index()
    if risk.empty:
        raise NotTestable(f"no repetition has all curves{where}")
    last = risk.index.get_level_values("rounds").max()
    if last < until:
        raise NotTestable(f"the runs end after {last} rounds, {until} are needed")
    return risk


def _deltas(runs: pd.DataFrame) -> list[float]:
    return sorted(ppsgd_runs(runs)["delta_std"].dropna().unique())


def _at_end(risk: pd.DataFrame) -> pd.DataFrame:
    """Return the last round's values, by repetition."""
    rounds = risk.index.get_level_values("rounds")
    return risk[rounds == rounds.max()].droplevel("rounds")


def _noises(runs: pd.DataFrame) -> list[float]:
    noise = ppsgd_runs(runs)["noise_multiplier"]
    return sorted(noise.dropna().unique())


def _global_first(runs: pd.DataFrame, delta: float, sigma: float) -> Margin:
    """Return by how much the risk of global learning is below every other's in the first rounds, on a logarithmic
    scale."""
    risk = _risk(runs, delta, sigma)
    early = risk[risk.index.get_level_values("rounds").isin(range(EARLY[0], EARLY[1] + 1))]
    if early.empty:
        raise NotTestable(f"no evaluation in rounds {EARLY[0]} to {EARLY[1]}")
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = early.drop(columns=GLOBAL).div(early[GLOBAL], axis=0).apply(np.log)
    comparisons = [
        paired(rows[a], LOGS).named(f"round {number}", f"alpha Q = inf below {a:g}")
        for number, rows in gaps.groupby(level="rounds")
        for a in gaps
    ]
    edges = _edges(runs, delta, sigma, range(EARLY[0], EARLY[1] + 1))
    return every(comparisons).on(*edges).named(f"delta_std {delta:g}", f"sigma = {sigma:g}" * bool(sigma))


def fastest_at_first(runs: pd.DataFrame) -> Verdict:
    """sigma = 0, rounds 20 to 50: global learning has the lowest risk, for each delta_std."""
    margins = [_global_first(runs, delta, 0.0) for delta in _deltas(runs)]
    return verdict(every(margins), f"rounds {EARLY[0]} to {EARLY[1]}, smallest log ratio: " + _listed(margins))


def fastest_under_noise(runs: pd.DataFrame) -> Verdict:
    """Return the same at every noise level above 0."""
    sigmas = [sigma for sigma in _noises(runs) if sigma > 0]
    if not sigmas:
        raise NotTestable("no runs with noise")
    margins = [_global_first(runs, delta, sigma) for sigma in sigmas for delta in _deltas(runs)]
    return verdict(every(margins), f"rounds {EARLY[0]} to {EARLY[1]}, smallest log ratio: " + _listed(margins))


def _listed(margins: list[Margin]) -> str:
    return ", ".join(f"{margin.comparison}: {margin.value:+.3g}" for margin in margins)


def global_stops(runs: pd.DataFrame) -> Verdict:
    """Return the paper's own delta_std = 0.01, sigma = 0: after the last round global learning is at its floor."""
    end = _at_end(_risk(runs, PRINTED, 0.0, until=LONG))[GLOBAL]
    floor = _floors(runs, PRINTED).reindex(end.index)
    if floor.isna().any():
        raise NotTestable("the floor of global learning is not among the results")
    ratio = end / floor
    gaps = {"above 0.9 of the floor": ratio - 0.9, "below 1.1 of the floor": 1.1 - ratio}
    margin = every(paired(gap, "of the floor").named(words) for words, gap in gaps.items())
    said = f"global ends at {spread(ratio, '.4f')} of the floor (of {floor.min():.3g} to {floor.max():.3g})"
    return verdict(margin.on(*_edges(runs, PRINTED, 0.0)), said)


def _floors(runs: pd.DataFrame, delta_std: float) -> pd.Series:
    """Return the floor of global learning by repetition."""
    here = ppsgd_runs(runs)
    return here[np.isclose(here["delta_std"], delta_std)].groupby(select.REPETITION)["global_floor"].first()


def small_is_better_later(runs: pd.DataFrame) -> Verdict:
    """delta_std = 0.01: after the last round some small alpha Q > 0 has a lower risk than global learning, at every
    noise level."""
    margins, evidence = [], []
    for sigma in _noises(runs):
        logs = _at_end(_risk(runs, PRINTED, sigma, until=LONG)).apply(np.log)
        small = [a for a in map(float, map(str, logs)) if LOCAL < a <= SMALL]
        found = some(paired(logs[GLOBAL] - logs[a], LOGS).named(f"alpha Q = {a:g}") for a in small)
        margins.append(found.on(*_edges(runs, PRINTED, sigma)).named(f"sigma = {sigma:g}"))
        best: Any = logs[small].mean().idxmin()
        ratio = np.exp((logs[best] - logs[GLOBAL]).mean())
        evidence.append(f"sigma {sigma:g}: alpha Q = {best:g} at {ratio:.3g} times the risk of global learning")
    return verdict(every(margins), "; ".join(evidence))


def earlier_with_spread(runs: pd.DataFrame) -> Verdict:
    """sigma = 0: the round from which some alpha Q < inf stays below global learning comes the earlier, the more users
    differ. One that never comes counts as the last round, so true differences are, if anything, larger."""
    deltas, last = _deltas(runs), runs["rounds"].max()
    if len(deltas) < 2:
        raise NotTestable("needs two values of delta_std")
    at = {delta: _passed(_risk(runs, delta, 0.0, until=LONG)) for delta in deltas}
    margins = [
        paired(at[less].clip(upper=last) - at[more].clip(upper=last), "rounds").named(
            f"delta_std {less:g} after {more:g}"
        )
        for less, more in itertools.pairwise(deltas)
    ]
    said = ", ".join(f"delta_std {delta:g} from round {spread(first, '.0f', 'never')}" for delta, first in at.items())
    return verdict(every(margins), f"some alpha Q < inf stays below global learning: {said}")


def _passed(risk: pd.DataFrame) -> pd.Series:
    """Return by repetition, the first evaluated round from which some alpha Q < inf stays below global learning; inf if
    never."""
    return _from_then_on(risk.drop(columns=GLOBAL).min(axis=1) < risk[GLOBAL])


def early_order(runs: pd.DataFrame) -> Verdict:
    """sigma = 0, rounds 20 to 50: global < 3 < 1 < 0.3 < local on (geometric) average, for each delta_std."""
    order, evidence, margins = sorted(fig1a.CURVES, reverse=True), [], []
    early = range(EARLY[0], EARLY[1] + 1)
    for delta in _deltas(runs):
        risk = _risk(runs, delta, 0.0)[order]
        risk = risk[risk.index.get_level_values("rounds").isin(early)]
        if risk.empty:
            raise NotTestable(f"no evaluation in rounds {EARLY[0]} to {EARLY[1]}")
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps = (risk.shift(-1, axis=1) / risk).apply(np.log).iloc[:, :-1]
            means = gaps.groupby(level="rounds").mean().where(gaps.notna().groupby(level="rounds").all(), -np.inf)
        row, column = map(int, np.unravel_index(means.to_numpy().argmin(), means.shape))
        at, above, below = means.index[row], order[column], order[column + 1]
        comparisons = [
            paired(rows[above], LOGS).named(f"round {number}", f"alpha Q = {above:g} below {below:g}")
            for number, rows in gaps.groupby(level="rounds")
            for above, below in itertools.pairwise(order)
        ]
        margins.append(every(comparisons).on(*_edges(runs, delta, 0.0, early)).named(f"delta_std {delta:g}"))
        smallest = gaps.loc[gaps.index.get_level_values("rounds") == at, above].apply(np.exp)
        evidence.append(
            f"delta_std {delta:g}: the closest neighbours are alpha Q = {above:g} and {below:g} at round {at}, "
            f"risk of the second over the first {spread(smallest)}"
        )
    return verdict(every(margins), "; ".join(evidence))


def plateau(runs: pd.DataFrame) -> Verdict:
    """delta_std = 0.1, sigma = 0: global stops at the floor of the drawn parameters, all others go below it."""
    end = _at_end(_risk(runs, 0.1, 0.0, until=LONG))
    floor = _floors(runs, 0.1).reindex(end.index)
    if floor.isna().any():
        raise NotTestable("the floor of global learning is not among the results")
    ratio, others = end[GLOBAL] / floor, end.drop(columns=GLOBAL).div(floor, axis=0)
    gaps = {"global above 0.9 of the floor": ratio - 0.9, "global below 1.1 of the floor": 1.1 - ratio}
    gaps |= {f"alpha Q = {a:g} below the floor": 1 - column for a, column in others.items()}
    margin = every(paired(gap, "of the floor").named(words) for words, gap in gaps.items())
    return verdict(
        margin.on(*_edges(runs, 0.1, 0.0)),
        f"global ends at {spread(ratio, '.4f')} of the floor (of {floor.min():.3g} to {floor.max():.3g}); "
        f"the largest of the others ends at {spread(others.max(axis=1))} of it",
    )


def plateau_as_published(runs: pd.DataFrame, until: int = LONG) -> Verdict:
    """At the paper's own delta_std = 0.01, sigma = 0: some alpha Q < inf is below global after the last round."""
    logs = _at_end(_risk(runs, PRINTED, 0.0, until=until)).apply(np.log)
    others = logs.drop(columns=GLOBAL)
    best: Any = others.mean().idxmin()
    ratio = (logs[best] - logs[GLOBAL]).apply(np.exp)
    margin = some(paired(logs[GLOBAL] - other, LOGS).named(f"alpha Q = {a:g}") for a, other in others.items())
    return verdict(
        margin.on(*_edges(runs, PRINTED, 0.0)),
        f"global ends at {np.exp(logs[GLOBAL].mean()):.3g}; the best other, alpha Q = {best:g}, "
        f"at {spread(ratio)} of that",
    )


def plateau_later(runs: pd.DataFrame) -> Verdict:
    """Return the same in runs of at least 4,000 rounds."""
    return plateau_as_published(runs, until=LONGER)


def crossings(runs: pd.DataFrame, delta_std: float, sigma: float, until: int = 0) -> pd.Series:
    """Return by repetition, the first evaluated round from which local learning stays below all others; inf if
    never."""
    risk = _risk(runs, delta_std, sigma, until)
    return _from_then_on(risk[LOCAL] < risk.drop(columns=LOCAL).min(axis=1))


def _from_then_on(ahead: pd.Series) -> pd.Series:
    """Return by repetition, the first evaluated round from which a condition is always met; inf if never."""
    rounds = pd.Series(ahead.index.get_level_values("rounds").astype(float), index=ahead.index)
    behind = rounds.where(~ahead).groupby(level=select.REPETITION).transform("max").fillna(-np.inf)
    return rounds.where(rounds > behind, np.inf).groupby(level=select.REPETITION).min()


def crossing_time(runs: pd.DataFrame) -> Verdict:
    """sigma = 10: local learning passes all others between rounds 150 and 320, on average over repetitions."""
    margins: list[Margin] = []
    evidence = []
    for delta in _deltas(runs):
        at = crossings(runs, delta, 10.0, until=CROSSING[1])
        gaps = {f"after {CROSSING[0]}": at - CROSSING[0], f"before {CROSSING[1]}": CROSSING[1] - at}
        both = every(paired(gap, "rounds").named(words) for words, gap in gaps.items())
        margins.append(both.on(*_edges(runs, delta, 10.0, range(*CROSSING))).named(f"delta_std {delta:g}"))
        evidence.append(f"delta_std {delta:g}: round {spread(at, '.0f', 'never')}")
    return verdict(every(margins), "; ".join(evidence))


def crossing_order(runs: pd.DataFrame) -> Verdict:
    """Return the round at which local learning passes all others falls as sigma grows, on average over repetitions.

    Two noise levels may only be alike at the ends: both never cross within these rounds, or both cross before the first
    evaluation. A crossing that never comes counts as one at the last round, so true differences are, if anything,
    larger.
    """
    noise = ppsgd_runs(runs)["noise_multiplier"]
    sigmas = sorted(noise[noise > 0].unique())
    if len(sigmas) < 3:
        raise NotTestable(f"needs three noise levels above 0, there are {len(sigmas)}")
    evidence, margins, rounds = [], [], runs.loc[runs["rounds"] > 0, "rounds"]
    first, last = rounds.min(), rounds.max()
    for delta in _deltas(runs):
        at = [crossings(runs, delta, sigma) for sigma in sigmas]
        means = [times.mean() for times in at]
        reached = {mean for mean in means if np.isfinite(mean)}
        if len(reached) < 2:
            raise NotTestable("local passes the others within these rounds at fewer than two different moments")
        margins += [
            paired(later.clip(upper=last) - earlier.clip(upper=last), "rounds").named(
                f"delta_std {delta:g}", f"sigma {less:g} after {more:g}"
            )
            for (less, later), (more, earlier) in itertools.pairwise(zip(sigmas, at, strict=True))
            if not later.mean() == earlier.mean() in (first, np.inf)
        ]
        by_sigma = ", ".join(f"{s:g} at {spread(t, '.0f', 'never')}" for s, t in zip(sigmas, at, strict=True))
        evidence.append(f"delta_std {delta:g}: sigma {by_sigma}")
    return verdict(every(margins), "; ".join(evidence))
