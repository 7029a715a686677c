"""Many independent runs with and without one canary: the statistical test of the noise.

What is public after every round is seen; a linear score of all of it is fitted to pilot runs. (Jagielski, Ullman,
Oprea 2020; Nasr et al. 2021, whose adversaries choose the data as here.)
"""

from typing import NamedTuple

import numpy as np

from bench.audit.bounds import separating_direction
from bench.audit.setting import Setting, views
from bench.audit.tasks import canary
from bench.errors import InputError
from bench.privacy.events import ADD_OR_REMOVE

PILOT = 1 / 3  # of the runs
OTHER_SIGN = {ADD_OR_REMOVE: 0.0}  # of the canary in the neighbouring data set; -1 where it is replaced


class Game(NamedTuple):
    """Scores of the runs (with, without the canary), each [run].

    pilot: those that the score was fitted to, and thresholds are chosen on.
    scores: the others.
    released: the most releases of any run.
    """

    pilot: tuple[np.ndarray, np.ndarray]
    scores: tuple[np.ndarray, np.ndarray]
    released: int


def play(one: Setting, relation: str, shape: str, *, runs: int, seed: int) -> Game:
    """So many runs on each of two neighbouring data sets.

    Args:
        relation: of `bench.privacy.events`; add-or-remove takes the canary away, replace one turns it round.
        shape: of `tasks.SHAPES`.

    Raises:
        InputError: for fewer pilot runs than numbers to weigh.
    """
    signs = np.repeat(np.array([1.0, OTHER_SIGN.get(relation, -1.0)], np.float32), runs)
    seen, released = views(one, signs[:, None, None] * canary(shape), seed)
    ins, outs = seen.reshape(2, runs, -1).astype(np.float64)
    first = int(runs * PILOT)
    varying = np.count_nonzero(np.ptp(seen, axis=0))
    if varying > first:
        raise InputError(
            f"{varying} numbers of a run are public, for {first} pilot runs: more --runs or fewer --rounds"
        )
    direction = separating_direction(ins[:first], outs[:first])
    scores = ins @ direction, outs @ direction
    return Game((scores[0][:first], scores[1][:first]), (scores[0][first:], scores[1][first:]), released)
