"""The audit of a method: declared epsilon and lower bounds for each way of accounting, and the verdict."""

import html
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from bench.algorithms.base import Method
from bench.algorithms.loading import load_method
from bench.audit import bounds
from bench.audit.bounds import FINITE, SHIFT
from bench.audit.findings import (
    FACTORS,
    MARGIN,
    Bound,
    Finding,
    Games,
    as_pilot,
    by_game,
    is_gaussian,
    least_detected,
    longer,
    most_refuted,
)
from bench.audit.game import Game, overflows, play
from bench.audit.one_run import one_run
from bench.audit.subject import (
    ABSENT,
    KEPT,
    Stops,
    Subject,
    count_releases,
    for_canaries,
    on_family,
    removal,
    spent,
    subject_of,
    unseen_state,
    with_noise_for,
)
from bench.audit.tasks import BESIDES, FAMILIES, OVERFLOW, SHAPES
from bench.audit.text import text_of
from bench.errors import InputError, in_one_line
from bench.execution.progress import LONG_S, duration
from bench.privacy.events import ADD_OR_REMOVE

FEWEST_RUNS, FEWEST_CANARIES = 300, 20
MOST_ROUNDS, MOST_RUNS, MOST_CANARIES = 1_000, 10_000_000, 10_000  # more takes hours
FAILED, PASSED, INCONCLUSIVE = "FAILED", "passed", "inconclusive"
ENOUGH = 20.0  # times the runs of the first game: a longer one ends there, unless it seems to need more
LOOKS = 2  # of an audit with a time limit: the game, and a longer one; each has its share of the significance
WORTH_IT = 2.0  # a longer game has at least so many times the runs of the first
BESIDE_SEEDS = 1_000_003  # between the seeds of the tasks
LESS_NOISE, MORE_RUNS = 2, 17  # added to the seed for games with less noise, and for the longer game; others take 0, 1

Say = Callable[[str], None]


class Part(NamedTuple):
    """The audit on one task.

    family, args, rounds: of the task, and what the method was run with on it.
    released: releases in a run.
    canaries: in the one run, 0 for none.
    findings: one for each way of accounting.
    calibrated: the way of accounting to which the noise was calibrated; "" where the noise was given, or there is none.
    removal: what a removed unit is, `subject.ABSENT`, ZERO or KEPT; ABSENT where none is removed.
    reported: name -> the epsilon that a number which `round` reports would prove if it were public.
    unseen: parts of the state that are not public.
    still: whether what is public was the same in all runs.
    """

    family: str
    args: dict[str, Any]
    rounds: int
    released: int
    canaries: int
    findings: tuple[Finding, ...]
    calibrated: str = ""
    removal: str = ABSENT
    reported: Mapping[str, float] = {}
    unseen: tuple[str, ...] = ()
    still: bool = False


class Audit(NamedTuple):
    """An audit; without findings, there was nothing to audit.

    method: that was run.
    runs: of the game in each of its two worlds.
    confidence: joint confidence level of all bounds.
    parts: one for each task; the first is the one that was asked for.
    not_played: family -> why the method did not run on it.
    longest: runs in each world of the longer game; 0 where there was none.
    too_small: by what factor the noise is too small at least; 1 where that is not known.
    """

    method: str
    runs: int
    confidence: float
    parts: tuple[Part, ...]
    not_played: Mapping[str, str] = {}
    longest: int = 0
    too_small: float = 1.0

    def __str__(self) -> str:
        """Return what the command prints: the verdict, and a line for each way of accounting on each task."""
        return text_of(self)

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each lower bound, with the epsilon declared beside it: the columns of audit.csv.

        Where there was nothing to audit, it is a single row without numbers.
        """
        common = {"method": self.method, "family": self.family}
        rows = [
            {
                **common,
                "family": finding.family,
                "arguments": ", ".join(f"{name}={value}" for name, value in self.args.items()),
                "privacy_unit": finding.release.privacy_unit,
                "protects_against": finding.release.protects_against,
                "neighbors": finding.release.neighbors,
                "sampler": finding.release.sampler,
                "accountant": finding.release.accountant,
                "reading": finding.reading,
                "proven": finding.release.sound,
                "declared": finding.epsilon,
                "test": bound.how,
                "at_delta": bound.delta,
                "declared_there": bound.declared,
                "lower_bound": bound.found,
                "refuted": bound.refutes,
                "noise_factor": math.nan if finding.detected is None else finding.detected,
                "one_run_canaries": self.canaries,
                "score": bound.by,
                "played": finding.played,
                "runs_needed": math.nan if finding.needed is None else finding.needed,
                "longest_game": self.longest,
            }
            for finding in self.findings
            for bound in finding.bounds
        ]
        return pd.DataFrame(rows or [common])

    @property
    def family(self) -> str:
        return self.parts[0].family

    @property
    def args(self) -> dict[str, Any]:
        return self.parts[0].args

    @property
    def canaries(self) -> int:
        return self.parts[0].canaries

    @property
    def left_out(self) -> bool:
        """Whether a unit that is removed takes part in nothing, on all tasks."""
        return all(part.removal == ABSENT for part in self.parts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on all tasks."""
        return tuple(finding for part in self.parts for finding in part.findings)

    @property
    def sound(self) -> tuple[Finding, ...]:
        """The findings on ways of accounting that the method declares as proven."""
        return tuple(finding for finding in self.findings if finding.release.sound)

    @property
    def refuted(self) -> bool:
        """Whether a way of accounting that the method declares as proven is refuted."""
        return any(finding.refuted for finding in self.sound)

    @property
    def most_refuted(self) -> Finding | None:
        """The proven way of accounting that is refuted by most, at the declared delta if one is; None where none is."""
        refuted = [finding for finding in self.sound if finding.refuted]

        def by(finding: Finding) -> tuple[bool, float]:
            worst = finding.worst
            return worst.delta == finding.release.delta, worst.found - worst.declared

        return max(refuted, key=by, default=None)

    @property
    def strongest(self) -> Finding | None:
        """The proven way of accounting for which the least lack of noise would have been seen; None where that is true
        of none, or was not computed.
        """
        seen = [finding for finding in self.sound if finding.detected is not None and finding.detected < math.inf]
        return min(seen, key=lambda finding: finding.detected or math.inf, default=None)

    @property
    def silent(self) -> bool:
        """Whether the method declares an epsilon of 0, and what is public was the same in all runs."""
        return all(part.still for part in self.parts) and all(finding.epsilon == 0 for finding in self.sound)

    @property
    def verdict(self) -> str:
        """Return FAILED; PASSED, where nothing is refuted and some lack of noise would have been; or INCONCLUSIVE."""
        if self.refuted:
            return FAILED
        unplayed = any(not finding.played for finding in self.sound if finding.family == self.family)
        return PASSED if (self.strongest or self.silent) and not unplayed else INCONCLUSIVE

    @property
    def inconclusive(self) -> bool:
        """Whether the verdict is neither FAILED nor PASSED."""
        return self.verdict == INCONCLUSIVE


def audited(
    method: str | Method,
    *,
    epsilon: float,
    delta: float,
    rounds: int,
    runs: int,
    canaries: int,
    family: str | None,
    confidence: float,
    seed: int,
    power: bool,
    seconds: float,
    args: Mapping[str, Any] | None,
    say: Say | None,
) -> Audit:
    """Return the audit of a method, as `bench.audit.audit` describes it."""
    check(epsilon, delta, rounds, runs, canaries, confidence, seed, seconds)
    tell = say or (lambda line: None)
    name, loaded = load_method(method) if isinstance(method, str) else (method.make.__name__, method)
    given = dict(args or {})
    subject = subject_of(loaded, family=family, rounds=rounds, delta=delta, given=given)
    if not any(release.sound and spent(release, rounds) < math.inf for release in subject.readings().values()):
        nothing = Part(subject.family, subject.args, rounds, 0, 0, ())
        return Audit(name, 0, confidence, (nothing,))
    besides = BESIDES.get(subject.family, ()) if family is None else ()
    looks = LOOKS if power and seconds > 0 else 1
    options: dict = {"epsilon": None if loaded.noise in given else epsilon, "runs": runs, "power": power, "say": tell}
    options |= {"significance": (1 - confidence) / looks / (2 if besides else 1)}
    tasks = 2 if besides else 1
    played = [_play_on(subject, canaries=canaries, seed=seed, seconds=seconds, tasks=tasks, **options)]
    not_played: dict[str, str] = {}
    for place, other in enumerate(besides, start=1):
        try:
            beside = on_family(subject, other, 2 * rounds)
            played.append(_play_on(beside, canaries=0, seed=seed + BESIDE_SEEDS * place, all_readings=False, **options))
            break
        except Exception as error:  # also of a method whose accounting is for other numbers of users or rounds
            known = error.reason if isinstance(error, Stops) else str(error)
            not_played[other] = known if isinstance(error, InputError) else in_one_line(error)
    found = Audit(name, runs, confidence, tuple(each.part for each in played), not_played)
    if looks > 1 and not found.refuted:
        found = _longer(found, played, (1 - confidence) / LOOKS, time.monotonic() + seconds, tell)
    if power and found.refuted:
        found = found._replace(too_small=_too_small(found, played, tell))
    return found


def _long(first_s: float, *, tasks: int, power: bool, seconds: float) -> str | None:
    """Return the sentence for an audit that takes more than LONG_S; None for others.

    Args:
        first_s: seconds of the first game of all relations on one task, without compiling.
        tasks: that are played on.
        power, seconds: as for `audit`.
    """
    searched = len(FACTORS).bit_length() if power else 0  # games with less noise
    total_s = tasks * first_s * (1 + searched) + (seconds if power else 0.0)
    return f"This takes about {duration(total_s)}." if total_s > LONG_S else None


class _Played(NamedTuple):
    """A part, and what a longer game on its task needs."""

    part: Part
    subject: Subject
    first: Mapping[str, Game]
    games: Games
    significance: float


def _play_on(
    subject: Subject,
    *,
    epsilon: float | None,
    runs: int,
    canaries: int,
    seed: int,
    significance: float,
    power: bool,
    say: Say,
    seconds: float = 0.0,
    tasks: int = 0,
    all_readings: bool = True,
) -> _Played:
    """Return the audit on one task.

    Args:
        epsilon: to calibrate the noise to; None leaves the noise as given.
        significance: of all bounds together.
        seconds: as for `audit`.
        tasks: that the audit plays on, for a warning that it takes long; 0 for none.
        all_readings: whether to find how much too little noise would be seen for every proven way of accounting, or
            only for the one that declares least.
    """
    say(f"{subject.family}: {runs:,} runs with a canary and as many without")
    released, calibrated = count_releases(subject), ""
    if epsilon is not None:
        subject, calibrated = with_noise_for(subject, epsilon, released)
    readings = subject.readings()
    relations = list(dict.fromkeys(release.neighbors for release in readings.values()))
    removed = removal(subject) if ADD_OR_REMOVE in relations else ABSENT
    can_play = {relation: relation != ADD_OR_REMOVE or removed != KEPT for relation in relations}
    units = {release.privacy_unit for release in readings.values()}
    family = FAMILIES[subject.family]
    shapes = SHAPES[:1] if "coordinate" in units else family.shapes  # a coordinate is replaced along its own axis only
    if overflows(subject, seed + 1):
        shapes = (*shapes, OVERFLOW)
    games = {relation: play(subject, relation, shapes, runs=runs, seed=seed + 1) for relation in relations}
    released = max(released, *(game.released for game in games.values()))
    first_s = sum(2 * runs * len(shapes) * game.seconds for game in games.values())
    if tasks and (text := _long(first_s, tasks=tasks, power=power, seconds=seconds)):
        say(text)
    # A count and a Gaussian bound of the game and of the one run for each relation, one for the numbers that are
    # reported, and a count for each way of accounting.
    each = significance / (5 * len(relations) + len(readings))
    found = {
        key: by_game(release, released, games[release.neighbors], each, played=can_play[release.neighbors])
        for key, release in readings.items()
    }
    finite = all(test.kind != FINITE for game in games.values() for test in game.tests)
    many = for_canaries(subject, canaries) if canaries and finite else None
    if many:
        say(f"{subject.family}: one run with {canaries} canaries")
        of_many = many.readings()
        for relation in filter(can_play.__getitem__, relations):
            own = [key for key, release in readings.items() if release.neighbors == relation]
            gaussian = {key for key in own if is_gaussian(readings[key], released)}
            options: dict = {"delta": subject.delta, "significance": each, "seed": seed, "gaussian": bool(gaussian)}
            for how, (at, proven) in one_run(many, relation, **options).items():
                for key in own if "Gaussian" not in how else gaussian:  # with the epsilon of its own task
                    found[key].append(Bound(how, at, spent(of_many[key], released, at), proven))
    proven = {key: spent(release, released) for key, release in readings.items() if release.sound}
    asked = {key for key, spends in proven.items() if 0 < spends < math.inf and can_play[readings[key].neighbors]}
    if not (power and subject.scales_noise):
        asked = set()
    elif not all_readings:
        asked = set(sorted(asked, key=proven.__getitem__)[:1])
    less = Games(subject, shapes, runs=runs, seed=seed + LESS_NOISE)
    findings = []
    for key, release in readings.items():
        spends, playable = spent(release, released), can_play[release.neighbors]
        result = Finding(key, release, spends, tuple(found[key]), family=subject.family, played=playable)
        if key in asked and not result.refuted:
            say(f"{subject.family}: how much too little noise would have been seen ({key})")
            detected = least_detected(release, released, less, each)
            factor = FACTORS[0] if detected < math.inf else FACTORS[-1]
            tests = less.game(release.neighbors, factor).tests
            needed = float(runs) if detected <= factor else longer(release, released, each).needed(tests, runs)
            result = result._replace(detected=detected, needed=needed)
        findings.append(result)
    part = Part(
        subject.family,
        subject.args,
        subject.rounds,
        released,
        canaries if many else 0,
        tuple(findings),
        calibrated,
        removed,
        _proven_by_reports(games, subject.delta, each),
        tuple(unseen_state(subject)),
        all(game.still for game in games.values()),
    )
    return _Played(part, subject, games, less, each)


def _proven_by_reports(games: Mapping[str, Game], delta: float, significance: float) -> dict[str, float]:
    """Return name -> the epsilon that this reported number proves, for the one that proves most under each relation by
    the pilot runs; 0 for all others.
    """
    proven: dict[str, float] = {}
    for game in games.values():
        tests = {name: bounds.choose(tests, {delta: 1.0}, significance) for name, tests in game.reported.items()}
        best = max(tests, key=lambda name: tests[name].part, default=None)
        for name, choice in tests.items():
            found = bounds.proven(choice, choice.test.others(), significance) if name == best else 0.0
            proven[name] = max(proven.get(name, 0.0), found)
    return proven


def _longer(found: Audit, played: list[_Played], significance: float, until: float, say: Say) -> Audit:
    """Return the audit after a longer game, if there is time for one, and either the first game was not sharp enough,
    or so many runs would refute the method if errors stayed as rare as they were.

    It is about the way of accounting of which the least lack of noise would have been seen. The runs of the first game
    are its pilot, and it takes one bound.

    Args:
        significance: of that bound.
        until: when the longer game should end, by `time.monotonic`.
    """
    asked = [
        (finding.detected, place, finding)
        for place, each in enumerate(played)
        for finding in each.part.findings
        if finding.detected is not None
    ]
    if not asked:
        return found
    detected, place, finding = min(asked, key=lambda candidate: candidate[:2])
    each, release = played[place], finding.release
    relation, released = release.neighbors, each.part.released
    further, first = longer(release, released, significance), each.first[relation]
    # Two worlds, of the game itself, of one with less noise, and in case that detects nothing of another.
    affordable = min((until - time.monotonic()) / (6 * first.seconds), MOST_RUNS)
    to_refute = further.needed(first.tests, found.runs)
    wanted = ENOUGH * found.runs
    if to_refute <= affordable:
        wanted = max(wanted, MARGIN * to_refute)
    elif detected <= FACTORS[0]:
        return found
    if detected > FACTORS[0]:
        wanted = max(wanted, MARGIN * further.needed(each.games.game(relation, FACTORS[0]).tests, found.runs))
    runs = int(min(affordable, wanted))
    if runs < WORTH_IT * found.runs:
        return found
    seed = each.games.seed + MORE_RUNS
    say(f"{each.part.family}: {runs:,} further runs with a canary and as many without")
    bound = further.bound(each.subject, further.choice(as_pilot(first.tests), runs), runs=runs, seed=seed)
    finding = finding._replace(bounds=(*finding.bounds, bound))
    if not bound.refutes:
        for factor in [factor for factor in FACTORS if factor < detected]:
            choice = further.choice(as_pilot(each.games.game(relation, factor).tests), runs)
            if choice.part <= 1:
                continue
            if time.monotonic() + 2 * runs * first.seconds > until:
                break
            say(f"{each.part.family}: {runs:,} further runs with noise that is {factor:.3g} times smaller")
            less = each.games.with_less_noise(factor)
            if further.bound(less, choice, runs=runs, seed=seed + 1).refutes:
                finding = finding._replace(detected=factor)
                break
    findings = tuple(finding if other.reading == finding.reading else other for other in each.part.findings)
    parts = [game.part for game in played]
    parts[place] = each.part._replace(findings=findings)
    return found._replace(parts=tuple(parts), longest=runs)


def _too_small(found: Audit, played: list[_Played], say: Say) -> float:
    """Return by what factor the noise is too small at least, where a shift refutes the method; else 1."""
    finding = found.most_refuted
    assert finding is not None
    (each,) = (each for each in played if each.part.family == finding.family)
    if finding.worst.by != SHIFT or not finding.played or not each.subject.scales_noise:
        return 1.0
    say(f"{each.part.family}: by what factor the noise is too small")
    return most_refuted(finding.release, each.part.released, each.games, each.significance)


def check(
    epsilon: float,
    delta: float,
    rounds: int,
    runs: int,
    canaries: int,
    confidence: float,
    seed: int,
    seconds: float = 0.0,
    **_: Any,
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
        ("seconds", seconds, 0 <= seconds < math.inf, "give 0, for no further runs, or more"),
        ("seed", seed, 0 <= seed < 2**31 - 2, "give 0 or more, and less than two billion"),
    ):
        if not fits:
            raise InputError(f"{option} is {value}: {remedy}")
