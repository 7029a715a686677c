"""Calibrated noise kept on disk: a small file for each, named by a digest of everything that the number depends on.

The digest is of the target, the rounds, the releases at several noise multipliers (events, relation, accountant,
delta), the text of the accountants' own modules, and the versions of the libraries that they compute with. A file also
contains the release at its number, which is compared when it is read: a file that is damaged or of something else is
ignored. So is a number whose epsilon, by one evaluation of the accountant, is not just below the target: whoever can
write to the folder could otherwise choose how much noise is added.
"""

import functools
import hashlib
import importlib.metadata
import json
from collections.abc import Callable
from pathlib import Path

from bench.files import cache_folder, recall, remember
from bench.privacy.events import Release

FOLDER = "noise"  # in the cache folder
PROBES = (0.5, 1.0, 3.7, 50.0)  # multipliers at which a release is described
WITHIN = 0.01  # share of the target that the smallest sufficient noise leaves unspent at most, but for odd accountants
LIBRARIES = ("dp-accounting", "numpy", "scipy")


def stored_or_found(
    target: float,
    release: Callable[[float], Release],
    rounds: int,
    find: Callable[[], float],
    spent: Callable[[float], float],
) -> float:
    """Return the noise multiplier of an earlier call with the same arguments, or else what `find` returns.

    Args:
        target: epsilon.
        release: noise multiplier -> release.
        rounds: of the release.
        find: computes the noise multiplier.
        spent: noise multiplier -> epsilon by the accountant.
    """
    described = [_described(release(sigma), rounds) for sigma in PROBES]
    key = json.dumps([float(target).hex(), int(rounds), described, _computed_by()])
    path = cache_folder(FOLDER) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    sigma = _read(path, release, rounds)
    if sigma is None or not (1 - WITHIN) * target <= spent(sigma) <= target:
        sigma = find()
        remember(path, {"noise_multiplier": sigma.hex(), "released": _described(release(sigma), rounds)})
    return sigma


def _described(release: Release, rounds: int) -> list[str]:
    """Return the fields of a release that accountants use."""
    return [repr(release.event(rounds)), release.neighbors, release.accountant, float(release.delta).hex()]


@functools.cache
def _computed_by() -> list[str]:
    """Return a digest of the text of the accountants and the search, and the versions of their libraries."""
    text = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    versions = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    return [hashlib.sha256(text).hexdigest(), *versions]


def _read(path: Path, release: Callable[[float], Release], rounds: int) -> float | None:
    """Return the number in a file; None where there is no such file, or its content is not as expected."""
    content = recall(path)
    try:
        sigma = float.fromhex(content["noise_multiplier"])
        return sigma if content["released"] == _described(release(sigma), rounds) else None
    except (KeyError, TypeError, ValueError):  # a number out of its range is an InputError, so a ValueError
        return None
