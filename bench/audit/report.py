"""The audit of a method: declared epsilon and lower bounds for each way of accounting, and the verdict."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.algorithms.base import Method
from bench.audit.findings import Bound, by_game, detected_factors, is_gaussian
from bench.audit.game import play
from bench.audit.one_run import one_run
from bench.audit.setting import count_releases, for_canaries, leaves_absent_out, setting, spent, with_noise_for
from bench.audit.tasks import SHAPES
from bench.errors import InputError
from bench.outside import load_method
from bench.privacy.events import ADD_OR_REMOVE, Release

FEWEST_RUNS, FEWEST_CANARIES = 300, 20
MOST_ROUNDS, MOST_RUNS, MOST_CANARIES = 1_000, 10_000_000, 10_000  # more takes hours


class Finding(NamedTuple):
    """The result of the audit for one way of accounting.

    epsilon: the declared epsilon, at the release's own delta.
    detected: the least of FACTORS by which the noise could be too small for the game to refute it; inf where none is
        large enough, None where this was not computed.

    A release describes what is made public, and declares an epsilon for every delta. A bound at another delta, and a
    Gaussian one, refute that description, and with it the reason for the declared epsilon.
    """

    reading: str
    release: Release
    epsilon: float
    bounds: tuple[Bound, ...]
    detected: float | None = None

    @property
    def refuted(self) -> bool:
        """Return whether some bound is larger than the declared epsilon."""
        return any(bound.refutes for bound in self.bounds)


class Audit(NamedTuple):
    """An audit, or, without findings, the reason why there was nothing to audit.

    method, family, args, rounds: the method that was run, and the kind of its task.
    released: releases in a run.
    runs: in each of the game's two worlds.
    canaries: in the one run, 0 for none.
    confidence: joint confidence level of all bounds.
    left_out: whether a removed unit takes part in nothing; otherwise it takes part with data of 0.
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
    left_out: bool = True

    @property
    def refuted(self) -> bool:
        """Return whether a way of accounting that the method declares as proven is refuted."""
        return any(finding.refuted and finding.release.sound for finding in self.findings)

    @property
    def inconclusive(self) -> bool:
        """Return whether nothing that is declared as proven is refuted, nor would be with a quarter of the noise."""
        return not self.refuted and all(
            finding.detected == math.inf for finding in self.findings if finding.release.sound
        )


def audit(
    method: str | Method,
    *,
    epsilon: float = 3.0,
    delta: float = 1e-5,
    rounds: int = 4,
    runs: int = 20_000,
    canaries: int = 200,
    family: str | None = None,
    confidence: float = 0.999,
    seed: int = 0,
    power: bool = False,
    args: Mapping[str, Any] | None = None,
) -> Audit:
    """Run the game for every neighbouring relation in a method's ways of accounting, and the one-run audit.

    Args:
        method: a Method, the name of a built-in one, or FILE.py:NAME.
        epsilon: the noise is calibrated so that a sound way of accounting declares at most this, unless `args` has the
            noise. Error rates cannot prove much more than about log(runs) - 2.
        delta: of the declaration.
        rounds: of a run. After a power of two of them a tree of partial sums is complete, and shows all that it costs.
        runs: of a game, in each of its two worlds; a third is the pilot.
        canaries: of the one run; 0 leaves it out.
        family: of `bench.audit.tasks.FAMILIES`; None finds out.
        confidence: joint confidence level of all bounds: a sound method is refuted with probability at most 1 -
            confidence.
        seed: random seed.
        power: whether to repeat the game with less noise, to report how much too little noise it would have detected.
        args: of the method.

    Raises:
        InputError: for values out of range, or a method that fits no task.
    """
    check(epsilon, delta, rounds, runs, canaries, confidence, seed)
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
    shapes = SHAPES[:1] if "coordinate" in units else SHAPES  # a coordinate is replaced along its own axis only
    games = {relation: play(one, relation, shapes, runs=runs, seed=seed + 1) for relation in relations}
    released = max(released, *(game.released for game in games.values()))
    # A count and a Gaussian bound of the game and of the one run for each relation; a count for each way of accounting.
    significance = (1 - confidence) / (4 * len(relations) + len(readings))
    found = {
        key: by_game(release, released, games[release.neighbors], significance) for key, release in readings.items()
    }
    many = for_canaries(one, canaries) if canaries else None
    if many:
        of_many = many.readings()
        for relation in relations:
            own = [key for key, release in readings.items() if release.neighbors == relation]
            gaussian = {key for key in own if is_gaussian(readings[key], released)}
            options: dict = {"delta": delta, "significance": significance, "seed": seed, "gaussian": bool(gaussian)}
            for how, (at, proven) in one_run(many, relation, **options).items():
                for key in own if "Gaussian" not in how else gaussian:  # with the epsilon of its own task
                    found[key].append(Bound(how, at, spent(of_many[key], released, at), proven))
    detected: dict[str, float] = {}
    if power and one.scales_noise:
        sound = {key: release for key, release in readings.items() if release.sound}
        options = {"shapes": shapes, "runs": runs, "seed": seed + 2, "significance": significance}
        detected = detected_factors(one, sound, released, **options)
    findings = tuple(
        Finding(key, release, spent(release, released), tuple(found[key]), detected.get(key))
        for key, release in readings.items()
    )
    left_out = ADD_OR_REMOVE not in relations or leaves_absent_out(one)
    return Audit(name, one.family, one.args, rounds, released, runs, canaries, confidence, findings, left_out)


def check(
    epsilon: float, delta: float, rounds: int, runs: int, canaries: int, confidence: float, seed: int, **_: Any
) -> None:
    """Refuse options of an audit that are out of range."""
    many = range(FEWEST_CANARIES, MOST_CANARIES + 1)
    for option, value, fits, remedy in (
        ("epsilon", epsilon, 0 < epsilon < math.inf, "give a finite number above 0"),
        ("delta", delta, 0 < delta < 1, "give a probability between 0 and 1"),
        ("rounds", rounds, 1 <= rounds <= MOST_ROUNDS, f"give 1 to {MOST_ROUNDS:,}"),
        ("runs", runs, FEWEST_RUNS <= runs <= MOST_RUNS, f"give {FEWEST_RUNS} to {MOST_RUNS:,}"),
        ("canaries", canaries, canaries == 0 or canaries in many, f"give 0, or {FEWEST_CANARIES} to {MOST_CANARIES:,}"),
        ("confidence", confidence, 0.5 < confidence < 1, "give a probability above 1/2 and below 1"),
        ("seed", seed, 0 <= seed < 2**31 - 2, "give 0 or more, and less than two billion"),
    ):
        if not fits:
            raise InputError(f"{option} is {value}: {remedy}")
