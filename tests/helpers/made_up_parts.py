"""Parts with made-up rows, and ways to spoil them."""

import os
import random
from pathlib import Path

import pandas as pd

from bench.store.complete_runs import Shape
from bench.store.part_files import content_digest
from bench.store.store import Store


def rows(point: str, seeds=(0, 1), **columns) -> pd.DataFrame:
    """Three evaluations of each seed of a point, with a metric that names its place."""
    index = pd.MultiIndex.from_product([[point], [0], seeds, [0, 5, 10]], names=["point", "trial", "seed", "rounds"])
    frame = index.to_frame(index=False).assign(sweep="s", algorithm="A", task="t")
    return frame.assign(risk=frame["seed"] + frame["rounds"] / 100, **columns)


def shapes(points):
    """Of points with runs as `rows` makes them."""
    return dict.fromkeys(points, Shape(3))


def fill(folder, *points):
    with Store(folder) as opened:
        opened.open_parts(shapes(points))
        return [opened.write(rows(point)) for point in points]


def put(folder: Path, content: pd.DataFrame | bytes, number: int = 0) -> Path:
    """Write rows, or the bytes of a file, as a part whose name has their digest, whatever is wrong with them."""
    if isinstance(content, pd.DataFrame):
        content = content.to_parquet(index=False)
    path = folder / f"part-{number:016x}-{content_digest(content)}.parquet"
    path.write_bytes(content)
    return path


def parts(folder):
    return sorted(path.name for path in folder.glob("part-*.parquet"))


def opened_runs(folder, *points):
    """What a store says is there, and its notes."""
    with Store(folder) as opened:
        return opened.open_parts(shapes(points)), opened.notes


def ordered(frame):
    return frame.sort_values(["point", "trial", "seed", "rounds"], ignore_index=True)


def damage(path, how):
    content = path.read_bytes()
    broken = {
        "truncated": content[: len(content) // 2],
        "without its end": content[:-1],
        "empty": b"",
        "zeros": bytes(len(content)),
        "random": random.Random(0).randbytes(len(content)),
        "text": b"point,seed\n1,2\n",
    }
    path.write_bytes(broken[how])


def fail(code):
    def raising(*_, **__):
        raise OSError(code, os.strerror(code))

    return raising
