"""Where the suite keeps what it can make or fetch again: data sets, compiled programs, calibrated noise."""

import os
from pathlib import Path

import platformdirs


def folder(name: str) -> Path:
    """The folder of one kind of thing: in BENCH_CACHE, or else in the user's cache folder. It need not exist."""
    if root := os.environ.get("BENCH_CACHE"):
        return Path(root).expanduser() / name
    return Path(platformdirs.user_cache_dir("private-federated-bench")) / name
