"""Many independent runs with and without one canary, which are the statistical test of the noise.

The attacker sees everything that is public after every round. One kind of score is its likelihood ratio with and
without the canary, which is estimated from simulated runs; the others are how large the changes are, and, where some of
it is not, whether all of it is finite. (Jagielski, Ullman,
Oprea 2020; Nasr et al. 2021, whose adversaries choose the data as here.)
"""

import functools
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
from scipy import stats

from bench.audit.bounds import FINITE, SCALE, SHIFT, Choice, Scores, Test, likelihoods
from bench.audit.scales import World, scales
from bench.audit.subject import CHUNK, Subject, Views, run, views
from bench.audit.tasks import OVERFLOW
from bench.errors import InputError
from bench.privacy.events import ADD_OR_REMOVE, REPLACE

PILOT = 1 / 3  # of the runs
MOVES = 128  # simulated runs that show how a canary moves what is public; the time of a score grows with them
BLOCK = 50_000  # of further runs, in memory at once
HEAVY_TAILS = 0.3  # excess kurtosis from which a score for Laplace noise is tried, too; that of Laplace noise is 3
OTHER_SIGN = {ADD_OR_REMOVE: 0.0}  # of the canary in the neighbouring data set; -1 where it is replaced

Score = Callable[[np.ndarray], np.ndarray]


class Game(NamedTuple):
    """The scores of a game.

    tests: one for each shape of the canary and score.
    released: the most releases of any run.
    reported: one for each number that `round` reports and that is not public, by name.
    still: whether what is public was the same in all runs.
    seconds: that a run took, in one world, after the first block of runs, which waits for the compiler.
    """

    tests: list[Test]
    released: int
    reported: dict[str, list[Test]]
    still: bool
    seconds: float


def play(subject: Subject, relation: str, shapes: Sequence[str], *, runs: int, seed: int) -> Game:
    """Make `runs` runs on each of two neighbouring data sets, for every shape of the canary.

    Args:
        relation: of `bench.privacy.events`; "add-or-remove one" removes the canary, "replace one" reverses its sign.
        shapes: names in `tasks.SHAPES`, and OVERFLOW, which shows in whether what is public is finite alone.

    Raises:
        InputError: for fewer pilot runs than numbers to weigh, or where runs without the canary are not finite.
    """
    first = int(runs * PILOT)
    tests, most, reported, still, seconds = [], 0, {}, True, 0.0
    without = views(subject, np.zeros((first, *subject.canary(shapes[0]).shape), np.float32), seed).seen
    for place, shape in enumerate(shapes, start=1):
        begun = time.monotonic()
        keys = jax.random.split(jax.random.key(seed + place), 2 * runs)
        ran = [in_world(subject, relation, shape, world, keys[world * runs :][:runs]) for world in (0, 1)]
        flats = [each.seen.reshape(runs, -1).astype(np.float64) for each in ran]
        if not all(each.finite.all() for each in ran):
            tests += [_of_finite(ran[0].finite, ran[1].finite, first, shape)]
        if shape == OVERFLOW:
            continue
        pilots, rest = (flats[0][:first], flats[1][:first]), (flats[0][first:], flats[1][first:])
        for kind, score in _scores(subject, without, pilots, shape, OTHER_SIGN.get(relation, -1.0), seed):
            tests.append(Test((score(pilots[0]), score(pilots[1])), _when_asked(score, rest), kind, score, shape))
        for name, values in ran[0].info.items():
            reported.setdefault(name, []).extend(_of_reported(values, ran[1].info[name], first))
        most = max(most, *(each.released for each in ran))
        still = still and not np.ptp(np.concatenate(flats), axis=0).any()
        seconds = (time.monotonic() - begun) / (2 * runs)
    return Game(tests, most, reported, still, seconds)


def overflows(subject: Subject, seed: int) -> bool:
    """Return whether a canary of shape OVERFLOW makes what is public not finite in any of a few runs."""
    keys = jax.random.split(jax.random.key(seed), CHUNK)
    return not in_world(subject, REPLACE, OVERFLOW, 0, keys).finite.all()


def play_on(subject: Subject, relation: str, choice: Choice, *, runs: int, seed: int) -> Scores:
    """Return the scores of `runs` further runs on each of two neighbouring data sets, for the chosen test alone."""
    test, worlds = choice.test, []
    for world in (0, 1):
        parts = []
        for begin in range(0, runs, BLOCK):
            # A block has a seed of its own, and blocks are small beside the distance of the seeds of games.
            count = min(BLOCK, runs - begin)
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), world), begin)
            ran = in_world(subject, relation, test.shape, world, jax.random.split(key, count))
            if test.kind == FINITE:
                parts.append(1.0 - ran.finite)
            else:
                assert test.score is not None
                parts.append(test.score(ran.seen.reshape(count, -1).astype(np.float64)))
        worlds.append(np.concatenate(parts))
    return worlds[0], worlds[1]


def in_world(subject: Subject, relation: str, shape: str, world: int, keys) -> Views:
    """Return what is public in runs with a canary, world 0, or in the neighbouring data set, world 1."""
    unit, removed = subject.canary(shape), relation == ADD_OR_REMOVE
    if world:  # in place of a canary without a finite size comes one with data of 0
        unit = 0.0 * np.ones_like(unit) if removed or shape == OVERFLOW else -unit
    present = np.full((len(keys), len(unit)), not (world and removed))
    return run(subject, np.broadcast_to(unit, (len(keys), *unit.shape)), keys, present=present)


def _of_finite(ins: np.ndarray, outs: np.ndarray, first: int, shape: str) -> Test:
    """Return the test by whether what is public is finite, [run] in each world."""
    ins, outs = 1.0 - ins, 1.0 - outs
    return Test((ins[:first], outs[:first]), (ins[first:], outs[first:]), FINITE, shape=shape)


def _when_asked(score: Score, rest: tuple[np.ndarray, np.ndarray]) -> Callable[[], Scores]:
    return functools.cache(lambda: (score(rest[0]), score(rest[1])))


def _scores(
    subject: Subject, without: np.ndarray, pilots: tuple[np.ndarray, np.ndarray], shape: str, other: float, seed: int
) -> list[tuple[str, Score]]:
    """Return scores of runs [run, round and number], each with its kind, from runs without the canary, from pilot runs
    of both worlds, and from other runs that share their randomness with runs that have the canary.
    """
    keys = jax.random.split(jax.random.key(seed), MOVES)
    unit = subject.canary(shape)
    with_one, with_other, with_none = (
        run(subject, np.broadcast_to(sign * unit, (MOVES, *unit.shape)), keys).seen.reshape(MOVES, -1)
        for sign in (1.0, other, 0.0)
    )
    known = without.reshape(len(without), -1).astype(np.float64)
    varying = np.ptp(known, axis=0) > 0
    if np.count_nonzero(varying) > len(known):
        raise InputError(
            f"{np.count_nonzero(varying)} numbers of a run are public, for {len(known)} pilot runs: more --runs or "
            "fewer --rounds"
        )
    moves = (with_one - with_none).astype(np.float64), (with_other - with_none).astype(np.float64)
    gaussian, laplace = likelihoods(known, moves)
    shifts = [gaussian]
    if varying.any() and np.median(stats.kurtosis(known[:, varying], axis=0)) > HEAVY_TAILS:
        shifts.append(laplace)

    def by_round(flat: np.ndarray) -> World:
        return list(flat.reshape(len(flat), *without.shape[1:]).transpose(1, 0, 2))

    def of_size(size: Callable[[World], np.ndarray]) -> Score:
        return lambda flat: size(by_round(flat))

    found: list[tuple[str, Score]] = [(SHIFT, score) for score in shifts]
    return found + [(SCALE, of_size(size)) for size in scales(by_round(pilots[0]), by_round(pilots[1]))]


def _of_reported(ins: np.ndarray, outs: np.ndarray, first: int) -> list[Test]:
    """Return tests by a number that is reported in every round [run, round]: by its sum, and by each of its values."""
    columns = [(ins.sum(1), outs.sum(1)), *zip(ins.T, outs.T, strict=True)]
    signed = [(sign * with_one, sign * without) for with_one, without in columns for sign in (1.0, -1.0)]
    return [
        Test((with_one[:first], without[:first]), (with_one[first:], without[first:])) for with_one, without in signed
    ]
