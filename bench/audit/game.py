"""Many independent runs with and without one canary, which are the statistical test of the noise.

The attacker sees everything that is public after every round. One kind of score is its likelihood ratio with and
without the canary, which is estimated from simulated runs; the other is how large the changes are. (Jagielski, Ullman,
Oprea 2020; Nasr et al. 2021, whose adversaries choose the data as here.)
"""

import functools
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np
from scipy import stats

from bench.audit.bounds import SCALE, SHIFT, Choice, Scores, Test, likelihoods
from bench.audit.scales import World, scales
from bench.audit.subject import Subject, run, views
from bench.errors import InputError
from bench.privacy.events import ADD_OR_REMOVE

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
        shapes: names in `tasks.SHAPES`.

    Raises:
        InputError: for fewer pilot runs than numbers to weigh.
    """
    other, first = OTHER_SIGN.get(relation, -1.0), int(runs * PILOT)
    tests, most, reported, still, seconds = [], 0, {}, True, 0.0
    without = views(subject, np.zeros((first, *subject.canary(shapes[0]).shape), np.float32), seed).seen
    for place, shape in enumerate(shapes, start=1):
        begun = time.monotonic()
        signs = np.repeat(np.array([1.0, other], np.float32), runs)
        ran = views(subject, signs[:, None, None] * subject.canary(shape), seed + place)
        flat = ran.seen.reshape(2 * runs, -1).astype(np.float64)
        pilots = flat[:first], flat[runs : runs + first]
        rest = flat[first:runs], flat[runs + first :]
        for kind, score in _scores(subject, without, pilots, shape, other, seed):
            tests.append(Test((score(pilots[0]), score(pilots[1])), _when_asked(score, rest), kind, score, shape))
        for name, values in ran.info.items():
            reported.setdefault(name, []).extend(_of_reported(values[:runs], values[runs:], first))
        most, still = max(most, ran.released), still and not np.ptp(flat, axis=0).any()
        seconds = (time.monotonic() - begun) / (2 * runs)
    return Game(tests, most, reported, still, seconds)


def play_on(subject: Subject, relation: str, choice: Choice, *, runs: int, seed: int) -> Scores:
    """Return the scores of `runs` further runs on each of two neighbouring data sets, for the chosen test alone."""
    other, score = OTHER_SIGN.get(relation, -1.0), choice.test.score
    assert score is not None
    worlds = []
    for world, sign in enumerate((1.0, other)):
        parts = []
        for begin in range(0, runs, BLOCK):
            # A block has a seed of its own, and blocks are small beside the distance of the seeds of games.
            count = min(BLOCK, runs - begin)
            canaries = np.broadcast_to(
                np.float32(sign) * subject.canary(choice.test.shape), (count, *subject.canary("axis").shape)
            )
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), world), begin)
            ran = run(subject, canaries, jax.random.split(key, count))
            parts.append(score(ran.seen.reshape(count, -1).astype(np.float64)))
        worlds.append(np.concatenate(parts))
    return worlds[0], worlds[1]


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
