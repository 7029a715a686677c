"""Run what is missing of a sweep, and write it down."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import jax
import numpy as np
import psutil
from jax.sharding import Mesh

from bench.data.fetch import cache
from bench.data.files import DataFiles
from bench.data.task import Task
from bench.errors import InputError
from bench.sweeps import engine
from bench.sweeps.points import Point, resolve
from bench.sweeps.progress import Meter
from bench.sweeps.rows import rows_of
from bench.sweeps.spec import Sweep
from bench.sweeps.store import Store

MEMORY_LIMIT = 10e9  # bytes that a compiled program may need at most, whatever the machine has


def use_compilation_cache() -> None:
    """Keep compiled programs on disk, beside the data sets, unless the user has chosen a place already."""
    if not jax.config.jax_compilation_cache_dir:  # pyright: ignore[reportAttributeAccessIssue]
        jax.config.update("jax_compilation_cache_dir", str(cache.folder("compiled")))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)  # dozens of small ones add up


def memory_budget() -> float:
    """Bytes that one compiled program may need: 60 % of what is free, at most MEMORY_LIMIT on a CPU."""
    if jax.default_backend() == "cpu":
        return min(MEMORY_LIMIT, 0.6 * psutil.virtual_memory().available)
    stats = jax.local_devices()[0].memory_stats() or {}
    return 0.8 * stats.get("bytes_limit", MEMORY_LIMIT / 0.8) * jax.local_device_count()


class _Runner:
    """Keeps compiled programs, and how many points were too many, between the groups of one call."""

    def __init__(self, budget: float, most: int | None, meter: Meter, devices=None):
        devices = devices or jax.local_devices()
        self.mesh = Mesh(np.array(devices), ("points",)) if len(devices) > 1 else None
        self.num_devices = len(devices)
        self.budget, self.most, self.meter = budget, most, meter
        self.plans: dict[tuple, tuple[engine.Plan, float]] = {}
        self.limits: dict[tuple, int] = {}

    def plan(self, program: engine.Program, task: Task, num_seeds: int, hypers, most: int):
        """The plan for this many points, and the seconds that it took to compile."""
        leaves, structure = jax.tree.flatten(task)
        shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
        size = len(next(iter(hypers.values())))
        key = (program, structure, shapes, num_seeds, size, most)
        if key not in self.plans:
            began = time.monotonic()
            made = engine.plan(program, task, num_seeds, hypers, budget=self.budget, most=most)
            self.plans[key] = made, time.monotonic() - began
            self.meter.say(
                f"{task.name}: {size} points x {num_seeds} seeds in chunks of {made.chunk}, "
                f"peak memory {made.peak_bytes / 1e9:.2f} GB, compiled in {self.plans[key][1]:.1f} s"
            )
        return self.plans[key]

    def run(self, task: Task, points: list[Point], runs, finished: Callable) -> None:
        """Train points that share their static arguments and rounds; call `finished` with each chunk's outcome.

        Several runs (trial, seed) go together where all points fit at once, else one after the other.
        """
        first, eval_every = points[0], points[0].eval_every
        program = engine.Program(first.method.make, first.static, eval_every, self.mesh)
        most = self.limits.get((program, len(runs)), self.most or len(points))
        hypers = {name: np.array([point.traced[name] for point in points]) for name in first.traced}
        plan, compile_s = None, 0.0
        if len(runs) == 1 or most >= len(points):
            plan, compile_s = self.plan(program, task, len(runs), hypers, most)
        if plan is None or (len(runs) > 1 and plan.chunk < len(points)):
            for run in runs:
                self.run(task, points, [run], finished)
            return
        chunk = plan.chunk
        keys = engine.run_keys(*np.array(runs, np.int32).T)
        for at in range(0, len(points), chunk):
            part = points[at : at + chunk]
            began, done = time.monotonic(), self.meter.done
            units = len(part) * len(runs) * eval_every
            try:
                metrics = engine.run_chunk(
                    program,
                    plan.step,
                    task,
                    keys,
                    {name: column[at : at + chunk] for name, column in hypers.items()},
                    num_evals=first.num_rounds // eval_every,
                    chunk=chunk,
                    on_block=lambda _, units=units: self.meter.add(units),
                )
            except (MemoryError, jax.errors.JaxRuntimeError) as error:
                if not (isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)):
                    raise
                if len(runs) == 1 and chunk <= self.num_devices:
                    raise InputError(f"{task.name} needs more memory than there is, even for one point") from None
                self.meter.add(done - self.meter.done)
                self.meter.say(f"out of memory with {chunk} points x {len(runs)} seeds at a time: going on with fewer")
                self.limits[program, len(runs)] = min(chunk, len(points)) // 2
                self.run(task, points[at:], runs, finished)
                return
            wall_s = (time.monotonic() - began) / (len(part) * len(runs))
            timing = {"wall_s": wall_s, "compile_s": compile_s, "points_per_chunk": chunk}
            finished(part, runs, metrics, timing)


def _groups(points: list[Point], missing: Mapping[str, tuple[int, ...]]) -> dict[tuple, list[Point]]:
    """Points that one program can run together: same static arguments, rounds, and seeds still to do."""
    groups: dict[tuple, list[Point]] = {}
    for point in points:
        if missing[point.id]:
            key = (point.method.make, point.static, point.num_rounds, point.eval_every, missing[point.id])
            groups.setdefault(key, []).append(point)
    return groups


def _ids(points: Mapping[str, list[Point]]) -> set[str]:
    return {point.id for group in points.values() for point in group}


def run_sweep(
    sweep: Sweep,
    *,
    scale: str,
    out: str | os.PathLike,
    whole: Sweep | None = None,
    data_files: DataFiles | None = None,
    fresh: bool = False,
    most: int | None = None,
    budget: float | None = None,
    devices=None,
) -> None:
    """Run the runs of a sweep that are not in the store yet.

    Args:
        sweep: what to run.
        scale: its name, a column and a folder.
        out: the results folder; parts go to out/scale/sweep.
        whole: the sweep of which `sweep` is a selection; results of points that are not even in this are
            stale and set aside. Default: `sweep` itself.
        data_files: the user's own files, and whether data may be downloaded; default DataFiles().
        fresh: set everything aside first.
        most: points in a chunk at most; default as many as fit. Never changes a result.
        budget: bytes that a compiled program may need; default from the memory at hand.
        devices: to spread points over; default all local ones.

    Raises:
        InputError: for a value out of range, or a store that cannot be used.
    """
    whole, data_files = whole or sweep, data_files or DataFiles()
    seeds_of: dict[int, list[int]] = {}
    for trial, seed in sweep.repetitions():
        seeds_of.setdefault(trial, []).append(seed)
    first_trial = next(iter(seeds_of))
    tasks = {name: whole.task(name, first_trial, data_files) for name in whole.tasks}
    points = resolve(sweep, tasks)
    valid = _ids(points)
    folder = Path(out) / scale / sweep.name
    with Store(folder) as store:
        if fresh:
            store.clear()
        there = store.open_parts(valid, lambda: _ids(resolve(whole, tasks)))
        done = set(there.itertuples(index=False, name=None))
        wanted = {name: set(sweep.repetitions(entry)) for name, entry in sweep.entries.items()}
        todo = {
            (trial, name): {
                p.id: tuple(s for s in seeds if (trial, s) in wanted[p.algorithm] and (p.id, trial, s) not in done)
                for p in group
            }
            for trial, seeds in seeds_of.items()
            for name, group in points.items()
        }
        rounds = {p.id: p.num_rounds for group in points.values() for p in group}
        missing = [(rounds[id], len(seeds)) for part in todo.values() for id, seeds in part.items()]
        with Meter(sweep.name, sum(rounds * seeds for rounds, seeds in missing)) as meter:
            for note in store.notes:
                meter.say(note)
            num_runs = sum(seeds for _, seeds in missing)
            meter.say(f"{sweep.name} at scale {scale}: {num_runs} runs to do, {len(done)} in {folder}")
            runner = _Runner(budget or memory_budget(), most, meter, devices)
            for (trial, name), seeds in todo.items():
                if not any(seeds.values()):
                    continue
                task = tasks[name] if trial == first_trial else sweep.task(name, trial, data_files)

                def finished(part, runs, metrics, timing, task=task):
                    store.write(rows_of(sweep, scale, task, part, runs, metrics, timing))

                for (*_, together), members in _groups(points[name], seeds).items():
                    runs = [(trial, seed) for seed in together]
                    runner.run(task, members, runs, finished)
