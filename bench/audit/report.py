"""The audit of a method: what replay and the game find for each way of accounting, and the verdict."""

import html
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from bench.algorithms.base import Method
from bench.algorithms.loading import load_method
from bench.audit.findings import Finding, by_game
from bench.audit.game import play
from bench.audit.replay import replay
from bench.audit.subject import (
    ABSENT,
    KEPT,
    Stops,
    Subject,
    calibrated_subject,
    count_releases,
    epsilon_spent,
    on_family,
    removal,
    subject_of,
    unseen_state,
)
from bench.audit.tasks import BESIDES, FAMILIES, SHAPES
from bench.audit.text import text_of
from bench.errors import InputError, in_one_line
from bench.inputs.values import check_range
from bench.privacy.events import ADD_OR_REMOVE

FEWEST_RUNS = 300
MOST_ROUNDS, MOST_RUNS = 1_000, 10_000_000  # more takes hours
FAILED, PASSED, INCONCLUSIVE = "FAILED", "passed", "inconclusive"
BESIDE_SEEDS = 1_000_003  # between the seeds of the tasks

Say = Callable[[str], None]


class TaskAudit(NamedTuple):
    """The audit on one task.

    family, args, rounds: of the task, and what the method was run with on it.
    released: releases in a run.
    findings: one for each way of accounting.
    calibrated: the way of accounting to which the noise was calibrated; "" where the noise was given, or there is none.
    removal: what a removed unit is, `subject.ABSENT`, ZERO or KEPT; ABSENT where none is removed.
    reported: name of a number that `round` reports -> whether the canary changes it.
    hidden_state: parts of the state that are not public.
    """

    family: str
    args: dict[str, Any]
    rounds: int
    released: int
    findings: tuple[Finding, ...]
    calibrated: str = ""
    removal: str = ABSENT
    reported: Mapping[str, bool] = {}
    hidden_state: tuple[str, ...] = ()


class Audit(NamedTuple):
    """An audit; without findings, there was nothing to audit.

    method: that was run.
    runs: of the game in each of its two worlds.
    confidence: joint confidence level of all bounds.
    task_audits: one for each task; the first is the one that was asked for.
    not_played: family -> why the method did not run on it.
    """

    method: str
    runs: int
    confidence: float
    task_audits: tuple[TaskAudit, ...]
    not_played: Mapping[str, str] = {}

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
                "replay_factor": finding.factor,
                "replay_place": finding.place,
                "replay_left_out": finding.reason,
                "more_often": finding.more_often,
                "noise_factor": finding.unseen_factor,
                "test": bound.test if bound else "",
                "at_delta": bound.delta if bound else finding.release.delta,
                "declared_there": bound.declared if bound else finding.epsilon,
                "lower_bound": bound.lower_bound if bound else math.nan,
                "refuted": bound.refutes if bound else False,
                "score": bound.score if bound else "",
                "played": finding.played,
            }
            for finding in self.findings
            for bound in finding.bounds or (None,)
        ]
        return pd.DataFrame(rows or [common])

    @property
    def family(self) -> str:
        return self.task_audits[0].family

    @property
    def args(self) -> dict[str, Any]:
        return self.task_audits[0].args

    @property
    def left_out(self) -> bool:
        """Whether a unit that is removed takes part in nothing, on all tasks."""
        return all(task_audit.removal == ABSENT for task_audit in self.task_audits)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings on all tasks."""
        return tuple(finding for task_audit in self.task_audits for finding in task_audit.findings)

    @property
    def sound(self) -> tuple[Finding, ...]:
        """The findings on ways of accounting that the method declares as proven."""
        return tuple(finding for finding in self.findings if finding.release.sound)

    @property
    def refuted(self) -> bool:
        """Whether a way of accounting that the method declares as proven is refuted."""
        return self.most_refuted is not None

    @property
    def most_refuted(self) -> Finding | None:
        """The proven way of accounting that is refuted most clearly: by replay by the largest factor, or by the game by
        the bound that exceeds most; None where none is."""
        refuted = [finding for finding in self.sound if finding.refuted]

        def excess(finding: Finding) -> tuple[float, float]:
            bound = finding.worst_bound
            above = bound.lower_bound - bound.declared if bound else 0.0
            return finding.factor if finding.replay_refutes else 0.0, above

        return max(refuted, key=excess, default=None)

    @property
    def strongest(self) -> Finding | None:
        """The proven way of accounting with the smallest epsilon, of several that for which replay would have seen the
        least lack of noise; None where replay decides none."""
        decided = (finding for finding in self.sound if finding.decided)
        return min(decided, key=lambda finding: (finding.epsilon, finding.unseen_factor), default=None)

    @property
    def verdict(self) -> str:
        """Return FAILED; PASSED, where nothing is refuted and some lack of noise would have been; or INCONCLUSIVE."""
        if self.refuted:
            return FAILED
        unplayed = any(not finding.played for finding in self.sound if finding.family == self.family)
        return PASSED if self.strongest and not unplayed else INCONCLUSIVE


def audit_method(
    method: str | Method,
    *,
    epsilon: float,
    delta: float,
    rounds: int,
    runs: int,
    family: str | None,
    confidence: float,
    seed: int,
    args: Mapping[str, Any] | None,
    say: Say | None,
) -> Audit:
    """Return the audit of a method, as `bench.audit.audit` describes it."""
    check(epsilon, delta, rounds, runs, confidence, seed)
    report = say or (lambda line: None)
    name, loaded_method = load_method(method) if isinstance(method, str) else (method.make.__name__, method)
    given_args = dict(args or {})
    subject = subject_of(loaded_method, family=family, rounds=rounds, delta=delta, args=given_args)
    if not subject.declares_privacy(rounds):
        return Audit(name, 0, confidence, (TaskAudit(subject.family, subject.args, rounds, 0, ()),))
    further_families = BESIDES.get(subject.family, ()) if family is None else ()
    options: dict = {"epsilon": None if loaded_method.noise in given_args else epsilon, "runs": runs, "say": report}
    options |= {"significance": (1 - confidence) / (2 if further_families else 1)}
    task_audits = [_task_audit(subject, seed=seed, **options)]
    not_played: dict[str, str] = {}
    for place, other_family in enumerate(further_families, start=1):
        try:
            task_audits.append(
                _task_audit(on_family(subject, other_family, 2 * rounds), seed=seed + BESIDE_SEEDS * place, **options)
            )
            break
        except Exception as error:  # also of a method whose accounting is for other numbers of users or rounds
            reason = error.reason if isinstance(error, Stops) else str(error)
            not_played[other_family] = reason if isinstance(error, InputError) else in_one_line(error)
    return Audit(name, runs, confidence, tuple(task_audits), not_played)


def _task_audit(
    subject: Subject, *, epsilon: float | None, runs: int, seed: int, significance: float, say: Say
) -> TaskAudit:
    """Return the audit on one task.

    Args:
        epsilon: to calibrate the noise to; None leaves the noise as given.
        significance: of all bounds together.
    """
    released, calibrated = count_releases(subject), ""
    if epsilon is not None:
        subject, calibrated = calibrated_subject(subject, epsilon, released)
    readings = subject.readings()
    relations = list(dict.fromkeys(release.neighbors for release in readings.values()))
    removed_unit = removal(subject) if ADD_OR_REMOVE in relations else ABSENT
    # A coordinate is replaced along its own axis only.
    shapes = SHAPES[:1] if "coordinate" in subject.units else FAMILIES[subject.family].shapes
    say(f"{subject.family}: the same keys with a canary and without")
    replays = {relation: replay(subject, relation, shapes, released, seed) for relation in relations}
    playable = [relation for relation in relations if relation != ADD_OR_REMOVE or removed_unit != KEPT]
    say(f"{subject.family}: {runs:,} runs with a canary and as many without")
    games = {relation: play(subject, relation, shapes, runs=runs, seed=seed + 1) for relation in playable}
    # A count and a Gaussian bound for each relation, and a count for each way of accounting.
    share_of_bound = significance / (2 * len(relations) + len(readings))
    findings = []
    for key, release in readings.items():
        replay_result, played = replays[release.neighbors], release.neighbors in games
        findings.append(
            Finding(
                key,
                release,
                epsilon_spent(release, released),
                by_game(release, released, games[release.neighbors], share_of_bound) if played else (),
                *replay_result.largest(release, released, 1 if played else 2),
                replay_result.reason,
                replay_result.more_often(release, released),
                subject.family,
                played,
            )
        )
    changed = set().union(*(replay_result.changed_names for replay_result in replays.values()))
    names = next(iter(replays.values())).names
    return TaskAudit(
        subject.family,
        subject.args,
        subject.rounds,
        released,
        tuple(findings),
        calibrated,
        removed_unit,
        {name: name in changed for name in names},
        tuple(unseen_state(subject)),
    )


def check(epsilon: float, delta: float, rounds: int, runs: int, confidence: float, seed: int) -> None:
    """Refuse options of an audit that are out of range."""
    check_range("epsilon", epsilon, 0 < epsilon < math.inf, "give a finite number above 0")
    check_range("delta", delta, 0 < delta < 1, "give a probability between 0 and 1")
    check_range("rounds", rounds, 1 <= rounds <= MOST_ROUNDS, f"give 1 to {MOST_ROUNDS:,}")
    check_range("runs", runs, FEWEST_RUNS <= runs <= MOST_RUNS, f"give {FEWEST_RUNS} to {MOST_RUNS:,}")
    check_range("confidence", confidence, 0.5 < confidence < 1, "give a probability above 1/2 and below 1")
    check_range("seed", seed, 0 <= seed < 2**31 - 2, "give 0 or more, and less than two billion")
