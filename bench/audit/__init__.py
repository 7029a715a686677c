"""Audits: tests by experiment whether a method can satisfy the epsilon that it declares.

An attacker who knows everything but one bit, whether one unit of privacy (a canary) is in the data, observes what a
method makes public and guesses. If the method is (epsilon, delta)-DP, the accuracy of the guesses is bounded; more
accurate guesses, with a confidence interval, prove a LOWER bound on epsilon. A lower bound above the declared epsilon
refutes it at the confidence level. A lower bound below it proves nothing: another attack might find more. A method
declares an epsilon at every delta, and the bounds may be taken at any of them: a bound refutes the description of the
release, from which all these epsilons follow.

There are two experiments. Replay (`replay`) runs the same keys on both data sets, so that the noise is the same, and
compares what the canary changes with the noise there. A game (`game`), which is the statistical test of the shape of
the noise and of the sampling, makes thousands of independent runs with and without the canary (Jagielski, Ullman, Oprea
2020; Nasr et al. 2021, 2023). Both use tasks on which a canary is as visible as the theory allows (`tasks`), and call
the method's own functions. The estimators are those of jax_privacy, but for that of Gaussian noise
(`bounds.lower_bound`).

    from bench.audit import audit, audit_outputs
    audit("ppsgd").refuted
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bench.errors import InputError, in_one_line
from bench.inputs.options import Out
from bench.inputs.values import parsed

if TYPE_CHECKING:
    import pandas as pd

    from bench.algorithms.base import Method
    from bench.audit.outputs import audit_outputs as audit_outputs
    from bench.audit.report import Audit

BESIDE_SEEDS = 1_000_003  # between the seeds of the tasks
SHARED_OPTIONS = ("epsilon", "delta", "rounds", "runs", "confidence", "seed")  # options of the audit of all methods


def audit(
    method: Annotated["str | Method", "A built-in method, or FILE.py:NAME."],
    *,
    args: Annotated[Mapping[str, Any] | None, "An argument of the method, as NAME=VALUE; may be repeated."] = None,
    epsilon: Annotated[float, "Epsilon that the method declares, to which its noise is calibrated."] = 3.0,
    delta: Annotated[float, "Delta of (epsilon, delta)-DP."] = 1e-5,
    rounds: Annotated[int, "Rounds of a run; a power of two completes the trees of partial sums."] = 4,
    runs: Annotated[int, "Number of runs with the canary, and the same number without."] = 20_000,
    family: Annotated[
        str | None,
        "Kind of task: users, heads, records, agents, speakers, images, convolutions, copies, layers, pair. Without it "
        "a method for users is audited on users and on layers (or pair).",
    ] = None,
    confidence: float = 0.999,
    seed: int = 0,
    say: Callable[[str], None] | None = None,
) -> "Audit":
    """Try to refute the epsilon that a method declares, by replay and by a game.

    Replay gives `replay`, how many times as large as declared the largest change is that the canary makes, in units of
    the noise; above 1.1 it refutes what is declared. The game gives lower bounds, and one above an epsilon that is
    declared refutes it: `game`, from error rates at the declared delta; `Gaussian`, from the same game where all noise
    is Gaussian and nothing is sampled; `another delta`, from error rates at the delta where they are most informative,
    compared with the epsilon declared there. A pass proves nothing: it is reported with the factor by which the noise
    would have to be too small for replay to see it.

    Args:
        method: also a Method.
        epsilon: the noise is calibrated so that a sound way of accounting declares at most this, unless `args` has the
            noise. Error rates cannot prove much more than about log(runs) - 2.
        runs: a third of them is the pilot.
        family: of `bench.audit.tasks.FAMILIES`; None finds out, and plays on a second task beside users
            (`tasks.BESIDE_USERS`).
        confidence: joint confidence level of all bounds: a sound method is refuted with probability at most 1 -
            confidence.
        seed: random seed.
        say: receives a line before each step.

    Raises:
        InputError: for values out of range, or a method that fits no task.
    """
    from bench.algorithms.loading import load_method
    from bench.audit.report import Audit, TaskAudit, audit_on_task, check
    from bench.audit.subject import on_family, on_the_task, subject_of
    from bench.audit.tasks import BESIDE_USERS

    check(epsilon, delta, rounds, runs, confidence, seed)
    name, loaded = load_method(method) if isinstance(method, str) else (method.make.__name__, method)
    given = parsed(args)
    subject = subject_of(loaded, family=family, rounds=rounds, delta=delta, args=given)
    if not subject.declares_privacy(rounds):
        return Audit(name, 0, confidence, (TaskAudit(subject, 0, ()),))
    beside = BESIDE_USERS if family is None and subject.family == "users" else ()
    options: dict = {"epsilon": None if loaded.noise in given else epsilon, "runs": runs}
    options |= {"significance": (1 - confidence) / (2 if beside else 1), "say": say or (lambda line: None)}
    task_audits = [audit_on_task(subject, seed=seed, **options)]
    not_played: dict[str, str] = {}
    for place, other in enumerate(beside, start=1):
        try:
            other_subject = on_family(subject, other, 2 * rounds)
            task_audits.append(audit_on_task(other_subject, seed=seed + BESIDE_SEEDS * place, **options))
            break
        except Exception as error:  # also of a method whose accounting is for other numbers of users or rounds
            reason = str(error) if isinstance(error, InputError) else in_one_line(error)
            not_played[other] = reason.removeprefix(on_the_task(other))
    return Audit(name, runs, confidence, tuple(task_audits), not_played)


def audit_all(out: Out = "results", *, say: Callable[[str], None] | None = None, **options: Any) -> "pd.DataFrame":
    """Audit every built-in method on every family of tasks that it fits; write audit.csv and audit.md into OUT/audit.

    What was interrupted goes on when it is repeated.

    Args:
        say: receives a line after each audit.
        options: other values of epsilon, delta, rounds, runs, confidence and seed of every `audit`.

    Returns:
        The rows of audit.csv: a lower bound each, or for a method without privacy its name alone. .attrs["page"] is
        audit.md.

    Raises:
        InputError: for an option out of range, a file that cannot be read or written, a table of audits with other
            options, or, when all others are done, audits that cannot be run with these options.
    """
    from bench.audit import whole

    defaults: dict = {name: inspect.signature(audit).parameters[name].default for name in SHARED_OPTIONS}
    rows = whole.audit_all(audit, Path(out) / "audit", say=say or print, **defaults | options)
    rows.attrs["page"] = str(Path(out) / "audit" / "audit.md")
    return rows


def __getattr__(name: str):
    """Import a public name on first use, so that the command line need not wait for JAX."""
    if name != "audit_outputs":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("bench.audit.outputs").audit_outputs
