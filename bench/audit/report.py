"""The audit of a method: what replay and the game find for each way of accounting, and the verdict."""

import html
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from bench.audit.findings import Finding, by_game
from bench.audit.game import play
from bench.audit.replay import replay
from bench.audit.subject import (
    ABSENT,
    KEPT,
    Subject,
    calibrated_subject,
    count_releases,
    epsilon_spent,
    removal,
    unseen_state,
)
from bench.audit.tasks import FAMILIES, SHAPES
from bench.audit.text import text_of
from bench.inputs.values import check_range
from bench.privacy.events import ADD_OR_REMOVE

FEWEST_RUNS = 300
MOST_ROUNDS, MOST_RUNS = 1_000, 10_000_000  # more takes hours
RELEASE_COLUMNS = ("privacy_unit", "protects_against", "neighbors", "sampler", "accountant")
FAILED, PASSED, INCONCLUSIVE = "FAILED", "passed", "inconclusive"


class TaskAudit(NamedTuple):
    """The audit on one task.

    subject: the method on the task, with its calibrated noise.
    released: releases in a run.
    findings: one for each way of accounting.
    calibrated: the way of accounting to which the noise was calibrated; "" where the noise was given, or there is none.
    removal: what a removed unit is, `subject.ABSENT`, ZERO or KEPT; ABSENT where none is removed.
    reported: name of a number that `round` reports -> whether the canary changes it.
    hidden_state: parts of the state that are not public.
    """

    subject: Subject
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
        first = self.task_audits[0].subject
        common = {"method": self.method, "family": first.family}
        arguments = ", ".join(f"{name}={value}" for name, value in first.args.items())
        rows = [
            {
                **common,
                "family": finding.family,
                "arguments": arguments,
                **{name: getattr(finding.release, name) for name in RELEASE_COLUMNS},
                "reading": finding.reading,
                "proven": finding.release.sound,
                "declared": finding.epsilon,
                "replay_factor": finding.factor,
                "replay_place": finding.place or math.nan,  # as a file has it where it is empty
                "replay_left_out": finding.reason or math.nan,
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
        return PASSED if self.strongest and not self.unplayed else INCONCLUSIVE

    @property
    def unplayed(self) -> list[Finding]:
        """The findings on proven ways of accounting whose relation could not be played on the first task."""
        first = self.task_audits[0].subject.family
        return [finding for finding in self.sound if not finding.played and finding.family == first]


def audit_on_task(
    subject: Subject, *, epsilon: float | None, runs: int, seed: int, significance: float, say: Callable[[str], None]
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
    reported = [replay_result.reported for replay_result in replays.values()]
    return TaskAudit(
        subject,
        released,
        tuple(findings),
        calibrated,
        removed_unit,
        {name: any(of_relation[name] for of_relation in reported) for name in reported[0]},
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
