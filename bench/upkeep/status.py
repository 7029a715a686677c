"""The status of sweeps: finished and missing runs, and the time left at the rates measured so far.

Runs are identified by their settings, which are columns of the rows, so no data set is read. Only the check of ids
(`verify`) reads data, since a point's id depends on their checksum.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.data.files import DataFiles
from bench.errors import InputError, unknown_name
from bench.store import SCALES, kind_of, of_scale
from bench.store.complete_runs import in_words, made_on_cpus, rows_as_text, sound_runs
from bench.store.part_files import IDENTITY, REDO, parts_in, readable_parts, unified
from bench.store.requests import REQUEST, read_request
from bench.sweeps.points import shapes_of
from bench.sweeps.spec import Entry, Sweep, Sweeps, arguments, defaults_of, parameters
from bench.upkeep.merge import points_of, sweeps_named

NEEDED = ("version", "wall_s", "compile_s")  # columns by which runs are counted and timed
LABELS = ("dataset", "num_clients", "num_features", "data_share")  # of the data


class Rest(NamedTuple):
    """The state of an entry of a sweep, or of all of it.

    wanted, there: numbers of runs.
    hours: of a core, for the missing runs; None where nothing was measured.
    """

    wanted: int
    there: int
    hours: float | None

    @property
    def missing(self) -> int:
        return self.wanted - self.there


class Status(NamedTuple):
    """One sweep at one scale.

    problems: what is damaged or foreign, a sentence each, if this was checked.
    """

    sweep: str
    scale: str
    folder: Path
    entries: dict[str, Rest]
    others: int
    problems: list[str]

    @property
    def whole(self) -> Rest:
        parts = list(self.entries.values())
        known = [part.hours for part in parts if part.hours is not None]
        hours = sum(known) if known or not any(part.missing for part in parts) else None
        return Rest(sum(part.wanted for part in parts), sum(part.there for part in parts), hours)

    def as_dict(self) -> dict[str, Any]:
        """Return the status as plain values for JSON."""

        def plain(rest: Rest) -> dict[str, Any]:
            hours = None if rest.hours is None else round(rest.hours, 4)
            return {"wanted": rest.wanted, "there": rest.there, "missing": rest.missing, "core_hours": hours}

        entries = {label: plain(rest) for label, rest in self.entries.items()}
        head = {"sweep": self.sweep, "scale": self.scale, "folder": str(self.folder)} | plain(self.whole)
        return head | {"entries": entries, "other_runs": self.others, "problems": self.problems}


def status(sweep: Sweep, scale: str, folder: Path) -> Status:
    """Return the status of a sweep's folder. Every part is opened, and nothing is changed.

    Raises:
        InputError: where a part cannot be opened.
    """
    done, problems = runs_there(folder)
    entries, matched = {}, 0
    for label, entry in sweep.entries.items():
        of_entry = done[done["algorithm"] == label] if len(done) else done
        entries[label], known = _rest(sweep, entry, of_entry, done)
        matched += known
    return Status(sweep.name, scale, folder, entries, len(done) - matched, problems)


def runs_there(folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the last row of each run in the readable parts, and a sentence for every unreadable part."""
    frames, schemas, problems = [], {}, []
    for path, table in readable_parts(folder, problems):
        lacking = [column for column in NEEDED if column not in table.column_names]
        if lacking:
            problems.append(f"{path} is not a part of these results (no column {lacking[0]!r}): {REDO}")
            continue
        schemas[path] = table.schema
        rows = table.select([*IDENTITY, "rounds"]).to_pandas(ignore_metadata=True).sort_values("rounds")
        frames.append(table.take(rows.drop_duplicates(IDENTITY, keep="last").index.to_numpy()).to_pandas())
    unified(schemas)
    if not frames:
        return pd.DataFrame(), problems
    runs = pd.concat(frames, ignore_index=True)
    return runs.drop_duplicates(IDENTITY).reset_index(drop=True), problems


def _rest(sweep: Sweep, entry: Entry, runs: pd.DataFrame, all_runs: pd.DataFrame) -> tuple[Rest, int]:
    """Return what is missing of an entry, and how many of the folder's runs belong to it."""
    rows = [
        {str(k): v for k, v in record.items() if k != "task"}
        | arguments(entry.method, {str(k): v for k, v in record.items()})
        for record in entry.points.to_dict("records")
    ]
    points = pd.DataFrame(rows)
    names = [name for name in points if name not in entry.made]
    repetitions = pd.DataFrame(sweep.repetitions(entry), columns=["trial", "seed"])
    keys = rows_as_text(points, names)
    wanted = len(points) * len(repetitions)
    there = pd.DataFrame(columns=["key", "trial", "seed"])
    runs = runs[runs["version"] == entry.method.version] if len(runs) else runs
    if len(runs):
        settings = rows_as_text(runs, names, defaults_of(entry.method))
        there = runs[["point", "trial", "seed"]].assign(key=settings)
        there = there[there["key"].isin(set(keys))].merge(repetitions, on=["trial", "seed"])
    # Points that differ only in the task share a key, so up to their number of its runs count.
    counts = keys.value_counts()
    done = there.groupby(["key", "trial", "seed"]).size() if len(there) else pd.Series(dtype=int)
    most = counts.reindex(done.index.get_level_values("key")).to_numpy() if len(done) else np.array([])
    have = done.clip(upper=most).groupby("key").sum() if len(done) else pd.Series(dtype=int)
    share = have.reindex(keys).fillna(0).to_numpy() / counts.reindex(keys).to_numpy()
    missing = len(repetitions) - share.astype(float)
    hours = _hours(entry, points.assign(missing=missing), runs, all_runs)
    return Rest(wanted, int(have.sum()), hours), len(there)


def _hours(entry: Entry, points: pd.DataFrame, runs: pd.DataFrame, all_runs: pd.DataFrame) -> float | None:
    """Return the core-hours of the missing runs of an entry; None where nothing was measured.

    A run takes as long as those that differ in nothing that is compiled in, or else as those of the method on data of
    the same size, as all of the method, as all of the sweep. Those of a GPU, which take a hundredth, do not count.
    """
    todo = points[points["missing"] > 0]
    runs, all_runs = (rows[made_on_cpus(rows)] for rows in (runs, all_runs))
    if todo.empty or all_runs.empty:
        return 0.0 if todo.empty else None
    keywords, traced = parameters(entry.method)
    labels = [name for name in LABELS if name in points]
    apart = list(dict.fromkeys([*(name for name in keywords if name not in traced), *labels]))
    keys, seconds = rows_as_text(todo, apart), pd.Series(np.nan, todo.index)
    for names in (apart, labels) if len(runs) else ():
        seconds = seconds.fillna(
            rows_as_text(todo, names).map(runs["wall_s"].groupby(rows_as_text(runs, names)).mean())
        )
    seconds = seconds.fillna((runs if len(runs) else all_runs)["wall_s"].mean())
    compiled = keys.nunique() * runs["compile_s"].mean() if len(runs) else 0.0
    return float((seconds * todo["missing"]).sum() + compiled) / 3600


def statuses(
    known: Sweeps, names: Sequence[str], scale: str, out: Path, data_files: DataFiles, *, verified: bool = False
) -> list[Status]:
    """Return the statuses of sweeps at a scale.

    Args:
        known: all sweeps, by name.
        names: of sweeps, or of folders with a user's own values; none means all of both.
        scale: smoke, laptop or paper.
        out: the folder of results.
        data_files: the allowed sources of data; used only where `verified`.
        verified: also check every part and every id.

    Raises:
        InputError: for an unknown name, a place of results that is no folder, and where nothing is there to be checked.
    """
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is not a folder: choose the folder of results by --out")
    if verified and not (out / kind_of(scale)).is_dir():
        raise InputError(f"there are no results at scale {scale} in {out}: choose another --scale or --out")
    own = [path.parent.name for path in sorted((out / kind_of(scale)).glob(f"*/{REQUEST}"))]
    for name in names:
        if name not in known and name not in own and not parts_in(of_scale(out, scale, name)):
            raise unknown_name("sweep", name, [*known, *own])
    found = []
    for name in names or [*known, *own]:
        folder = of_scale(out, scale, name)
        request = read_request(folder)
        try:
            sweep, *others = sweeps_named(known, name, scale, request)
        except InputError as error:
            if request is None:
                raise
            raise InputError(f"{folder / REQUEST} cannot be used: {error}") from None
        found_here = status(sweep, scale, folder)
        problems = verify(sweep, folder, data_files, others) if verified else found_here.problems
        found.append(found_here._replace(problems=problems))
    return found


def verify(sweep: Sweep, folder: Path, data_files: DataFiles | None = None, others: Sequence[Sweep] = ()) -> list[str]:
    """Return what is damaged, foreign or duplicated in a folder's parts, a sentence each. Nothing is changed.

    `others`: the sweep at other scales whose results the folder may have.

    Where the sweep's data are not available, the ids of points cannot be checked, and a sentence reports this.
    """
    problems, points = [], None
    try:
        points = points_of([sweep, *others], data_files or DataFiles()) if parts_in(folder) else {}
    except InputError as error:
        problems.append(f"ids in {folder} are not checked, since data are missing: {error}")
    seen: set[tuple] = set()
    shapes = None if points is None else shapes_of(points.values())
    for path, table in readable_parts(folder, problems):
        if shapes is not None:
            sound = sound_runs(table, table.schema, shapes, seen)
            problems += [f"{path}: {in_words(sound.left_out)}"] if sound.left_out else []
            seen |= sound.runs
    return problems


def written(statuses: Sequence[Status], by_entry: bool) -> str:
    """Return a table for users: a line a sweep, and, if `by_entry`, a line an entry."""
    lines = [("sweep", "there", "missing", "core-hours")]
    for status in statuses:
        lines.append(_line(status.sweep, status.whole))
        if by_entry:
            lines += [_line(f"  {label}", rest) for label, rest in status.entries.items()]
    widths = [max(len(line[place]) for line in lines) for place in range(4)]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
    known = [status.whole.hours for status in statuses if status.whole.missing and status.whole.hours is not None]
    unknown = sum(status.whole.missing for status in statuses if status.whole.hours is None)
    rest = [f"{sum(known):.3g} core-hours"] * bool(known) + [f"{unknown:,} runs without a rate"] * bool(unknown)
    note = "A process counts as one core; rates are those of the CPUs that made the rows."
    return f"{table}\n\nThe rest: {', and '.join(rest) or 'nothing'}. {note}"


def _line(name: str, rest: Rest) -> tuple[str, str, str, str]:
    hours = "" if not rest.missing else "?" if rest.hours is None else f"{rest.hours:.3g}"
    return name, f"{rest.there:,} of {rest.wanted:,}", f"{rest.missing:,}", hours
