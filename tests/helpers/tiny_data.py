"""Tiny stand-ins for the data sets: 20 + 5 pictures, whose checksums take the place of the real ones."""

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.data.dataset import Source
from bench.data.decode import cifar_binary, idx_bytes
from bench.data.fetch.sources import CIFAR, DATASETS, IDX


def pictures(seed: int) -> dict[str, bytes]:
    """The four idx files of an MNIST with 20 training and 5 test pictures."""
    rng = np.random.default_rng(seed)
    sizes = (20, 20, 5, 5)
    return {
        name: idx_bytes(rng.integers(0, 256, (size, 28, 28)) if "images" in name else rng.integers(0, 10, size))
        for name, size in zip(IDX, sizes, strict=True)
    }


def photographs(seed: int, rows: int = 3) -> dict[str, bytes]:
    """The six files of a CIFAR-10 with a few pictures in each."""
    rng = np.random.default_rng(seed)
    return {name: cifar_binary(rng.integers(0, 256, (rows, 32, 32, 3)), rng.integers(0, 10, rows)) for name in CIFAR}


def stand_in(monkeypatch, name: str, files: dict[str, bytes], *sources: Source) -> dict[str, bytes]:
    """Lets a data set consist of these files, to be had from these sources; returns the files."""
    sums = {file: hashlib.md5(data).hexdigest() for file, data in files.items()}
    monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], files=sums, sources=sources))
    return files


def write(folder: Path, files: dict[str, bytes], packed: bool = False) -> Path:
    """Writes files into a folder, gzipped or not."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}{'.gz' if packed else ''}").write_bytes(gzip.compress(data) if packed else data)
    return folder
