"""The remaining work, longest first, divided into units for several workers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bench.errors import InputError
from bench.execution.unit import Outcome
from bench.sweeps.points import Point

BYTES_PER_SECOND = 5e9  # assumed speed of a new program, whose round reads a task's data about once
WORTH_S = 1.0  # least seconds of work that justify another worker, in addition to the time of compiling


@dataclass(frozen=True)
class Block:
    """Points times remaining runs that one program can train.

    sweep: its name.
    task: (name of the task, trial).
    task_bytes: of its data.
    points: that share method, static arguments and rounds.
    runs: (trial, seed), all of one trial.
    chunk, runs_each: points to compile for, and runs in a unit, where that is settled.
    group_size: the number of points that share all that with these, finished ones included; 0 where unknown.
    deaths: number of workers that died while training it.
    """

    sweep: str
    task: tuple[str, int]
    task_bytes: int
    points: tuple[Point, ...]
    runs: tuple[tuple[int, int], ...]
    chunk: int | None = None
    runs_each: int | None = None
    group_size: int = 0
    deaths: int = 0

    @cached_property
    def program(self) -> tuple:
        """The key that all blocks of one compiled program have."""
        first = self.points[0]
        rounds = first.num_rounds, first.eval_every, first.at_start
        return first.method.make, first.static, *rounds, self.sweep, self.task[0]

    @property
    def run_rounds(self) -> int:
        return len(self.points) * len(self.runs) * self.points[0].num_rounds

    @cached_property
    def guess_s(self) -> float:
        """The seconds of work, estimated without any measurement."""
        return self.run_rounds * self.task_bytes / BYTES_PER_SECOND

    def subset(self, points: slice = slice(None), runs: slice = slice(None), **changes) -> "Block":
        """Return a block with some of the points and runs."""
        return replace(self, points=self.points[points], runs=self.runs[runs], **changes)


class WorkQueue:
    """The blocks of sweeps that are not being worked on, those of the first sweep in front.

    Args:
        blocks: the remaining work so far.
        workers: the number of units to be trained at the same time.
        most: points in a unit at most.
        shared_sizes: whether programs are compiled for rounded numbers of points, so that blocks of similar sizes
            share one.
    """

    def __init__(
        self, blocks: Sequence[Block] = (), *, workers: int = 1, most: int | None = None, shared_sizes: bool = False
    ):
        self.blocks, self.workers, self.most, self.shared_sizes = list(blocks), workers, most, shared_sizes
        self.measured: dict[tuple, tuple[float, float]] = {}  # program -> seconds, measured and estimated
        self._errors: dict[tuple, float] = {}  # program -> real over estimated seconds, until more is known
        self.compile_s: dict[tuple, float] = {}
        self.limits: dict[tuple, int] = {}  # (program, runs at once) -> points that fit

    def __bool__(self) -> bool:
        return bool(self.blocks)

    def seconds(self, block: Block) -> float:
        """Return the seconds of work of a block, from the measured speed of its program, or else from an estimate that
        is scaled by the error of earlier ones.
        """
        if block.program not in self._errors:
            samples = [self.measured[block.program]] if block.program in self.measured else self.measured.values()
            spent, guessed = (sum(pair[side] for pair in samples) for side in (0, 1))
            self._errors[block.program] = spent / guessed if guessed else 1.0
        return block.guess_s * self._errors[block.program]

    def total(self) -> float:
        """Return the seconds of work of everything in the queue."""
        return sum(map(self.seconds, self.blocks))

    def pop(self) -> Block:
        """Remove and return the next unit: one worker's share of the longest block of the first sweep (with one worker,
        of the first block)."""
        block = self.blocks[0]
        if self.workers > 1:
            block = max((other for other in self.blocks if other.sweep == block.sweep), key=self.seconds)
        pieces = self._pieces(block)
        self.blocks.remove(block)
        limit = min(self.most or math.inf, self.limits.get((block.program, len(block.runs)), math.inf))
        if len(block.runs) > 1 and limit < max(block.group_size, len(block.points)):
            # If not all points fit, runs are trained one after the other, with chunks as large as possible.
            self.blocks = [block.subset(runs=slice(i, i + 1)) for i in range(len(block.runs))] + self.blocks
            return self.pop()
        if block.chunk and block.chunk > limit:
            block = block.subset(chunk=None)
        if not block.chunk and pieces == 1 and limit < block.group_size:
            # The rest of an interrupted group uses the program of the whole group, which gives the same bits.
            block = block.subset(chunk=int(limit))
        if block.runs_each or (not block.chunk and len(block.points) < pieces and len(block.runs) > 1):
            return self._cut(block, runs=block.runs_each or math.ceil(len(block.runs) / pieces))
        size = block.chunk or math.ceil(len(block.points) / pieces)
        if self.shared_sizes and not block.chunk and (room := rounded_up(size, shared=pieces > 1)) <= limit:
            block, size = block.subset(chunk=room), room
        return self._cut(block, points=int(min(size, limit)))

    def _pieces(self, block: Block) -> int:
        """Return how many workers share a block: all, if it is most of the remaining work and worth compiling."""
        if self.workers == 1:
            return 1
        seconds = self.seconds(block)
        compile_s = self.compile_s.get(block.program, max(self.compile_s.values(), default=WORTH_S))
        worth = seconds / max(compile_s, WORTH_S)
        share = self.workers * seconds / max(self.total(), 1e-9)
        return max(1, min(self.workers, math.ceil(share - 0.1), int(worth)))

    def _cut(self, block: Block, *, points: int | None = None, runs: int | None = None) -> Block:
        """Return the first points, or runs, of a block; the rest goes back to the front."""
        if points is not None and points < len(block.points):
            block = block.subset(chunk=points)  # a smaller last unit is padded, so that one program serves all
            self.blocks.insert(0, block.subset(points=slice(points, None)))
            return block.subset(points=slice(points))
        if runs is not None and runs < len(block.runs):
            block = replace(block, runs_each=runs)
            self.blocks.insert(0, block.subset(runs=slice(runs, None)))
            return block.subset(runs=slice(runs))
        return block

    def finished(self, block: Block, outcome: Outcome) -> None:
        """Record the times of a finished unit, and put back what of it was not done.

        Raises:
            InputError: where not even one point fits into memory.
        """
        if outcome.compile_s:
            self.compile_s[block.program] = outcome.compile_s
        if outcome.rows is None:
            self._halve(block, outcome)
            return
        points, runs = outcome.num_points, outcome.num_runs
        trained = block.subset(slice(points), slice(runs))
        spent, guessed = self.measured.get(block.program, (0.0, 0.0))
        self.measured[block.program] = spent + outcome.train_s, guessed + trained.guess_s
        self._errors.clear()
        remainder = [block.subset(slice(points, None), slice(runs), chunk=outcome.chunk)]
        remainder += [block.subset(runs=slice(i, i + 1), chunk=outcome.chunk) for i in range(runs, len(block.runs))]
        self.blocks = [block for block in remainder if block.points and block.runs] + self.blocks

    def _halve(self, block: Block, outcome: Outcome) -> None:
        runs, points = outcome.num_runs, min(outcome.chunk, len(block.points))
        if runs == 1 and points <= 1:
            raise InputError(
                f"{block.task[0]} needs more memory than is available, even for one point: free some, or use a larger "
                "machine"
            )
        if len(block.runs) > 1:
            self.limits[block.program, len(block.runs)] = 0
        if runs == 1:
            self.limits[block.program, 1] = points // 2
        self.blocks.insert(0, block.subset(chunk=None))

    def died(self, block: Block) -> bool:
        """Put back a unit whose worker died, and return whether it gets another chance."""
        if block.deaths:
            return False
        self.blocks.insert(0, block.subset(deaths=1))
        return True


def rounded_up(size: int, *, shared: bool) -> int:
    """Round a number of points up to a power of two; where workers share a block, also to three quarters of one, since
    units of unequal size leave workers idle at the end.
    """
    power = 1 << (size - 1).bit_length()
    return power // 4 * 3 if shared and power >= 4 and size <= power // 4 * 3 else power


def describe(block: Block) -> str:
    """Describe a block in words, for a message."""
    first, number = block.points[0], len(block.points)
    suffix = f" and {number - 1} points more" if number > 1 else ""
    text = ", ".join(f"{name}={value}" for name, value in first.args.items())
    return f"{first.algorithm} on {block.task[0]}, trial and seed {block.runs[0]}: {text}{suffix}"
