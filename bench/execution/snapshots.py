"""Snapshots of long units: the state after some rounds, so that a stopped command does not repeat what came before.

A worker writes them to the cache folder of its own machine, and a worker that gets the same unit goes on from there.
The same unit is one with the same points, runs, data and chunk, source, version of jax and devices. The numbers are
then those of an undisturbed run to the last bit, since a round's key depends on the run and the round alone.

A snapshot is written at most once a minute, and so seldom that writing takes less than a fiftieth of the time: after an
evaluation, or after some rounds between two. A unit of less than a minute has none. Where several processes share a
run, each keeps what its own devices hold, after evaluations alone; the first decides when, and they go on from the last
snapshot that all of them have.

A file is an npz of plain arrays, each with its checksum. One that is not as it was written, or does not fit the state,
is not used.
"""

import contextlib
import hashlib
import io
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax.experimental import multihost_utils

from bench.errors import in_one_line, shown
from bench.execution import memory
from bench.execution.source import code
from bench.files import cache_folder, read_regular, write_whole
from bench.sweeps.engine import Begun

LEAST_S = 60.0  # of training between two snapshots
SHARE = 0.02  # of the time, for writing
BYTES_PER_SECOND = 1e8  # assumed speed of writing
MOST_BYTES = 1e10  # of all snapshots together; the oldest make room
OLD_S = 30 * 86_400.0  # after which a snapshot is removed
ENDING = ".state"


class Snapshot(NamedTuple):
    """What is needed to go on after some rounds.

    rounds: that are done.
    seconds: of training so far.
    kept: of each leaf of the state and of the info since the last evaluation the parts on this process's devices, as
        `parts_of` returns them.
    metrics: of each evaluation so far, that at round 0 included: name -> [seed, point].
    """

    rounds: int
    seconds: float
    kept: list[list[np.ndarray]]
    metrics: Sequence[Mapping[str, np.ndarray]]


class Snapshots:
    """The snapshots of one unit, the last two of them.

    Args:
        data: the arrays of the task.
        asked: all else that determines the numbers, of which `repr` tells.
        shape: of every metric, [seed, point].
    """

    def __init__(self, data: Sequence[Any], asked: Any, shape: tuple[int, int]):
        self.data, self.asked, self.shape = data, asked, shape
        self.began = self.last = time.monotonic()
        self.before_s = 0.0  # of training, before this process had the unit
        self.doubts: list[str] = []  # a sentence for each file that is not used

    @cached_property
    def path(self) -> Path:
        """The file of the last snapshot; that of the one before it ends in "0"."""
        digest = hashlib.blake2b(digest_size=16)
        machine = [code(), jax.__version__, jaxlib.version.__version__, [str(device) for device in jax.local_devices()]]
        for text in (
            *machine,
            jax.local_devices()[0].device_kind,
            jax.process_index(),
            jax.process_count(),
            self.asked,
        ):
            digest.update(repr(text).encode() + b"\0")
        for leaf in self.data:
            for part in _parts(leaf):
                digest.update(repr((part.shape, str(part.dtype))).encode() + np.ascontiguousarray(part).tobytes())
        return folder() / f"{digest.hexdigest()}{ENDING}"

    def load(self, like: Callable[[int], Begun | None]) -> Begun | None:
        """Return the last snapshot, of all processes that share the run; None where there is none.

        Args:
            like: rounds -> what it must be like, as `engine.run_chunk` says.
        """
        found: dict[int, Snapshot] = {}
        if any(folder().glob(f"*{ENDING}*")):  # else nothing needs a digest of the data
            for path in (self.path, self._previous):
                try:
                    snapshot = _read(path, like, self.shape)
                    found[snapshot.rounds] = snapshot
                except FileNotFoundError:
                    pass
                except Exception as error:  # whatever is there instead
                    self.doubts.append(f"the snapshot {path} is not used: {in_one_line(error)}")
        last = _last_of_all(sorted(found, reverse=True))
        if last is None or (expected := like(last)) is None:
            return None
        self.before_s = found[last].seconds
        return Begun(last, with_parts(expected.kept, found[last].kept), found[last].metrics)

    def offer(self, rounds: int, kept: Any, metrics: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Write a snapshot, if the last one is long ago. Where it cannot be written, nothing is.

        Args:
            rounds: that are done.
            kept: the state after them and the info since the last evaluation, leaves on devices.
            metrics: of all evaluations so far.
        """
        now = time.monotonic()
        waited, size = now - self.last, 0
        if due := waited >= LEAST_S:  # else a short round would wait for the size
            size = sum(part.nbytes for leaf in jax.tree.leaves(kept) for part in _shards(leaf))
            due = waited >= size / BYTES_PER_SECOND / SHARE and size < 0.2 * memory.available()
        if not _as_the_first_says(due):
            return
        content = Snapshot(rounds, self.before_s + now - self.began, parts_of(kept), list(metrics))
        with contextlib.suppress(OSError, MemoryError):
            self._make_room(size)
            if self.path.exists():
                self.path.replace(self._previous)
            write_whole(self.path, _written(content), durable=True)
        self.last = time.monotonic()

    def seconds(self) -> float:
        """Return the seconds of training so far, those of earlier commands included."""
        return self.before_s + time.monotonic() - self.began

    def remove(self) -> None:
        """Remove the snapshots of a unit that is finished."""
        if "path" in self.__dict__:  # else none was read or written
            for path in (self.path, self._previous):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    @property
    def _previous(self) -> Path:
        return self.path.with_name(f"{self.path.name}0")

    def _make_room(self, size: int) -> None:
        """Remove old snapshots of other units, also those that would leave no room for this one.

        Raises:
            OSError: where the disk is too full all the same.
        """
        folder().mkdir(parents=True, exist_ok=True)
        others = [path for path in folder().glob(f"*{ENDING}*") if path not in (self.path, self._previous)]
        left = size
        for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True):
            entry = path.stat()
            left += entry.st_size
            if left > MOST_BYTES or time.time() - entry.st_mtime > OLD_S:
                path.unlink(missing_ok=True)
        if shutil.disk_usage(folder()).free < 2 * size:
            raise OSError("the disk is too full")


def _named(kept: list[list[np.ndarray]], metrics: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the arrays of a snapshot by their names in its file."""
    named = {f"kept {leaf} {place}": part for leaf, parts in enumerate(kept) for place, part in enumerate(parts)}
    return named | {
        f"metrics {number} {name}": np.asarray(found)
        for number, block in enumerate(metrics)
        for name, found in block.items()
    }


def _written(snapshot: Snapshot) -> bytes:
    """Return the content of a snapshot's file."""
    file = io.BytesIO()
    arrays: dict[str, Any] = _named(snapshot.kept, snapshot.metrics)
    np.savez(file, rounds=snapshot.rounds, seconds=snapshot.seconds, **arrays)
    return file.getvalue()


def _read(path: Path, like: Callable[[int], Begun | None], shape: tuple[int, int]) -> Snapshot:
    """Return the snapshot in a file.

    Args:
        path: of the file.
        like: rounds -> what it must be like, as `engine.run_chunk` says.
        shape: of every metric.

    Raises:
        Exception: of any kind, where it is not as it was written, or does not fit.
    """
    with np.load(io.BytesIO(read_regular(path)), allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    rounds, seconds = found.pop("rounds"), float(found.pop("seconds"))
    expected = like(int(rounds)) if np.issubdtype(rounds.dtype, np.integer) else None
    if expected is None or not 0 <= seconds < math.inf:
        raise ValueError(f"it is of round {shown(rounds)}, after {shown(seconds)} s")
    kept, metrics = parts_of(expected.kept), [dict[str, np.ndarray]() for _ in expected.metrics]
    for name in [name for name in found if name.startswith("metrics ")]:
        _, number, metric = name.split(" ", 2)
        metrics[int(number)][metric] = found.pop(name)
    wanted = _named(kept, expected.metrics[:1])
    given = found | _named([], metrics[:1])
    # NumPy stores a kind of number that is not its own, such as bfloat16, as bytes.
    given = {name: part.view(wanted[name].dtype) if part.dtype.kind == "V" else part for name, part in given.items()}
    fits = (
        {name: (part.dtype, part.shape) for name, part in given.items()}
        == {name: (part.dtype, part.shape) for name, part in wanted.items()},
        all(block.keys() == metrics[1].keys() != set() for block in metrics[1:]),
        all(found.shape == shape and found.dtype.kind in "biufV" for block in metrics for found in block.values()),
    )
    if not all(fits):
        raise ValueError("it does not fit the state")
    kept = [[given[f"kept {leaf} {place}"] for place in range(len(parts))] for leaf, parts in enumerate(kept)]
    return Snapshot(int(rounds), seconds, kept, metrics)


def folder() -> Path:
    """Return the folder of all snapshots; it may not exist yet."""
    return cache_folder("unfinished")


def parts_of(state: Any) -> list[list[np.ndarray]]:
    """Return, of each leaf, the parts on this process's devices, one after the other."""
    return [_parts(leaf) for leaf in jax.tree.leaves(state)]


def with_parts(state: Any, parts: Sequence[Sequence[np.ndarray]]) -> Any:
    """Return a state with the structure and the places of another one, and these numbers.

    Args:
        state: leaves on devices.
        parts: as of `parts_of`.
    """
    leaves, structure = jax.tree.flatten(state)
    return jax.tree.unflatten(structure, [_with_parts(*pair) for pair in zip(leaves, parts, strict=True)])


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _shards(leaf: Any) -> list[Any]:
    """Return the arrays of a leaf on this process's devices."""
    if _is_key(leaf):
        return _shards(jax.random.key_data(leaf))
    return [shard.data for shard in leaf.addressable_shards] if isinstance(leaf, jax.Array) else [np.asarray(leaf)]


def _parts(leaf: Any) -> list[np.ndarray]:
    return [np.asarray(part) for part in _shards(leaf)]


def _with_parts(leaf: Any, parts: Sequence[np.ndarray]) -> Any:
    if _is_key(leaf):
        data = _with_parts(jax.random.key_data(leaf), parts)
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(leaf))
    pairs = zip(parts, leaf.addressable_shards, strict=True)
    placed = [jax.device_put(part, shard.device, may_alias=False) for part, shard in pairs]  # the next call takes it
    return jax.make_array_from_single_device_arrays(leaf.shape, leaf.sharding, placed)


def _as_the_first_says(yes: bool) -> bool:
    """Return what the first of all processes that share the run decides."""
    if jax.process_count() == 1:
        return yes
    return bool(multihost_utils.broadcast_one_to_all(np.bool_(yes)))


def _last_of_all(here: Sequence[int]) -> int | None:
    """Return the largest number that every process has; None where there is none.

    Args:
        here: those of this process, at most two.
    """
    if jax.process_count() == 1:
        return max(here, default=None)
    mine = np.full(2, -1, np.int32)
    mine[: len(here)] = here
    everywhere = np.asarray(multihost_utils.process_allgather(mine))
    common = set.intersection(*(set(row.tolist()) for row in everywhere)) - {-1}
    return max(common, default=None)
