"""Whole commands: seconds of wall time, and of the processor in all processes together."""

import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.errors import InputError
from bench.perf.measure import REPEATS, Measurement

ROOT = Path(__file__).parents[2]
OUT = "OUT"  # in a command: a folder that is removed afterwards
SLOW_S = 10.0  # commands that take longer are timed once
COMMANDS = (
    "python -m bench --help",
    "python -m bench list",
    "python -m bench epsilon --noise-multiplier 1 --sampling-rate 0.01 --steps 20000 --delta 1e-4",
    'python -c "from bench import load"',
    f"python -m figures ppsgd_fig1a --out {OUT}",
    f"python -m figures --out {OUT}",
    f"python -m figures claims --out {OUT}",
    f"python -m figures report --out {OUT}/index.html",
)


def commands(command_lines: Sequence[str] = COMMANDS) -> list[Measurement]:
    """Return two lines for each command, with warm caches: its wall time, and what it takes of the processor.

    Args:
        command_lines: commands as a shell has them, which begin with "python". They run in the repository's folder.

    Raises:
        InputError: where a command fails, as outside the repository.
    """
    lines = []
    with tempfile.TemporaryDirectory() as out:
        for command in command_lines:
            words = [word.replace(OUT, out) for word in shlex.split(command)[1:]]
            _timed(command, words)  # fills the caches
            times = [_timed(command, words)]
            while times[0][0] < SLOW_S and len(times) < REPEATS:
                times.append(_timed(command, words))
            name = command.replace(f" --out {OUT}/index.html", "").replace(f" --out {OUT}", "")
            lines.append(Measurement(name, min(wall for wall, _ in times), "s"))
            lines.append(Measurement(f"{name}: processor", min(used for _, used in times), "s"))
    return lines


def _timed(command: str, words: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of wall time of a command, and those of the processor.

    Raises:
        InputError: where it fails.
    """
    before, began = _used(), time.perf_counter()
    result = subprocess.run(
        [sys.executable, *words], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    took = time.perf_counter() - began
    if result.returncode:
        raise InputError(f"perf: `{command}` fails here: {' '.join(result.stderr.split())}")
    return took, _used() - before


def _used() -> float:
    """Return the seconds of the processor in all processes that this one has waited for, and theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
