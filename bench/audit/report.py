"""The audit of a method: declared epsilon beside lower bounds, reading by reading, and what that says."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import dp_accounting as dp

from bench.algorithms.base import Method
from bench.audit import bounds
from bench.audit.game import Game, play
from bench.audit.one_run import one_run
from bench.audit.setting import count_releases, for_canaries, setting, spent, with_noise_for
from bench.audit.tasks import SHAPES
from bench.errors import InputError
from bench.outside import load_method
from bench.privacy.events import ParallelDpEvent, Release

OTHER_DELTAS = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.4)  # at which a reading is asked what it declares, beside its own
FEWEST_RUNS, FEWEST_CANARIES = 300, 20


class Bound(NamedTuple):
    """A lower bound beside what is declared at the same delta.

    how: "game" (error rates, at the declared delta), "other delta" (error rates, where they say most), "Gaussian" (the
        game, for Gaussian noise without sampling), "one run", "one run, Gaussian".
    """

    how: str
    delta: float
    declared: float
    found: float

    @property
    def refutes(self) -> bool:
        """Whether more was measured than is declared."""
        return bounds.is_declared(self.declared) and self.found > self.declared


class Finding(NamedTuple):
    """What the audit says of one reading. epsilon: declared, at the reading's own delta.

    A reading describes what is released, and declares an epsilon for every delta. A bound at another delta, and a
    Gaussian one, refute that description, and so the reason for the epsilon that is declared.
    """

    reading: str
    release: Release
    epsilon: float
    bounds: tuple[Bound, ...]

    @property
    def refuted(self) -> bool:
        """Whether some bound is larger than declared."""
        return any(bound.refutes for bound in self.bounds)


class Audit(NamedTuple):
    """An audit, or, without findings, the reason why there was nothing to audit.

    method, family, args, rounds: what was run, on which kind of task.
    released: releases in a run.
    runs: in each of the game's two worlds. canaries: in the one run, 0 for none.
    confidence: with which all bounds hold together.
    """

    method: str
    family: str
    args: dict[str, Any]
    rounds: int
    released: int
    runs: int
    canaries: int
    confidence: float
    findings: tuple[Finding, ...]

    @property
    def refuted(self) -> bool:
        """Whether a reading that the method calls proven is refuted."""
        return any(finding.refuted and finding.release.sound for finding in self.findings)


def audit(
    method: str | Method,
    *,
    epsilon: float = 3.0,
    delta: float = 1e-5,
    rounds: int = 3,
    runs: int = 20_000,
    canaries: int = 200,
    family: str | None = None,
    confidence: float = 0.999,
    seed: int = 0,
    args: Mapping[str, Any] | None = None,
) -> Audit:
    """Play the game for every neighbouring relation that a method's readings name, and make the one run.

    Args:
        method: a Method, the name of a built-in one, or FILE.py:NAME.
        epsilon: the noise is the least with which a sound reading declares at most this; a noise in `args` comes
            first. Error rates prove little above log(runs) - 2 or so.
        delta: of the declaration.
        rounds: of a run.
        runs: of a game, in each of its two worlds; a third is the pilot.
        canaries: of the one run; 0 leaves it out.
        family: of `bench.audit.tasks.FAMILIES`; None finds out.
        confidence: with which all the bounds hold together: a sound method is refuted with probability 1 - confidence
            at most.
        args: of the method.

    Raises:
        InputError: for values out of range, or a method that fits no task.
    """
    _check(epsilon, delta, rounds, runs, canaries, confidence)
    name, loaded = load_method(method) if isinstance(method, str) else (method.make.__name__, method)
    given = dict(args or {})
    one = setting(loaded, family=family, rounds=rounds, delta=delta, given=given)
    if not any(release.sound and spent(release, rounds) < math.inf for release in one.readings().values()):
        return Audit(name, one.family, one.args, rounds, 0, 0, 0, confidence, ())
    released = count_releases(one)
    if loaded.noise not in given:
        one = with_noise_for(one, epsilon, released)
    readings = one.readings()
    relations = list(dict.fromkeys(release.neighbors for release in readings.values()))
    units = {release.privacy_unit for release in readings.values()}
    shapes = SHAPES[:1] if "coordinate" in units else SHAPES  # a coordinate is replaced along its axis alone
    games = {
        relation: [play(one, relation, shape, runs=runs, seed=seed + 1 + i) for i, shape in enumerate(shapes)]
        for relation in relations
    }
    released = max(released, *(game.released for played in games.values() for game in played))
    # Of each relation a count and a Gaussian bound of every game and of the one run; of each reading a count a game.
    significance = (1 - confidence) / (len(relations) * (2 * len(shapes) + 2) + len(readings) * len(shapes))
    many = for_canaries(one, canaries) if canaries else None
    of_many = many.readings() if many else {}
    findings = {}
    for relation, played in games.items():
        own = {key: release for key, release in readings.items() if release.neighbors == relation}
        gaussian = {key for key, release in own.items() if _is_gaussian(release, released)}
        at_delta = max(bounds.counted(*game[:2], {delta: 0.0}, significance)[1] for game in played)
        by_gauss = max(bounds.gaussian(*game[:2], delta, significance) for game in played) if gaussian else 0.0
        single = {}
        if many:
            said: dict = {"delta": delta, "significance": significance, "seed": seed, "gaussian": bool(gaussian)}
            single = one_run(many, relation, **said)
        for key, release in own.items():
            declared = spent(release, released)
            beside = [Bound("game", delta, declared, at_delta)]
            if key in gaussian:
                beside.append(Bound("Gaussian", delta, declared, by_gauss))
            for how, (at, found) in single.items():  # beside what is declared on its own task
                if key in gaussian or "Gaussian" not in how:
                    beside.append(Bound(how, at, spent(of_many[key], released, at), found))
            if bounds.is_declared(declared):
                beside.append(max((_elsewhere(release, released, game, significance) for game in played), key=_share))
            findings[key] = Finding(key, release, declared, tuple(beside))
    in_order = tuple(findings[key] for key in readings)
    return Audit(name, one.family, one.args, rounds, released, runs, canaries, confidence, in_order)


def _elsewhere(release: Release, released: int, game: Game, significance: float) -> Bound:
    """The count at the delta where it says most: a reading declares an epsilon for every delta."""
    every = {delta: spent(release, released, delta) for delta in (release.delta, *OTHER_DELTAS)}
    declared = {delta: epsilon for delta, epsilon in every.items() if bounds.is_declared(epsilon)}
    delta, found = bounds.counted(game.pilot, game.scores, declared, significance)
    return Bound("other delta", delta, declared[delta], found)


def _share(bound: Bound) -> float:
    """What was found, as a part of what is declared."""
    return bound.found / max(bound.declared, bounds.SMALLEST)


def _is_gaussian(release: Release, released: int) -> bool:
    """Whether all that is released of a unit are Gaussians without sampling, and at least one."""

    def parts(event) -> list:
        if isinstance(event, dp.SelfComposedDpEvent):
            return parts(event.event) if event.count else []
        if isinstance(event, dp.ComposedDpEvent | ParallelDpEvent):
            return [part for one in event.events for part in parts(one)]
        return [] if isinstance(event, dp.NoOpDpEvent) else [event]

    found = parts(release.event(released))
    return bool(found) and all(isinstance(part, dp.GaussianDpEvent) for part in found)


def _check(epsilon, delta, rounds, runs, canaries, confidence) -> None:
    for option, value, fits, remedy in (
        ("epsilon", epsilon, 0 < epsilon < math.inf, "give a finite number above 0"),
        ("delta", delta, 0 < delta < 1, "give a probability between 0 and 1"),
        ("rounds", rounds, rounds >= 1, "give 1 or more"),
        ("runs", runs, runs >= FEWEST_RUNS, f"give {FEWEST_RUNS} or more"),
        ("canaries", canaries, canaries == 0 or canaries >= FEWEST_CANARIES, f"give 0, or {FEWEST_CANARIES} or more"),
        ("confidence", confidence, 0.5 < confidence < 1, "give a probability above 1/2 and below 1"),
    ):
        if not fits:
            raise InputError(f"{option} is {value}: {remedy}")
