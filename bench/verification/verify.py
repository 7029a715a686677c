"""Draws runs, makes them again, and compares."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple

import jax
import pandas as pd

from bench.errors import InputError, in_one_line, unknown_name
from bench.execution import resources
from bench.execution.executor import Executor
from bench.execution.pool import Pool
from bench.execution.unit import Outcome
from bench.processes import WorkerDied
from bench.store import SCALES, of_scale
from bench.sweeps.rows import platform_columns
from bench.sweeps.spec import Sweeps
from bench.verification.again import Gone, NoData, Prepared, Tasks, prepare
from bench.verification.compared import CHAOTIC, DIFFERENT, EQUAL, ROUNDED, Difference, compared
from bench.verification.drawn import Folder, Run, Sample, draw

LEFT_OUT, OUTDATED, DAMAGED = "left out", "outdated", "damaged"
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


class Verification(NamedTuple):
    """The outcome of `verify`.

    checked: runs, in the order of the sweeps.
    sweeps: number of sweeps that have results.
    too_long: runs that were drawn and left out, since they take too long.
    accelerated: runs that were drawn and left out, since they were made on a GPU or TPU.
    platform: versions and machine, as columns of results.
    seconds: that everything took.
    """

    checked: list[Checked]
    sweeps: int
    too_long: int
    accelerated: int
    platform: dict[str, str]
    seconds: float

    @property
    def failures(self) -> list[Checked]:
        """Runs that did not come out as they were."""
        return [run for run in self.checked if run.outcome in FAILURES]

    def count(self, outcome: str) -> int:
        """Return how many runs had an outcome."""
        return sum(run.outcome == outcome for run in self.checked)

    def table(self) -> pd.DataFrame:
        """Return one row per run that was drawn."""
        return pd.DataFrame(self.checked, columns=list(Checked._fields))


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
) -> Verification:
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

    Raises:
        InputError: for an unknown name, or where there are no results.
    """
    start = time.monotonic()
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    for name in sweeps:
        if name not in known:
            raise unknown_name("sweep", name, known)
    if not 1 <= points <= 100_000:
        raise InputError(f"the number of points is {points}: it must be at least 1 and at most 100,000")
    if seed < 0:
        raise InputError(f"the seed of the draw is {seed}: it must be at least 0")
    if not minutes > 0:
        raise InputError(f"the number of minutes is {minutes}: it must be above 0")
    folders = {name: Folder(of_scale(results, scale, name)) for name in sweeps or known}
    if unused := [name for name in sweeps if not folders[name].parts]:
        raise InputError(
            f"there are no results of {unused[0]} at scale {scale} in {results}: name another sweep, or run it first"
        )
    folders = {name: folder for name, folder in folders.items() if folder.parts}
    if not folders:
        raise InputError(f"there are no results at scale {scale} in {results}: give another --scale or --out")
    # What a CPU made is repeated in full float32, for which a GPU has to be asked.
    precision = "highest" if resources.gpus() else None
    with jax.default_matmul_precision(precision), Pool("local", workers, quiet=quiet) as pool:
        num_workers = pool.asked or resources.automatic_workers(pool.gpus)
        sample = draw(list(folders.values()), points, 60 * minutes * num_workers, seed)
        checked = [Checked("", "", "", 0, 0, DAMAGED, what=text) for text in sample.damaged]
        checked += _checked_runs(sample, folders, Tasks(known), pool)
    seconds = time.monotonic() - start
    return Verification(checked, len(folders), sample.too_long, sample.accelerated, platform_columns(), seconds)


def _checked_runs(sample: Sample, folders: dict[str, Folder], tasks: Tasks, pool: Pool) -> list[Checked]:
    """Make all runs again, several at a time, and compare each when it is done."""
    runs = sorted(sample.runs, key=lambda run: list(folders).index(run.sweep))
    if not runs:
        return []
    checked: dict[int, Checked] = {}
    executor = pool.executor(sample.seconds)
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
            prepared = prepare(run, tasks)
        except NoData as error:
            report(place, _outcome_of(run, LEFT_OUT, what=str(error)))
        except Gone as error:
            report(place, _outcome_of(run, OUTDATED, what=str(error)))
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
    size, what = (largest.size, str(largest)) if isinstance(largest, Difference) else (0.0, "")
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


def in_words(result: Verification, seed: int) -> str:
    """Return the outcome in a few lines: every run that is not as it was, and a summary."""
    lines = []
    for run in result.checked:
        name = (
            f"{run.sweep}, {run.algorithm}, point {run.point}, trial {run.trial}, seed {run.seed}" if run.sweep else ""
        )
        if run.outcome == DIFFERENT:
            size = "" if run.largest == float("inf") else f", a relative difference of {run.largest:.1e}"
            lines.append(f"{DIFFERENT}: {name}: {run.what}{size} (made by commit {run.commit}, jax {run.jax_version})")
        elif run.outcome == CHAOTIC:
            lines.append(f"{CHAOTIC}: {name}: {run.what}, within the spread of its repetitions")
        elif run.outcome in (OUTDATED, DAMAGED):
            lines.append(f"{run.outcome}: {name + ': ' if name else ''}{run.what}")
    for reason in dict.fromkeys(run.what for run in result.checked if run.outcome == LEFT_OUT):
        lines.append(f"{LEFT_OUT}: {reason}")
    counts = [
        f"{result.count(outcome)} {outcome}" for outcome in (EQUAL, ROUNDED, CHAOTIC, LEFT_OUT) if result.count(outcome)
    ]
    rounded = max((run.largest for run in result.checked if run.outcome == ROUNDED), default=0.0)
    counts = [f"{words} (at most {rounded:.0e})" if words.endswith(ROUNDED) else words for words in counts]
    counts += [f"{len(result.failures)} NOT as they were"] if result.failures else ["none different"]
    sweeps = {run.sweep for run in result.checked if run.sweep}  # a damaged file has none
    origins = sorted({f"jax {run.jax_version} on {run.device}" for run in result.checked if run.jax_version})
    lines.append(
        f"{len(result.checked)} runs of {len(sweeps)} sweeps, drawn by seed {seed}, were "
        f"run again in {result.seconds:,.0f} s: {', '.join(counts)}"
    )
    lines.append(
        f"there: {'; '.join(origins)}; here: jax {result.platform['jax_version']} on {result.platform['device']}"
    )
    if result.accelerated:
        lines.append(
            f"{result.accelerated} further draws were of runs of a GPU or TPU, which rounds products of matrices to "
            "fewer digits: they are not run again"
        )
    if result.too_long:
        lines.append(
            f"{result.too_long} further draws were of runs too long for the time allowed: --minutes gives more"
        )
    return "\n".join(lines)
