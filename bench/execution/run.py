"""Runs what is missing of a sweep, and writes the results."""

import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import jax

from bench.data.files import DataFiles
from bench.data.task import Task
from bench.errors import InputError
from bench.execution import compile_cache
from bench.execution.estimate import Command, Work
from bench.execution.executor import WorkerDied
from bench.execution.pool import Pool
from bench.execution.progress import Meter, Part
from bench.execution.queue import Block, Queue, describe, rounded_up
from bench.execution.reasons import reasons
from bench.execution.unit import Unit
from bench.files import cache_folder
from bench.store import other_data
from bench.store.complete_runs import Shape
from bench.store.shared_runs import take_over
from bench.store.store import Store
from bench.sweeps import devices
from bench.sweeps.points import Point, resolve, shapes_of
from bench.sweeps.rows import Origin, commit
from bench.sweeps.spec import Sweep

LISTEN_S = 1.0  # between two looks at signals while workers compute
TASK_BYTES = 2e9  # of data sets that the driver keeps at hand


def use_compilation_cache() -> None:
    """Keep compiled programs on disk, beside the data sets, unless the user has chosen a place already."""
    if not jax.config.jax_compilation_cache_dir:  # pyright: ignore[reportAttributeAccessIssue]
        compile_cache.tidy(cache_folder("compiled"))
        jax.config.update("jax_compilation_cache_dir", str(cache_folder("compiled")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # dozens of small ones add up


def run_sweep(
    sweep: Sweep,
    *,
    scale: str,
    out: str | os.PathLike,
    whole: Sweep | None = None,
    data_files: DataFiles | None = None,
    fresh: bool = False,
    most: int | None = None,
    shared_sizes: bool = False,
    pool: Pool | None = None,
) -> None:
    """Run the runs of a sweep that are not in the store yet.

    Args:
        sweep: what to run.
        scale: its name, a column and a folder.
        out: the results folder; parts go to out/scale/sweep.
        whole: the sweep of which `sweep` is a selection; results of points that are not in it either are outdated and
            moved aside. Default: `sweep` itself.
        data_files: the user's own files, and where other data may come from; default DataFiles().
        fresh: set everything aside first.
        most: the largest number of points in a chunk; default as many as fit. Affects results only by rounding.
        shared_sizes: compile for rounded numbers of points, so that many small selections of one sweep share their
            programs. Worth it where compiling takes longer than running.
        pool: the workers; default Pool(), of this call alone.

    Raises:
        OtherData: (an InputError) where the folder's results are of other data than those here, unless `fresh`.
        InputError: for a value out of range, a results folder that cannot be used, or points on which two workers died;
            all other points have been run then.
    """
    if most is not None and most < 1:
        raise InputError(f"chunk is {most}: it must be at least 1")
    whole, data_files = whole or sweep, data_files or DataFiles()
    seeds_of: dict[int, list[int]] = {}
    for trial, seed in sweep.repetitions():
        seeds_of.setdefault(trial, []).append(seed)
    first_trial = next(iter(seeds_of))
    folder = Path(out) / scale / sweep.name
    if not fresh:
        other_data.check_choice(whole.tasks.values(), folder, data_files)
    tasks = {name: whole.task(name, first_trial, data_files) for name in sweep.tasks_of_points}
    points = resolve(sweep, tasks)

    def shapes_of_all() -> dict[str, Shape]:
        """Shapes of all points of the whole sweep, whose other data are loaded only where results of them are here."""
        others = {name: whole.task(name, first_trial, data_files) for name in whole.tasks if name not in tasks}
        if not fresh:
            other_data.check([(task.name, task.checksum) for task in others.values()], folder)
        return shapes_of(chain(*resolve(whole, tasks | others).values()))

    count = pool.devices if pool else 1
    for name, group in points.items() if count > 1 else ():
        for method in {point.method.make: point.method for point in group}.values():
            devices.check(method, tasks[name], count)
    if not fresh:
        other_data.check([(task.name, task.checksum) for task in tasks.values()], folder)
    with Store(folder) as store:
        if fresh:
            store.clear()
        shapes = shapes_of(chain(*points.values()))
        there = store.open_parts(shapes, shapes_of_all)
        done = set(there.itertuples(index=False, name=None))
        wanted = {name: set(sweep.repetitions(entry)) for name, entry in sweep.entries.items()}
        if sweep.shares and not fresh:
            others = {name: folder.parent / name for name in sweep.shares if name != sweep.name}
            needed = {(p.id, *pair) for p in chain(*points.values()) for pair in wanted[p.algorithm]}
            done |= take_over(store, others, shapes, needed - done)
        blocks = []
        for trial, seeds in seeds_of.items():
            for name, group in points.items():
                missing = {
                    p.id: tuple(s for s in seeds if (trial, s) in wanted[p.algorithm] and (p.id, trial, s) not in done)
                    for p in group
                }
                blocks += _blocks(name, trial, group, missing, store.known_as, _bytes(tasks[name]))
        units = sum(block.run_rounds for block in blocks)
        command = pool.command if pool else Command()
        command.estimate.begin((), [(sweep.name, trial) for trial in seeds_of])
        with Meter(sweep.name, units, command=command) as meter:
            for note in store.notes:
                meter.say(note)
            num_runs = sum(len(block.points) * len(block.runs) for block in blocks)
            if blocks or not shared_sizes:  # of many small selections, those with nothing to do say nothing
                part = f", trial {', '.join(map(str, seeds_of))}" if shared_sizes else ""
                meter.say(f"{sweep.name} at scale {scale}{part}: {num_runs} runs to do, {len(done)} in {folder}")
            if blocks:
                origin = Origin(sweep.name, scale, sweep.delta, commit())
                shelf = _Shelf({(name, first_trial): task for name, task in tasks.items()})
                tasks_of = partial(shelf.task, sweep, data_files=data_files)
                longest = max(blocks, key=lambda block: block.guess_s)
                meter.reasons = lambda: reasons(longest.points, tasks[longest.task[0]])
                with nullcontext(pool) if pool else Pool() as workers:
                    _work(blocks, origin, tasks_of, store, meter, workers, most, shared_sizes=shared_sizes)


def _bytes(task: Task) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(task))


def _blocks(
    name: str,
    trial: int,
    points: list[Point],
    missing: Mapping[str, tuple[int, ...]],
    known_as: Mapping[str, Mapping[str, Any]],
    task_bytes: int,
) -> list[Block]:
    """Points that one program can run together: same static arguments, rounds, and seeds still to do."""
    groups: dict[tuple, list[Point]] = {}
    programs = [(point.method.make, point.static, point.num_rounds, point.eval_every) for point in points]
    whole = Counter(programs)
    for program, point in zip(programs, points, strict=True):
        if missing[point.id]:
            member = point.known_as(known_as[point.id]) if point.id in known_as else point
            groups.setdefault((program, missing[point.id]), []).append(
                member._replace(asked={}, computed={}, settings={})
            )
    return [
        Block((name, trial), task_bytes, tuple(members), tuple((trial, s) for s in seeds), whole=whole[program])
        for (program, seeds), members in groups.items()
    ]


class _Shelf:
    """Tasks at hand, by name and trial: those used last, up to a size."""

    def __init__(self, tasks: Mapping[tuple[str, int], Task]):
        self.tasks = OrderedDict(tasks)

    def task(self, sweep: Sweep, key: tuple[str, int], data_files: DataFiles) -> Task:
        if key not in self.tasks:
            self.tasks[key] = sweep.task(*key, data_files)
        self.tasks.move_to_end(key)
        while len(self.tasks) > 1 and sum(map(_bytes, self.tasks.values())) > TASK_BYTES:
            self.tasks.popitem(last=False)
        return self.tasks[key]


def _kind(block: Block) -> tuple[str, str]:
    """Return the task and the method, whose run-rounds take about as long each."""
    return block.task[0], block.points[0].algorithm


def _works(
    blocks: list[Block], counted: set[Hashable], workers: int, most: int | None, shared_sizes: bool
) -> list[Work]:
    """Return the work of blocks; programs that are in `counted`, and so were compiled before, are not, and new ones
    enter."""
    works = []
    for block in blocks:
        size = min(len(block.points), most or len(block.points))
        key = (block.program, rounded_up(size, shared=workers > 1) if shared_sizes else size, len(block.runs))
        works.append(Work(_kind(block), block.run_rounds, block.guess_s, int(key not in counted)))
        counted.add(key)
    return works


def _work(
    blocks: list[Block],
    origin: Origin,
    task_of: Callable[[tuple[str, int]], Task],
    store: Store,
    meter: Meter,
    pool: Pool,
    most: int | None,
    *,
    shared_sizes: bool,
) -> None:
    """Have all blocks trained, and write what comes back."""
    executor = pool.executor(Queue(blocks).total())
    queue = Queue(blocks, workers=executor.num_workers, most=most, shared_sizes=shared_sizes)
    meter.workers = executor.num_workers
    with meter.lock:
        meter.command.estimate.begin(_works(blocks, meter.command.programs, executor.num_workers, most, shared_sizes))
    pending: dict[Future, tuple[Block, Part]] = {}
    given_up: list[Block] = []
    while queue or pending:
        while queue and len(pending) < executor.num_workers:
            block = queue.pop()
            counted = meter.part(_kind(block), block.run_rounds)
            unit = Unit(origin, task_of(block.task), block.points, block.runs, block.chunk)
            pending[executor.submit(unit, counted.report)] = block, counted
        # Without an end to the wait, a signal that came while the process was suspended would be noticed too late.
        for future in wait(pending, LISTEN_S, return_when=FIRST_COMPLETED).done:
            block, counted = pending.pop(future)
            try:
                outcome = future.result()
            except WorkerDied:
                counted.undo()
                again = queue.died(block)
                meter.say(f"a worker died: {'retrying' if again else 'giving up'}: {describe(block)}")
                given_up += [] if again else [block]
                continue
            for sentence in outcome.said:
                meter.say(sentence)
            if outcome.rows is None:
                counted.undo()
                meter.say(
                    f"out of memory with {outcome.num_points} points x {outcome.num_runs} seeds at a time: continuing "
                    "with fewer"
                )
            else:
                counted.close()
                store.write(outcome.rows)
            queue.finished(block, outcome)
    if given_up:
        runs = sum(len(block.points) * len(block.runs) for block in given_up)
        raise InputError(
            f"workers died twice of {runs} runs of {origin.sweep}, the first of them {describe(given_up[0])}; all "
            "other runs are finished: repeat the command with --workers 1 to see why"
        )
