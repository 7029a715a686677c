"""Records which runs a figure was drawn from, or claims were judged on, as a digest for each in a file of their folder.

File times would not do, since in a copy of the results they are those of copying.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from bench.store import part_files
from figures.shared.figure import Figure

RECORD = "drawn.json"  # of figures
JUDGED = "judged.json"  # of the claims of papers


def digest(folder: Path, figure: Figure) -> str:
    """Return the digest of the names and contents of a figure's result files, the same in every copy of them.

    Args:
        folder: folder of the scale.
        figure: the figure.
    """
    return digest_of(folder / sweep for sweep in figure.sweeps)


def digest_of(folders: Iterable[Path], words: str = "") -> str:
    """Return the digest of a text, and of the names and contents of the result files in the folders of sweeps."""
    digested = hashlib.blake2b(words.encode(), digest_size=16)
    for folder in folders:
        for path in part_files.parts_in(folder):
            content = hashlib.blake2b(path.read_bytes()).hexdigest()
            digested.update(f"{folder.name}/{path.name} {content}\n".encode())
    return digested.hexdigest()
