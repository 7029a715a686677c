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
    "game": lambda f: _bound(f, "game"),
    "Gaussian": lambda f: _bound(f, "Gaussian"),
    "one run": lambda f: _bound(f, "one run"),
    "Gaussian, one run": lambda f: _bound(f, "one run, Gaussian"),
    "another delta": lambda f: _bound(f, "other delta"),
    "two apart": lambda f: _bound(f, "two apart"),
    "more runs": lambda f: _bound(f, "more runs") or _bound(f, "more runs, Gaussian"),
}


def text_of(found) -> str:
    """Return an `Audit` as text: the verdict in its first line, what was run, a line for each way of accounting on each
    task, and what was not looked at.
    """
    if not found.findings:
        return f"{found.method} declares no privacy: there is nothing to audit."
    lines = [verdict(found)]
    for finding in found.findings:
        if finding.refuted and not finding.release.sound:
            lines.append(f"{finding.reading}, which is not declared as proven, is refuted: {_said(finding)}.")
    lines += _power(found)
    first = found.findings[0].release
    units = {finding.release.privacy_unit: finding.release.protects_against for finding in found.findings}
    protected = "; ".join(f"one {unit} against {against}" for unit, against in units.items())
    one_run = f", and from one run with {found.canaries} canaries" if found.canaries else ""
    further = f", and {found.longest:,} of each in a longer game" if found.longest else ""
    lines += [
        "",
        f"what is protected: {protected}",
        f"epsilon at delta {first.delta:g} as declared, and lower bounds: from {found.runs:,} runs with a canary and "
        f"as many without{further}{one_run}; all hold together with confidence {found.confidence:g}",
    ]
    for part in found.parts:
        lines += ["", *_of_part(part, found.method, "/".join(units))]
    for family, reason in found.not_played.items():
        lines.append(f"not played on the task for {family}: {reason}")
    if found.args.get(LOCAL_STEPS) == 1:
        lines.append(
            "This is with one local step in a round. A comparison takes as many as its baselines, mostly five: audit "
            f"that, too, with --set {LOCAL_STEPS}=5"
        )
    return "\n".join(lines)


def _of_part(part, method: str, unit: str) -> list[str]:
    """Return the lines on one task."""
    values = ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in part.args.items()
    )
    lines = [f"{method} on the task for {part.family}, {_several(part.rounds, 'round')}, {values}"]
    declared = f"{_several(part.released, 'release')} a run"
    if part.calibrated:
        lines.append(f"{declared}; the noise is calibrated so that {part.calibrated} declares the epsilon asked for")
    else:
        lines.append(f"{declared}; the noise is as given")
    if part.removal == "zero":
        lines.append(
            f"removed means that the data of one {unit} are 0: the method does not leave it out, and data of 0 move "
            "nothing that is public"
        )
    if part.removal == "kept":
        lines.append(
            f"a {unit} cannot be removed: the method uses one that is absent, and one with data of 0 moves what is "
            "public. Bounds for add-or-remove one are for two data sets that are two neighbours apart"
        )
    if unseen := [*part.reported, *part.unseen]:
        lines.append(f"not looked at, since `public` leaves it out: {', '.join(unseen)}")
    for name, epsilon in part.reported.items():
        if epsilon > 0:
            lines.append(f"`{name}`, if it were published as `round` reports it, would prove epsilon {epsilon:.3g}")
    table = [list(COLUMNS), *([cell(finding) for cell in COLUMNS.values()] for finding in part.findings)]
    shown = [i for i in range(len(COLUMNS)) if i == 0 or any(row[i] for row in table[1:])]
    widths = [max(len(row[i]) for row in table) for i in shown]
    rows = ["  ".join(row[i].ljust(width) for i, width in zip(shown, widths, strict=True)).rstrip() for row in table]
    return [*lines, *rows]


def verdict(found) -> str:
    """Return the verdict in one line, which begins with FAILED, passed or inconclusive."""
    worst = found.most_refuted
    if worst is not None:
        cause = {
            "shift": f"the noise is at least {found.too_small:.3g} times too small"
            if found.too_small > 1
            else "more is public than the noise hides",
            "scale": "the size of the changes tells who takes part",
            "finite": "numbers that are not finite tell who takes part: count a message that is not finite as 0",
        }[worst.worst.by]
        return f"FAILED: {cause}: {worst.reading} {_said(worst)}."
    if found.verdict == "passed":
        strongest = found.strongest
        if strongest is None:
            return "passed: consistent with epsilon 0, since what is public was the same in all runs."
        return (
            f"passed: consistent with epsilon {strongest.epsilon:.3g} ({strongest.reading}); noise "
            f"{strongest.detected:.3g} times smaller would have been seen. This is no proof: another attack might do "
            "better."
        )
    return f"inconclusive: nothing contradicts {_claimed(found)}, but {_why_inconclusive(found)}."


def _claimed(found) -> str:
    declared = [finding for finding in found.sound if finding.epsilon < math.inf]
    least = min(declared or found.findings, key=lambda finding: finding.epsilon)
    return f"epsilon {number(least.epsilon)} ({least.reading})"


def _why_inconclusive(found) -> str:
    """Return why an audit that refutes nothing is no pass, and what to do."""
    unplayed = [finding for finding in found.sound if not finding.played and finding.family == found.family]
    if unplayed:
        return (
            f"the relation of {', '.join(finding.reading for finding in unplayed)}, add-or-remove one, could not be "
            "played, since the method does not leave out a unit that is absent: let it look at Task.present or "
            "Task.present_examples"
        )
    computed = [finding for finding in found.sound if finding.detected is not None]
    if not computed:
        return "how much too little noise would have been seen was not checked: leave out --no-power (power=True)"
    needed = min(finding.needed or math.inf for finding in computed)
    if needed == math.inf:
        return (
            "even a quarter of the noise would not have been noticed, and these runs do not say how many would be "
            "enough: give more --runs; if that does not help, look for something other than noise that hides the canary"
        )
    return f"even a quarter of the noise would not have been noticed; that takes about {_rounded(needed)} --runs"


def _power(found) -> list[str]:
    """Return lines on how much too little noise the game would have detected, where that was computed."""
    if found.refuted:
        return []
    lines = []
    for part in found.parts:
        computed = [finding for finding in part.findings if finding.detected is not None]
        known = [f"{finding.detected:.3g} ({finding.reading})" for finding in computed if finding.detected < math.inf]
        none = [finding.reading for finding in computed if finding.detected == math.inf]
        if known:
            lines.append(f"{part.family}: the game would have detected noise that is too small by {', '.join(known)}.")
        if none:
            lines.append(
                f"{part.family}: for {', '.join(none)} even a quarter of the noise would not have been noticed."
            )
    strongest = found.strongest
    if strongest and strongest.detected > 1.2 and strongest.needed is not None:
        more = (
            f"about {_rounded(strongest.needed)} --runs"
            if strongest.needed < math.inf
            else "more --runs than these can tell"
        )
        lines.append(f"To see noise 1.19 times too small takes {more}, or more --seconds.")
    return lines


def _rounded(runs: float) -> str:
    """Return a number of runs with two digits."""
    return f"{float(f'{runs:.1e}'):,.0f}"


def _said(finding) -> str:
    """Return the declared epsilon and the lower bound that exceeds it most."""
    worst = finding.worst
    return (
        f"declares epsilon {worst.declared:.3g} at delta {worst.delta:g} under {finding.release.neighbors}, but "
        f"epsilon is at least {worst.found:.3g} ({worst.how}, on the task for {finding.family})"
    )


def _bound(finding, how: str) -> str:
    """Return the lower bound, with the epsilon and delta that it refers to where those are not the declared ones."""
    for bound in finding.bounds:
        if bound.how == how:
            of = "" if bound.declared == finding.epsilon else f" of {number(bound.declared)}"
            at = "" if bound.delta == finding.release.delta else f" at delta {bound.delta:.2g}"
            known = not math.isnan(bound.declared)
            return number(bound.found) + (of + at if known else "")
    return ""


def _several(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def number(value: float) -> str:
    """Return an epsilon with three digits; NaN is one that the accountant does not give."""
    return "not computed" if math.isnan(value) else f"{value:.3g}"
