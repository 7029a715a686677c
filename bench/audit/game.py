"""Many independent runs with and without one canary, which are the statistical test of the noise.

The attacker sees everything that is public after every round. One kind of score is its likelihood ratio with and
without the canary, which is estimated from simulated runs; the other is how large the changes are. (Jagielski, Ullman,
Oprea 2020; Nasr et al. 2021, whose adversaries choose the data as here.)
"""

import functools
from collections.abc import Callable, Sequence

import jax
import numpy as np
from scipy import stats

from bench.audit.bounds import SCALE, SHIFT, Scores, Test, likelihoods
from bench.audit.scales import World, scales
from bench.audit.subject import Subject, data_of, run
from bench.errors import InputError

PILOT = 1 / 3  # of the runs
MOVES = 128  # simulated runs that show how a canary moves what is public; the time of a score grows with them
HEAVY_TAILS = 0.3  # excess kurtosis from which a score for Laplace noise is tried, too; that of Laplace noise is 3

Score = Callable[[np.ndarray], np.ndarray]


def play(subject: Subject, relation: str, shapes: Sequence[str], *, runs: int, seed: int) -> list[Test]:
    """Return tests of `runs` runs on each of two neighbouring data sets: one for each shape of the canary and score.

    Args:
        relation: of `bench.privacy.events`; "add-or-remove one" removes the canary, "replace one" reverses its sign.
        shapes: names in `tasks.SHAPES`.

    Raises:
        InputError: where what is public is not finite, or for fewer pilot runs than numbers to weigh.
    """
    first, tests = int(runs * PILOT), []
    none = data_of(subject, relation, shapes[0], 2)
    without = run(subject, none, jax.random.split(jax.random.key(seed), first), finite=True).seen
    for place, shape in enumerate(shapes, start=1):
        keys = jax.random.split(jax.random.key(seed + place), 2 * runs)
        ran = (run(subject, data_of(subject, relation, shape, world), keys[world * runs :][:runs]) for world in (0, 1))
        flats = [each.seen.reshape(runs, -1).astype(np.float64) for each in ran]
        pilots, rest = (flats[0][:first], flats[1][:first]), (flats[0][first:], flats[1][first:])
        for kind, score in _scores(subject, relation, without, pilots, shape, seed):
            tests.append(Test((score(pilots[0]), score(pilots[1])), _when_asked(score, rest), kind))
    return tests


def _when_asked(score: Score, rest: tuple[np.ndarray, np.ndarray]) -> Callable[[], Scores]:
    return functools.cache(lambda: (score(rest[0]), score(rest[1])))


def _scores(
    subject: Subject, relation: str, without: np.ndarray, pilots: tuple[np.ndarray, np.ndarray], shape: str, seed: int
) -> list[tuple[str, Score]]:
    """Return scores of runs [run, round and number], each with its kind, from runs without the canary, from pilot runs
    of both worlds, and from other runs that share their randomness with runs that have the canary.
    """
    keys = jax.random.split(jax.random.key(seed), MOVES)
    with_one, with_other, with_none = (
        run(subject, data_of(subject, relation, shape, world), keys).seen.reshape(MOVES, -1) for world in (0, 1, 2)
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
