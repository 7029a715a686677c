"""Run what is missing of a sweep, and write it down."""

import contextlib
import datetime
import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import psutil
from jax.sharding import Mesh

from bench.algorithms.base import Method
from bench.data.task import Task
from bench.errors import InputError
from bench.privacy.accounting import epsilons
from bench.sweeps import engine
from bench.sweeps.progress import Meter
from bench.sweeps.spec import Sweep, arguments, parameters
from bench.sweeps.store import Store, point_id

MEMORY_LIMIT = 10e9  # bytes that a compiled program may need at most, whatever the machine has


class Point(NamedTuple):
    """One row of a sweep's table, resolved on its task."""

    id: str
    algorithm: str
    method: Method
    args: dict[str, Any]
    labels: dict[str, Any]
    num_rounds: int

    @property
    def static(self) -> tuple[tuple[str, Any], ...]:
        traced = parameters(self.method)[1]
        return tuple(sorted((k, v) for k, v in self.args.items() if k not in traced))

    @property
    def traced(self) -> dict[str, float]:
        return {k: v for k, v in self.args.items() if k in parameters(self.method)[1]}


def cache_dir() -> Path:
    """Where compiled programs are kept between runs."""
    base = os.environ.get("BENCH_CACHE") or Path.home() / ".cache" / "private-federated-bench"
    return Path(base) / "compiled"


def use_compilation_cache() -> None:
    """Keep compiled programs on disk, unless the user has chosen a place already."""
    if not jax.config.jax_compilation_cache_dir:
        jax.config.update("jax_compilation_cache_dir", str(cache_dir()))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


def memory_budget() -> float:
    """Bytes that one compiled program may need: 60 % of what is free, at most MEMORY_LIMIT on a CPU."""
    if jax.default_backend() == "cpu":
        return min(MEMORY_LIMIT, 0.6 * psutil.virtual_memory().available)
    stats = jax.local_devices()[0].memory_stats() or {}
    return 0.8 * stats.get("bytes_limit", MEMORY_LIMIT / 0.8) * jax.local_device_count()


@cache
def provenance() -> dict[str, str]:
    """The code, the libraries and the machine, as columns."""

    def git(*words):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            root = Path(__file__).parent
            done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, timeout=5)
            return done.stdout.strip()
        return ""

    commit = git("rev-parse", "--short=12", "HEAD")
    dirty = "-dirty" if git("status", "--porcelain", "--untracked-files=no", "--", "bench") else ""
    return {
        "commit": commit + dirty if commit else "unknown",
        "jax_version": jax.__version__,
        "jaxlib_version": importlib.metadata.version("jaxlib"),
        "python_version": platform.python_version(),
        "device": f"{jax.local_device_count()} x {jax.local_devices()[0].device_kind}",
    }


def resolve(sweep: Sweep, tasks: Mapping[str, Task]) -> dict[str, list[Point]]:
    """The sweep's points by task, checked: every value is in its range, and fits the others and the task."""
    out: dict[str, list[Point]] = {name: [] for name in tasks}
    for algorithm, entry in sweep.entries.items():
        for row in entry.points.to_dict("records"):
            name = row.pop("task", next(iter(sweep.tasks)))
            task, args = tasks[name], arguments(entry.method, row)
            entry.method.check(task, **args)
            num_rounds = sweep.num_rounds
            if callable(num_rounds):
                num_rounds = num_rounds(task, args)
            num_rounds = -(-num_rounds // sweep.eval_every) * sweep.eval_every
            settings = {
                "algorithm": entry.method.make.__name__,
                "version": entry.method.version,
                "args": args,
                "task": task.name,
                "checksum": task.checksum,
                "num_rounds": num_rounds,
                "eval_every": sweep.eval_every,
                "delta": sweep.delta,
            }
            labels = {k: v for k, v in row.items() if k not in args}
            out[name].append(Point(point_id(settings), algorithm, entry.method, args, labels, num_rounds))
    for name, points in out.items():
        if len({p.id for p in points}) < len(points):
            raise InputError(f"sweep {sweep.name} has the same point twice on task {name}: drop one")
    return out


def privacy_columns(point: Point, task: Task, delta: float, releases_done: np.ndarray) -> dict[str, Any]:
    """epsilon after each evaluation by every way of accounting, and the words that belong to it."""
    claims = point.method.releases(task, delta=delta, **point.args)
    main = claims["paper"]
    columns = {
        "privacy_unit": main.privacy_unit,
        "neighbors": main.neighbors,
        "accounted_as": main.sampler,
        "accountant": main.accountant,
        "delta": main.delta,
    }
    for name, claim in claims.items():
        column = "epsilon" if name == "paper" else f"epsilon_{name}"
        columns[column] = epsilons(claim, releases_done)
    return columns


def rows_of(sweep: Sweep, scale: str, task: Task, points, runs, metrics, timing: Mapping[str, float]):
    """The table of a finished chunk: one row per run and evaluation.

    Args:
        points: of the chunk.
        runs: (trial, seed) of the chunk.
        metrics: name -> [seed, point, evaluation].
        timing: columns that all rows share.
    """
    frames, accounted = [], {}
    released = metrics.pop("released", None)
    num_evals = next(iter(metrics.values())).shape[-1]
    rounds = np.arange(num_evals) * sweep.eval_every
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    for p, point in enumerate(points):
        for s, (trial, seed) in enumerate(runs):
            done = rounds
            if released is not None:
                done = np.cumsum(np.nan_to_num(released[s, p]) * sweep.eval_every).round().astype(int)
            what = {k: v for k, v in point.args.items() if k != "step_size"}
            key = (point.method.make, tuple(sorted(what.items())), tuple(done))
            if key not in accounted:
                accounted[key] = privacy_columns(point, task, sweep.delta, done)
            frames.append(
                pd.DataFrame(
                    {
                        "point": point.id,
                        "sweep": sweep.name,
                        "algorithm": point.algorithm,
                        "task": task.name,
                        "source": task.source,
                        "scale": scale,
                        "trial": trial,
                        "seed": seed,
                        "num_rounds": point.num_rounds,
                        "rounds": rounds,
                        "releases": done,
                    }
                    | point.labels
                    | point.args
                    | accounted[key]
                    | {name: values[s, p] for name, values in metrics.items()}
                    | {"version": point.method.version, "checksum": task.checksum, "date": today}
                    | provenance()
                    | dict(timing)
                )
            )
    return pd.concat(frames, ignore_index=True)


class _Runner:
    """Keeps compiled programs between the chunks of one call."""

    def __init__(self, budget: float, meter: Meter, devices=None):
        devices = devices or jax.local_devices()
        self.mesh = Mesh(np.array(devices), ("points",)) if len(devices) > 1 else None
        self.budget, self.meter, self.plans = budget, meter, {}

    def plan(self, program, task, num_seeds, hypers, most):
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

    def run(
        self, task: Task, points: list[Point], runs, eval_every: int, most: int | None, finished: Callable
    ):
        """Train points that share their static arguments; call `finished` with each chunk's outcome."""
        first = points[0]
        program = engine.Program(first.method.make, first.static, eval_every, self.mesh)
        hypers = {name: np.array([p.traced[name] for p in points]) for name in first.traced}
        keys = jnp.stack([engine.run_key(trial, seed) for trial, seed in runs])
        plan, compile_s = self.plan(program, task, len(runs), hypers, most)
        if plan.chunk < len(points) and len(runs) > 1:  # several seeds at once only where all points fit
            for run in runs:
                self.run(task, points, [run], eval_every, most, finished)
            return
        num_evals = first.num_rounds // eval_every
        for at in range(0, len(points), plan.chunk):
            part = points[at : at + plan.chunk]
            chunk_hypers = {name: column[at : at + plan.chunk] for name, column in hypers.items()}
            began = time.monotonic()
            try:
                metrics = engine.run_chunk(
                    program,
                    plan.step,
                    task,
                    keys,
                    chunk_hypers,
                    num_evals=num_evals,
                    chunk=plan.chunk,
                    on_block=lambda _, n=len(part): self.meter.add(n * len(runs) * eval_every),
                )
            except (MemoryError, jax.errors.JaxRuntimeError) as error:
                smaller = plan.chunk // 2
                if smaller < 1 or not (isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)):
                    raise
                self.meter.say(f"out of memory with {plan.chunk} points at a time: going on with {smaller}")
                self.run(task, points[at:], runs, eval_every, smaller, finished)
                return
            wall_s = (time.monotonic() - began) / (len(part) * len(runs))
            timing = {"wall_s": wall_s, "compile_s": compile_s, "points_per_chunk": plan.chunk}
            finished(part, runs, metrics, timing)


def _groups(points: list[Point], missing: Mapping[str, tuple[int, ...]]):
    """Points that one program can run together: same static arguments, rounds, and seeds still to do."""
    groups: dict[tuple, list[Point]] = {}
    for point in points:
        if missing[point.id]:
            key = (point.method.make, point.static, point.num_rounds, missing[point.id])
            groups.setdefault(key, []).append(point)
    return groups


def run_sweep(
    sweep: Sweep,
    *,
    scale: str,
    out: str | os.PathLike,
    whole: Sweep | None = None,
    fresh: bool = False,
    most: int | None = None,
    budget: float | None = None,
    devices=None,
) -> pd.DataFrame | None:
    """Run the runs of a sweep that are not in the store yet.

    Args:
        sweep: what to run.
        scale: its name, a column and a folder.
        out: the results folder; parts go to out/scale/sweep.
        whole: the sweep of which `sweep` is a selection; results of points that are not even in this are
            stale and set aside. Default: `sweep` itself.
        fresh: set everything aside first.
        most: points in a chunk at most; default as many as fit. Never changes a result.
        budget: bytes that a compiled program may need; default from the memory at hand.
        devices: to spread points over; default all local ones.

    Raises:
        InputError: for a value out of range, or a store that cannot be used.
    """
    whole = whole or sweep
    repetitions = sweep.repetitions()
    first_trial = repetitions[0][0]
    tasks = {name: make(first_trial) for name, make in whole.tasks.items()}
    points = resolve(sweep, tasks)
    valid = {p.id for group in resolve(whole, tasks).values() for p in group}
    folder = Path(out) / scale / sweep.name
    with Store(folder) as store:
        if fresh:
            store.clear()
        done = set(store.open_parts(valid).itertuples(index=False, name=None))
        todo = {
            (name, p.id, trial): tuple(s for t, s in repetitions if t == trial and (p.id, t, s) not in done)
            for name, group in points.items()
            for p in group
            for trial in dict.fromkeys(t for t, _ in repetitions)
        }
        work = sum(
            len(todo[name, p.id, trial]) * p.num_rounds
            for name, group in points.items()
            for p in group
            for trial in dict.fromkeys(t for t, _ in repetitions)
        )
        runs = sum(len(seeds) for seeds in todo.values())
        with Meter(sweep.name, work) as meter:
            for note in store.notes:
                meter.say(note)
            meter.say(f"{sweep.name} at scale {scale}: {runs} runs to do, {len(done)} in {folder}")
            runner = _Runner(budget or memory_budget(), meter, devices)
            for trial in dict.fromkeys(t for t, _ in repetitions):
                for name, group in points.items():
                    missing = {p.id: todo[name, p.id, trial] for p in group}
                    if not any(missing.values()):
                        continue
                    task = tasks[name] if trial == first_trial else sweep.tasks[name](trial)
                    for (_, _, _, seeds), members in _groups(group, missing).items():
                        runner.run(
                            task,
                            members,
                            [(trial, seed) for seed in seeds],
                            sweep.eval_every,
                            most,
                            lambda part, runs, metrics, timing, task=task: store.write(
                                rows_of(sweep, scale, task, part, runs, metrics, timing)
                            ),
                        )
