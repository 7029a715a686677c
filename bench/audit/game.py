"""Many independent runs with and without one canary, which are the statistical test of the noise.

The attacker sees everything that is public after every round, and scores it by its likelihood ratio with and without
the canary, which is estimated from simulated runs. (Jagielski, Ullman, Oprea 2020; Nasr et al. 2021, whose adversaries
choose the data as here.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from bench.audit.bounds import Likelihood, Test, likelihoods
from bench.audit.setting import Setting, run, views
from bench.audit.tasks import canary
from bench.errors import InputError
from bench.privacy.events import ADD_OR_REMOVE

PILOT = 1 / 3  # of the runs
MOVES = 128  # simulated runs that show how a canary moves what is public; the time of a score grows with them
OTHER_SIGN = {ADD_OR_REMOVE: 0.0}  # of the canary in the neighbouring data set; -1 where it is replaced


class Game(NamedTuple):
    """The scores of a game.

    tests: one for each shape of the canary and kind of noise.
    released: the most releases of any run.
    """

    tests: list[Test]
    released: int


def play(one: Setting, relation: str, shapes: Sequence[str], *, runs: int, seed: int) -> Game:
    """Make `runs` runs on each of two neighbouring data sets, for every shape of the canary.

    Args:
        relation: of `bench.privacy.events`; "add-or-remove one" removes the canary, "replace one" reverses its sign.
        shapes: names in `tasks.SHAPES`.

    Raises:
        InputError: for fewer pilot runs than numbers to weigh.
    """
    other, first = OTHER_SIGN.get(relation, -1.0), int(runs * PILOT)
    tests, most = [], 0
    without = views(one, np.zeros((first, *canary(shapes[0]).shape), np.float32), seed)[0].reshape(first, -1)
    for place, shape in enumerate(shapes, start=1):
        signs = np.repeat(np.array([1.0, other], np.float32), runs)
        seen, released = views(one, signs[:, None, None] * canary(shape), seed + place)
        flat = seen.reshape(2 * runs, -1).astype(np.float64)
        for score in _scores(one, without, shape, other, seed):
            ins, outs = score(flat).reshape(2, runs)
            tests.append(Test((ins[:first], outs[:first]), (ins[first:], outs[first:])))
        most = max(most, released)
    return Game(tests, most)


def _scores(one: Setting, without: np.ndarray, shape: str, other: float, seed: int) -> tuple[Likelihood, ...]:
    """Return scores from runs without the canary [run, round and feature], and from other runs that share their
    randomness with runs that have it.
    """
    keys = jax.random.split(jax.random.key(seed), MOVES)
    with_one, with_other, with_none = (
        run(one, np.broadcast_to(sign * canary(shape), (MOVES, *canary(shape).shape)), keys)[0].reshape(MOVES, -1)
        for sign in (1.0, other, 0.0)
    )
    varying = np.count_nonzero(np.ptp(without, axis=0))
    if varying > len(without):
        raise InputError(
            f"{varying} numbers of a run are public, for {len(without)} pilot runs: more --runs or fewer --rounds"
        )
    moves = (with_one - with_none).astype(np.float64), (with_other - with_none).astype(np.float64)
    return likelihoods(without.astype(np.float64), moves)
