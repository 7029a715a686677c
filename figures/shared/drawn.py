"""Which runs each figure in a folder was drawn from: a digest of them, by the figure's name, in drawn.json beside it.

The times of files tell nothing of that in a copy of the results, where they are those of copying.
"""

import hashlib
import json
from pathlib import Path

from bench.analysis.files import write_whole
from bench.sweeps import part_files
from figures.shared.figure import Figure

RECORD = "drawn.json"


def digest(folder: Path, figure: Figure, tune: str = "both") -> str:
    """Of the files of the runs that a figure shows, their names and contents; alike in every copy of them.

    Args:
        folder: of the scale.
        figure: whose runs.
        tune: which of its ways of tuning are drawn, of a figure that has several.
    """
    whole = hashlib.blake2b(tune.encode() if figure.tunings else b"", digest_size=16)
    for sweep in figure.sweeps:
        for path in part_files.parts_in(folder / sweep):
            content = hashlib.blake2b(path.read_bytes()).hexdigest()
            whole.update(f"{sweep}/{path.name} {content}\n".encode())
    return whole.hexdigest()


def record(folder: Path, name: str, drawn_from: str) -> None:
    """Note beside the figures that one was drawn from the runs of this digest."""
    known = recorded(folder) | {name: drawn_from}
    write_whole(folder / RECORD, json.dumps(known, indent=1, sort_keys=True) + "\n")


def recorded(folder: Path) -> dict[str, str]:
    """Figure -> digest of the runs that it was drawn from; nothing where the record is missing or damaged."""
    try:
        known = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
