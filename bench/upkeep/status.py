"""The status of sweeps: finished and missing runs, and the time left at the rates measured so far.

Runs are identified by their settings, which are columns of the rows, so no data set is read. Only the check of ids
(`verify`) reads data, since a point's id depends on their checksum.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.errors import InputError, check_name, unknown_name
from bench.store import SCALES, kind_of, of_scale
from bench.store.complete_runs import Points, in_words, made_on_cpus, rows_as_text, settings_in, sound_runs
from bench.store.part_files import IDENTITY, REDO, parts_in, readable_parts, unified
from bench.store.requests import REQUEST, read_request
from bench.sweeps.points import points_of, shapes_of
from bench.sweeps.spec import Entry, Sweep, Sweeps, defaults_of, parameters
from bench.upkeep.merge import sweeps_named

NEEDED = ("version", "wall_s", "compile_s")  # columns by which runs are counted and timed
LABELS = ("dataset", "num_clients", "num_features", "data_share")  # of the data


class Coverage(NamedTuple):
    """How much of an entry of a sweep, or of a sweep, has been run.

    wanted, there, missing: numbers of runs.
    core_hours: for the missing runs; None where nothing was measured.
    """

    wanted: int
    there: int
    missing: int
    core_hours: float | None


class Status(NamedTuple):
    """One sweep at one scale.

    other_runs: runs in the folder that belong to no entry.
    problems: parts that cannot be read, a sentence each.
    """

    sweep: str
    scale: str
    folder: Path
    entries: dict[str, Coverage]
    other_runs: int
    problems: list[str]

    @property
    def total(self) -> Coverage:
        entries = list(self.entries.values())
        measured = [entry.core_hours for entry in entries if entry.core_hours is not None]
        hours = sum(measured) if measured or not any(entry.missing for entry in entries) else None
        wanted, there = sum(entry.wanted for entry in entries), sum(entry.there for entry in entries)
        return Coverage(wanted, there, wanted - there, hours)

    def as_dict(self) -> dict[str, Any]:
        """Return the status as plain values for JSON."""
        head = {"sweep": self.sweep, "scale": self.scale, "folder": str(self.folder)} | self.total._asdict()
        entries = {label: coverage._asdict() for label, coverage in self.entries.items()}
        return head | {"entries": entries, "other_runs": self.other_runs, "problems": self.problems}


def status(sweep: Sweep, scale: str, folder: Path) -> Status:
    """Return the status of a sweep's folder. Every part is opened, and nothing is changed.

    Raises:
        InputError: where a part cannot be opened.
    """
    runs, problems = runs_there(folder, {name for entry in sweep.entries.values() for name in _settings(entry)})
    entries, matched = {}, 0
    for label, entry in sweep.entries.items():
        entries[label], count = _coverage(sweep, label, entry, runs)
        matched += count
    return Status(sweep.name, scale, folder, entries, len(runs) - matched, problems)


def runs_there(folder: Path, settings: Iterable[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the last row of each run in the readable parts, and a sentence for every unreadable part.

    settings: the columns of a row that tell runs apart.
    """
    frames, schemas, problems = [], {}, []
    for path, table in readable_parts(folder, problems, only=frozenset({*NEEDED, "device", *settings})):
        lacking = [column for column in NEEDED if column not in table.column_names]
        if lacking:
            problems.append(f"{path} is not a part of these results (no column {lacking[0]!r}): {REDO}")
            continue
        schemas[path] = table.schema
        rows = table.select([*IDENTITY, "rounds"]).to_pandas(ignore_metadata=True).sort_values("rounds")
        frames.append(table.take(rows.drop_duplicates(IDENTITY, keep="last").index.to_numpy()).to_pandas())
    unified(schemas)
    if not frames:
        return pd.DataFrame(columns=[*IDENTITY, "algorithm", *NEEDED]).astype({"trial": int, "seed": int}), problems
    runs = pd.concat(frames, ignore_index=True)
    return runs.drop_duplicates(IDENTITY).reset_index(drop=True), problems


def _settings(entry: Entry) -> list[str]:
    """Return the columns of rows that say which point of an entry they are of, the task and its data aside."""
    names = map(str, [*entry.points, *parameters(entry.method)[0]])
    return [name for name in dict.fromkeys(names) if name != "task" and name not in entry.computed]


def _coverage(sweep: Sweep, label: str, entry: Entry, all_runs: pd.DataFrame) -> tuple[Coverage, int]:
    """Return how much of an entry has been run, and how many of the folder's runs belong to it."""
    points, names, defaults = entry.points, _settings(entry), defaults_of(entry.method)
    repetitions = pd.DataFrame(sweep.repetitions(entry), columns=["trial", "seed"])
    keys = rows_as_text(points, names, defaults)
    runs = all_runs[(all_runs["algorithm"] == label) & (all_runs["version"] == entry.method.version)]
    present = runs[["trial", "seed"]].assign(key=rows_as_text(runs, names, defaults))
    present = present[present["key"].isin(set(keys))].merge(repetitions, on=["trial", "seed"])
    # Points that differ only in the task share a key, so up to their number of its runs count.
    counts = keys.value_counts()
    copies = present.value_counts(["key", "trial", "seed"])
    most = counts.reindex(copies.index.get_level_values("key")).to_numpy()
    have = copies.clip(upper=most).groupby("key").sum()
    missing = len(repetitions) - keys.map(have).fillna(0.0).astype(float) / keys.map(counts)
    hours = _hours(entry, points.assign(missing=missing), runs, all_runs)
    wanted, there = len(points) * len(repetitions), int(have.sum())
    return Coverage(wanted, there, wanted - there, hours), len(present)


def _hours(entry: Entry, points: pd.DataFrame, runs: pd.DataFrame, all_runs: pd.DataFrame) -> float | None:
    """Return the core-hours of the missing runs of an entry; None where nothing was measured.

    A run takes as long as those that differ in nothing that is compiled in, or else as those of the method on data of
    the same size, as all of the method, as all of the sweep. Those of a GPU, which take a hundredth, do not count.
    """
    todo = points[points["missing"] > 0]
    runs, all_runs = (rows[made_on_cpus(rows)] for rows in (runs, all_runs))
    if todo.empty or all_runs.empty:
        return 0.0 if todo.empty else None
    (keywords, traced), defaults = parameters(entry.method), defaults_of(entry.method)
    labels = [name for name in LABELS if name in points]
    apart = list(dict.fromkeys([*(name for name in keywords if name not in traced), *labels]))
    keys, seconds = rows_as_text(todo, apart, defaults), pd.Series(np.nan, todo.index)
    for names in (apart, labels):
        rates = runs["wall_s"].astype(float).groupby(rows_as_text(runs, names, defaults)).mean()
        seconds = seconds.fillna(rows_as_text(todo, names, defaults).map(rates))
    seconds = seconds.fillna((runs if len(runs) else all_runs)["wall_s"].mean())
    compiled = keys.nunique() * runs["compile_s"].mean() if len(runs) else 0.0
    return float((seconds * todo["missing"]).sum() + compiled) / 3600


def statuses(sweeps: Sweeps, names: Sequence[str], scale: str, out: Path) -> list[Status]:
    """Return the statuses of sweeps at a scale; arguments and errors are those of `_chosen`."""
    return [status(found[0], scale, folder) for folder, found in _chosen(sweeps, names, scale, out)]


def check(sweeps: Sweeps, names: Sequence[str], scale: str, out: Path) -> list[str]:
    """Return what `verify` finds in the folders of sweeps; arguments are those of `_chosen`.

    Raises:
        InputError: as `_chosen`, and where nothing is there to be checked.
    """
    chosen = _chosen(sweeps, names, scale, out)
    if not (out / kind_of(scale)).is_dir():
        raise InputError(f"there are no results at scale {scale} in {out}: choose another --scale or --out")
    return [line for folder, (sweep, *others) in chosen for line in verify(sweep, folder, others)]


def _chosen(sweeps: Sweeps, names: Sequence[str], scale: str, out: Path) -> list[tuple[Path, list[Sweep]]]:
    """Return the folders of results with these names, and of each its sweep, at the scale first.

    Args:
        sweeps: all sweeps, by name.
        names: of sweeps, or of folders with a user's own values; none means all of both.
        scale: smoke, laptop or paper.
        out: the folder of results.

    Raises:
        InputError: for an unknown name, and a place of results that is no folder.
    """
    check_name("scale", scale, SCALES)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is not a folder: choose the folder of results by --out")
    requests = [path.parent.name for path in sorted((out / kind_of(scale)).glob(f"*/{REQUEST}"))]
    for name in names:
        if name not in sweeps and name not in requests and not parts_in(of_scale(out, scale, name)):
            raise unknown_name("sweep", name, [*sweeps, *requests])
    chosen = []
    for name in names or [*sweeps, *requests]:
        folder = of_scale(out, scale, name)
        request = read_request(folder)
        try:
            chosen.append((folder, sweeps_named(sweeps, name, scale, request)))
        except InputError as error:
            if request is None:
                raise
            raise InputError(f"{folder / REQUEST} cannot be used: {error}") from None
    return chosen


def verify(sweep: Sweep, folder: Path, other_scales: Sequence[Sweep] = ()) -> list[str]:
    """Return what is damaged, foreign or duplicated in a folder's parts, a sentence each. Nothing is changed.

    `other_scales`: the sweep at other scales whose results the folder may have.

    Where the sweep's data are not available, the ids of points cannot be checked, and a sentence reports this.
    """
    problems, points = [], None
    try:
        points = Points(shapes_of(points_of([sweep, *other_scales]).values() if parts_in(folder) else ()))
    except InputError as error:
        problems.append(f"ids in {folder} are not checked, since data are missing: {error}")
    seen: set[tuple] = set()
    for path, table in readable_parts(folder, problems):
        if points is not None:
            sound = sound_runs(table, table.schema, points.shapes, points.recognised(settings_in(table)), seen)
            problems += [f"{path}: {in_words(sound.left_out)}"] if sound.left_out else []
            seen |= sound.runs
    return problems


def as_text(statuses: Sequence[Status], by_entry: bool) -> str:
    """Return a table for users: a line a sweep, and, if `by_entry`, a line an entry."""
    lines: list[tuple[str, Coverage]] = []
    for status in statuses:
        lines.append((status.sweep, status.total))
        if by_entry:
            lines += [(f"  {label}", coverage) for label, coverage in status.entries.items()]
    names, coverages = zip(*lines, strict=True)
    table = pd.DataFrame(map(_cells, coverages), names).to_string()
    totals = [status.total for status in statuses if status.total.missing]
    hours = sum(total.core_hours for total in totals if total.core_hours is not None)
    unknown = sum(total.missing for total in totals if total.core_hours is None)
    remainder = [f"{hours:.3g} core-hours"] * (hours > 0) + [f"{unknown:,} runs without a rate"] * (unknown > 0)
    note = "A process counts as one core; rates are those of the CPUs that made the rows."
    return f"{table}\n\nThe rest: {', and '.join(remainder) or 'nothing'}. {note}"


def _cells(coverage: Coverage) -> dict[str, str]:
    wanted, there, missing, core_hours = coverage
    hours = "" if not missing else "?" if core_hours is None else f"{core_hours:.3g}"
    return {"there": f"{there:,} of {wanted:,}", "missing": f"{missing:,}", "core-hours": hours}
