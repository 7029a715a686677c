"""Many independent runs with and without one canary, which are the statistical test of the noise.

The attacker sees everything that is public after every round. One kind of score is its likelihood ratio with and
without the canary, which is estimated from simulated runs; the other is how large the changes are. (Jagielski, Ullman,
Oprea 2020; Nasr et al. 2021, whose adversaries choose the data as here.)
"""

from collections.abc import Sequence

import jax
import numpy as np
from scipy import stats

from bench.audit.bounds import Score, Test, likelihoods
from bench.audit.scales import PILOT, tests_of
from bench.audit.subject import Subject, data_of, run
from bench.errors import InputError

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
    tests: list[Test] = []
    keys = jax.random.split(jax.random.key(seed), int(runs * PILOT))
    reference = run(subject, data_of(subject, relation, shapes[0], 2), keys, finite=True).changes
    for place, shape in enumerate(shapes, start=1):
        keys = jax.random.split(jax.random.key(seed + place), 2 * runs)
        worlds = (
            run(subject, data_of(subject, relation, shape, world), keys[world * runs :][:runs]) for world in (0, 1)
        )
        ins, outs = (list(views.changes.astype(np.float64).transpose(1, 0, 2)) for views in worlds)
        tests += tests_of(ins, outs, _shifts(subject, relation, reference, shape, seed))
    return tests


def _shifts(subject: Subject, relation: str, reference: np.ndarray, shape: str, seed: int) -> list[Score]:
    """Return scores of a shift, from runs without the canary, and from other runs that share their randomness with runs
    that have the canary.
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
    heavy = varying.any() and np.median(stats.kurtosis(runs_without[:, varying], axis=0)) > HEAVY_TAILS
    return [gaussian, laplace] if heavy else [gaussian]
