"""Replay: the same keys on two neighbouring data sets, so that both have the same noise (as in arXiv 2602.17454).

A method is a pure function of data and keys. What a canary changes of what is public is then the difference of two
runs, without noise but for rounding. The noise there is measured over many keys, without a canary. Their ratio is
compared with what a release declares, its sensitivity over its noise, which is the same at every epsilon.

- All rounds together, and what is public before the first, where the change depends on who takes part alone. Noise may
  be correlated between rounds and numbers: the change is counted under the covariance of all of it.
- Each round by itself from one state, the same for all keys, where the round draws fresh noise. Then steps and noise
  may depend on what was released before.

A number without noise has to be equal to the bit. A change that follows the noise, as that of a divisor or a scale that
depends on data does, is larger than any that is declared once the model has some numbers.

The measured noise is taken to be Gaussian, or Laplace where that is declared, and a method to release what it says so
often as it says: shape and sampling are what the game tests.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import dp_accounting as dp
import jax
import numpy as np
from scipy import stats
from scipy.linalg import solve_triangular

from bench.audit.subject import Subject, Views, data_of, leaf_of, run, steps
from bench.audit.tasks import OVERFLOW
from bench.privacy.accounting.atoms import atoms_of
from bench.privacy.events import ParallelDpEvent, Release
from bench.privacy.events.schedules import BallsInBinsDpEvent

KEYS = 4000
# A change is too large if it is so by more than a tenth. The noise is known to a standard error of (2 / keys)^1/2 / 2,
# 1.1 %, or 1.8 % where it is that of Laplace. Five of these are within a tenth; float32 rounds to 1e-5 of the noise.
TOLERANCE = 1.1
ROUNDING = 1e-3  # of the standard deviation of noise: what varies less is that of rounding
FLOOR = 1e-4  # of the largest standard deviation in what is measured together, likewise
SAME = 3e-5  # of the noise: changes that differ by less are the same but for rounding
FEW = 1 / 8  # of the keys: with more different changes than this, they are taken to depend on the noise
RARE = 0.01  # of the keys: noise that is 0 more seldom is lost in rounding, beside a large number
CHANCE = 5.0  # standard errors of a correlation, or of a share, that may be chance
HEAVY = 0.5  # excess kurtosis, more than chance gives that of Gaussian noise
CORRELATED = 0.1  # correlation from which noise is not independent
NOISES = (dp.GaussianDpEvent, dp.LaplaceDpEvent, BallsInBinsDpEvent)


class Size(NamedTuple):
    """The largest change that a canary makes, in standard deviations of the noise: as the root of the sum of squares,
    and as the sum of absolute values, NaN where noise is correlated; `share`: of the releases of a run, that it is
    about; `place`: where it is largest, in words; `often`: of all rounds together, where their noise is not correlated,
    the shares of the keys for which the canary makes a change in at least 1, 2, ... rounds.
    """

    l2: float
    l1: float
    share: float
    place: str
    often: tuple[float, ...] = ()


class Replay(NamedTuple):
    """What replay found under one neighbouring relation.

    sizes: of changes.
    leak: what shows without noise, in words; "" where nothing does.
    names: of the numbers that rounds report.
    reported: those that a canary changes.
    why: of what could not be measured, in words.
    """

    sizes: tuple[Size, ...]
    leak: str
    names: tuple[str, ...]
    reported: frozenset[str]
    why: str

    def factor(self, release: Release, released: int, apart: int = 1) -> float:
        """Return how many times larger the largest change is than a release declares; NaN where that is not known.

        Args:
            released: releases in a run.
            apart: by how many neighbours the two data sets differ.
        """
        if self.leak:
            return math.inf
        factors = [_times(size, *_declared(release, released, size.share), apart) for size in self.sizes]
        return max(factors, default=math.nan)

    def more_often(self, release: Release, released: int) -> bool:
        """Return whether the canary takes part in more rounds than samples that are drawn as declared let it."""
        rates = [_rate(atom) for part in _parts(release, released) for atom in atoms_of(part)]
        count = sum(sum(atoms_of(part).values()) for part in _parts(release, released))
        for size in self.sizes if rates else ():
            rounds = len(size.often)
            taking_part = 1 - (1 - max(rates)) ** max(count / max(rounds, 1), 1)  # in any of several steps of a round
            share = stats.binom.sf(np.arange(rounds), min(rounds, count), taking_part)
            if (size.often > share + CHANCE * np.sqrt(share * (1 - share) / KEYS)).any():
                return True
        return False

    def largest(self, release: Release, released: int) -> str:
        """Return where the largest change is, in words."""
        if self.leak or not self.sizes:
            return self.leak
        return max(self.sizes, key=lambda size: _times(size, *_declared(release, released, size.share), 1)).place


def replay(subject: Subject, relation: str, shapes: Sequence[str], most: int, seed: int) -> Replay:
    """Replay runs with and without a canary of each shape, and one that overflows.

    Args:
        relation: of `bench.privacy.events`.
        shapes: names in `tasks.SHAPES`.
        most: releases in a run.

    Raises:
        InputError: where what is public is not finite without a canary, or the method stops.
    """
    keys = jax.random.split(jax.random.key(seed), KEYS)
    none, nothing = data_of(subject, relation, shapes[0], 2), frozenset[str]()
    without = run(subject, none, keys, finite=True)
    sizes, leaks, why, reported = [], [], "", nothing
    for shape in (*shapes, OVERFLOW):
        with_one, other = (run(subject, data_of(subject, relation, shape, world), keys) for world in (0, 1))
        if (with_one.finite != other.finite).any():
            share = float((with_one.finite != other.finite).mean())
            leaks.append(f"numbers that are not finite tell who takes part, in {share:.0%} of the runs")
        if shape == OVERFLOW or not with_one.finite.all():
            continue
        reported |= {name for name in other.info if not np.array_equal(with_one.info[name], other.info[name])}
        if with_one.counts and not np.array_equal(with_one.seen[..., -1], other.seen[..., -1]):
            leaks.append("the number of releases tells who takes part")
        moved, noise = _numbers(with_one) - _numbers(other), _numbers(without)
        found = measured(subject, moved, noise, 0, 1.0, whole=True)
        found += measured(subject, moved[:, :1], noise[:, :1], 0, 1.0)
        worlds = [data_of(subject, relation, shape, world) for world in (0, 1, 2)]
        for number, (seen, released) in enumerate(steps(subject, worlds, keys), start=1):
            share = (1.0 if released is None else released) / max(most, 1)
            found += measured(subject, (seen[0] - seen[1])[:, None], seen[2][:, None], number, share)
        sizes += [size for size in found if isinstance(size, Size)]
        leaks += [size.place for size in sizes if size.l2 == math.inf]
        why = next((reason for reason in found if isinstance(reason, str)), why)
    return Replay(tuple(sizes), next(iter(leaks), ""), tuple(without.info), reported, why)


def _numbers(ran: Views) -> np.ndarray:
    """Return what is public without the number of releases, float64 [key, 1 + round, number]."""
    return (ran.seen[..., :-1] if ran.counts else ran.seen).astype(np.float64)


def measured(
    subject: Subject, moved: np.ndarray, noise: np.ndarray, first: int, share: float, *, whole: bool = False
) -> list[Size | str]:
    """Return the size of a change, which is infinite where something has no noise; or why it was not measured.

    Args:
        moved: by the canary, [key, round, number].
        noise: without it, likewise; none where it is an exact 0, or the same for all keys.
        first: number of the first round; 0 is before the first.
        share: of the releases of a run.
        whole: whether these are all rounds, and began from states that differ.
    """
    keys, _, numbers = moved.shape
    moved, noise = moved.reshape(keys, -1), noise.reshape(keys, -1)

    def place(number: int) -> str:
        number = int(number)
        when = first + number // numbers
        return f"{leaf_of(subject, number % numbers)} {f'in round {when}' if when else 'before the first round'}"

    if not moved.any():
        return [Size(0.0, 0.0, share, "")]
    quiet = noise == 0
    quiet = (quiet & (quiet.mean(0) > RARE)) | (np.ptp(noise, axis=0) == 0)
    sometimes = quiet.any(0) & ~quiet.all(0)
    if whole and sometimes.any():
        return ["in the whole run, noise is missing in some rounds, which differ between runs"]
    if 2 * noise.shape[1] > keys:
        return [f"{noise.shape[1]:,} numbers are public, for {keys:,} keys"]
    bare = quiet & (moved != 0)
    if bare.any():
        number = int(np.argmax(bare.any(0)))
        if first and quiet[:, number].all():
            return [f"round {first} draws no noise of its own"]
        return [Size(math.inf, math.inf, share, f"{place(number)} has no noise")]
    there = (~quiet).astype(np.float64)
    centred = np.where(quiet, 0.0, noise - noise.sum(0) / np.maximum(there.sum(0), 1))
    scale = np.sqrt(np.square(centred).sum(0) / np.maximum(there.sum(0), 1))
    scale = np.maximum(scale, FLOOR * scale.max()) if scale.any() else np.ones_like(scale)
    centred, moved = centred / scale, moved / scale
    known = np.maximum(there.T @ there, 1) if sometimes.any() else keys
    correlation = centred.T @ centred / known
    if sometimes.any():  # of runs in which both numbers have noise, which need not be a covariance
        correlation = np.where(np.abs(correlation) > CHANCE / np.sqrt(known), correlation, 0.0)
        values, vectors = np.linalg.eigh(correlation)
        correlation, too_large = (vectors * np.maximum(values, ROUNDING)) @ vectors.T, 1.0
    else:  # the inverse of a covariance of so many keys is (Wishart)
        too_large = 1 / (1 - (noise.shape[1] + 2) / keys)
    lower = np.linalg.cholesky(correlation + ROUNDING**2 * np.eye(len(correlation)))
    changes = solve_triangular(lower, moved.T, lower=True).T / math.sqrt(too_large)
    direction = np.random.default_rng(0).standard_normal(moved.shape[1])
    few = np.count_nonzero(np.greater(np.diff(np.sort(moved @ direction)), SAME)) < FEW * keys
    if whole and not few:
        return ["in the whole run, the change depends on the noise"]
    tails = np.mean(centred**4, axis=0) / np.maximum(np.mean(centred**2, axis=0), ROUNDING**2) ** 2 - 3
    few &= bool(tails.max() < HEAVY)
    below = np.abs(np.tril(correlation, -1))
    once = (below < 1 - ROUNDING).all(1)  # what is public may hold a number twice
    independent = below[np.ix_(once, once)].max(initial=0.0) < CORRELATED
    sizes: np.ndarray = np.square(changes).sum(1)
    l2, l1 = _largest(sizes, few), _largest(np.square(np.abs(moved[:, once]).sum(1)), few)
    where = place(int(np.argmax(np.abs(changes[sizes.argmax()]))))
    of_round, shares = np.arange(moved.shape[1]) // numbers, ()
    if whole and np.abs(correlation[of_round[:, None] != of_round]).max(initial=0.0) < CORRELATED:
        often = (np.abs(moved).reshape(keys, -1, numbers).max(2) > ROUNDING)[:, 1:].sum(1)
        shares = tuple(float((often >= number).mean()) for number in range(1, of_round[-1] + 1))
    return [Size(l2, l1 if independent else math.nan, share, where, shares)]


def _largest(squares: np.ndarray, few: bool) -> float:
    """Return the root of the largest square, or, where changes depend on the noise or its size differs between runs, of
    the mean of those that are not 0: noise that is larger in some runs hides a change that is as much larger there.
    """
    return math.sqrt(float(squares.max()) if few else float(np.mean(squares[squares > ROUNDING**2])))


def _declared(release: Release, released: int, share: float) -> tuple[float, float]:
    """Return the largest change that a release declares, as the root of the sum of squares over the variance of the
    noise, and as the sum of absolute values over its standard deviation, NaN where not all noise is that of Laplace.

    A unit that is sampled is counted as in every sample.

    Args:
        released: releases in a run.
        share: of these.
    """
    found = []
    for part in _parts(release, released):
        squares = line = 0.0
        for atom, times in atoms_of(part).items():
            noise = getattr(atom, "event", atom)  # without the sampling
            if not isinstance(noise, NOISES):  # no noise, or what replay does not know
                return math.inf, math.inf
            laplace, count = isinstance(noise, dp.LaplaceDpEvent), math.ceil(times * share - 1e-9)
            deviation = noise.noise_multiplier * (2**0.5 if laplace else 1.0)
            squares += count / deviation**2
            line += count / deviation if laplace else math.nan
        found.append((math.sqrt(squares), line))
    return max(found)


def _parts(release: Release, released: int) -> Sequence[dp.DpEvent]:
    event = release.event(released)
    return event.events if isinstance(event, ParallelDpEvent) else (event,)


def _rate(atom: dp.DpEvent) -> float:
    """Return with what probability a unit is in a sample."""
    if isinstance(atom, dp.PoissonSampledDpEvent):
        return atom.sampling_probability
    if isinstance(atom, dp.SampledWithoutReplacementDpEvent):
        return atom.sample_size / atom.source_dataset_size
    return 1.0


def _times(size: Size, l2: float, l1: float, apart: int) -> float:
    """Return how many times larger a change is than declared; NaN where nothing is."""
    pairs = (size.l1, l1) if not math.isnan(size.l1 * l1) else (size.l2, l2)
    measured, declared = pairs[0], apart * pairs[1]
    if declared == math.inf:
        return math.nan
    return measured / declared if declared else math.inf if measured else 0.0
