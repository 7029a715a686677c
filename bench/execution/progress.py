"""Progress of long runs: a bar on a terminal, a line now and then elsewhere.

    NAME: 34 %, 1.2e+03 run-rounds/s, about 4 min left
    NAME: 100 %, 1.2e+03 run-rounds/s

The rate counts the seconds of training alone, and so does the time left, of what has begun: compiling and later sweeps
come on top.
"""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

OFTEN_S = 10.0  # between plain lines at the beginning
SELDOM_S = 60.0  # between plain lines of a sweep that takes long
SHARE = 20  # lines at the beginning; then there is one whenever a sweep has taken another twentieth of its time


class Increment(NamedTuple):
    """What a worker reports of a unit: rounds after each evaluation and every few seconds in between, or a sentence.

    units: run-rounds since the last report.
    seconds: the time that they took; 0 where an earlier command did them.
    message: a sentence for the user.
    """

    units: int = 0
    seconds: float = 0.0
    message: str = ""


Report = Callable[[Increment], None]


class Command:
    """What the sweeps of one command have in common: a terminal.

    quiet: whether nothing is shown.
    """

    def __init__(self, quiet: bool = False):
        self.lock = threading.RLock()
        self.console = Console(stderr=True, soft_wrap=True, quiet=quiet)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %")
        self.bar = Progress(*columns, TextColumn("{task.fields[now]}"), TimeElapsedColumn(), console=self.console)

    def say(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        self.console.print(text, highlight=False, markup=False, emoji=False)


class Meter:
    """Counts work done, in units of one run and one round; a context manager.

    Args:
        title: what is running.
        total: units in all.
        command: whose work it is part of.
        say: receives the lines, in place of the bar or of standard error.
    """

    def __init__(
        self, title: str, total: int, *, command: Command | None = None, say: Callable[[str], None] | None = None
    ):
        self.title, self.total, self.receive = title, max(total, 1), say
        self.command, self.workers = command or Command(), 1
        self.done, self.measured, self.seconds = 0, 0, 0.0
        self.barred = say is None and self.command.console.is_terminal

    def __enter__(self):
        self.began = self.last = time.monotonic()
        with self.command.lock:
            if self.barred:
                self.command.bar.start()
                self.task = self.command.bar.add_task(self.title, total=self.total, now="compiling")
        return self

    def __exit__(self, *_):
        with self.command.lock:
            if self.barred:
                self.command.bar.remove_task(self.task)
                if not self.command.bar.tasks:
                    self.command.bar.stop()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        (self.receive or self.command.say)(text)

    def left_s(self) -> float:
        """Return the seconds of training that are left; 0 where nothing is measured yet."""
        return (self.total - self.done) * self.seconds / max(self.measured, 1) / self.workers

    def report(self, step: Increment) -> None:
        """Add what a worker has done; may be called from any thread."""
        with self.command.lock:
            if step.message:
                self.say(step.message)
            self.done += step.units
            if step.seconds:
                self.measured += step.units
                self.seconds += step.seconds
            if step.units:
                self._show()

    def _show(self) -> None:
        """Move the bar, or print a line where the last one is long ago."""
        texts = [f"{self.measured / self.seconds * self.workers:,.3g} run-rounds/s"] if self.measured else []
        if self.measured and self.done < self.total:
            texts.append(f"about {duration(self.left_s())} left")
        if self.barred:
            self.command.bar.update(self.task, completed=self.done, now=", ".join(texts))
            return
        now = time.monotonic()
        interval_s = max(OFTEN_S, min(SELDOM_S, (now - self.began) / SHARE))
        if now - self.last >= interval_s or self.done >= self.total:
            self.last = now
            self.say(", ".join([f"{self.title}: {100 * self.done / self.total:.0f} %", *texts]))


class Piece:
    """What one piece of work has added to a meter, which can be taken back."""

    def __init__(self, meter: Meter):
        self.meter, self.units = meter, 0

    def report(self, step: Increment) -> None:
        """Add to the meter, as `Meter.report` does."""
        self.units += step.units
        self.meter.report(step)

    def undo(self) -> None:
        """Subtract the work from the meter, since it is lost."""
        self.meter.report(Increment(-self.units))
        self.units = 0


def duration(seconds: float) -> str:
    """Return a number of seconds in words, with about two digits: "45 s", "12 min", "3.5 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 120 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 36_000 else f"{seconds / 3600:,.0f} h"
