"""Calibrated noise kept on disk: a small file for each, named by a digest of all that the number depends on.

That is the target, the rounds, what is released at several noise multipliers (events, relation, accountant, delta), the
text of the accountants' own modules, and the versions of the libraries that they compute with. A file also says what
is released at its number, which is compared when it is read: a file that is damaged or of something else counts as not
there. Files are written whole or not at all, so that any number of processes can share the folder, and a folder that
cannot be written is done without.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.cache_folder import folder
from bench.privacy.events import Release

FOLDER = "noise"  # in the cache folder
PROBES = (0.5, 1.0, 3.7, 50.0)  # multipliers at which a release is described
LIBRARIES = ("dp-accounting", "numpy", "scipy")


def kept(target: float, release: Callable[[float], Release], rounds: int, find: Callable[[], float]) -> float:
    """The noise multiplier of an earlier call with the same target, release and rounds, or else what `find` returns.

    Args:
        target: epsilon.
        release: noise multiplier -> release.
        rounds: of the release.
        find: computes the noise multiplier.
    """
    described = [_described(release(sigma), rounds) for sigma in PROBES]
    key = json.dumps([float(target).hex(), int(rounds), described, _computed_by()])
    path = folder(FOLDER) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    found = _read(path, release, rounds)
    if found is None:
        found = find()
        _write(path, {"noise_multiplier": found.hex(), "released": _described(release(found), rounds)})
    return found


def _described(release: Release, rounds: int) -> list[str]:
    """What accountants read of a release."""
    return [repr(release.event(rounds)), release.neighbors, release.accountant, float(release.delta).hex()]


@functools.cache
def _computed_by() -> list[str]:
    """The accountants and the search, as a digest of their text, and the versions of what they compute with."""
    text = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    versions = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    return [hashlib.sha256(text).hexdigest(), *versions]


def _read(path: Path, release: Callable[[float], Release], rounds: int) -> float | None:
    """The number in a file; None where there is no such file, or it does not hold what it should."""
    try:
        content = json.loads(path.read_bytes())
        sigma = float.fromhex(content["noise_multiplier"])
        return sigma if content["released"] == _described(release(sigma), rounds) else None
    except (OSError, ValueError, KeyError, TypeError):  # a number out of its range is an InputError, so a ValueError
        return None


def _write(path: Path, content: dict) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(prefix=".part-", dir=path.parent)
        try:
            with open(handle, "w") as file:
                json.dump(content, file)
            os.replace(unfinished, path)
        except OSError:
            os.unlink(unfinished)
