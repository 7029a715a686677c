"""The cache folder, for what can be computed or fetched again: data sets, compiled programs, calibrated noise."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import platformdirs

from bench.errors import expanded
from bench.files import write_whole


def folder(name: str) -> Path:
    """The folder for one kind of cached files, in BENCH_CACHE or the user's cache folder. It may not exist yet."""
    if root := os.environ.get("BENCH_CACHE"):
        return expanded(root, "BENCH_CACHE") / name
    return Path(platformdirs.user_cache_dir("private-federated-bench")) / name


def recall(path: Path) -> Any:
    """The content of a file that `remember` wrote; None where it is missing or damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def remember(path: Path, content: Any) -> None:
    """Write a JSON file atomically, so that any number of processes can share it.

    Where writing fails, nothing is written and no error is raised: the content can be computed again.
    """
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(content).encode())
