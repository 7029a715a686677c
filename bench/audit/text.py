"""An audit as text, as the command and Python print it."""

import math
from collections.abc import Callable

LOCAL_STEPS = "num_steps"  # the argument of methods whose users take several steps in a round

COLUMNS: dict[str, Callable] = {
    "reading": lambda f: f.reading if f.release.sound else f"{f.reading} (not proven)",
    "neighbours": lambda f: f.release.neighbors,
    "sampler": lambda f: f.release.sampler,
    "accountant": lambda f: f.release.accountant,
    "declared": lambda f: number(f.epsilon),
    "replay": lambda f: number(f.factor, "no number"),
    "game": lambda f: _bound_text(f, "game"),
    "Gaussian": lambda f: _bound_text(f, "Gaussian"),
    "another delta": lambda f: _bound_text(f, "other delta"),
}


def text_of(audit) -> str:
    """Return an `Audit` as text: the verdict in its first line, what was run, a line for each way of accounting on each
    task, and what was not looked at.
    """
    if not audit.findings:
        return f"{audit.method} declares no privacy: there is nothing to audit."
    lines = [verdict(audit)]
    for finding in audit.findings:
        if finding.refuted and not finding.release.sound:
            lines.append(f"{finding.reading}, which is not declared as proven, is refuted: {_contradiction(finding)}.")
    first = audit.findings[0].release
    units = {finding.release.privacy_unit: finding.release.protects_against for finding in audit.findings}
    protected = "; ".join(f"one {unit} against {against}" for unit, against in units.items())
    lines += [
        "",
        f"what is protected: {protected}",
        "replay: how many times as large as declared the canary's largest change is, in units of the noise",
        f"epsilon at delta {first.delta:g} as declared, and lower bounds: from {audit.runs:,} runs with a canary and "
        f"as many without; all hold together with confidence {audit.confidence:g}",
    ]
    for task in audit.task_audits:
        lines += ["", *_task_lines(task, audit.method, "/".join(units))]
    for family, reason in audit.not_played.items():
        lines.append(f"not played on the task for {family}: {reason}")
    if audit.task_audits[0].subject.args.get(LOCAL_STEPS) == 1:
        lines.append(
            "This is with one local step in a round. A comparison takes as many as its baselines, mostly five: audit "
            f"that, too, with --set {LOCAL_STEPS}=5"
        )
    return "\n".join(lines)


def _task_lines(task, method: str, unit: str) -> list[str]:
    """Return the lines on one task."""
    _, family, args, rounds, _ = task.subject
    values = ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in args.items()
    )
    lines = [f"{method} on the task for {family}, {_counted_noun(rounds, 'round')}, {values}"]
    declared = f"{_counted_noun(task.released, 'release')} a run"
    if task.calibrated:
        lines.append(f"{declared}; the noise is calibrated so that {task.calibrated} declares the epsilon asked for")
    else:
        lines.append(f"{declared}; the noise is as given")
    if task.removal == "zero":
        lines.append(
            f"removed means that the data of one {unit} are 0: the method does not leave it out, and data of 0 move "
            "nothing that is public"
        )
    if task.removal == "kept":
        lines.append(
            f"a {unit} cannot be removed: the method uses one that is absent, and one with data of 0 moves what is "
            "public. Replay of add-or-remove one is for two data sets that are two neighbours apart"
        )
    if hidden_names := [*task.reported, *task.hidden_state]:
        lines.append(f"not looked at, since `public` leaves it out: {', '.join(hidden_names)}")
    if changed_names := [name for name, by_canary in task.reported.items() if by_canary]:
        lines.append(f"the canary changes {', '.join(changed_names)}, which `round` reports: do not publish that")
    for reason in dict.fromkeys(finding.reason for finding in task.findings if finding.reason):
        lines.append(f"left out of replay: {reason}")
    table = [list(COLUMNS), *([cell(finding) for cell in COLUMNS.values()] for finding in task.findings)]
    columns = [i for i in range(len(COLUMNS)) if i == 0 or any(row[i] for row in table[1:])]
    widths = [max(len(row[i]) for row in table) for i in columns]
    rows = ["  ".join(row[i].ljust(width) for i, width in zip(columns, widths, strict=True)).rstrip() for row in table]
    return [*lines, *rows]


def verdict(audit) -> str:
    """Return the verdict in one line, which begins with FAILED, passed or inconclusive."""
    refuted_finding = audit.most_refuted
    if refuted_finding is not None:
        return f"FAILED: {_contradiction(refuted_finding)}."
    strongest = audit.strongest
    if audit.verdict == "passed":
        if strongest.factor == 0:
            return "passed: consistent with epsilon 0, since the canary changes nothing that is public."
        return (
            f"passed: consistent with epsilon {strongest.epsilon:.3g} ({strongest.reading}); noise "
            f"{strongest.unseen_factor:.3g} times smaller would have been seen. This is no proof: another attack might "
            "do better."
        )
    declared = [finding for finding in audit.sound if finding.epsilon < math.inf]
    smallest = min(declared or audit.findings, key=lambda finding: finding.epsilon)
    return (
        f"inconclusive: nothing contradicts epsilon {number(smallest.epsilon)} ({smallest.reading}), but "
        f"{_why_inconclusive(audit)}."
    )


def _why_inconclusive(audit) -> str:
    """Return why an audit that refutes nothing is no pass, and what to do."""
    if audit.unplayed:
        readings = ", ".join(finding.reading for finding in audit.unplayed)
        return (
            f"the relation of {readings}, add-or-remove one, could not be played, since the method does not leave out "
            "a unit that is absent: let it look at Task.present or Task.present_examples"
        )
    if excess := [finding.reading for finding in audit.sound if finding.more_often]:
        return (
            f"{', '.join(excess)} declares a sample, and the canary takes part in more rounds than in samples that are "
            "drawn independently: audit it with hardly any noise, a large --epsilon"
        )
    reasons = dict.fromkeys(finding.reason for finding in audit.sound if math.isnan(finding.factor) and finding.reason)
    return (
        f"replay cannot compare the canary's change with the noise ({'; '.join(reasons)}), and the game sees little"
        if reasons
        else "the canary changes less than a quarter of what is declared, so that a lack of noise would not be seen: "
        "look for something other than noise that hides it, or for noise that is larger than needed"
    )


def _contradiction(finding) -> str:
    """Return what contradicts what is declared: what replay found, or else the lower bound that exceeds it most."""
    bound, claim = finding.worst_bound, f"{finding.reading} declares epsilon {finding.epsilon:.3g}"
    relation = f"under {finding.release.neighbors}"
    if finding.replay_refutes:
        change = f"the canary changes {finding.place} by {finding.factor:.3g} times what that allows"
        return (
            f"{claim} {relation}, but {change if finding.factor < math.inf else finding.place} "
            f"(replay, on the task for {finding.family})"
        )
    cause = "the size of the changes tells who takes part" if bound.score == "scale" else "more shows than noise hides"
    return (
        f"{cause}: {finding.reading} declares epsilon {bound.declared:.3g} at delta {bound.delta:g} {relation}, but "
        f"epsilon is at least {bound.lower_bound:.3g} ({bound.test}, on the task for {finding.family})"
    )


def _bound_text(finding, test: str) -> str:
    """Return the lower bound, with the epsilon and delta that it refers to where those are not the declared ones."""
    for bound in finding.bounds:
        if bound.test == test:
            epsilon = "" if bound.declared == finding.epsilon else f" of {number(bound.declared)}"
            delta = "" if bound.delta == finding.release.delta else f" at delta {bound.delta:.2g}"
            is_number = not math.isnan(bound.declared)
            return number(bound.lower_bound) + (epsilon + delta if is_number else "")
    return ""


def _counted_noun(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def number(value: float, missing: str = "not computed") -> str:
    """Return a number with three digits, or a word where it is NaN, such as an epsilon that no accountant gives."""
    return missing if math.isnan(value) else f"{value:.3g}"
