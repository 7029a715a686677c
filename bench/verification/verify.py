"""Draws runs, makes them again, and compares."""

import math
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import pandas as pd

from bench.errors import InputError, check_name, in_one_line
from bench.execution import resources
from bench.execution.executor import Executor
from bench.execution.pool import Pool
from bench.execution.unit import Outcome
from bench.inputs.values import check_range
from bench.processes import WorkerDied
from bench.store import SCALES, of_scale
from bench.sweeps.rows import platform_columns
from bench.sweeps.spec import Sweeps
from bench.verification.again import LEFT_OUT, OUTDATED, NotRun, Prepared, prepare, source_of
from bench.verification.compared import CHAOTIC, DIFFERENT, EQUAL, ROUNDED, compared
from bench.verification.drawn import Folder, Run, Sample, draw

DAMAGED = "damaged"
FAILURES = (DIFFERENT, OUTDATED, DAMAGED)


class Checked(NamedTuple):
    """What came of one run that was drawn.

    sweep, algorithm, point, trial, seed: of the run; empty for a damaged file.
    outcome: EQUAL, ROUNDED, CHAOTIC, DIFFERENT, LEFT_OUT (its data are not here), OUTDATED (the sweep does not have it
        any more) or DAMAGED.
    largest: largest difference, as a share of the column's values; 0 where there is none.
    what: the difference, or what else is wrong, in words.
    commit, jax_version, device: where the run that was there comes from.
    seconds: that it took here, compiling included.
    """

    sweep: str
    algorithm: str
    point: str
    trial: int
    seed: int
    outcome: str
    largest: float = 0.0
    what: str = ""
    commit: str = ""
    jax_version: str = ""
    device: str = ""
    seconds: float = 0.0


def verify(
    known: Sweeps,
    sweeps: Sequence[str],
    scale: str,
    results: str | os.PathLike,
    *,
    points: int,
    minutes: float,
    seed: int,
    workers: int | str = "auto",
    quiet: bool = False,
) -> pd.DataFrame:
    """Draw finished runs at random, run them again and compare them row by row.

    Args:
        known: all sweeps, by name.
        sweeps: names; none are all that have results.
        scale: of the results.
        results: their folder, which is not changed.
        points: number of runs to draw.
        minutes: that all of them may take, as predicted by the times in the results; longer runs are not drawn.
        seed: of the draw.
        workers: number of worker processes; "auto" is one per GPU, or else one per core.
        quiet: whether nothing is printed meanwhile.

    Returns:
        A row with the fields of `Checked` for each run, in the order of the sweeps. .attrs["text"] says it in words,
        and .attrs["failed"] whether some run did not come out as it was.

    Raises:
        InputError: for an unknown name, or where there are no results.
    """
    start = time.monotonic()
    check_name("scale", scale, SCALES)
    for name in sweeps:
        check_name("sweep", name, known)
    check_range("the number of points", points, 1 <= points <= 100_000, "it must be at least 1 and at most 100,000")
    check_range("the seed of the draw", seed, seed >= 0, "it must be at least 0")
    check_range("the number of minutes", minutes, minutes > 0, "it must be above 0")
    folders = {name: Folder(of_scale(results, scale, name)) for name in sweeps or known}
    folders = {name: folder for name, folder in folders.items() if folder.sizes.sum()}
    if unused := [name for name in sweeps if name not in folders]:
        raise InputError(
            f"there are no results of {unused[0]} at scale {scale} in {results}: name another sweep, or run it first"
        )
    if not folders:
        raise InputError(f"there are no results at scale {scale} in {results}: give another --scale or --out")
    # What a CPU made is repeated in full float32, for which a GPU has to be asked.
    precision = "highest" if resources.gpus() else None
    with jax.default_matmul_precision(precision), Pool("local", workers, quiet=quiet) as pool:
        num_workers = pool.asked or resources.automatic_workers(pool.gpus)
        sample = draw(list(folders.values()), points, 60 * minutes * num_workers, seed)
        checked = [Checked("", "", "", 0, 0, DAMAGED, what=text) for text in sample.damaged]
        checked += _checked_runs(sample, folders, known, pool)
    table = pd.DataFrame(checked, columns=list(Checked._fields))
    text = in_words(checked, sample, seed, time.monotonic() - start)
    table.attrs = {"text": text, "failed": bool(table["outcome"].isin(FAILURES).any())}
    return table


def _checked_runs(sample: Sample, folders: dict[str, Folder], known: Sweeps, pool: Pool) -> list[Checked]:
    """Make all runs again, several at a time, and compare each when it is done."""
    runs = sorted(sample.runs, key=lambda run: list(folders).index(run.sweep))
    if not runs:
        return []
    checked: dict[int, Checked] = {}
    executor = pool.executor(sample.seconds)
    source = lru_cache(maxsize=1)(partial(source_of, known))  # data may be large: those of the last sweep are kept
    pending: dict[Future[Outcome], tuple[int, Prepared, float]] = {}

    def report(place: int, run: Checked) -> None:
        checked[place] = run
        size = f" (at most {run.largest:.0e})" if run.outcome == ROUNDED else ""
        took = f", {run.seconds:,.0f} s" if run.seconds else ""
        pool.command.say(f"{len(checked)} of {len(runs)}: {run.sweep}, {run.algorithm}: {run.outcome}{size}{took}")

    def collect(done: set[Future[Outcome]]) -> None:
        for future in done:
            place, prepared, start = pending.pop(future)
            report(place, _checked_run(runs[place], prepared, future, folders, executor, start))

    for place, run in enumerate(runs):
        while len(pending) >= executor.num_workers:
            collect(wait(pending, return_when=FIRST_COMPLETED).done)
        start = time.monotonic()
        try:
            prepared = prepare(run, *source(run.sweep, str(run.first["scale"])))
        except NotRun as error:
            outcome, what = error.args
            report(place, _outcome_of(run, outcome, what=what))
        else:
            pending[executor.submit(prepared.unit, _ignore)] = place, prepared, start
    while pending:
        collect(wait(pending, return_when=FIRST_COMPLETED).done)
    return [checked[place] for place in range(len(runs))]


def _checked_run(
    run: Run, prepared: Prepared, future: Future[Outcome], folders: dict[str, Folder], executor: Executor, start: float
) -> Checked:
    try:
        rows = _rows_of(future)
        outcome, largest = compared(
            run.rows,
            rows,
            prepared.computed,
            lambda: _rows_of(executor.submit(prepared.perturbed(), _ignore)),
            lambda: folders[run.sweep].repetitions(run),
        )
    except (WorkerDied, MemoryError) as error:
        raise InputError(
            f"a worker died of {run.sweep} ({in_one_line(error) or 'no message'}): free some memory, or use --workers 1"
        ) from None
    size, what = (largest.size, str(largest)) if largest else (0.0, "")
    return _outcome_of(run, outcome, largest=size, what=what, seconds=time.monotonic() - start)


def _ignore(step: Any) -> None:
    """Ignore what a worker reports on the way: a line is printed when a run is done."""


def _rows_of(future: Future[Outcome]) -> pd.DataFrame:
    rows = future.result().rows
    if rows is None:
        raise MemoryError
    return rows


def _outcome_of(run: Run, outcome: str, **fields: Any) -> Checked:
    origin = {name: str(run.first.get(name, "")) for name in ("commit", "jax_version", "device")}
    return Checked(run.sweep, run.algorithm, run.point, run.trial, run.seed, outcome)._replace(**fields, **origin)


def in_words(checked: Sequence[Checked], sample: Sample, seed: int, seconds: float) -> str:
    """Return the outcome in a few lines: every run that is not as it was, and a summary.

    Args:
        checked: the runs that were drawn.
        sample: of which they are.
        seed: of the draw.
        seconds: that everything took.
    """
    lines = []
    for run in checked:
        name = f"{run.sweep}, {run.algorithm}, point {run.point}, trial {run.trial}, seed {run.seed}: "
        if run.outcome == DIFFERENT:
            size = "" if math.isinf(run.largest) else f", a relative difference of {run.largest:.1e}"
            lines.append(f"{DIFFERENT}: {name}{run.what}{size} (made by commit {run.commit}, jax {run.jax_version})")
        elif run.outcome == CHAOTIC:
            lines.append(f"{CHAOTIC}: {name}{run.what}, within the spread of its repetitions")
        elif run.outcome == OUTDATED:
            lines.append(f"{OUTDATED}: {name}{run.what}")
        elif run.outcome in (DAMAGED, LEFT_OUT):
            lines.append(f"{run.outcome}: {run.what}")
    lines = list(dict.fromkeys(lines))  # the data of several runs may be missing
    numbers = Counter(run.outcome for run in checked)
    rounded = max((run.largest for run in checked if run.outcome == ROUNDED), default=0.0)
    words = {EQUAL: EQUAL, ROUNDED: f"{ROUNDED} (at most {rounded:.0e})", CHAOTIC: CHAOTIC, LEFT_OUT: LEFT_OUT}
    counts = [f"{numbers[outcome]} {text}" for outcome, text in words.items() if numbers[outcome]]
    failures = sum(numbers[outcome] for outcome in FAILURES)
    counts.append(f"{failures} NOT as they were" if failures else "none different")
    sweeps = {run.sweep for run in checked if run.sweep}  # a damaged file has none
    origins = sorted({f"jax {run.jax_version} on {run.device}" for run in checked if run.jax_version})
    platform = platform_columns()
    lines.append(
        f"{len(checked)} runs of {len(sweeps)} sweeps, drawn by seed {seed}, were run again in {seconds:,.0f} s: "
        f"{', '.join(counts)}"
    )
    lines.append(f"there: {'; '.join(origins)}; here: jax {platform['jax_version']} on {platform['device']}")
    if sample.accelerated:
        lines.append(
            f"{sample.accelerated} further draws were of runs of a GPU or TPU, which rounds products of matrices to "
            "fewer digits: they are not run again"
        )
    if sample.too_long:
        lines.append(
            f"{sample.too_long} further draws were of runs too long for the time allowed: --minutes gives more"
        )
    return "\n".join(lines)
