"""Records which runs each figure in a folder was drawn from, as a digest per figure in drawn.json.

File times would not do, since in a copy of the results they are those of copying.
"""

import hashlib
import json
from pathlib import Path

from bench.analysis.files import write_whole
from bench.sweeps import part_files
from figures.shared.figure import Figure

RECORD = "drawn.json"


def digest(folder: Path, figure: Figure, tune: str = "both") -> str:
    """The digest of the names and contents of a figure's result files, the same in every copy of them.

    Args:
        folder: folder of the scale.
        figure: the figure.
        tune: which ways of tuning are drawn, for figures that show several.
    """
    whole = hashlib.blake2b(tune.encode() if figure.tunings else b"", digest_size=16)
    for sweep in figure.sweeps:
        for path in part_files.parts_in(folder / sweep):
            content = hashlib.blake2b(path.read_bytes()).hexdigest()
            whole.update(f"{sweep}/{path.name} {content}\n".encode())
    return whole.hexdigest()


def record(folder: Path, name: str, drawn_from: str) -> None:
    """Record that a figure was drawn from the runs with this digest."""
    known = recorded(folder) | {name: drawn_from}
    write_whole(folder / RECORD, json.dumps(known, indent=1, sort_keys=True) + "\n")


def recorded(folder: Path) -> dict[str, str]:
    """Figure -> digest of the runs that it was drawn from; nothing where the record is missing or damaged."""
    try:
        known = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
