"""Kill -9 at random moments, resumed until all is there, and compared with a run that nothing disturbed."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from soak import sweep
from soak.processes import Forks, Running, from_cold, handles_signals

TWO = ("--workers", "2")


def kills(forks: Forks, scratch: Path, number: int, chance: random.Random, two: float = 0.1) -> Counter:
    """Kill so many runs of the sweep.

    Args:
        forks: where runs come from.
        scratch: an empty folder.
        number: of kills.
        chance: of the moments.
        two: share of the kills of a driver with two workers.

    Returns:
        Counts: kills, those with workers, of which workers were at work, resumed runs that became complete, and
        whatever was wrong, in words.
    """
    found: Counter = Counter()
    started = time.monotonic()
    forks.start([*sweep.WORDS, "--out", str(scratch / "undisturbed")], scratch / "log").wait()
    lasts = time.monotonic() - started
    reference = sweep.rows(scratch / "undisturbed")
    number_of_out = 0
    out = scratch / "out0"
    while found["kills"] < number or sweep.parts(out):
        before = sweep.parts(out)
        finish = found["kills"] >= number
        workers = not finish and chance.random() < two
        words = [*sweep.WORDS, *(TWO if workers else ()), "--out", str(out)]
        running = forks.start(words, scratch / "log")
        if not finish:
            moment(running, out, before, chance, lasts)
            status = running.end(signal.SIGKILL)
        else:
            status = running.wait()
        if status == -signal.SIGKILL:
            found["kills"] += 1
            found["kills with two workers"] += workers
            found["kills while parts were written"] += len(sweep.parts(out)) > len(before)
        elif status:
            found[f"exit status {status}: {running.said()[-300:]}"] += 1
        if orphans := running.orphans():
            found[f"{len(orphans)} processes outlive their driver"] += 1
        if before - sweep.parts(out):
            found["parts are lost"] += 1
        for what in sweep.wrong(out):
            found[what] += 1
        if "Traceback" in running.said():
            found[f"a traceback: {running.said()[-300:]}"] += 1
        if status == 0 or finish:
            mixed = (scratch / f"{out.name}-two").exists()
            found["complete after kills"] += 1
            for what in sweep.differs(out, reference, exactly=not mixed):
                found[f"not as undisturbed: {what}"] += 1
            number_of_out += 1
            out = scratch / f"out{number_of_out}"
        elif workers:
            (scratch / f"{out.name}-two").touch()  # two workers may take other chunks: the same but for rounding
    return found


def moment(running: Running, out: Path, before: set[str], chance: random.Random, lasts: float) -> None:
    """Wait for a random moment: of the whole run, or of the time in which it writes."""
    if chance.random() < 0.4:
        running.wait(chance.uniform(0, lasts))
        return
    more = chance.randint(1, 8)
    while running.wait(0) is None and len(sweep.parts(out)) < len(before) + more:
        time.sleep(0.001)
    running.wait(chance.uniform(0, 0.03))


STOPPED = "stopped; everything finished is kept, run the same command again to continue"
COLD = ("run", "ppsgd_synthetic", "--scale", "smoke", "--seeds", "1", "--chunk", "2", "--workers", "1")


def signals(forks: Forks, scratch: Path, number: int, chance: random.Random, cold: float = 0.4) -> Counter:
    """Send SIGINT or SIGTERM to so many runs, at a random moment from the first import on.

    Args:
        forks: where runs come from that are not started from cold, and begin behind the imports.
        scratch: an empty folder.
        number: of signals.
        chance: of the moments.
        cold: share of runs in a fresh interpreter.

    Returns:
        Counts, as of `kills`.
    """
    found: Counter = Counter()
    while found["signals"] < number:
        fresh, which = chance.random() < cold, chance.choice([signal.SIGINT, signal.SIGTERM])
        out = scratch / ("cold" if fresh else "warm")
        start: Callable = from_cold if fresh else forks.start
        running: Running = start([*(COLD if fresh else sweep.WORDS), "--out", str(out)], scratch / "log")
        while running.wait(0) is None and not handles_signals(running):
            time.sleep(0.001)
        running.wait(chance.choice([0, chance.uniform(0, 1), chance.uniform(0, 12 if fresh else 3)]))
        before = set() if fresh else sweep.parts(out)
        if running.wait(0) is not None:
            found["ended before its signal"] += 1
            if running.wait() != 0:
                found[f"exit status {running.wait()}: {running.said()[-300:]}"] += 1
            _again(out, found, fresh)
            continue
        status = running.end(which)
        found["signals"] += 1
        found[f"signals to a {'fresh' if fresh else 'forked'} process"] += 1
        said = running.said()
        lines = [line for line in said.splitlines() if line.strip()]
        if status in (0, -which):
            found["signals after the work was done"] += 1  # the process was ending by itself
        elif status != 128 + which:
            found[f"exit status {status} of {which.name}: {said[-300:]}"] += 1
        elif lines[-1:] != [STOPPED]:
            found[f"another last line: {lines[-1:]}"] += 1
        if "Traceback" in said or "Exception ignored" in said:
            found[f"a traceback: {said[-600:]}"] += 1
        if running.orphans():
            found["processes outlive their driver"] += 1
        if not fresh:
            if before - sweep.parts(out):
                found["parts are lost"] += 1
            for what in sweep.wrong(out):
                found[what] += 1
            if len(sweep.parts(out)) and status == 0:
                _again(out, found, fresh)
    return found


def _again(out: Path, found: Counter, fresh: bool) -> None:
    """Begin anew where a run became complete."""
    if not fresh:
        found["complete after signals"] += 1
    if out.exists():
        out.rename(out.with_name(f"{out.name}-{sum(found.values())}-{time.monotonic_ns()}"))
