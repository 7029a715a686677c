"""Progress of long runs: a bar on a terminal, plain lines elsewhere.

    NAME: compiling program 1 of 5 for 12 s                             nothing is measured yet
    NAME: starting since 12 s                                           no worker has reported anything
    NAME: 0 % since 35 s, still computing                               all is compiled, and no round is done
    NAME: 34 %, 1.2e+03 run-rounds/s, about 4 min left                  the estimate of `estimate`
    NAME: 34 %, compiling program 2 of 5 for 12 s, about 4 min left, 60 s of it for compiling
    NAME: 100 %, 1.2e+03 run-rounds/s

What is left is that of the whole command as far as it is known, with the sweeps that follow. The rate counts the
seconds of training alone. A command that takes more than five minutes says so once.
"""

import sys
import threading
import time
from collections.abc import Callable, Hashable, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from bench.execution.estimate import Command, Left, duration
from bench.execution.steps import Compiled, Compiling, Resumed, Trained

TICK_S = 0.5  # between two looks at what is done
SELDOM_S = 60.0  # between plain lines of a sweep that takes long
SHARE = 20  # lines at the beginning; then there is one whenever a sweep has taken another twentieth of its time


class Meter:
    """Counts work done, in units of one run and one round; a context manager.

    Args:
        title: what is running.
        total: units in all.
        every: seconds between plain lines at the beginning.
        command: whose work it is part of.
        workers: that share the work.
        reasons: why the work takes long; asked only if it does.
        say: receives the lines, in place of the bar or of standard error.
    """

    def __init__(
        self,
        title: str,
        total: int,
        every: float = 10.0,
        *,
        command: Command | None = None,
        workers: int = 1,
        reasons: Callable[[], Sequence[str]] = tuple,
        say: Callable[[str], None] | None = None,
    ):
        self.title, self.total, self.every = title, max(total, 1), every
        self.command, self.workers, self.reasons = command or Command(), workers, reasons
        self.done, self.measured, self.seconds = 0, 0, 0.0
        self.heard = False  # whether a worker has reported anything
        self.whole = False  # whether the last line said that all is done
        self.parts: list[Part] = []
        self.console = Console(file=sys.stderr, soft_wrap=True)
        self.bar, self.told = None, say
        self.lock = self.command.lock
        self.ended = threading.Event()

    def __enter__(self):
        self.began = self.last = time.monotonic()
        with self.lock:
            self.command.meters.append(self)
            self._show_bar()
        self.watch = threading.Thread(target=self._watch, daemon=True)
        self.watch.start()
        return self

    def __exit__(self, *_):
        with self.lock:
            self.ended.set()
            self.command.meters.remove(self)
            if self.bar:
                self.bar.stop()
        # Where the interpreter ends before this thread, the thread frees what it holds last, arrays of `reasons`
        # included, and JAX then aborts the whole process.
        self.watch.join()

    def _show_bar(self) -> None:
        """Draw a bar on a terminal, unless the meter of an earlier sweep has it."""
        if self.bar or self.told or not self.console.is_terminal or self.command.meters[0] is not self:
            return
        columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %")]
        columns += [TextColumn("{task.fields[now]}"), TimeElapsedColumn()]
        self.bar = Progress(*columns, console=self.console)
        self.task = self.bar.add_task(self.title, total=self.total, now="")
        self.bar.start()

    def say(self, text: str) -> None:
        """A line above the bar."""
        if self.told:
            self.told(text)
            return
        with self.lock:
            shown = self.command.meters[0] if self.command.meters else self
            shown.console.print(text, highlight=False, markup=False, emoji=False)

    def _watch(self) -> None:
        """Say now and then what is done, also where a worker does not report for long."""
        while not self.ended.wait(min(TICK_S, self.every)):
            self._warn()
            with self.lock:
                if not self.ended.is_set():
                    self._show()

    def _warn(self) -> None:
        """Say that the command takes long, where it does and has not said so. Finding out why may take a second."""
        with self.lock:
            left = self.left()
        if left and (text := self.command.warning(left, self.workers, self.reasons)) and not self.ended.is_set():
            self.say(text)

    def left(self) -> Left | None:
        """Return what is left of the command; None where nothing is measured yet."""
        now = time.monotonic()
        pending = [(part.kind, part.size - part.units) for part in self.parts]
        return self.command.estimate.left(self.workers, pending, [now - since for since in self._compiling()])

    def _compiling(self) -> list[float]:
        return [part.compiling_since for part in self.parts if part.compiling_since is not None]

    def part(self, kind: Hashable = None, size: int = 0) -> "Part":
        """Return a count of its own, which can be taken back, for a piece of work of `size` units."""
        with self.lock:
            self.parts.append(Part(self, kind, size))
            return self.parts[-1]

    def add(self, units: int) -> None:
        """Units done since the last call; may be called from any thread."""
        with self.lock:
            self.done += units
            if self.bar or self.done >= self.total:
                self._show()

    def _show(self) -> None:
        """Move the bar, or print a line where the last one is long ago."""
        now = time.monotonic()
        self._show_bar()
        if self.bar:
            self.bar.update(self.task, completed=self.done, now=self._state(now))
        elif self.told or not self.console.is_terminal:
            every, whole = max(self.every, min(SELDOM_S, (now - self.began) / SHARE)), self.done >= self.total
            if now - self.last >= every or (whole and not self.whole):
                self.last, self.whole = now, whole
                self.say(f"{self.title}: {self._share()}{self._state(now)}")

    def _share(self) -> str:
        """Return the share of what is done, where anything is or nothing else can be said."""
        if not self.measured and (self._compiling() or not self.heard):
            return ""
        return f"{100 * self.done / self.total:.0f} %" + (", " if self.measured else " ")

    def _state(self, now: float) -> str:
        since, texts = self._compiling(), []
        if since:
            estimate = self.command.estimate
            number = estimate.compiled_here + 1
            of = max(estimate.programs, number)
            texts.append(f"compiling program {number} of {of} for {now - min(since):,.0f} s")
        elif self.measured:
            rate = self.measured / max(self.seconds, 1e-9) * self.workers
            texts.append(f"{rate:,.3g} run-rounds/s")
        else:
            since_s = f"since {now - self.began:,.0f} s"
            texts.append(f"{since_s}, still computing" if self.heard else f"starting {since_s}")
        left = self.left()
        if left and (self.done < self.total or self.command.estimate.later):
            texts.append(f"about {duration(left.seconds)} left")
            if left.compile_s >= max(1.0, left.seconds / 20):
                texts.append(f"{duration(left.compile_s)} of it for compiling")
        return ", ".join(texts)


class Part:
    """What one piece of work has added to a meter.

    Args:
        meter: the meter.
        kind: of the work, as `estimate` knows it.
        size: units of the piece.
    """

    def __init__(self, meter: Meter, kind: Hashable, size: int):
        self.meter, self.kind, self.size, self.units = meter, kind, size, 0
        self.compiling_since: float | None = None

    def report(self, step: Compiling | Compiled | Resumed | Trained) -> None:
        """What the worker of this piece has done; may be called from any thread."""
        meter = self.meter
        with meter.lock:
            meter.heard = True
            if isinstance(step, Compiling):
                self.compiling_since = self.compiling_since or time.monotonic()
            elif isinstance(step, Compiled):
                self.compiling_since = None
                meter.command.estimate.compiled(step.seconds)
            elif isinstance(step, Resumed):
                meter.say(step.said)
                self.units += step.units
                meter.command.estimate.resumed(self.kind, step.units)
                meter.add(step.units)
            else:
                self.units += step.units
                meter.measured += step.units
                meter.seconds += step.seconds
                meter.command.estimate.trained(self.kind, step.units, step.seconds)
                meter.add(step.units)

    def started(self) -> None:
        """The worker has compiled, but reports only later how long that took."""
        with self.meter.lock:
            self.compiling_since = None

    def close(self) -> None:
        """The work is over."""
        with self.meter.lock:
            self.compiling_since = None
            self.meter.parts.remove(self)

    def undo(self) -> None:
        """The work is over, and lost."""
        self.close()
        with self.meter.lock:
            if self.units:
                self.meter.command.estimate.lost(self.kind, self.units)
                self.meter.add(-self.units)
            self.units = 0
