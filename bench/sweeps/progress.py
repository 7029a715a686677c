"""Progress of long runs: a bar on a terminal, plain lines elsewhere."""

import sys
import threading
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Meter:
    """Counts work done, in units of one run and one round; a context manager.

    Args:
        title: what is running.
        total: units in all.
        every: seconds between plain lines.
        quiet: seconds without a plain line after which one says that the work goes on.
    """

    def __init__(self, title: str, total: int, every: float = 10.0, quiet: float = 60.0):
        self.title, self.total, self.every, self.quiet = title, max(total, 1), every, quiet
        self.done = 0
        self.console = Console(file=sys.stderr, soft_wrap=True)
        self.bar = None
        self.lock = threading.Lock()
        self.ended = threading.Event()

    def __enter__(self):
        self.began = self.last = time.monotonic()
        if self.console.is_terminal:
            columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %")]
            columns += [TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TimeRemainingColumn()]
            self.bar = Progress(*columns, console=self.console)
            self.task = self.bar.add_task(self.title, total=self.total, rate="")
            self.bar.start()
        else:
            threading.Thread(target=self._say_that_it_goes_on, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        if self.bar:
            self.bar.stop()

    def say(self, text: str) -> None:
        """A line above the bar."""
        self.console.print(text, highlight=False, markup=False, emoji=False)

    def _say_that_it_goes_on(self) -> None:
        """Say so now and then: runs that are evaluated once report only at their end."""
        while not self.ended.wait(self.quiet):
            with self.lock:
                now = time.monotonic()
                if now - self.last >= self.quiet and not self.ended.is_set():
                    self.last = now
                    share = 100 * self.done / self.total
                    self.say(f"{self.title}: {share:.0f} % since {now - self.began:,.0f} s, still computing")

    def part(self) -> "Part":
        """A count of its own, which can be taken back."""
        return Part(self)

    def add(self, units: int) -> None:
        """Units done since the last call; may be called from any thread."""
        with self.lock:
            self._add(units)

    def _add(self, units: int) -> None:
        self.done += units
        now = time.monotonic()
        rate = self.done / max(now - self.began, 1e-9)
        if self.bar:
            self.bar.update(self.task, completed=self.done, rate=f"{rate:,.3g} run-rounds/s")
        elif now - self.last >= self.every or self.done >= self.total:
            self.last = now
            left = f", {(self.total - self.done) / rate:,.0f} s left" if rate else ""
            self.say(f"{self.title}: {100 * self.done / self.total:.0f} %, {rate:,.3g} run-rounds/s{left}")


class Part:
    """What one piece of work has added to a meter."""

    def __init__(self, meter: Meter):
        self.meter, self.units = meter, 0

    def add(self, units: int) -> None:
        """Units done since the last call."""
        self.units += units
        self.meter.add(units)

    def undo(self) -> None:
        """The work is lost."""
        self.meter.add(-self.units)
        self.units = 0
