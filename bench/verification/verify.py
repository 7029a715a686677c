"""Draws runs, makes them again, and compares."""

import os
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple

import jax
import pandas as pd

from bench.data.files import DataFiles
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
from bench.verification.drawn import Drawn, Folder, Run, draw

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
    here: versions and machine, as columns of results.
    seconds: that everything took.
    """

    checked: list[Checked]
    sweeps: int
    too_long: int
    accelerated: int
    here: dict[str, str]
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
    data_files: DataFiles | None = None,
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
        data_files: where data may come from.
        quiet: whether nothing is printed meanwhile.

    Raises:
        InputError: for an unknown name, or where there are no results.
    """
    began = time.monotonic()
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
    if empty := [name for name in sweeps if not folders[name].parts]:
        raise InputError(
            f"there are no results of {empty[0]} at scale {scale} in {results}: name another sweep, or run it first"
        )
    folders = {name: folder for name, folder in folders.items() if folder.parts}
    if not folders:
        raise InputError(f"there are no results at scale {scale} in {results}: give another --scale or --out")
    # What a CPU made is repeated in full float32, for which a GPU has to be asked.
    precision = "highest" if resources.gpus() else None
    with jax.default_matmul_precision(precision), Pool("local", workers, quiet=quiet) as pool:
        num_workers = pool.asked or resources.automatic_workers(pool.gpus)
        drawn = draw(list(folders.values()), points, 60 * minutes * num_workers, seed)
        checked = [Checked("", "", "", 0, 0, DAMAGED, what=what) for what in drawn.damaged]
        checked += _check(drawn, folders, Tasks(known, data_files or DataFiles()), pool)
    seconds = time.monotonic() - began
    return Verification(checked, len(folders), drawn.too_long, drawn.accelerated, platform_columns(), seconds)


def _check(drawn: Drawn, folders: dict[str, Folder], tasks: Tasks, pool: Pool) -> list[Checked]:
    """Make all runs again, several at a time, and compare each when it is done."""
    runs = sorted(drawn.runs, key=lambda run: list(folders).index(run.sweep))
    if not runs:
        return []
    checked: dict[int, Checked] = {}
    executor = pool.executor(drawn.seconds)
    pending: dict[Future[Outcome], tuple[int, Prepared, float]] = {}

    def note(number: int, run: Checked) -> None:
        checked[number] = run
        size = f" (at most {run.largest:.0e})" if run.outcome == ROUNDED else ""
        took = f", {run.seconds:,.0f} s" if run.seconds else ""
        pool.command.say(f"{len(checked)} of {len(runs)}: {run.sweep}, {run.algorithm}: {run.outcome}{size}{took}")

    def finish(done: set[Future[Outcome]]) -> None:
        for future in done:
            number, prepared, since = pending.pop(future)
            note(number, _judged(runs[number], prepared, future, folders, executor, since))

    for number, run in enumerate(runs):
        while len(pending) >= executor.num_workers:
            finish(wait(pending, return_when=FIRST_COMPLETED).done)
        since = time.monotonic()
        try:
            prepared = prepare(run, tasks)
        except NoData as why:
            note(number, _of(run, LEFT_OUT, what=str(why)))
        except Gone as why:
            note(number, _of(run, OUTDATED, what=str(why)))
        else:
            pending[executor.submit(prepared.unit, _unheard)] = number, prepared, since
    while pending:
        finish(wait(pending, return_when=FIRST_COMPLETED).done)
    return [checked[number] for number in range(len(runs))]


def _judged(
    run: Run, prepared: Prepared, future: Future[Outcome], folders: dict[str, Folder], executor: Executor, since: float
) -> Checked:
    try:
        rows = _rows(future)
        outcome, largest = compared(
            run.rows,
            rows,
            prepared.computed,
            lambda: _rows(executor.submit(prepared.moved(), _unheard)),
            lambda: folders[run.sweep].repetitions(run),
        )
    except (WorkerDied, MemoryError) as error:
        raise InputError(
            f"a worker died of {run.sweep} ({in_one_line(error) or 'no message'}): free some memory, or use --workers 1"
        ) from None
    size, what = (largest.size, str(largest)) if isinstance(largest, Difference) else (0.0, "")
    return _of(run, outcome, largest=size, what=what, seconds=time.monotonic() - since)


def _unheard(step: Any) -> None:
    """Ignore what a worker reports on the way: a line is printed when a run is done."""


def _rows(future: Future[Outcome]) -> pd.DataFrame:
    rows = future.result().rows
    if rows is None:
        raise MemoryError
    return rows


def _of(run: Run, outcome: str, **more: Any) -> Checked:
    where = {name: str(run.first.get(name, "")) for name in ("commit", "jax_version", "device")}
    return Checked(run.sweep, run.algorithm, run.point, run.trial, run.seed, outcome)._replace(**more, **where)


def in_words(found: Verification, seed: int) -> str:
    """Return the outcome in a few lines: every run that is not as it was, and a summary."""
    lines = []
    for run in found.checked:
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
    for why in dict.fromkeys(run.what for run in found.checked if run.outcome == LEFT_OUT):
        lines.append(f"{LEFT_OUT}: {why}")
    counts = [
        f"{found.count(outcome)} {outcome}" for outcome in (EQUAL, ROUNDED, CHAOTIC, LEFT_OUT) if found.count(outcome)
    ]
    rounded = max((run.largest for run in found.checked if run.outcome == ROUNDED), default=0.0)
    counts = [f"{words} (at most {rounded:.0e})" if words.endswith(ROUNDED) else words for words in counts]
    counts += [f"{len(found.failures)} NOT as they were"] if found.failures else ["none different"]
    sweeps = {run.sweep for run in found.checked if run.sweep}  # a damaged file has none
    there = sorted({f"jax {run.jax_version} on {run.device}" for run in found.checked if run.jax_version})
    lines.append(
        f"{len(found.checked)} runs of {len(sweeps)} sweeps, drawn by seed {seed}, were "
        f"run again in {found.seconds:,.0f} s: {', '.join(counts)}"
    )
    lines.append(f"there: {'; '.join(there)}; here: jax {found.here['jax_version']} on {found.here['device']}")
    if found.accelerated:
        lines.append(
            f"{found.accelerated} further draws were of runs of a GPU or TPU, which rounds products of matrices to "
            "fewer digits: they are not run again"
        )
    if found.too_long:
        lines.append(f"{found.too_long} further draws were of runs too long for the time allowed: --minutes gives more")
    return "\n".join(lines)
