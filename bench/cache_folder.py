"""Where the suite keeps what it can make or fetch again: data sets, compiled programs, calibrated noise."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import platformdirs

from bench.locking import write_whole


def folder(name: str) -> Path:
    """The folder of one kind of thing: in BENCH_CACHE, or else in the user's cache folder. It need not exist."""
    if root := os.environ.get("BENCH_CACHE"):
        return Path(root).expanduser() / name
    return Path(platformdirs.user_cache_dir("private-federated-bench")) / name


def recall(path: Path) -> Any:
    """The content of a file that `remember` wrote; None where there is none, or it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def remember(path: Path, content: Any) -> None:
    """Write a file of JSON, whole or not at all, so that any number of processes can share it.

    Where that fails nothing is written: what is remembered can be computed again.
    """
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content).encode())
