"""Merging of results made elsewhere: checks runs against their sweep, drops duplicates, and writes few files."""

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from bench.data.tasks.registry import TASKS, task_named
from bench.errors import InputError
from bench.execution.chosen import requested
from bench.store import SCALES, kind_of, together_with
from bench.store.complete_runs import COPIED, Points, in_words, settings_in, sound_runs
from bench.store.part_files import COLUMNS, parts_in, read_part, readable_parts, renamed, unified
from bench.store.requests import GridRequest, checked_name, read_request, write_request
from bench.store.store import Store
from bench.sweeps.points import Point, points_of, shapes_of
from bench.sweeps.spec import Sweep, Sweeps, on_task

MOST_ROWS = 1_000_000  # in a part
AGAIN = "copy it again, or repeat its runs"


class Merged(NamedTuple):
    """The outcome for one sweep's folder.

    folder: the folder of its results.
    added: runs that it did not have.
    twice: runs that existed already, or occurred several times in the source folders.
    runs, parts: their numbers after merging.
    before: number of parts before merging.
    """

    folder: Path
    added: int
    twice: int
    runs: int
    parts: int
    before: int


class PartsFolder(NamedTuple):
    """A folder of parts, the sweep of their rows and a scale that it has, and the request beside them."""

    folder: Path
    scale: str
    sweep: str
    request: GridRequest | None


def merge(sweeps: Sweeps, folders: Sequence[Path], out: Path) -> tuple[list[Merged], list[str], list[str]]:
    """Copy the runs in folders into a results folder. The source folders are not changed.

    Args:
        sweeps: all sweeps, by name.
        folders: of results, or of a sweep, or in between; the kind of each follows from its content.
        out: the folder of results to copy into.

    Returns:
        The outcome for every sweep; what was left out, a sentence each; and what was set aside in the results folder.

    Raises:
        InputError: for a folder without results, or data that are not available, before anything is written.
    """
    left_out: list[str] = []
    sources = [source for folder in folders for source in sources_in(Path(folder), left_out)]
    groups: dict[tuple[Path, str | None], list[PartsFolder]] = {}
    for source in sources:
        kind = source.request.kind if source.request else None
        groups.setdefault((out / kind_of(source.scale) / source.sweep, kind), []).append(source)
    jobs = []
    for (folder, kind), group in groups.items():
        stored = read_request(folder)
        same = [stored] if stored is not None and stored.kind == kind else []
        requests = [*same, *(source.request for source in group if source.request)]
        request = reduce(GridRequest.joined, requests) if requests else None  # for the values of all of them
        try:
            current = sweeps_named(sweeps, group[0].sweep, group[0].scale, request)
        except InputError as error:
            left_out.append(f"{group[0].folder}: {error}")
        else:
            jobs.append((folder, group, request, points_of(current)))
    merged, notes = [], []
    for folder, group, request, points in jobs:
        outcome = _into(folder, group, request, points, left_out, notes)
        merged += [outcome] if outcome else []
    return merged, left_out, notes


def sources_in(folder: Path, left_out: list[str]) -> list[PartsFolder]:
    """Return the folders of parts in a folder, itself included; what of them cannot be read is added to `left_out`.

    Raises:
        InputError: where there is none.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give a folder of results or of a sweep")
    files = [path for path in folder.rglob("*.parquet") if path.name != COLUMNS]
    places = {path.parent for path in files if not any(name[0] in "._" for name in path.relative_to(folder).parts)}
    if not places:
        raise InputError(f"{folder} holds no results: give a folder of results or of a sweep")
    sources = []
    for place in sorted(places):
        problems: list[str] = []
        table = next((table for _, table in readable_parts(place, problems, AGAIN) if len(table)), None)
        if table is None:
            left_out += problems or [f"{place} holds no rows"]
        else:
            scale = str(table["scale"][0]) if "scale" in table.column_names else ""
            sources.append(PartsFolder(place, scale, str(table["sweep"][0]), read_request(place)))
    return sources


def sweeps_named(sweeps: Sweeps, name: str, scale: str, request: GridRequest | None) -> list[Sweep]:
    """Return the sweep of a results folder of that name at a scale, and then at the others whose results it has: the
    suite's, on another task, or over a user's own values.

    Raises:
        InputError: where there is none.
    """
    if scale not in SCALES:
        raise InputError(f"{name} has the unknown scale {scale!r}: only results of sweeps can be merged")
    if request is not None:
        return [requested(sweeps, request, checked_name(name, sweeps))]
    if name in sweeps:
        return [sweeps[name](other) for other in together_with(scale)]
    for sweep in sweeps:
        task = name.removeprefix(f"{sweep}_on_")
        if task != name and task in TASKS:
            return [on_task(sweeps[sweep](other), task, task_named(task)) for other in together_with(scale)]
    raise InputError(f"no sweep is called {name!r}: results over your own values need the file _request.json")


def _into(
    folder: Path,
    sources: list[PartsFolder],
    request: GridRequest | None,
    points: dict[str, Point],
    left_out: list[str],
    notes: list[str],
) -> Merged | None:
    with Store(folder) as store:
        stored = read_request(folder)
        same = (stored.kind if stored else None) == (request.kind if request else None)
        if not same and (stored is not None or parts_in(folder)):
            left_out.append(f"{sources[0].folder}: {folder} holds results over other values: rename one of the folders")
            return None
        shapes = shapes_of(points.values())
        store.open_parts(shapes, twice=True)
        notes += store.notes
        paths = parts_in(folder)
        tables = [(path, read_part(path)) for path in paths]
        for source in sources:
            if source.folder.resolve() != folder.resolve():
                tables += readable_parts(source.folder, left_out, AGAIN)
        kept, seen, twice, added, other_ids = {}, set(), 0, 0, 0
        recognised_points = Points(shapes)
        stored_ids = {id: row["point"] for id, row in store.known_as.items()}
        for path, table in tables:
            point_of = recognised_points.recognised(settings_in(table))
            sound = sound_runs(table, table.schema, shapes, point_of, seen)
            twice += sound.left_out.pop(COPIED, 0)
            if sound.left_out:
                left_out.append(f"{path}: {in_words(sound.left_out)}")
            # All runs of a point have the id under which the folder has it.
            one_id = renamed(table, {id: stored_ids.setdefault(point, id) for id, point in point_of.items()})
            if path in paths:
                other_ids += one_id is not table
            else:
                added += len(sound.runs)
            if sound.runs:
                kept[path] = one_id.filter(pa.array(sound.kept))
            seen |= sound.runs
        unified({path: table.schema for path, table in kept.items()})
        parts = _joined(list(kept.values()))
        if request is not None and request != stored:
            write_request(folder, request)
        if parts and (added or twice or other_ids or len(parts) < len(paths)):
            store.replace(parts)
        return Merged(folder, added, twice, len(seen), len(parts_in(folder)), len(paths))


def compact(folder: Path, changed: Callable[[pa.Table], pa.Table] | None = None) -> None:
    """Join the parts of a folder into few, atomically; nothing else changes.

    Args:
        folder: of parts.
        changed: part -> what is kept of it; the same table where that is all. None keeps all.

    Raises:
        InputError: where a part is damaged, or they cannot be written; what was there stays.
    """
    if len(parts_in(folder)) < (1 if changed else 2):
        return
    with Store(folder) as store:
        tables = [read_part(path) for path in parts_in(folder)]
        kept = [changed(table) for table in tables] if changed else tables
        parts = _joined(kept)
        if len(parts) < len(tables) or any(new is not old for new, old in zip(kept, tables, strict=True)):
            store.replace(parts)


def _joined(tables: list[pa.Table]) -> list[pa.Table]:
    """Join many tables into few, each with at most MOST_ROWS rows unless a single part has more."""
    groups: list[list[pa.Table]] = []
    for table in tables:
        if not groups or sum(map(len, groups[-1])) + len(table) > MOST_ROWS:
            groups.append([])
        groups[-1].append(table)
    return [pa.concat_tables(group, promote_options="permissive").combine_chunks() for group in groups]
