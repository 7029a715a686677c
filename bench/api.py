"""The suite from Python: what the command line does, as functions that return tables.

from bench import compare, load, run

run("ppsgd_synthetic", scale="smoke")
rows = load("ppsgd_synthetic", scale="smoke")
table = compare(["my_method.py:my_method"], task="digits", epsilons=[1, 4], seeds=3)
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from bench.algorithms.base import Method
from bench.comparison import Comparison
from bench.comparison import compare as compared
from bench.data.files import DataFiles
from bench.data.problems.tasks import TASKS
from bench.errors import InputError, unknown_name
from bench.sweeps import SCALES, SWEEPS, store
from bench.sweeps.run import run_sweep, use_compilation_cache
from bench.sweeps.spec import on_task, select

COMPARISON = "comparison"


def run(
    name: str,
    scale: str = "smoke",
    *,
    where: str | None = None,
    seeds: int | None = None,
    task: str | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    chunk: int | None = None,
    data_dir: str | os.PathLike | None = None,
    download: bool = False,
) -> pd.DataFrame:
    """Run what is missing of a sweep, and return all its rows.

    Args:
        name: of the sweep.
        scale: "smoke", "laptop" or "paper".
        where: only these points, such as "noise_multiplier <= 10".
        seeds: repetitions of every point; default the sweep's.
        task: another task than the sweep's own.
        out: results folder.
        fresh: first set all the sweep's results aside.
        chunk: points at once at most; never changes a result.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        download: whether the authors' addresses may be asked for data that nothing else has.

    Returns:
        One row per run and evaluation.

    Raises:
        InputError: for an unknown name, a value out of its range or a folder that is not there, before anything is run.
    """
    data_files = DataFiles(data_dir, download)
    whole, sweep = chosen_sweep(name, scale, where=where, seeds=seeds, task=task)
    use_compilation_cache()
    run_sweep(sweep, whole=whole, scale=scale, out=out, data_files=data_files, fresh=fresh, most=chunk)
    return store.read(Path(out) / scale / sweep.name)


def chosen_sweep(name: str, scale: str, *, where: str | None, seeds: int | None, task: str | None):
    """A sweep whole, and the part of it that was asked for."""
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    if name not in SWEEPS:
        raise unknown_name("sweep", name, SWEEPS)
    if task is not None and task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if seeds is not None and not 1 <= seeds <= 10_000:
        raise InputError(f"--seeds is {seeds}: it must be at least 1 and at most 10,000")
    whole = SWEEPS[name](scale)
    if task is not None:
        whole = on_task(whole, task, TASKS[task])
    sweep = whole if where is None else select(whole, where)
    if seeds is None:
        return whole, sweep
    # What is asked for holds for every entry, also for one that has fewer repetitions of its own.
    entries = {label: entry._replace(seeds=None) for label, entry in sweep.entries.items()}
    return whole, sweep._replace(seeds=seeds, entries=entries)


def load(name: str, scale: str | None = None, *, results: str | os.PathLike = "results") -> pd.DataFrame:
    """The rows of a sweep, or the table of a comparison, that has been run.

    Args:
        name: of the sweep; or of a comparison, "compare/NAME".
        scale: default the largest there is.
        results: the folder.

    Returns:
        One row per run and evaluation; of a comparison one per method and epsilon.

    Raises:
        InputError: where there is none.
    """
    kind, _, comparison = name.partition("/")
    if comparison:
        path = Path(results) / kind / comparison / f"{COMPARISON}.csv"
        if not path.is_file():
            raise InputError(f"no comparison in {path.parent}: first run `python -m bench compare`")
        return pd.read_csv(path)
    if name not in SWEEPS and "_on_" not in name:
        raise unknown_name("sweep", name, SWEEPS)
    scales = [choice for choice in SCALES if (Path(results) / choice / name).is_dir()]
    if scale is not None and scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    if not scales and scale is None:
        raise InputError(f"no results of {name} in {results}: first run `python -m bench run {name}`")
    return store.read(Path(results) / (scale or scales[-1]) / name)


def _notes(found: Comparison) -> list[str]:
    """What a reader of the table must know of these runs."""
    again = [
        f"{label} is the method behind {', '.join(names)}, with its own defaults: --set changes them"
        for label, names in found.again.items()
    ]
    bare = [f"{label} promises nothing with these arguments: run without noise alone" for label in found.bare]
    own = [label for label, one in found.plan.candidates.items() if one.outside and label not in found.bare]
    word = [f"Epsilon of {', '.join(own)} as declared: `python -m bench audit` asks whether it is true"] if own else []
    lost = [
        f"{label} diverged with all that was tried: give more --trials, or --tune smaller" for label in found.diverged
    ]
    edges = [f"A better value may lie beyond: {text}" for text in found.edges]
    return [*again, *bare, *word, *lost, *edges]


def compare(methods: str | Method | Callable | Sequence = (), **options) -> pd.DataFrame:
    """Compare methods with the baselines of a task on equal terms; write Parquet, table and picture.

    Args:
        methods: one or several of: a built-in name, FILE.py:NAME, a Method, a factory.
        options: of `bench.comparison.compare`: task, epsilons, seeds, tuned, fixed, trials, rounds, baselines,
            neighbors, delta, units, name, out, fresh, data_dir, download.

    Returns:
        One row per method and epsilon: mean of the test metric with its 95 % interval, rank, and gain over the best
        baseline with its interval, as `bench.comparison.figure.table` says. What is written lies in .attrs["folder"].

    Raises:
        InputError: for anything that cannot be used, before anything is run.
    """
    from bench.analysis import style, tables  # here, since `load` and `run` need no matplotlib
    from bench.comparison import figure

    use_compilation_cache()
    several = list(methods) if isinstance(methods, list | tuple) and not isinstance(methods, Method) else [methods]
    found = compared(several, **options)
    chosen = found.plan.problem
    table = figure.table(
        found.runs, metric=chosen.metric, best=chosen.best, baselines=found.baselines, tried=found.tried
    )
    try:
        with style.applied():
            style.save(figure.draw(table, chosen.says), table, found.folder, COMPARISON)
        tables.save(figure.printed(table), found.folder, COMPARISON)
        with open(found.folder / f"{COMPARISON}.md", "a") as file:
            file.writelines(f"\n{note}.\n" for note in _notes(found))
        found.tuning.to_csv(found.folder / "tuning.csv", index=False, float_format="%.6g")
    except OSError as error:
        raise InputError(f"cannot write {error.filename or found.folder}: {error.strerror}; choose --out") from None
    table.attrs["folder"] = str(found.folder)
    return table
