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
from operator import itemgetter
from typing import NamedTuple

import dp_accounting as dp
import jax
import numpy as np
from scipy import stats
from scipy.linalg import solve_triangular

from bench.audit.subject import Subject, Views, data_of, leaf_of, run, steps
from bench.audit.tasks import OVERFLOW
from bench.privacy.accounting.atoms import disjoint_atoms
from bench.privacy.events import Release
from bench.privacy.events.schedules import BallsInBinsDpEvent

KEYS = 4000
# A change is too large if it is so by more than a tenth. The noise is known to a standard error of (2 / keys)^1/2 / 2,
# 1.1 %, or 1.8 % where it is that of Laplace. Five of these are within a tenth; float32 rounds to 1e-5 of the noise.
TOLERANCE = 1.1
ROUNDING = 1e-3  # of the standard deviation of noise: what varies less is that of rounding
FLOOR = 1e-4  # of the largest standard deviation in what is measured together, likewise
SAME_CHANGE = 3e-5  # of the noise: changes that differ by less are the same but for rounding
FEW_CHANGES = 1 / 8  # of the keys: with more different changes than this, they are taken to depend on the noise
RARE_SHARE = 0.01  # of the keys: noise that is 0 more seldom is lost in rounding, beside a large number
CHANCE_ERRORS = 5.0  # standard errors of a correlation, or of a share, that may be chance
HEAVY_TAILS = 0.5  # excess kurtosis, more than chance gives that of Gaussian noise
CORRELATION = 0.1  # correlation from which noise is not independent
NOISES = (dp.GaussianDpEvent, dp.LaplaceDpEvent, BallsInBinsDpEvent)


class Size(NamedTuple):
    """The largest change that a canary makes, in standard deviations of the noise: as the root of the sum of squares,
    and as the sum of absolute values, NaN where noise is correlated; `share`: of the releases of a run, that it is
    about; `place`: where it is largest, in words; `round_shares`: of all rounds together, where their noise is not
    correlated, the shares of the keys for which the canary makes a change in at least 1, 2, ... rounds.
    """

    l2: float
    l1: float
    share: float
    place: str
    round_shares: tuple[float, ...] = ()


class Replay(NamedTuple):
    """What replay found under one neighbouring relation.

    sizes: of changes.
    leak: what shows without noise, in words; "" where nothing does.
    reported: name of a number that rounds report -> whether a canary changes it.
    reason: of what could not be measured, in words.
    """

    sizes: tuple[Size, ...]
    leak: str
    reported: dict[str, bool]
    reason: str

    def largest(self, release: Release, released: int, distance: int = 1) -> tuple[float, str]:
        """Return how many times larger the largest change is than a release declares, NaN where that is not known, and
        where it is, in words.

        Args:
            released: releases in a run.
            distance: by how many neighbours the two data sets differ.
        """
        if self.leak:
            return math.inf, self.leak
        factors = [
            (_factor(size, *_declared(release, released, size.share), distance), size.place) for size in self.sizes
        ]
        return max(factors, key=itemgetter(0), default=(math.nan, ""))

    def more_often(self, release: Release, released: int) -> bool:
        """Return whether the canary takes part in more rounds than samples that are drawn as declared let it."""
        components = disjoint_atoms(release, released)
        rates = [_sampling_rate(atom) for atoms in components for atom in atoms]
        count = sum(sum(atoms.values()) for atoms in components)
        for size in self.sizes if rates else ():
            rounds = len(size.round_shares)
            taking_part = 1 - (1 - max(rates)) ** max(count / max(rounds, 1), 1)  # in any of several steps of a round
            share = stats.binom.sf(np.arange(rounds), min(rounds, count), taking_part)
            if (size.round_shares > share + CHANCE_ERRORS * np.sqrt(share * (1 - share) / KEYS)).any():
                return True
        return False


def replay(subject: Subject, relation: str, shapes: Sequence[str], num_releases: int, seed: int) -> Replay:
    """Replay runs with and without a canary of each shape, and one that overflows.

    Args:
        relation: of `bench.privacy.events`.
        shapes: names in `tasks.SHAPES`.
        num_releases: releases in a run.

    Raises:
        InputError: where what is public is not finite without a canary, or the method stops.
    """
    keys = jax.random.split(jax.random.key(seed), KEYS)
    reference = run(subject, data_of(subject, relation, shapes[0], 2), keys, finite=True)
    sizes, leaks, unmeasured, reported = [], [], "", dict.fromkeys(reference.info, False)
    for shape in (*shapes, OVERFLOW):
        canary, neighbor = (run(subject, data_of(subject, relation, shape, world), keys) for world in (0, 1))
        if (canary.finite != neighbor.finite).any():
            share = float((canary.finite != neighbor.finite).mean())
            leaks.append(f"numbers that are not finite tell who takes part, in {share:.0%} of the runs")
        if shape == OVERFLOW or not canary.finite.all():
            continue
        for name in reported:
            reported[name] |= not np.array_equal(canary.info[name], neighbor.info[name])
        if canary.has_counts and not np.array_equal(canary.changes[..., -1], neighbor.changes[..., -1]):
            leaks.append("the number of releases tells who takes part")
        changes, noise = _public_numbers(canary) - _public_numbers(neighbor), _public_numbers(reference)
        results = change_sizes(subject, changes, noise, 0, 1.0, all_rounds=True)
        results += change_sizes(subject, changes[:, :1], noise[:, :1], 0, 1.0)
        worlds = [data_of(subject, relation, shape, world) for world in (0, 1, 2)]
        for number, (rounds, released) in enumerate(steps(subject, worlds, keys), start=1):
            share = (1.0 if released is None else released) / max(num_releases, 1)
            results += change_sizes(subject, (rounds[0] - rounds[1])[:, None], rounds[2][:, None], number, share)
        sizes += [size for size in results if isinstance(size, Size)]
        leaks += [size.place for size in sizes if size.l2 == math.inf]
        unmeasured = next((reason for reason in results if isinstance(reason, str)), unmeasured)
    return Replay(tuple(sizes), next(iter(leaks), ""), reported, unmeasured)


def _public_numbers(views: Views) -> np.ndarray:
    """Return what is public without the number of releases, float64 [key, 1 + round, number]."""
    return (views.changes[..., :-1] if views.has_counts else views.changes).astype(np.float64)


def change_sizes(
    subject: Subject, changes: np.ndarray, noise: np.ndarray, first: int, share: float, *, all_rounds: bool = False
) -> list[Size | str]:
    """Return the size of a change, which is infinite where something has no noise; or the reason why there is none.

    Args:
        changes: by the canary, [key, round, number].
        noise: without it, likewise; none where it is an exact 0, or the same for all keys.
        first: number of the first round; 0 is before the first.
        share: of the releases of a run.
        all_rounds: whether these are all rounds, and began from states that differ.
    """
    keys, _, numbers = changes.shape
    changes, noise = changes.reshape(keys, -1), noise.reshape(keys, -1)

    def place_of(column: int) -> str:
        column = int(column)
        when = first + column // numbers
        return f"{leaf_of(subject, column % numbers)} {f'in round {when}' if when else 'before the first round'}"

    if not changes.any():
        return [Size(0.0, 0.0, share, "")]
    noiseless = noise == 0
    noiseless = (noiseless & (noiseless.mean(0) > RARE_SHARE)) | (np.ptp(noise, axis=0) == 0)
    partial = noiseless.any(0) & ~noiseless.all(0)
    if all_rounds and partial.any():
        return ["in the whole run, noise is missing in some rounds, which differ between runs"]
    if 2 * noise.shape[1] > keys:
        return [f"{noise.shape[1]:,} numbers are public, for {keys:,} keys"]
    exposed = noiseless & (changes != 0)
    if exposed.any():
        column = int(np.argmax(exposed.any(0)))
        if first and noiseless[:, column].all():
            return [f"round {first} draws no noise of its own"]
        return [Size(math.inf, math.inf, share, f"{place_of(column)} has no noise")]
    noisy = (~noiseless).astype(np.float64)
    centred = np.where(noiseless, 0.0, noise - noise.sum(0) / np.maximum(noisy.sum(0), 1))
    scale = np.sqrt(np.square(centred).sum(0) / np.maximum(noisy.sum(0), 1))
    scale = np.maximum(scale, FLOOR * scale.max()) if scale.any() else np.ones_like(scale)
    centred, changes = centred / scale, changes / scale
    num_known = np.maximum(noisy.T @ noisy, 1) if partial.any() else keys
    correlation = centred.T @ centred / num_known
    if partial.any():  # of runs in which both numbers have noise, which need not be a covariance
        correlation = np.where(np.abs(correlation) > CHANCE_ERRORS / np.sqrt(num_known), correlation, 0.0)
        values, vectors = np.linalg.eigh(correlation)
        correlation, bias = (vectors * np.maximum(values, ROUNDING)) @ vectors.T, 1.0
    else:  # the inverse of a covariance of so many keys is (Wishart)
        bias = 1 / (1 - (noise.shape[1] + 2) / keys)
    lower = np.linalg.cholesky(correlation + ROUNDING**2 * np.eye(len(correlation)))
    whitened = solve_triangular(lower, changes.T, lower=True).T / math.sqrt(bias)
    direction = np.random.default_rng(0).standard_normal(changes.shape[1])
    # Each number, since one that follows the noise may hardly show in a direction, and a direction for all together.
    steps_between = np.diff(np.sort(np.column_stack([changes, changes @ direction]), axis=0), axis=0)
    few = np.count_nonzero(steps_between > SAME_CHANGE, axis=0).max() < FEW_CHANGES * keys
    if all_rounds and not few:
        return ["in the whole run, the change depends on the noise"]
    tails = np.mean(centred**4, axis=0) / np.maximum(np.mean(centred**2, axis=0), ROUNDING**2) ** 2 - 3
    few &= bool(tails.max() < HEAVY_TAILS)
    triangle = np.abs(np.tril(correlation, -1))
    distinct = (triangle < 1 - ROUNDING).all(1)  # what is public may hold a number twice
    independent = triangle[np.ix_(distinct, distinct)].max(initial=0.0) < CORRELATION
    sizes: np.ndarray = np.square(whitened).sum(1)
    l2, l1 = _largest_change(sizes, few), _largest_change(np.square(np.abs(changes[:, distinct]).sum(1)), few)
    largest_place = place_of(int(np.argmax(np.abs(whitened[sizes.argmax()]))))
    round_of, round_shares = np.arange(changes.shape[1]) // numbers, ()
    if all_rounds and np.abs(correlation[round_of[:, None] != round_of]).max(initial=0.0) < CORRELATION:
        num_rounds = (np.abs(changes).reshape(keys, -1, numbers).max(2) > ROUNDING)[:, 1:].sum(1)
        round_shares = tuple(float((num_rounds >= column).mean()) for column in range(1, round_of[-1] + 1))
    return [Size(l2, l1 if independent else math.nan, share, largest_place, round_shares)]


def _largest_change(squares: np.ndarray, few: bool) -> float:
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
    changes = []
    for atoms in disjoint_atoms(release, released):
        squares = absolute_sum = 0.0
        for atom, times in atoms.items():
            noise = getattr(atom, "event", atom)  # without the sampling
            if not isinstance(noise, NOISES):  # no noise, or what replay does not know
                return math.inf, math.inf
            laplace, count = isinstance(noise, dp.LaplaceDpEvent), math.ceil(times * share - 1e-9)
            deviation = noise.noise_multiplier * (2**0.5 if laplace else 1.0)
            squares += count / deviation**2
            absolute_sum += count / deviation if laplace else math.nan
        changes.append((math.sqrt(squares), absolute_sum))
    return max(changes)


def _sampling_rate(atom: dp.DpEvent) -> float:
    """Return with what probability a unit is in a sample."""
    if isinstance(atom, dp.PoissonSampledDpEvent):
        return atom.sampling_probability
    if isinstance(atom, dp.SampledWithoutReplacementDpEvent):
        return atom.sample_size / atom.source_dataset_size
    return 1.0


def _factor(size: Size, l2: float, l1: float, distance: int) -> float:
    """Return how many times larger a change is than declared; NaN where nothing is."""
    sizes = (size.l1, l1) if not math.isnan(size.l1 * l1) else (size.l2, l2)
    change, declared = sizes[0], distance * sizes[1]
    if declared == math.inf:
        return math.nan
    return change / declared if declared else math.inf if change else 0.0
