"""Runs what is missing of sweeps, and writes the results."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, nullcontext
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import jax

from bench.data.task import Task
from bench.errors import InputError, combined_error
from bench.execution import compile_cache
from bench.execution.executor import Executor
from bench.execution.pool import Pool
from bench.execution.progress import Meter, Piece
from bench.execution.queue import Block, WorkQueue, describe
from bench.execution.unit import Outcome, Unit
from bench.files import cache_folder
from bench.processes import WorkerDied
from bench.store import of_scale
from bench.store.complete_runs import Shape
from bench.store.store import Store
from bench.sweeps import devices
from bench.sweeps.points import Point, points_of, resolve, shapes_of
from bench.sweeps.rows import Origin, commit
from bench.sweeps.spec import Sweep

LISTEN_S = 1.0  # between two checks for signals while workers compute
TASK_BYTES = 2e9  # of data sets that the driver keeps at hand


def use_compilation_cache() -> None:
    """Keep compiled programs on disk, beside the data sets, unless the user has chosen a place already."""
    if not jax.config.jax_compilation_cache_dir:  # pyright: ignore[reportAttributeAccessIssue]
        compile_cache.tidy(cache_folder("compiled"))
        jax.config.update("jax_compilation_cache_dir", str(cache_folder("compiled")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # dozens of small ones add up


REFUSED = {  # settings of jax that change what a run is -> what would go wrong
    "jax_enable_x64": "rows in float64 would have the ids of rows in float32",
    "jax_debug_nans": "a point that diverges would end all others",
}


def check_settings() -> None:
    """Refuse settings of jax, made by a user's code or environment, with which runs are not those of others.

    Raises:
        InputError: naming the setting.
    """
    for name, why in REFUSED.items():
        if getattr(jax.config, name):
            raise InputError(f"{name} is on, by your code or by the environment, and {why}: turn it off")


class Opened(NamedTuple):
    """A sweep whose folder is held, and whose missing runs are known.

    name: of the sweep.
    ids: the ids of its points in the rows, including those of the rows to be added.
    blocks: what is to be trained.
    origin: of the rows; None where nothing is to be trained.
    task_of: (name, trial) -> the task.
    store, meter: which take the rows and count the work.
    """

    name: str
    ids: frozenset[str]
    blocks: list[Block]
    origin: Origin | None
    task_of: Callable[[tuple[str, int]], Task]
    store: Store
    meter: Meter


# Opens a sweep when workers are about to run out of work; the stack closes it at the end.
Opener = Callable[[ExitStack], Opened]


def run_sweep(
    sweep: Sweep,
    *,
    scale: str,
    out: str | os.PathLike,
    full_sweep: Sweep | None = None,
    keep_others: bool = False,
    most: int | None = None,
    shared_sizes: bool = False,
    pool: Pool | None = None,
) -> frozenset[str]:
    """Run the runs of a sweep that are not in the store yet.

    Args:
        sweep: what to run.
        scale: a column; with the sweep's name it gives the folder.
        out: the results folder, in which `bench.store.of_scale` has a folder for the parts.
        full_sweep: the sweep of which `sweep` is a selection; results of points that it does not have are outdated and
            moved aside. Default: `sweep` itself.
        keep_others: whether results of other points stay where they are.
        most: the largest number of points in a chunk; default as many as fit. Affects results only by rounding.
        shared_sizes: compile for rounded numbers of points, so that many small selections of one sweep share their
            programs. Worth it where compiling takes longer than running.
        pool: the workers; default Pool(), of this call alone.

    Returns:
        The ids that the sweep's points have in the rows.

    Raises:
        InputError: for a value out of range, a results folder that cannot be used, or points on which two workers died;
            all other points have been run then.
    """
    options = {"scale": scale, "out": out, "full_sweep": full_sweep, "keep_others": keep_others}
    with nullcontext(pool) if pool else Pool() as workers:
        open_sweep = partial(opened, sweep, pool=workers, silent=shared_sizes, **options)
        return run_all([open_sweep], workers, most=most, shared_sizes=shared_sizes)


def opened(
    sweep: Sweep,
    stack: ExitStack,
    *,
    scale: str,
    out: str | os.PathLike,
    full_sweep: Sweep | None = None,
    other_scales: Sequence[Sweep] = (),
    keep_others: bool = False,
    pool: Pool,
    silent: bool = False,
) -> Opened:
    """Hold the folder of a sweep, and find out what is missing.

    Args:
        sweep, scale, out, full_sweep, keep_others, pool: as for `run_sweep`.
        other_scales: sweeps whose results the same folder may have, such as this one at another scale.
        stack: receives what ends the work on the sweep.
        silent: whether a sweep with nothing to do says nothing.
    """
    check_settings()
    full_sweep = full_sweep or sweep
    seeds_of: dict[int, list[int]] = {}
    for trial, seed in sweep.repetitions():
        seeds_of.setdefault(trial, []).append(seed)
    first_trial = next(iter(seeds_of))
    folder = of_scale(out, scale, sweep.name)
    tasks = {name: full_sweep.task(name, first_trial) for name in sweep.tasks_of_points}
    points = resolve(sweep, tasks)
    for name, group in points.items() if pool.devices > 1 else ():
        for method in {point.method.make: point.method for point in group}.values():
            devices.check(method, tasks[name], pool.devices)
    store = stack.enter_context(Store(folder))
    everything = list(chain(*points.values()))

    def further() -> dict[str, Shape]:
        """Return the shapes of all points that the folder may have; called only where it has others than these."""
        return shapes_of(points_of([full_sweep, *other_scales]).values())

    finished = store.open_parts(shapes_of(everything), None if keep_others else further, keep_others=keep_others)
    repetitions = {name: set(sweep.repetitions(entry)) for name, entry in sweep.entries.items()}
    runs = ((p.id, *pair) for pair in sweep.repetitions() for p in everything if pair in repetitions[p.algorithm])
    needed = set(islice(runs, sweep.shard.start, None, sweep.shard.step)) - finished
    blocks = [
        block
        for trial, seeds in seeds_of.items()
        for name, group in points.items()
        for block in _blocks(sweep.name, (name, trial), _bytes(tasks[name]), group, seeds, needed, store.known_as)
    ]
    units = sum(block.run_rounds for block in blocks)
    meter = stack.enter_context(Meter(sweep.name, units, command=pool.command))
    for note in store.notes:
        meter.say(note)
    num_runs = sum(len(block.points) * len(block.runs) for block in blocks)
    if blocks or not silent:
        trials = f", trial {', '.join(map(str, seeds_of))}" if silent else ""
        meter.say(f"{sweep.name} at scale {scale}{trials}: {num_runs} runs to do, {len(finished)} in {folder}")
    shelf = _Shelf({(name, first_trial): task for name, task in tasks.items()})
    return Opened(
        sweep.name,
        frozenset({*store.recognised, *(p.id for p in everything)}),
        blocks,
        Origin(sweep.name, scale, sweep.delta, commit()) if blocks else None,
        partial(shelf.task, sweep),
        store,
        meter,
    )


def _bytes(task: Task) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(task))


def _blocks(
    sweep: str,
    task: tuple[str, int],
    task_bytes: int,
    points: Sequence[Point],
    seeds: Sequence[int],
    needed: Set[tuple],
    known_as: Mapping[str, Mapping[str, Any]],
) -> list[Block]:
    """Group the points that one program can run together: same static arguments, rounds, and seeds still to do."""
    groups: dict[tuple, list[Point]] = {}
    programs = [(point.method.make, point.static, point.num_rounds, point.eval_every) for point in points]
    sizes = Counter(programs)
    for program, point in zip(programs, points, strict=True):
        if runs := tuple((task[1], seed) for seed in seeds if (point.id, task[1], seed) in needed):
            member = point.known_as(known_as[point.id]) if point.id in known_as else point
            groups.setdefault((program, runs), []).append(member._replace(asked={}, computed={}))
    return [
        Block(sweep, task, task_bytes, tuple(members), runs, group_size=sizes[program])
        for (program, runs), members in groups.items()
    ]


class _Shelf:
    """A cache of tasks by name and trial: those used last, up to a size."""

    def __init__(self, tasks: Mapping[tuple[str, int], Task]):
        self.tasks = dict(tasks)

    def task(self, sweep: Sweep, key: tuple[str, int]) -> Task:
        self.tasks[key] = task = self.tasks.pop(key) if key in self.tasks else sweep.task(*key)  # now the last one
        while len(self.tasks) > 1 and sum(map(_bytes, self.tasks.values())) > TASK_BYTES:
            del self.tasks[next(iter(self.tasks))]
        return task


class _Driver:
    """Lets the workers of a pool train sweeps, one after the other.

    The next sweep is opened when fewer blocks wait than there are workers. So no worker is idle at the end of a sweep,
    and none compiles a program a second time for want of other work.

    Args:
        pool, most, shared_sizes: as for `run_all`.
    """

    def __init__(self, pool: Pool, most: int | None, shared_sizes: bool):
        self.pool, self.queue = pool, WorkQueue(most=most, shared_sizes=shared_sizes)
        self.executor: Executor | None = None
        self.sweeps: dict[str, tuple[Opened, ExitStack]] = {}  # those that are worked on, and what ends that
        self.pending: dict[Future[Outcome], tuple[Block, Piece]] = {}
        self.given_up: list[Block] = []
        self.errors: list[InputError] = []
        self.ids: set[str] = set()

    @property
    def num_workers(self) -> int:
        return self.executor.num_workers if self.executor else 1

    def begin(self, open_sweep: Opener, everything: ExitStack) -> None:
        """Open a sweep; one that cannot be opened, because its data are missing, is left out."""
        try:
            with ExitStack() as opening:
                sweep = open_sweep(opening)
                stack = everything.enter_context(opening.pop_all())
        except InputError as error:
            self.errors.append(error)
            return
        self.sweeps[sweep.name] = sweep, stack
        self.queue.blocks += sweep.blocks
        self.ids |= sweep.ids
        if sweep.blocks:
            executor = self.pool.executor(self.queue.total())
            if self.executor is None or executor.num_workers > self.num_workers:
                self.executor = executor
        self.queue.workers = self.num_workers
        for begun, _ in self.sweeps.values():
            begun.meter.workers = self.num_workers

    def submit(self) -> None:
        """Give units to workers that have none."""
        while self.queue and len(self.pending) < self.num_workers:
            block = self.queue.pop()
            sweep, _ = self.sweeps[block.sweep]
            assert sweep.origin is not None
            assert self.executor is not None
            unit = Unit(sweep.origin, sweep.task_of(block.task), block.points, block.runs, block.chunk)
            counted = Piece(sweep.meter)
            self.pending[self.executor.submit(unit, counted.report)] = block, counted

    def receive(self) -> None:
        """Take what workers have finished."""
        # Without an end to the wait, a signal that came while the process was suspended would be noticed too late.
        for future in wait(self.pending, LISTEN_S, return_when=FIRST_COMPLETED).done:
            self._take(*self.pending.pop(future), future)

    def _take(self, block: Block, counted: Piece, future: Future[Outcome]) -> None:
        """Write the rows of a finished unit, and put back into the queue what was not done."""
        sweep, _ = self.sweeps[block.sweep]
        try:
            outcome = future.result()
        except WorkerDied:
            counted.undo()
            retried = self.queue.died(block)
            sweep.meter.say(f"a worker died: {'retrying' if retried else 'giving up'}: {describe(block)}")
            self.given_up += [] if retried else [block]
            return
        if outcome.rows is None:
            counted.undo()
            sweep.meter.say(
                f"out of memory with {outcome.num_points} points x {outcome.num_runs} seeds at a time: continuing "
                "with fewer"
            )
        else:
            sweep.store.write(outcome.rows)
        self.queue.finished(block, outcome)

    def end(self) -> None:
        """Close the sweeps that are finished."""
        busy = {block.sweep for block in self.queue.blocks} | {block.sweep for block, _ in self.pending.values()}
        for name in [name for name in self.sweeps if name not in busy]:
            _, stack = self.sweeps.pop(name)
            error = None
            if given_up := [block for block in self.given_up if block.sweep == name]:
                runs = sum(len(block.points) * len(block.runs) for block in given_up)
                error = InputError(
                    f"workers died twice of {runs} runs of {name}, the first of them {describe(given_up[0])}; all "
                    "other runs are finished: repeat the command with --workers 1 to see why"
                )
                self.errors.append(error)
            stack.__exit__(error and InputError, error, None)


def run_all(
    upcoming: Sequence[Opener], pool: Pool, *, most: int | None = None, shared_sizes: bool = False
) -> frozenset[str]:
    """Run the missing runs of sweeps, in their order, without workers that wait for the end of a sweep.

    Args:
        upcoming: the sweeps.
        pool: the workers.
        most, shared_sizes: as for `run_sweep`.

    Returns:
        The ids that the points of all sweeps have in the rows.

    Raises:
        InputError: for `most` below 1; else for all sweeps that could not be opened and runs that were given up; all
            other runs have been run then.
    """
    if most is not None and most < 1:
        raise InputError(f"chunk is {most}: it must be at least 1")
    todo, driver = list(upcoming), _Driver(pool, most, shared_sizes)
    with ExitStack() as everything:
        while todo or driver.sweeps:
            while todo and len(driver.queue.blocks) < driver.num_workers:
                driver.begin(todo.pop(0), everything)
                driver.end()
            driver.submit()
            driver.receive()
            driver.end()
    if driver.errors:
        raise combined_error(driver.errors)
    return frozenset(driver.ids)
