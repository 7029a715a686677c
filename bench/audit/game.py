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

from bench.audit.bounds import SCALE, SHIFT, Score, Scores, Test, likelihoods
from bench.audit.scales import World, scales
from bench.audit.subject import Subject, data_of, run
from bench.errors import InputError

PILOT = 1 / 3  # of the runs
MOVES = 128  # simulated runs that show how a canary moves what is public; the time of a score grows with them
HEAVY_TAILS = 0.3  # excess kurtosis from which a score for Laplace noise is tried, too; that of Laplace noise is 3


def play(subject: Subject, relation: str, shapes: Sequence[str], *, runs: int, seed: int) -> list[Test]:
    """Return tests of `runs` runs on each of two neighbouring data sets: one for each shape of the canary and score.

    Args:
        relation: of `bench.privacy.events`; "add-or-remove one" removes the canary, "replace one" reverses its sign.
        shapes: names in `tasks.SHAPES`.

    Raises:
        InputError: where what is public is not finite, or for fewer pilot runs than numbers to weigh.
    """
    cut, tests = int(runs * PILOT), []
    data_without = data_of(subject, relation, shapes[0], 2)
    reference = run(subject, data_without, jax.random.split(jax.random.key(seed), cut), finite=True).changes
    for place, shape in enumerate(shapes, start=1):
        keys = jax.random.split(jax.random.key(seed + place), 2 * runs)
        data = [data_of(subject, relation, shape, world) for world in (0, 1)]
        views = (run(subject, data[world], keys[world * runs :][:runs]) for world in (0, 1))
        outputs = [view.changes.reshape(runs, -1).astype(np.float64) for view in views]
        pilots, held_out = (outputs[0][:cut], outputs[1][:cut]), (outputs[0][cut:], outputs[1][cut:])
        for kind, score in _scores(subject, relation, reference, pilots, shape, seed):
            tests.append(Test((score(pilots[0]), score(pilots[1])), _scores_on_demand(score, held_out), kind))
    return tests


def _scores_on_demand(score: Score, held_out: tuple[np.ndarray, np.ndarray]) -> Callable[[], Scores]:
    return functools.cache(lambda: (score(held_out[0]), score(held_out[1])))


def _scores(
    subject: Subject, relation: str, reference: np.ndarray, pilots: tuple[np.ndarray, np.ndarray], shape: str, seed: int
) -> list[tuple[str, Score]]:
    """Return scores of runs [run, round and number], each with its kind, from runs without the canary, from pilot runs
    of both worlds, and from other runs that share their randomness with runs that have the canary.
    """
    keys = jax.random.split(jax.random.key(seed), MOVES)
    with_canary, in_other_world, without_canary = (
        run(subject, data_of(subject, relation, shape, world), keys).changes.reshape(MOVES, -1) for world in (0, 1, 2)
    )
    runs_without = reference.reshape(len(reference), -1).astype(np.float64)
    varying = np.ptp(runs_without, axis=0) > 0
    if np.count_nonzero(varying) > len(runs_without):
        raise InputError(
            f"{np.count_nonzero(varying)} numbers of a run are public, for {len(runs_without)} pilot runs: more --runs "
            "or fewer --rounds"
        )
    moves = (with_canary - without_canary).astype(np.float64), (in_other_world - without_canary).astype(np.float64)
    gaussian, laplace = likelihoods(runs_without, moves)
    shifts = [gaussian]
    if varying.any() and np.median(stats.kurtosis(runs_without[:, varying], axis=0)) > HEAVY_TAILS:
        shifts.append(laplace)

    def rounds_of(outputs: np.ndarray) -> World:
        return list(outputs.reshape(len(outputs), *reference.shape[1:]).transpose(1, 0, 2))

    def score_of_size(size: Callable[[World], np.ndarray]) -> Score:
        return lambda outputs: size(rounds_of(outputs))

    shift_scores: list[tuple[str, Score]] = [(SHIFT, score) for score in shifts]
    return shift_scores + [(SCALE, score_of_size(size)) for size in scales(rounds_of(pilots[0]), rounds_of(pilots[1]))]
