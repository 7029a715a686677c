"""The audit of outputs that any program made, on data with one unit of privacy and on the same data without it.

The program, its framework and its accountant are not known here: there are only arrays with one row per run, and the
epsilon that is claimed for them. The scores are those of the game, estimated from the outputs themselves: how far the
unit shifts their mean under their own covariance, and how far it changes the size of their deviations, by round and
over all rounds, since a leak in the scale leaves the mean where it is.
"""

import math
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.audit import bounds
from bench.audit.bounds import SCALE, SHIFT, Test, likelihoods
from bench.audit.findings import FACTORS
from bench.audit.game import PILOT
from bench.audit.report import FEWEST_RUNS, check
from bench.audit.scales import World, scales
from bench.errors import InputError

STARTS = (b"\x93NUMPY", b"PK")  # the first bytes of npy and of npz
SHARE = 1 / 2  # of the pilot runs: with more numbers than this in a run, their covariance is not estimated


class OutputsAudit(NamedTuple):
    """The audit of outputs.

    epsilon, delta: as claimed.
    bounds: name of the bound -> epsilon that it proves at that delta.
    runs: in each of the two worlds; the smaller number.
    rounds, numbers: files of a world, and numbers in a run.
    confidence: joint confidence level of all bounds.
    by: the kind of score that proves the most, SHIFT or SCALE.
    too_small: by what factor the noise is too small at least, where the shift refutes the claim; else None.
    seen: the least factor by which the noise could be smaller for this audit to see it; inf where a quarter of the
        noise would not be seen, None where the claim is refuted.
    bare: how many numbers of a run have no noise and differ between the worlds.
    """

    epsilon: float
    delta: float
    bounds: dict[str, float]
    runs: int
    rounds: int
    numbers: int
    confidence: float
    by: str
    too_small: float | None
    seen: float | None
    bare: int

    @property
    def refuted(self) -> bool:
        """Whether some bound exceeds the claimed epsilon."""
        return max(self.bounds.values()) > self.epsilon

    def __str__(self) -> str:
        """Return the verdict first, and then what it rests on."""
        most = max(self.bounds, key=lambda name: self.bounds[name])
        proven = self.bounds[most]
        claim = f"epsilon {self.epsilon:.3g} at delta {self.delta:g}"
        if self.refuted:
            if self.bare:
                cause = f"{self.bare:,} of the {self.numbers:,} numbers of a run have no noise and differ with the unit"
            elif self.too_small == max(FACTORS):  # no larger one is tried, and perhaps none would do
                cause = f"the noise is at least {self.too_small:.3g} times too small, or something has none"
            elif self.too_small is not None and self.too_small > 1:
                cause = f"the noise is at least {self.too_small:.3g} times too small"
            else:
                cause = f"it shows in the {'size of the deviations' if self.by == SCALE else 'mean'} of the outputs"
            first = f"FAILED: {claim} is refuted, since epsilon is at least {proven:.3g} ({most}); {cause}."
        elif self.seen == math.inf:
            first = (
                f"inconclusive: nothing contradicts {claim}, but even a quarter of the noise would not have been seen. "
                + (
                    "Give more runs, or outputs in which the unit shows more."
                    if proven > 0
                    else "Nothing shows the unit: make it stronger (docs/audit-your-program.md), or give more runs."
                )
            )
        else:
            first = (
                f"passed: consistent with {claim}; noise {self.seen:.3g} times smaller would have been seen. This is "
                "no proof: another attack might do better."
            )
        numbers = ", ".join(f"{value:.3g} ({name})" for name, value in self.bounds.items())
        return "\n".join(
            [
                first,
                f"lower bounds on epsilon at delta {self.delta:g}: {numbers}, from {self.runs:,} runs with the unit "
                f"and as many without, {self.numbers:,} numbers a run in {self.rounds} file{'s' * (self.rounds != 1)}; "
                f"confidence {self.confidence:g}",
            ]
        )


def audit_outputs(
    with_unit: Sequence[Path | np.ndarray],
    without: Sequence[Path | np.ndarray],
    *,
    epsilon: float,
    delta: float,
    confidence: float = 0.999,
    gaussian: bool = False,
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
            possible.

    Raises:
        InputError: for values out of range, and outputs that cannot be used, naming the file.
    """
    check(epsilon, delta, rounds=1, runs=FEWEST_RUNS, canaries=0, confidence=confidence, seed=0)
    ins, outs = _worlds(with_unit, without)
    significance = (1 - confidence) / (2 if gaussian else 1)

    def counted(tests: list[Test]) -> float:
        return bounds.counted(tests, {delta: 0.0}, significance)[1]

    def proven(tests: dict[str, list[Test]]) -> dict[str, float]:
        # One bound, of the test that looks best on the pilot runs: taking the better of two bounds would be another.
        every = [test for kind in tests.values() for test in kind]
        results = {"game": counted(every)}
        if gaussian:
            results["Gaussian"] = bounds.gaussian(every, delta, significance)
        return results

    tests = _tests(ins, outs)
    found = proven(tests)
    by = max((kind for kind in tests if tests[kind]), key=lambda kind: (counted(tests[kind]), kind))
    refuted = max(found.values()) > epsilon

    def would_refute(factor: float) -> bool:
        return max(proven(_tests(_with_noise(ins, factor), _with_noise(outs, factor))).values()) > epsilon

    too_small, seen = None, None
    if refuted and by == SHIFT:
        too_small = next((factor for factor in sorted(FACTORS, reverse=True) if would_refute(factor)), 1.0)
    elif not refuted:
        seen = next((factor for factor in FACTORS if would_refute(1 / factor)), math.inf)
    return OutputsAudit(
        epsilon,
        delta,
        found,
        runs=min(len(ins[0]), len(outs[0])),
        rounds=len(ins),
        numbers=sum(part.shape[1] for part in ins),
        confidence=confidence,
        by=by,
        too_small=too_small,
        seen=seen,
        bare=sum(map(_bare, ins, outs)),
    )


# ---- Reading ----


def _worlds(with_unit: Sequence[Path | np.ndarray], without: Sequence[Path | np.ndarray]) -> tuple[World, World]:
    """Return the outputs of both worlds, after all checks."""
    if not with_unit or len(with_unit) != len(without):
        raise InputError(
            f"{len(with_unit)} files have the outputs with the unit and {len(without)} those without it: give the same "
            "number of each, one for each round"
        )
    given = [source for source in (*with_unit, *without) if isinstance(source, Path)]
    if twice := [path for place, path in enumerate(given) if path in given[:place]]:
        raise InputError(f"{twice[0]} is given twice: give the files with the unit, and then as many others without it")
    worlds = [_read(source) for source in with_unit], [_read(source) for source in without]
    for sources, world in zip((with_unit, without), worlds, strict=True):
        for source, part in zip(sources, world, strict=True):
            if len(part) != len(world[0]):
                raise InputError(
                    f"{_named(source)} has {len(part):,} runs and {_named(sources[0])} has {len(world[0]):,}: give the "
                    "same runs for every round"
                )
        if len(world[0]) < FEWEST_RUNS:
            raise InputError(
                f"{_named(sources[0])} has {len(world[0]):,} runs: give at least {FEWEST_RUNS} in each world"
            )
    for sources, here, there in zip(zip(with_unit, without, strict=True), *worlds, strict=True):
        if here.shape[1] != there.shape[1]:
            raise InputError(
                f"{_named(sources[0])} has {here.shape[1]:,} numbers in a run and {_named(sources[1])} has "
                f"{there.shape[1]:,}: give the same outputs in both"
            )
        if not here.shape[1]:
            raise InputError(f"{_named(sources[0])} has no numbers in a run: give what the program made public")
        if np.array_equal(here, there) and np.ptp(here, axis=0).any():
            raise InputError(
                f"{_named(sources[0])} and {_named(sources[1])} are the same, so that both worlds have the same noise: "
                "seed each of them once, differently"
            )
    return worlds


def _named(source: Path | np.ndarray) -> str:
    return str(source) if isinstance(source, Path) else "an array of outputs"


def _read(source: Path | np.ndarray) -> np.ndarray:
    """Return the outputs of one round as float64 [run, number]."""
    arrays = _arrays(source)
    for name, array in arrays.items():
        whose = f"{_named(source)}{f' ({name})' if len(arrays) > 1 else ''}"
        if np.iscomplexobj(array):
            raise InputError(f"{whose} has complex numbers: give their real and imaginary parts, as real numbers")
        if array.ndim < 1 or not (np.issubdtype(array.dtype, np.number) or array.dtype == bool):
            raise InputError(f"{whose} has {array.dtype} of shape {array.shape}: give numbers, one row for each run")
        if not len(array):
            raise InputError(f"{whose} is empty: give a row for each run, at least {FEWEST_RUNS} in each world")
        if not np.isfinite(array).all():
            raise InputError(
                f"{whose} has numbers that are not finite: mend the program and run all again, since to leave out such "
                "runs would choose among runs by what they put out"
            )
    sizes = {len(array) for array in arrays.values()}
    if len(sizes) > 1 or not arrays:
        raise InputError(
            f"{_named(source)} has arrays with {sorted(sizes)} rows: give one row for each run in all of them"
        )
    return np.concatenate([array.reshape(len(array), -1).astype(np.float64) for array in arrays.values()], axis=1)


def _arrays(source: Path | np.ndarray) -> dict[str, np.ndarray]:
    if not isinstance(source, Path):
        return {"": np.asarray(source)}
    remedy = "give a file that numpy.save or numpy.savez wrote"
    try:
        with source.open("rb") as file:
            start = file.read(max(map(len, STARTS)))
        if not start.startswith(STARTS):
            raise InputError(f"{source} is no array of NumPy: {remedy}")
        loaded = np.load(source, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {name: loaded[name] for name in sorted(loaded.files)}
    except FileNotFoundError:
        raise InputError(f"{source} does not exist: {remedy}") from None
    except InputError:  # which is a ValueError
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{source} cannot be read ({str(error).splitlines()[0] if str(error) else type(error).__name__}): {remedy}"
        ) from None


# ---- Scores ----


def _tests(ins: World, outs: World) -> dict[str, list[Test]]:
    """Return the tests of each kind. What they need to know of the outputs comes from the pilot runs."""
    first = [int(len(world[0]) * PILOT) for world in (ins, outs)]
    pilots = [part[: first[0]] for part in ins], [part[: first[1]] for part in outs]
    scores = {SHIFT: _shifts(*pilots), SCALE: scales(*pilots)}

    def test(score: Callable[[World], np.ndarray]) -> Test:
        (of_ins, of_outs) = score(ins), score(outs)
        return Test((of_ins[: first[0]], of_outs[: first[1]]), (of_ins[first[0] :], of_outs[first[1] :]))

    return {kind: [test(score) for score in several] for kind, several in scores.items()}


def _shifts(ins: World, outs: World) -> list[Callable[[World], np.ndarray]]:
    """Return scores of how the mean is shifted: the log of the likelihood ratio, for Gaussian and for Laplace noise."""
    here, there = (np.concatenate(world, axis=1) for world in (ins, outs))
    move = here.mean(0) - there.mean(0)
    if here.shape[1] <= SHARE * len(there):
        found = likelihoods(there, (move[None], 0 * move[None]))
        return [lambda world, score=score: score(np.concatenate(world, axis=1)) for score in found]
    variance = (here.var(0) + there.var(0)) / 2
    weights = np.divide(move, variance, out=np.zeros_like(move), where=variance > 0)
    return [lambda world: np.concatenate(world, axis=1) @ weights]


def _with_noise(world: World, factor: float) -> World:
    """Return the outputs with deviations from their mean, which are taken for the noise, times a factor."""
    return [part.mean(0) + factor * (part - part.mean(0)) for part in world]


def _bare(ins: np.ndarray, outs: np.ndarray) -> int:
    """Return how many numbers are the same in all runs of a world, but not in both worlds."""
    constant = (np.ptp(ins, axis=0) == 0) & (np.ptp(outs, axis=0) == 0)
    return int((constant & (ins[0] != outs[0])).sum())
