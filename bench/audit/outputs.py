"""The audit of outputs that any program made, on data with one unit of privacy and on the same data without it.

The program, its framework and its accountant are not known here: there are only arrays with one row per run, and the
epsilon that is claimed for them. The scores are those of the game, estimated from the outputs themselves: how far the
unit shifts their mean under their own covariance, and how far it changes the size of their deviations, by round and
over all rounds, since a leak in the scale leaves the mean where it is; and whether a run is finite.

What follows from error rates alone holds for any program. What follows for Gaussian noise without sampling is computed
as well, and refutes a claim only where somebody declares that the noise is such; where nobody says what it is, nothing
passes that this bound would refute.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import dp_accounting as dp
import numpy as np
from scipy import special, stats

from bench.audit import bounds
from bench.audit.bounds import SCALE, SHIFT, Score, Test, likelihoods
from bench.audit.report import FEWEST_RUNS, check
from bench.audit.scales import PILOT, World, pilot_of, tests_of, varying_rounds
from bench.data.read.arrays import read_arrays
from bench.errors import InputError

MOST_NUMBERS = 1 / 2  # of the pilot runs: with more numbers than this in a run, their covariance is not estimated
BYTES_EACH = 56  # of memory for a number, measured at its peak
FINITE = "finite"  # a kind of score, beside SHIFT and SCALE: whether a run is finite
FACTORS = (1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)  # by which noise could be too small
PASSING_FACTOR = 1.5  # the largest factor that a pass may leave unseen
EXTREME_EXPONENT = 200  # binary; numbers beyond, up or down, are counted in another unit: squares would overflow
IRREFUTABLE = 1e4  # an epsilon that no number of runs refutes
GAME, GAUSSIAN = "game", "Gaussian"  # the bounds
MEAN, SPREAD, TAILS = "mean", "spread", "tails"
CLEAR_ERRORS = 4.0  # standard errors from which a difference is no chance
PREMISE = "all noise is Gaussian and nothing is sampled"


class OutputsAudit(NamedTuple):
    """The audit of outputs.

    epsilon, delta: as claimed.
    bounds: name of the bound, "game" or "Gaussian" -> epsilon that it proves at that delta.
    runs: (with the unit, without it).
    rounds, numbers: files of a world, and numbers in a run.
    confidence: joint confidence level of all bounds.
    gaussian: whether all noise is declared to be Gaussian, with nothing sampled; None where nothing is declared.
    by: the kind of score that proves the most, FINITE, SHIFT or SCALE.
    too_small: by what factor the noise is too small at least, where the shift refutes the claim; else None.
    by_runs: the least of FACTORS by which the noise could be too small for the claim, and so many runs would refute
        it; inf where the largest is not enough, None where the claim is refuted, perhaps only if noise is Gaussian.
    seen: the same for these outputs, in which the unit may show less than the claim allows; at least `by_runs`.
    if_gaussian: `seen` if the noise were declared to be Gaussian.
    bare: how many numbers of a run have no noise and differ between the worlds.
    still: whether all runs of a world are the same.
    not_finite: how many runs are not finite, (with the unit, without it).
    equal: how many runs have the same outputs in a round, (with the unit, without it); 0 where that may be chance.
    shows: in what the scores of a shift differ most, in their MEAN, SPREAD or TAILS.
    """

    epsilon: float
    delta: float
    bounds: dict[str, float]
    runs: tuple[int, int]
    rounds: int
    numbers: int
    confidence: float
    gaussian: bool | None
    by: str
    too_small: float | None
    by_runs: float | None
    seen: float | None
    if_gaussian: float | None
    bare: int
    still: bool
    not_finite: tuple[int, int]
    equal: tuple[int, int]
    shows: str

    @property
    def refuted(self) -> bool:
        """Whether a bound exceeds the claimed epsilon that holds for the noise that is declared, or runs lack it."""
        return _exceeds(self.bounds, self.epsilon, self.gaussian) or bool(self.gaussian and any(self.equal))

    @property
    def passed(self) -> bool:
        """Whether nothing contradicts the claim, and noise too small by the factor PASSING_FACTOR would have."""
        flawed: bool = self.still or any(self.not_finite) or (self.gaussian is None and any(self.equal))
        return self.seen is not None and self.seen <= PASSING_FACTOR and not flawed

    def __str__(self) -> str:
        """Return the verdict first, and then what it rests on."""
        largest = max(self.bounds.values())
        claim = f"epsilon {self.epsilon:.3g} at delta {self.delta:g}"
        if self.gaussian and any(self.equal):
            verdict = f"FAILED: not all noise is Gaussian, as {claim} presumes: {self._equal_runs()}."
        elif self.refuted:
            bound = max(self.bounds, key=lambda name: self.bounds[name] if name == GAME or self.gaussian else -math.inf)
            verdict = (
                f"FAILED: {claim} is refuted, since epsilon is at least {self.bounds[bound]:.3g} ({bound}); "
                f"{self._cause()}."
            )
        elif _exceeds(self.bounds, self.epsilon, self.gaussian is None):
            verdict = (
                f"inconclusive, and FAILED if {PREMISE}: then epsilon is at least {largest:.3g}, which refutes "
                f"{claim}; {self._cause()}. Give --gaussian if it is so, and --no-gaussian if not."
            )
        elif self.gaussian is None and any(self.equal):
            verdict = (
                f"inconclusive, and FAILED if {PREMISE}: {self._equal_runs()}. Give --gaussian if it is so, and "
                "--no-gaussian if not."
            )
        elif any(self.not_finite):
            verdict = f"inconclusive: {self._not_finite_runs()}: mend the program, and run all again."
        elif self.still and not self.bare:
            verdict = (
                "inconclusive: nothing is random: all runs have the same outputs, with the unit and without it. Save "
                "what has noise, seed outside of a run, and check that the program changes its model."
            )
        elif self.passed:
            verdict = (
                f"passed: consistent with {claim}; noise {self.seen:.3g} times too small for it would have been seen. "
                "This is no proof: another attack might do better."
            )
        else:
            verdict = f"inconclusive: nothing contradicts {claim}, but {self._unseen_noise()}"
        names = {GAME: GAME, GAUSSIAN: GAUSSIAN if self.gaussian else "if Gaussian"}
        numbers = ", ".join(f"{value:.3g} ({names[name]})" for name, value in self.bounds.items())
        return "\n".join(
            [
                verdict,
                f"lower bounds on epsilon at delta {self.delta:g}: {numbers}, from {self.runs[0]:,} runs with the unit "
                f"and {self.runs[1]:,} without, {self.numbers:,} numbers a run in {self.rounds} "
                f"file{'s' * (self.rounds != 1)}; confidence {self.confidence:g}",
            ]
        )

    def _cause(self) -> str:
        """Return what shows that the claim is wrong."""
        if self.by == FINITE:
            return self._not_finite_runs()
        if self.still:
            return "nothing is random: all runs of a world have the same outputs, which differ with the unit"
        if self.bare:
            return f"{self.bare:,} of the {self.numbers:,} numbers of a run have no noise and differ with the unit"
        if self.too_small == max(FACTORS):  # no larger one is tried, and perhaps none would do
            return f"the noise is at least {self.too_small:.3g} times too small, or something has none"
        if self.too_small is not None and self.too_small > 1:
            return f"the noise is at least {self.too_small:.3g} times too small"
        return f"it shows in the {'size of the deviations' if self.by == SCALE else self.shows} of the outputs"

    def _equal_runs(self) -> str:
        (ins, outs), (n, m) = self.equal, self.runs
        return (
            f"{ins:,} of the {n:,} runs with the unit, and {outs:,} of the {m:,} without it, have the same outputs as "
            "each other in a round, so that noise is missing there or a seed was used again"
        )

    def _not_finite_runs(self) -> str:
        (ins, outs), (n, m) = self.not_finite, self.runs
        return (
            f"outputs are not finite in {ins:,} of the {n:,} runs with the unit and in {outs:,} of the {m:,} without it"
        )

    def _unseen_noise(self) -> str:
        """Return how much too small the noise could be, and what would show more."""
        assert self.seen is not None
        assert self.by_runs is not None
        limit = max(FACTORS)
        noise = f"noise {limit:g} times" if self.seen > limit else f"noise less than {self.seen:g} times"
        if self.gaussian is None and self.if_gaussian is not None and self.if_gaussian <= PASSING_FACTOR:
            remedy = f"If {PREMISE}, give --gaussian: then {self.if_gaussian:g} times too small would have been."
        elif self.by_runs > PASSING_FACTOR:
            remedy = "Give more runs, or claim the epsilon of a larger delta."
        else:
            remedy = (
                "The unit shows less than the claim allows: make it stronger (docs/audit-your-program.md), give more "
                "runs, or look for noise that is larger than needed."
            )
        return f"{noise} too small for it would not have been seen. {remedy}"


def _exceeds(lower_bounds: Mapping[str, float], epsilon: float, gaussian: bool | None) -> bool:
    """Return whether a bound exceeds an epsilon; that for Gaussian noise counts where the noise is declared so."""
    return lower_bounds[GAME] > epsilon or bool(gaussian and lower_bounds[GAUSSIAN] > epsilon)


def audit_outputs(
    with_unit: Sequence[Path | np.ndarray],
    without: Sequence[Path | np.ndarray],
    *,
    epsilon: float,
    delta: float,
    confidence: float = 0.999,
    gaussian: bool | None = None,
) -> OutputsAudit:
    """Return lower bounds on the epsilon of a program from its outputs.

    Args:
        with_unit: of runs on data with the unit, one file or array for each round: npy, or npz with one or several
            arrays, [run, ...]. A row is a run, in the same order in all files of a world.
        without: likewise of runs without it, or with another unit in its place; as many numbers in a run.
        epsilon: as claimed for all rounds together.
        delta: of the claim.
        confidence: joint confidence level: a true claim is refuted with probability at most 1 - confidence.
        gaussian: whether all noise is Gaussian and nothing is sampled, which is a claim, too, and makes a further bound
            count. None: nobody says, and nothing passes that this bound would refute.

    Raises:
        InputError: for values out of range, and outputs that cannot be used, naming the file.
    """
    check(epsilon, delta, rounds=1, runs=FEWEST_RUNS, confidence=confidence, seed=0)
    ins, outs, gaps = _worlds(with_unit, without)
    significance = (1 - confidence) / 2  # of each of the two bounds
    runs = len(ins[0]), len(outs[0])

    def bounds_of(tests: Sequence[Test]) -> dict[str, float]:
        # One bound, of the test that looks best on the pilot runs: taking the better of two bounds would be another.
        names = [GAME] if gaussian is False else [GAME, GAUSSIAN]
        return {
            name: bounds.lower_bound(tests, {delta: 1.0}, significance, gaussian=name == GAUSSIAN)[1] for name in names
        }

    def smallest_factor(normal: bool | None, tests_with: Callable[[float], Sequence[Test]]) -> float:
        place = bisect_left(FACTORS, True, key=lambda factor: _exceeds(bounds_of(tests_with(factor)), epsilon, normal))
        return (*FACTORS, math.inf)[place]

    def ideal(factor: float) -> list[Test]:
        return [_ideal_test(factor / float(dp.get_sigma_gaussian(min(epsilon, IRREFUTABLE), delta)), runs)]

    def rescaled(factor: float) -> list[Test]:
        return _outputs_tests(_rescaled(ins, 1 / factor), _rescaled(outs, 1 / factor), gaps)

    tests = _outputs_tests(ins, outs, gaps)
    groups = {kind: [test for test in tests if test.kind == kind] for kind in (FINITE, SHIFT, SCALE)}
    lower_bounds = bounds_of(tests)
    best_kind = max((kind for kind in groups if groups[kind]), key=lambda kind: tuple(bounds_of(groups[kind]).values()))
    difference = _difference(bounds.choose(groups[SHIFT], {delta: 1.0}, significance, gaussian=False).test)
    too_small = factor_of_runs = unseen_factor = factor_if_gaussian = None
    if not _exceeds(lower_bounds, epsilon, gaussian is not False):
        factor_of_runs = smallest_factor(gaussian, ideal)
        unseen_factor = max(factor_of_runs, smallest_factor(gaussian, rescaled))
        if gaussian is None:
            factor_if_gaussian = max(smallest_factor(True, ideal), smallest_factor(True, rescaled))
    elif best_kind == SHIFT and difference == MEAN:
        normal = gaussian if _exceeds(lower_bounds, epsilon, gaussian) else True
        factors = (factor for factor in reversed(FACTORS) if _exceeds(bounds_of(rescaled(1 / factor)), epsilon, normal))
        too_small = next(factors, 1.0)
    return OutputsAudit(
        epsilon,
        delta,
        lower_bounds,
        runs=runs,
        rounds=len(ins),
        numbers=sum(array.shape[1] for array in ins),
        confidence=confidence,
        gaussian=gaussian,
        by=best_kind,
        too_small=too_small,
        by_runs=factor_of_runs,
        seen=unseen_factor,
        if_gaussian=factor_if_gaussian,
        bare=sum(map(_num_noiseless, ins, outs)),
        still=not varying_rounds(ins, outs),
        not_finite=(int(gaps[0].any(1).sum()), int(gaps[1].any(1).sum())),
        equal=_equal_counts(ins, outs, gaps, significance),
        shows=difference,
    )


# ---- Reading ----


def _worlds(
    with_unit: Sequence[Path | np.ndarray], without: Sequence[Path | np.ndarray]
) -> tuple[World, World, tuple[np.ndarray, np.ndarray]]:
    """Return the outputs of both worlds, after all checks, and how many numbers are not finite, [run, round] in each.

    Those are replaced, so that all that is returned can be computed with.
    """
    if not with_unit or len(with_unit) != len(without):
        raise InputError(
            f"{len(with_unit)} files have the outputs with the unit and {len(without)} those without it: give the same "
            "number of each, one for each round"
        )
    files = 2 * len(without)
    worlds = [_read(source, files) for source in with_unit], [_read(source, files) for source in without]
    for sources, world in zip((with_unit, without), worlds, strict=True):
        for source, array in zip(sources, world, strict=True):
            if not FEWEST_RUNS <= len(array) == len(world[0]):
                raise InputError(
                    f"{_name(source)} has {len(array):,} runs: give at least {FEWEST_RUNS} in each world, and the same "
                    "for every round"
                )
    ins, outs = [], []
    for sources, inner, outer in zip(zip(with_unit, without, strict=True), *worlds, strict=True):
        if not 0 < inner.shape[1] == outer.shape[1]:
            raise InputError(
                f"{_name(sources[0])} has {inner.shape[1]:,} numbers in a run and {_name(sources[1])} has "
                f"{outer.shape[1]:,}: give what the program made public, the same in both"
            )
        finite_inner, finite_outer = _finite_outputs(inner, outer)
        if np.array_equal(finite_inner, finite_outer) and np.ptp(finite_inner, axis=0).any():
            raise InputError(
                f"{_name(sources[0])} and {_name(sources[1])} are the same, so that both worlds have the same noise: "
                "seed each of them once, differently"
            )
        ins.append(finite_inner)
        outs.append(finite_outer)
    gaps = [np.stack([(~np.isfinite(array)).sum(1) for array in world], axis=1) for world in worlds]
    return ins, outs, (gaps[0], gaps[1])


def _finite_outputs(ins: np.ndarray, outs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs [run, number] of which every square is finite, and so are all numbers.

    What is done is the same for every run, so a true claim on the outputs is true of these. Infinite numbers become the
    largest and smallest of the pilot runs, those that are none their mean, and those that are far larger are cut.
    """

    def pilot_runs() -> np.ma.MaskedArray:
        return np.ma.masked_invalid(np.concatenate(pilot_of([ins, outs])))

    exponent = np.frexp(np.ma.filled(np.abs(pilot_runs()).max(0), 0.0))[1]
    power = np.where(np.abs(exponent) > EXTREME_EXPONENT, -exponent, 0)
    limit = np.ldexp(1.0, exponent + power + EXTREME_EXPONENT)
    with np.errstate(over="ignore"):
        ins, outs = (
            np.where(np.isinf(array), array, np.clip(np.ldexp(array, power), -limit, limit)) for array in (ins, outs)
        )
    pilot = pilot_runs()
    smallest, mean, largest = pilot.min(0).filled(-1.0), pilot.mean(0).filled(0.0), pilot.max(0).filled(1.0)

    def replacement(array: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(array), mean, np.where(np.isinf(array), np.where(array > 0, largest, smallest), array))

    return replacement(ins), replacement(outs)


def _name(source: Path | np.ndarray) -> str:
    return str(source) if isinstance(source, Path) else "an array of outputs"


def _read(source: Path | np.ndarray, files: int) -> np.ndarray:
    """Return the outputs of one round as float64 [run, number]; `files` are read in all."""
    remedy = "give a file that numpy.save or numpy.savez wrote, one row for each run"
    found = read_arrays(source, _name(source), remedy, bytes_each=BYTES_EACH * files)
    arrays = [found[member] for member in sorted(found)]
    for array in arrays:
        if array.ndim < 1 or array.dtype.kind not in "biuf":
            raise InputError(
                f"{_name(source)} has {array.dtype} of shape {array.shape}: give real numbers, one row for each run"
            )
    if len({len(array) for array in arrays}) != 1:
        raise InputError(f"{_name(source)} has arrays of several lengths, or none: give a row for each run in all")
    with np.errstate(over="ignore"):  # of longer floating-point numbers, which become infinite
        flat = [array.reshape(len(array), math.prod(array.shape[1:])) for array in arrays]
        return np.concatenate([array.astype(np.float64) for array in flat], axis=1)


# ---- Scores ----


def _outputs_tests(ins: World, outs: World, gaps: tuple[np.ndarray, np.ndarray]) -> list[Test]:
    """Return tests of each kind. What they need to know of the outputs comes from the pilot runs.

    Args:
        gaps: how many numbers are not finite, [run, round] in each world.
    """
    tests = tests_of(ins, outs, _shifts(pilot_of(ins), pilot_of(outs)))
    counts = [np.column_stack([array, array.sum(1)]) for array in gaps] if any(map(np.any, gaps)) else []
    for inner, outer in zip(*(array.T for array in counts), strict=True):
        for sign in (1.0, -1.0):
            pilots = pilot_of([sign * inner, sign * outer])
            rest = sign * inner[len(pilots[0]) :], sign * outer[len(pilots[1]) :]
            tests.append(Test((pilots[0], pilots[1]), lambda rest=rest: rest, FINITE))
    return tests


def _ideal_test(distance: float, runs: tuple[int, int]) -> Test:
    """Return a test whose scores are as evenly spread as can be over two Gaussians of variance 1 that are so far apart.

    Args:
        runs: (with the unit, without it).
    """
    pilot = [int(number * PILOT) for number in runs]

    def scores(*numbers: int) -> tuple[np.ndarray, np.ndarray]:
        ins, outs = (stats.norm.ppf((np.arange(number) + 0.5) / number) for number in numbers)
        return distance + ins, outs

    return Test(scores(*pilot), partial(scores, runs[0] - pilot[0], runs[1] - pilot[1]))


def _shifts(ins: World, outs: World) -> Sequence[Score]:
    """Return scores of how the mean is shifted: the log of the likelihood ratio, for Gaussian and for Laplace noise."""
    flat_ins, flat_outs = (np.concatenate(world, axis=1) for world in (ins, outs))
    move = flat_ins.mean(0) - flat_outs.mean(0)
    if flat_ins.shape[1] <= MOST_NUMBERS * len(flat_outs):
        return likelihoods(flat_outs, (move[None], 0 * move[None]))
    variance = (flat_ins.var(0) + flat_outs.var(0)) / 2
    weights = np.divide(move, variance, out=np.zeros_like(move), where=variance > 0)
    return [lambda outputs: outputs @ weights]


def _rescaled(world: World, factor: float) -> World:
    """Return the outputs with deviations from their mean, which are taken for the noise, times a factor."""
    return [array.mean(0) + factor * (array - array.mean(0)) for array in world]


def _difference(test: Test) -> str:
    """Return in what the scores of the two worlds differ most: in their mean or spread, or else in their tails."""
    worlds = test.scores()
    peak = max(float(np.abs(world).max()) for world in worlds) or 1.0
    worlds = [world / peak for world in worlds]  # so that their squares are finite

    def errors_apart(pair: Sequence[np.ndarray]) -> float:
        """Return by how many standard errors two means differ."""
        ins, outs = pair
        error = math.sqrt(ins.var() / len(ins) + outs.var() / len(outs))
        return abs(ins.mean() - outs.mean()) / error if error else 0.0

    sizes = {MEAN: errors_apart(worlds), SPREAD: errors_apart([np.abs(world - np.median(world)) for world in worlds])}
    kind = max(sizes, key=sizes.__getitem__)
    return kind if sizes[kind] > CLEAR_ERRORS or not any(sizes.values()) else TAILS


def _equal_counts(ins: World, outs: World, gaps: tuple[np.ndarray, np.ndarray], significance: float) -> tuple[int, int]:
    """Return how many runs of each world have the same outputs as each other in a round; 0 where that may be chance.

    Numbers of few digits coincide: how often two runs do is estimated from the runs that are not the most frequent.
    """

    def largest_group(array: np.ndarray) -> int:
        counts = sorted(Counter(row.tobytes() for row in array).values())
        runs, largest = len(array), counts[-1] if counts else 0
        pairs = sum(count * (count - 1) / 2 for count in counts[:-1])
        others = max(runs - largest, 1)
        chance = min((pairs + 3) / (others * (others - 1) / 2 or 1), 1.0)  # of two runs, when pairs are Poisson
        log_choices = special.gammaln(runs + 1) - special.gammaln(largest + 1) - special.gammaln(runs - largest + 1)
        return largest if log_choices + (largest - 1) * math.log(chance) < math.log(significance / len(ins) / 2) else 0

    def largest_in_world(world: World, num_not_finite: np.ndarray) -> int:
        return max((largest_group(world[place][num_not_finite[:, place] == 0]) for place in varying), default=0)

    varying = varying_rounds(ins, outs)
    return largest_in_world(ins, gaps[0]), largest_in_world(outs, gaps[1])


def _num_noiseless(ins: np.ndarray, outs: np.ndarray) -> int:
    """Return how many numbers are the same in all runs of a world, but not in both worlds."""
    constant = (np.ptp(ins, axis=0) == 0) & (np.ptp(outs, axis=0) == 0)
    return int((constant & (ins[0] != outs[0])).sum())
