"""Runs that another sweep has as well, such as a cell that two tables of a paper have in common.

The id of a point says all that may change its rows, and does not depend on the sweep. So such a run is copied.
"""

from collections.abc import Mapping, Set
from pathlib import Path

import pyarrow as pa

from bench.store.complete_runs import Points, Shape, settings_in, sound_runs
from bench.store.part_files import UnusablePart, parts_in, read_part, renamed, runs_of
from bench.store.store import Store


def take_over(store: Store, others: Mapping[str, Path], shapes: Mapping[str, Shape], missing: Set[tuple]) -> set[tuple]:
    """Copy missing runs into a store from the results of other sweeps.

    Unusable parts are passed over, since whoever writes to their folder reports them and sets them aside.

    Args:
        store: of the sweep that lacks the runs; its `notes` get a sentence about every sweep that had some.
        others: the name of another sweep -> the folder of its results at the same scale.
        shapes: id of a point -> what its runs look like.
        missing: (point, trial, seed) of the runs, by the ids in `shapes`.

    Returns:
        The runs that were copied.

    Raises:
        InputError: where a part cannot be opened or written.
    """
    taken: set[tuple] = set()
    points = Points(shapes)
    for name, folder in others.items():
        before = len(taken)
        for path in parts_in(folder):
            if not (wanted := list(missing - taken)):
                break
            try:
                table = read_part(path)
            except UnusablePart:
                continue
            settings = settings_in(table)
            found = points.recognised(settings)
            table = renamed(table, found)
            table = table.filter(pa.array(runs_of(table).isin(wanted)))
            sound = sound_runs(table, table.schema, shapes, points={id: id for id in found.values()})
            if sound.runs:
                here = {id: row["point"] for id, row in store.known_as.items()}
                rows = renamed(table.filter(pa.array(sound.kept)), here).to_pandas()
                store.write(rows.assign(sweep=store.folder.name))
                copied = {id for id, _, _ in sound.runs}
                of_copied = settings[settings["point"].isin([id for id, of in found.items() if of in copied])]
                store.note_ids(of_copied, {id: of for id, of in found.items() if of in copied}, shapes, under=here)
            taken |= sound.runs
        if count := len(taken) - before:
            store.notes.append(f"runs copied from {folder}, since {name} has the same: {count:,}")
    return taken
