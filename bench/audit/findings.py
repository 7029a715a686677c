"""The bounds of the game on a way of accounting, and how much too little noise it would have detected."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import dp_accounting as dp

from bench.audit import bounds
from bench.audit.game import Game, play
from bench.audit.setting import Setting, spent
from bench.privacy.events import ParallelDpEvent, Release

OTHER_DELTAS = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.4)  # further deltas at which a declared epsilon is computed
FACTORS = tuple(2 ** (quarter / 4) for quarter in range(1, 9))  # divisors of the noise


class Bound(NamedTuple):
    """A lower bound, and the epsilon declared at the same delta.

    how: "game" (error rates, at the declared delta), "other delta" (error rates, at the most informative delta),
        "Gaussian" (the game, for Gaussian noise without sampling), "one run", "one run, Gaussian".
    """

    how: str
    delta: float
    declared: float
    found: float

    @property
    def refutes(self) -> bool:
        """Return whether the lower bound exceeds the declared epsilon."""
        return bounds.is_declared(self.declared) and self.found > self.declared


def by_game(release: Release, released: int, game: Game, significance: float) -> list[Bound]:
    """Return the bounds of a game that is played under the release's own neighbouring relation.

    Args:
        release: one way of accounting.
        released: releases in a run.
        significance: of each bound. Ways of accounting with one relation share all bounds but that at another delta.
    """
    delta, declared = release.delta, spent(release, released)
    results = [Bound("game", delta, declared, bounds.counted(game.tests, {delta: 0.0}, significance)[1])]
    if is_gaussian(release, released):
        results.append(Bound("Gaussian", delta, declared, bounds.gaussian(game.tests, delta, significance)))
    if bounds.is_declared(declared):
        every = {other: spent(release, released, other) for other in (delta, *OTHER_DELTAS)}
        every = {other: epsilon for other, epsilon in every.items() if bounds.is_declared(epsilon)}
        other, proven = bounds.counted(game.tests, every, significance)
        results.append(Bound("other delta", other, every[other], proven))
    return results


def detected_factors(
    one: Setting,
    readings: Mapping[str, Release],
    released: int,
    *,
    shapes: Sequence[str],
    runs: int,
    seed: int,
    significance: float,
) -> dict[str, float]:
    """Return, for each way of accounting, the least of FACTORS by which the noise could be too small for the game to
    refute it; inf where none is large enough.

    The factor is found by playing the game with the noise divided by it. Ways of accounting with epsilon 0 are left
    out.

    Args:
        one: with the noise that the ways of accounting are for.
        released: releases in a run.
        shapes, runs, seed: as for `play`; a seed that the audit did not use.
        significance: of each bound.
    """
    asked = {key: release for key, release in readings.items() if 0 < spent(release, released) < float("inf")}
    detected = dict.fromkeys(asked, float("inf"))
    noise = one.method.noise
    for factor in FACTORS:
        left = {key: release for key, release in asked.items() if detected[key] > factor}
        less = one._replace(args=one.args | {noise: one.args[noise] / factor})
        for relation in dict.fromkeys(release.neighbors for release in left.values()):
            game = play(less, relation, shapes, runs=runs, seed=seed)
            for key, release in left.items():
                results = by_game(release, released, game, significance) if release.neighbors == relation else []
                if any(bound.refutes for bound in results):
                    detected[key] = factor
    return detected


def is_gaussian(release: Release, released: int) -> bool:
    """Return whether all releases about a unit are Gaussians without sampling, and there is at least one."""

    def parts(event) -> list:
        if isinstance(event, dp.SelfComposedDpEvent):
            return parts(event.event) if event.count else []
        if isinstance(event, dp.ComposedDpEvent | ParallelDpEvent):
            return [part for one in event.events for part in parts(one)]
        return [] if isinstance(event, dp.NoOpDpEvent) else [event]

    released_events = parts(release.event(released))
    return bool(released_events) and all(isinstance(part, dp.GaussianDpEvent) for part in released_events)
