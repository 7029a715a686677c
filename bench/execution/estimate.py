"""How long the rest of a command takes, from the work that was measured so far.

Training and compiling are estimated apart. A run-round of a method on a task takes as long as those that were measured,
or where none was, as long as a guess from the size of the data says, times the ratio of measured to guessed seconds of
the others. A program that is still to be compiled takes as long as the mean of those that were compiled.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

LONG_S = 300.0  # a command that takes longer says so
SURE_S = 3.0  # of training that is measured before it does


class Work(NamedTuple):
    """Work to come.

    kind: (task, method), whose run-rounds take about as long each.
    units: run-rounds.
    guess_s: seconds that a guess says, compared with other guesses alone.
    programs: the number of programs to compile for it.
    """

    kind: Hashable
    units: float
    guess_s: float
    programs: int = 0


class Left(NamedTuple):
    """Seconds that are left: of training, and of compiling."""

    train_s: float
    compile_s: float

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.train_s + self.compile_s


class Estimate:
    """The arithmetic of what is left; times are passed in, and the caller serialises the calls."""

    def __init__(self):
        self.now: dict[Hashable, float] = {}  # run-rounds that the present sweeps have to do
        self.later: dict[Hashable, Sequence[Work]] = {}
        self.programs = self.compiled_here = 0  # of the present sweeps
        self.compile_s: list[float] = []  # of each program of the command
        self.train_s = 0.0
        self._measured: dict[Hashable, tuple[float, float]] = {}  # run-rounds, and their seconds
        self._guesses: dict[Hashable, float] = {}  # seconds of a run-round

    def expect(self, later: Mapping[Any, Sequence[Work]]) -> None:
        """Work of sweeps that will begin later, by a name of each."""
        self.later |= later
        for works in later.values():
            self._guess(works)

    def begin(self, works: Sequence[Work], names: Iterable[Hashable] = (), *, beside: bool = False) -> None:
        """A sweep begins.

        Args:
            works: what it has to do.
            names: those under which it was expected.
            beside: whether earlier sweeps are still being worked on; otherwise what is left of them is dropped.
        """
        for name in names:
            self.later.pop(name, None)
        self._guess(works)
        if not beside:
            self.now, self.programs, self.compiled_here = {}, 0, 0
        for work in works:
            self.now[work.kind] = self.now.get(work.kind, 0.0) + work.units
        self.programs += sum(work.programs for work in works)

    def _guess(self, works: Sequence[Work]) -> None:
        self._guesses |= {work.kind: work.guess_s / work.units for work in works if work.units}

    def compiled(self, seconds: float) -> None:
        """A program was compiled."""
        self.compiled_here += 1
        self.programs = max(self.programs, self.compiled_here)
        self.compile_s.append(seconds)

    def trained(self, kind: Hashable, units: float, seconds: float) -> None:
        """Run-rounds are done."""
        before, spent = self._measured.get(kind, (0.0, 0.0))
        self._measured[kind] = before + units, spent + seconds
        self.now[kind] = self.now.get(kind, 0.0) - units
        self.train_s += seconds

    def resumed(self, kind: Hashable, units: float) -> None:
        """Run-rounds were done by an earlier command."""
        self.now[kind] = self.now.get(kind, 0.0) - units

    def lost(self, kind: Hashable, units: float) -> None:
        """Run-rounds that were done are lost; what they took is still known."""
        self.now[kind] += units

    def round_s(self, kind: Hashable) -> float | None:
        """Return the seconds of a run-round; None where nothing was measured."""
        units, seconds = self._measured.get(kind, (0.0, 0.0))
        if units:
            return seconds / units
        guessed = sum(self._guesses.get(other, 0.0) * units for other, (units, _) in self._measured.items())
        if not guessed:
            return None
        return self._guesses.get(kind, 0.0) * sum(seconds for _, seconds in self._measured.values()) / guessed

    def mean_compile_s(self) -> float:
        """Return the mean seconds of compiling a program; 0 where none was compiled."""
        return sum(self.compile_s) / len(self.compile_s) if self.compile_s else 0.0

    def left(
        self, workers: int = 1, pending: Sequence[tuple[Hashable, float]] = (), compiling: Sequence[float] = ()
    ) -> Left | None:
        """Return what is left of all sweeps; None before any round was measured.

        Args:
            workers: that share the work.
            pending: kind and remaining run-rounds of each unit that is being trained, which one worker has to finish.
            compiling: for each program that is being compiled, the seconds since its beginning.
        """
        if not self._measured:
            return None
        todo = [*self.now.items(), *((work.kind, work.units) for works in self.later.values() for work in works)]
        train_s = sum(max(units, 0.0) * (self.round_s(kind) or 0.0) for kind, units in todo) / workers
        longest = max((units * (self.round_s(kind) or 0.0) for kind, units in pending), default=0.0)
        programs = self.programs - self.compiled_here
        programs += sum(work.programs for works in self.later.values() for work in works)
        each = self.mean_compile_s()
        compile_s = max(programs, len(compiling)) * each - sum(min(since, each) for since in compiling)
        return Left(max(train_s, longest), compile_s / workers)


class Shorter(NamedTuple):
    """An option of a command that gives it less to do.

    text: the option, and what to give.
    saves: the share of the training that it saves; None where that is not known.
    """

    text: str
    saves: float | None = None


class Command:
    """What the sweeps of one command have in common: an estimate, and one warning if it takes long.

    shorter: options that would give the command less to do.
    following: what follows the sweeps that the estimate knows of, in words; "" where nothing does.
    meters: of the sweeps that are being worked on, the first of which has the terminal.
    lock: of all of them.
    """

    def __init__(self):
        self.began, self.estimate = time.monotonic(), Estimate()
        self.meters: list[Any] = []
        self.lock = threading.RLock()
        self.shorter: Sequence[Shorter] = ()
        self.following = ""
        self.warned = False
        self.programs: set[Hashable] = set()  # that some sweep has counted

    def warning(self, left: Left, workers: int, reasons: Callable[[], Sequence[str]]) -> str | None:
        """Return the sentences for a command that takes longer than LONG_S, once; otherwise None.

        Args:
            left: of the estimate.
            workers: that share the work.
            reasons: why it takes long, each a clause; asked only where they are needed.
        """
        elapsed = time.monotonic() - self.began
        estimate = self.estimate
        if self.warned or estimate.train_s < SURE_S or elapsed + left.seconds <= LONG_S:
            return None
        self.warned = True
        compile_s = sum(estimate.compile_s) / workers + left.compile_s
        return long_text(
            elapsed + left.seconds,
            compile_s,
            estimate.train_s / workers + left.train_s,
            self.shorter,
            reasons(),
            self.following,
        )


def long_text(
    total_s: float,
    compile_s: float,
    train_s: float,
    shorter: Sequence[Shorter],
    reasons: Sequence[str] = (),
    following: str = "",
) -> str:
    """Return what a command says that takes long: how long, why, and what would make it shorter.

    Args:
        total_s: of the whole command.
        compile_s, train_s: the parts of it that are compiling and training.
        shorter: options that give it less to do.
        reasons: why it takes long, each a clause.
        following: what else follows, in words.
    """
    after = f", with {following}" if following else " in all"
    sentences = [f"This takes about {duration(total_s)}{after}."]
    why = list(reasons)
    if compile_s > total_s / 2:
        why.insert(0, f"compiling takes {duration(compile_s)} of it, which fewer rounds would not shorten")
    if why:
        sentences.append(f"Why: {'; '.join(why)}.")
    if shorter:
        options = [
            option.text
            if option.saves is None
            else f"{option.text} (about {duration(total_s - option.saves * train_s)})"
            for option in shorter
        ]
        sentences.append(f"Shorter: {', '.join(options)}.")
    return " ".join(sentences)


def half(option: str, number: int, share: float = 1.0) -> list[Shorter]:
    """Half of a number that is given by an option, which a share of the training is proportional to; none below 2."""
    fewer = number // 2
    return [Shorter(f"{option} {fewer}", share * (1 - fewer / number))] if fewer else []


def following(number: int, what: str) -> str:
    """Say that so many more sweeps or tasks follow; "" for none."""
    return f"{number} more {what}{'s' if number > 1 else ''} after that" if number else ""


def duration(seconds: float) -> str:
    """Seconds in words, with two digits or so: "45 s", "12 min", "3.5 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 120 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 36_000 else f"{seconds / 3600:,.0f} h"
