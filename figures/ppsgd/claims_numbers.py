"""What the claims of Bietti et al. 2022 compare, and the checks that no other paper has.

Curves are compared within each repetition, which removes the effect of what they share.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from bench.papers.ppsgd.theory import Measured, everybody, minimal_norm, threshold
from figures.ppsgd import common, fig1a, sampled_theory
from figures.ppsgd.common import GLOBAL, LOCAL, TUNINGS, ppsgd_runs
from figures.shared.checks import Cells, cells_of, check_single
from figures.shared.derived import derived
from figures.shared.margins import APART, Margin, computed, estimated, every, need, some
from figures.shared.runs import ended, not_empty
from figures.shared.verdicts import require

NEAR_ONE = (0.5, 2.0)  # epsilon
PRIVATE, WEAK = 10.0, 10.0  # epsilon up to which it is called private, and from which it is called weak
FAR = 10.0  # points of accuracy: what "very poorly" and "quickly degrade" mean; a threshold of ours
POINTS, LOGS = "points of accuracy", "of the logarithm of the risks' ratio"
SIGMA, ALPHA, ALONE, CALLED = "noise_multiplier", "personalization", common.ALONE, "alpha Q ="
EARLY = (20, 50)  # rounds that are called initial
SMALL = 1.0  # the largest alpha Q that is called small
LONG, CROSSING = 1000, 10.0  # rounds; the noise of the panel in which local learning passes all others
PRINTED, PROGRAM = 0.01, 0.1  # delta_std in the text of the paper, and in the authors' program
BUDGET = "target_epsilon"
POINT = {"samples": "n =", BUDGET: "epsilon"}
NUM_CLIENTS, NUM_FEATURES, LABEL_NOISE, CLIP_NORM, DELTA = Measured()


# ---- Accuracy: the step size chosen on test data, as in the paper, and on held-out data, which must agree ----


def _with_accuracy(runs: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the runs with another accuracy as their test accuracy.

    Raises:
        NotTestable: where it was not measured.
    """
    need(column == "test_accuracy" or (column in runs and runs[column].notna().any()), f"the runs have no {column}")
    return runs.assign(test_accuracy=runs[column])


@derived
def _tuned_rows(runs: pd.DataFrame, tuning: str, further: bool, column: str) -> pd.DataFrame:
    """Return the runs after their last round, at the step size that is the best for each noise and alpha Q.

    Args:
        runs: of one sweep.
        tuning: a key of TUNINGS.
        further: whether step sizes beyond the published grid count as well.
        column: of the accuracy.

    Raises:
        NotTestable: where local or global learning, or the accuracy, is missing.
    """
    rows = ended(ppsgd_runs(_with_accuracy(runs, column), further=further))
    require(rows[ALPHA], [LOCAL, GLOBAL], "alpha Q", " at the last round")
    return select.tune(rows, by=[SIGMA, ALPHA], over="step_size", on=TUNINGS[tuning], best="max")


def _epsilons(rows: pd.DataFrame) -> pd.Series:
    """Return epsilon by noise, the least noise first."""
    return rows[(rows[SIGMA] > 0) & (rows[ALPHA] > LOCAL)].groupby(SIGMA)["epsilon"].mean()


def near_one(rows: pd.DataFrame) -> list[float]:
    """Return the noise whose epsilon is nearest to 1, by their ratio.

    Raises:
        NotTestable: where it is not near 1.
    """
    epsilons = _epsilons(rows)
    need(len(epsilons), "no runs with noise")
    sigma: Any = epsilons.apply(np.log).abs().idxmin()
    need(NEAR_ONE[0] < epsilons[sigma] < NEAR_ONE[1], f"the nearest epsilon to 1 is {epsilons[sigma]:.2g}")
    return [sigma]


def private(rows: pd.DataFrame, above: float = 0.0) -> list[float]:
    """Return the noise levels of an epsilon that is called private, and above a number."""
    epsilons = _epsilons(rows)
    need((epsilons <= PRIVATE).any(), f"no runs with an epsilon of {PRIVATE:g} or less")
    return list(epsilons.index[(epsilons <= PRIVATE) & (epsilons > above)])


def weak(rows: pd.DataFrame) -> list[float]:
    """Return the noise levels 0 and the least other, the latter only if its epsilon is called weak."""
    epsilons = _epsilons(rows).head(1)
    return [0.0, *epsilons.index[epsilons >= WEAK]]


def silent(rows: pd.DataFrame) -> list[float]:
    """Return the noise level 0 alone."""
    return [0.0]


def before_and_after(rows: pd.DataFrame) -> list[float]:
    """Return the noise levels 0 and that of `near_one`."""
    return [0.0, *near_one(rows)]


def accuracy(
    runs: pd.DataFrame,
    at: Callable[[pd.DataFrame], list[float]],
    local: bool = True,
    ends: bool = False,
    further: bool = True,
    column: str = "test_accuracy",
) -> list[Cells]:
    """Final accuracy, a table for each way of tuning: alpha Q as the series, by noise.

    Args:
        runs: of one sweep.
        at: which noise, a function above.
        local: whether local learning, which has no noise, stands at each of them.
        ends: only the smallest alpha Q > 0 and global learning.
        further, column: as of `_tuned_rows`.

    Raises:
        NotTestable: where global learning or an alpha Q below it is missing at one of them.
    """
    tables = []
    for tuning in TUNINGS:
        rows = _tuned_rows(runs, tuning, further, column)
        curves = sorted(a for a in rows[ALPHA].unique() if a > LOCAL)
        curves = [curves[0], GLOBAL] if ends else curves
        rows = common.in_panels(rows, at(rows), [LOCAL, *curves] if local else curves)
        cells = _by_noise(rows, tuning)
        cells.places(GLOBAL)
        enough = all(sum(place == own for _, own in cells.values) >= 2 + local for _, place in cells.values)
        need(enough, "global learning and an alpha Q below it are needed at the same noise")
        tables.append(cells)
    return tables


def _by_noise(rows: pd.DataFrame, tuning: str, series: str = ALPHA) -> Cells:
    places = {"tuned_on": "step by", SIGMA: "sigma ="}
    return cells_of(rows.assign(tuned_on=tuning), series, places, "test_accuracy", POINTS, scale=100, called=CALLED)


def smallest(series: Sequence[float]) -> float:
    """Return the smallest alpha Q > 0."""
    return min(a for a in series if a > LOCAL)


def loses_more(cells: Cells) -> Margin:
    """Excess of global learning's loss of accuracy from no noise to the other level, over that of the smallest alpha Q
    > 0 and over ten points."""
    before, after = sorted(cells.places(GLOBAL, one := smallest(cells.series)))
    large = {(GLOBAL, before): 1, (GLOBAL, after): -1}
    small = {(one, before): -1, (one, after): 1}
    where = cells.words(after)
    return every(
        [
            cells.difference(large | small, 0.0, where, "over the smallest"),
            cells.difference(large, FAR, where, "over ten points"),
        ]
    )


def beyond_alone(runs: pd.DataFrame, column: str = "test_accuracy") -> list[Cells]:
    """Accuracy as of `accuracy` at a private epsilon, and that of users who learn alone for longer, at each of them."""
    tables, alone = [], _with_accuracy(not_empty(common.alone(runs), f"no runs of {ALONE}"), column)
    for tuning, on in TUNINGS.items():
        rows = _tuned_rows(runs, tuning, True, column)
        rows = common.in_panels(rows, private(rows), [a for a in rows[ALPHA].unique() if a > LOCAL])
        bar = select.tune(alone, by=["num_rounds"], over="step_size", on=on, best="max")
        beside = [bar.assign(**{SIGMA: sigma}) for sigma in rows[SIGMA].unique()]
        rows = pd.concat([rows.assign(name=rows[ALPHA].astype(object)), *(b.assign(name=ALONE) for b in beside)])
        tables.append(_by_noise(rows, tuning, "name"))
    return tables


def some_beyond(cells: Cells) -> Margin:
    """Lead of some alpha Q at some noise over users who learn alone."""
    return some(cells.lead(name, ALONE, place) for name, place in cells.values if name != ALONE)


def gains_more(runs: pd.DataFrame) -> Margin:
    """The largest gain of an alpha Q in between on both local and global learning, at a private epsilon, is larger on
    tags than on digits, which are two means."""
    both = [accuracy(runs[runs["sweep"] == sweep], private) for sweep in ("ppsgd_tags", "ppsgd_digits")]
    margins = []
    for tables in zip(*both, strict=True):
        (more, first, count), (less, second, number) = (_largest_gain(cells) for cells in tables)
        parts = first**2, second**2  # squared errors: Welch's test
        freedom = sum(parts) ** 2 / (parts[0] ** 2 / (count - 1) + parts[1] ** 2 / (number - 1)) if count > 1 else 1
        error = math.sqrt(sum(parts)) if min(count, number) > 1 else math.inf
        margins.append(estimated(more - less, error, freedom, min(count, number), POINTS, APART).named("largest gains"))
    return every(margins)


def _largest_gain(cells: Cells) -> tuple[float, float, int]:
    """Return the gain over the better of local and global learning at the noise and alpha Q where its mean is the
    largest: its mean, standard error, and number of repetitions."""
    gains = []
    for name, place in cells.values:
        if name not in (LOCAL, GLOBAL) and all((end, place) in cells.values for end in (LOCAL, GLOBAL)):
            bar = max((cells.values[end, place] for end in (LOCAL, GLOBAL)), key=lambda numbers: numbers.mean())
            gain = cells.values[name, place] - bar
            gains.append(gain[np.isfinite(gain)])
    gains = [gain for gain in gains if len(gain)]
    need(gains, "no repetition with local, global and intermediate learning at one noise")
    best = max(gains, key=lambda gain: gain.mean())
    return best.mean(), best.std(ddof=1) / math.sqrt(len(best)), len(best)


# ---- Risk on the synthetic stream, at the step size that is the best on average at every round, as in the figure ----


@derived
def _risk(runs: pd.DataFrame, delta_std: float, sigma: float) -> pd.DataFrame:
    """Return the runs of the figure's curves at the best step size of every round, with "log" of the risk.

    Raises:
        NotTestable: where a curve is missing.
    """
    runs = ppsgd_runs(runs)
    require(runs["delta_std"], [delta_std], "delta_std")
    runs = runs[np.isclose(runs["delta_std"], delta_std) & (runs["rounds"] > 0)]
    runs = runs[(runs[SIGMA] == sigma) | (runs[ALPHA] == LOCAL)].assign(noise_multiplier=sigma)
    require(runs[ALPHA], fig1a.CURVES, "alpha Q", f" at sigma = {sigma:g}, delta_std = {delta_std:g}")
    runs = runs[runs[ALPHA].isin(fig1a.CURVES)]
    best = select.tune(runs, by=[ALPHA, "rounds"], over="step_size", on="excess_risk", best="min", log=True)
    risk = best["excess_risk"].astype(float)
    with np.errstate(divide="ignore"):
        return best.assign(log=np.log(risk.where(np.isfinite(risk), np.inf)))


def _sigmas(runs: pd.DataFrame, noisy: bool) -> list[float]:
    """Return the noise levels above 0, or 0 alone.

    Raises:
        NotTestable: where there is no noise.
    """
    sigmas = sorted(sigma for sigma in ppsgd_runs(runs)[SIGMA].dropna().unique() if sigma > 0)
    need(sigmas or not noisy, "no runs with noise")
    return sigmas if noisy else [0.0]


def early_risk(runs: pd.DataFrame, noisy: bool) -> Cells:
    """Log risk in the initial rounds, by users' spread, noise and round."""
    deltas = sorted(ppsgd_runs(runs)["delta_std"].dropna().unique())
    rows = pd.concat([_risk(runs, delta, sigma) for sigma in _sigmas(runs, noisy) for delta in deltas])
    rows = not_empty(rows[rows["rounds"].between(*EARLY)], f"no evaluation in rounds {EARLY[0]} to {EARLY[1]}")
    places = {"delta_std": "delta_std", SIGMA: "sigma =", "rounds": "round"}
    return cells_of(rows, ALPHA, places, "log", LOGS, scale=-1, called=CALLED)


def _last_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the last round.

    Raises:
        NotTestable: where the runs end too early.
    """
    last = rows["rounds"].max()
    need(last >= LONG, f"the runs end after {last} rounds, {LONG} are needed")
    return rows[rows["rounds"] == last]


def late_risk(runs: pd.DataFrame, noisy: bool, deltas: Collection[float]) -> Cells:
    """Log risk of global learning and of small alpha Q > 0 after the last round, by users' spread and noise."""
    rows = pd.concat([_last_rows(_risk(runs, delta, sigma)) for delta in deltas for sigma in _sigmas(runs, noisy)])
    rows = rows[rows[ALPHA].between(0, SMALL, inclusive="right") | (rows[ALPHA] == GLOBAL)]
    places = {"delta_std": "delta_std", SIGMA: "sigma ="}
    return cells_of(rows, ALPHA, places, "log", LOGS, scale=-1, called=CALLED)


def over_the_floor(runs: pd.DataFrame) -> Cells:
    """Risk of global learning after the last round without noise, over the floor of the parameters drawn."""
    rows = _last_rows(_risk(runs, PRINTED, 0.0))
    rows = rows[rows[ALPHA] == GLOBAL]
    need(rows["global_floor"].notna().all(), "the floor of global learning is not among the results")
    rows = rows.assign(ratio=rows["excess_risk"] / rows["global_floor"])
    return cells_of(rows, ALPHA, {}, "ratio", "of the floor", called=CALLED)


def passings(runs: pd.DataFrame, sigma: float, leader: float) -> Cells:
    """The first evaluated round from which one curve stays below all others, or for global learning some other below
    it, by users' spread; not finite where it never does."""
    values = {}
    for delta in sorted(ppsgd_runs(runs)["delta_std"].dropna().unique()):
        rows = _risk(runs, delta, sigma)
        check_single(rows, [*select.REPETITION, "rounds", ALPHA])
        _last_rows(rows)
        logs = rows.set_index([*select.REPETITION, "rounds", ALPHA])["log"].unstack().dropna().sort_index()
        others = logs.drop(columns=leader).min(axis=1)
        below = others < logs[leader] if leader == GLOBAL else logs[leader] < others
        rounds = pd.Series(below.index.get_level_values("rounds").astype(float), index=below.index)
        behind = rounds.where(~below).groupby(level=select.REPETITION).transform("max").fillna(-np.inf)
        values[leader, (delta,)] = rounds.where(rounds > behind, np.inf).groupby(level=select.REPETITION).min()
    return Cells(values, "rounds", names=["delta_std"])


def by_spread(runs: pd.DataFrame) -> Cells:
    """The rounds of `passings` for global learning without noise, with the users' spread as the series; one that never
    comes counts as the last round, so true differences are, if anything, larger."""
    found = passings(runs, 0.0, GLOBAL).values
    need(len(found) > 1, "needs two values of delta_std")
    last = runs["rounds"].max()
    return Cells({(delta, ()): -numbers.clip(upper=last) for (_, (delta,)), numbers in found.items()}, "rounds")


# ---- The setting of the theorems ----


def under_bound(runs: pd.DataFrame, algorithm: str = "") -> Cells:
    """Risk over its bound at every point; of users of unequal size, that of an algorithm.

    Raises:
        NotTestable: where gradients were clipped, which the theorems exclude.
    """
    if algorithm:
        rows = sampled_theory.of_repetitions(runs)
        rows = not_empty(rows[rows["algorithm"] == algorithm], f"no finished run of {algorithm}")
    else:
        rows = ended(runs)
        rows = rows.assign(risk=rows["excess_risk"])
    most = rows["clipped"].max()
    need(not most > 0, f"up to {most:.2g} of the gradients were clipped, which the theorem excludes")
    rows = rows.assign(ratio=rows["risk"] / rows["bound"])
    return cells_of(rows, ALPHA, POINT, "ratio", "of the bound", called=CALLED)


def by_side(runs: pd.DataFrame, ends: bool) -> Cells:
    """Excess risk with noise by alpha, at places that say whether alpha = 0 is to be the best. ends: that is so at the
    most samples and not at the fewest, without those between; otherwise it is as (10) says."""
    rows = ended(runs[np.isfinite(runs[BUDGET])])
    if ends:
        few, most = rows["samples"].min(), rows["samples"].max()
        rows = rows[rows["samples"].isin([few, most])].assign(local=lambda r: r["samples"] == most)
    else:
        rows = rows.assign(local=rows["local_is_better"] == 1)
    need(rows["local"].nunique() > 1, "no budget with numbers of samples on both sides")
    return cells_of(rows, ALPHA, POINT | {"local": "local"}, "excess_risk", "of excess risk", scale=-1, called=CALLED)


def on_its_side(cells: Cells) -> Margin:
    """Lead of the best alpha on the side that a place names over all on the other side, at every place."""
    margins = []
    for place in dict.fromkeys(place for _, place in cells.values):
        named = [name for name, own in cells.values if own == place and (name == LOCAL) == place[-1]]
        others = [name for name, own in cells.values if own == place and (name == LOCAL) != place[-1]]
        need(named and others, "alpha Q = 0 and some alpha Q > 0 are needed at every budget and number of samples")
        margins.append(some(every(cells.lead(a, b, place) for b in others) for a in named))
    return every(margins)


def term_turns(runs: pd.DataFrame) -> Margin:
    """At every budget and number of samples: the second term of the bound does not fall with alpha where n is at least
    the threshold (10), and does not rise with it below."""
    last = ended(runs[np.isfinite(runs[BUDGET]) & (runs[ALPHA] > 0)])
    margins = []
    point: Any
    for point, rows in last.groupby([BUDGET, "samples"]):
        target, n = point
        noise_std = rows["noise_multiplier"].iloc[0] * rows["clip_norm"].iloc[0] / NUM_CLIENTS
        terms = [_second_term(a / NUM_CLIENTS, int(n), noise_std) for a in sorted({0.0, *rows[ALPHA]})]
        # (10) with the noise that was calibrated: its constant is that of (4).
        constant = noise_std * NUM_CLIENTS * target / (CLIP_NORM * math.sqrt(n * math.log(1 / DELTA)))
        limit = threshold(NUM_CLIENTS, LABEL_NOISE**2, NUM_FEATURES, CLIP_NORM, target, DELTA, constant)
        steps = (1 if n >= limit else -1) * np.diff(terms) / max(terms)
        margins.append(computed(steps.min(), "of the term").named(f"epsilon {target:g}, n = {n:g}"))
    need(margins, "no budget")
    return every(margins)


def _second_term(alpha: float, num_rounds: int, noise_std: float) -> float:
    """Return the second term of the bound of Theorem 4.5 at the minimiser of least norm, users alike."""
    bounds = [
        everybody(
            alpha,
            num_clients=NUM_CLIENTS,
            num_rounds=num_rounds,
            smoothness=smoothness,
            norm=minimal_norm(1.0, alpha, NUM_CLIENTS),
            variance_w=LABEL_NOISE**2,
            variance_local=LABEL_NOISE**2,
            dimension=NUM_FEATURES,
            noise_std=noise_std,
        ).bound
        for smoothness in (1.0, 2.0)
    ]
    return 2 * bounds[0] - bounds[1]  # the first term is proportional to the smoothness


def cost_of_privacy(runs: pd.DataFrame) -> Cells:
    """The risk of global learning that each algorithm minimises after the most rounds, over that without noise, by
    epsilon. Other ratios are in units of the algorithm's own divisor, so the two do not share them."""
    rows = sampled_theory.of_repetitions(runs)
    rows = rows[(rows["samples"] == rows["samples"].max()) & np.isinf(rows[ALPHA])]
    free = rows[np.isinf(rows[BUDGET])]
    rows = rows[np.isfinite(rows[BUDGET])].merge(free, on=["algorithm", *select.REPETITION], suffixes=("", "_free"))
    rows = rows.assign(cost=rows["risk"] - rows["risk_free"])
    return cells_of(rows, "algorithm", {BUDGET: "epsilon"}, "cost", "of excess risk")


def by_sampling(runs: pd.DataFrame) -> Cells:
    """Log risk averaged over users without noise after equally many examples, of all users in each round and of some,
    at the best settings."""
    last = ended(runs[(runs["noise_multiplier"] == 0) & (runs[ALPHA] > 0)])
    last = last.assign(setting=last.groupby([ALPHA, "clip_norm", "step_size"]).ngroup())
    best = select.tune(last, by=["algorithm"], over="setting", on="excess_risk", best="min", log=True)
    best = best.drop(columns="edge").assign(log=np.log(best["excess_risk"].astype(float)))
    return cells_of(best, "algorithm", {}, "log", LOGS, scale=-1)
