"""Snapshots of long units: the state after some rounds, so that a stopped command does not repeat what came before.

A worker writes them to the cache folder of its own machine, and a worker that gets the same unit goes on from there.
The same unit is one with the same points, runs, data and chunk, source, version of jax and devices. The numbers are
then those of an undisturbed run to the last bit, since a round's key depends on the run and the round alone.

A snapshot is written at most once a minute, and so seldom that writing takes less than a fiftieth of the time: after an
evaluation, or after some rounds between two. A unit of less than a minute has none.

A file is an npz of plain arrays, each with its checksum. One that is not as it was written is not used.
"""

import contextlib
import hashlib
import io
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np

from bench.errors import in_one_line
from bench.execution import memory
from bench.execution.source import code
from bench.files import cache_folder, write_whole
from bench.sweeps.engine import Begun

LEAST_S = 60.0  # of training between two snapshots
SHARE = 0.02  # of the time, for writing
BYTES_PER_SECOND = 1e8  # assumed speed of writing
OLD_S = 30 * 86_400.0  # after which a snapshot is removed
ENDING = ".state"


class Snapshots:
    """The snapshot of one unit.

    Args:
        data: the arrays of the task.
        asked: everything else that determines the numbers, as values with a `repr`.
    """

    def __init__(self, data: Sequence[Any], asked: Any):
        self.data, self.asked = data, asked
        self.began = self.last = time.monotonic()
        self.before_s = 0.0  # of training, before this process had the unit
        self.doubts: list[str] = []  # a sentence where the file is not used

    @cached_property
    def path(self) -> Path:
        """The path of the snapshot, named by a digest of everything that determines the numbers."""
        digest = hashlib.blake2b(digest_size=16)
        devices = [(str(device), device.device_kind) for device in jax.local_devices()]
        for text in (code(), jax.__version__, jaxlib.version.__version__, devices, self.asked):
            digest.update(repr(text).encode() + b"\0")
        for leaf in map(_plain, self.data):
            digest.update(repr((leaf.shape, str(leaf.dtype))).encode() + np.ascontiguousarray(leaf).tobytes())
        return folder() / f"{digest.hexdigest()}{ENDING}"

    def load(self, like: Callable[[int], Any]) -> Begun | None:
        """Return what of the unit was done before; None where there is no snapshot.

        Args:
            like: rounds -> a tree like the one that was kept after them, with other numbers.
        """
        if not any(folder().glob(f"*{ENDING}")):  # else nothing needs a digest of the data
            return None
        try:
            with np.load(io.BytesIO(self.path.read_bytes()), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            rounds, seconds = int(arrays["rounds"]), float(arrays["seconds"])
            leaves, structure = jax.tree.flatten(like(rounds))
            kept = [_placed(arrays[f"kept {place}"], leaf) for place, leaf in enumerate(leaves)]
            metrics: list[dict[str, np.ndarray]] = [{} for _ in range(int(arrays["evaluations"]))]
            for name in [name for name in arrays if name.startswith("metrics ")]:
                _, number, metric = name.split(" ", 2)
                metrics[int(number)][metric] = arrays[name]
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever is there instead
            self.doubts.append(f"the snapshot {self.path} is not used: {in_one_line(error)}")
            return None
        self.before_s = seconds
        return Begun(rounds, structure.unflatten(kept), metrics)

    def offer(self, rounds: int, kept: Any, metrics: Sequence[Mapping[str, np.ndarray]]) -> None:
        """Write a snapshot, if the last one is long ago. A failure to write is ignored.

        Args:
            rounds: that are done.
            kept: the state after them and the info since the last evaluation, leaves on devices.
            metrics: of all evaluations so far.
        """
        now = time.monotonic()
        if (waited := now - self.last) < LEAST_S:  # else a short round would wait for the size
            return
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(kept))
        if waited < size / BYTES_PER_SECOND / SHARE or size > 0.2 * memory.available():
            return
        arrays: dict[str, Any] = {f"kept {place}": _plain(leaf) for place, leaf in enumerate(jax.tree.leaves(kept))}
        for number, block in enumerate(metrics):
            arrays |= {f"metrics {number} {name}": np.asarray(values) for name, values in block.items()}
        with contextlib.suppress(OSError, MemoryError):
            self._make_room(size)
            file = io.BytesIO()
            np.savez(file, rounds=rounds, seconds=self.before_s + now - self.began, evaluations=len(metrics), **arrays)
            write_whole(self.path, file.getbuffer(), durable=True)
        self.last = time.monotonic()

    def seconds(self) -> float:
        """Return the seconds of training so far, those of earlier commands included."""
        return self.before_s + time.monotonic() - self.began

    def remove(self) -> None:
        """Remove the snapshot of a unit that is finished."""
        if "path" in self.__dict__:  # else none was read or written
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        """Remove old snapshots.

        Raises:
            OSError: where the disk is too full all the same.
        """
        folder().mkdir(parents=True, exist_ok=True)
        for path in folder().glob(f"*{ENDING}"):
            if time.time() - path.stat().st_mtime > OLD_S:
                path.unlink(missing_ok=True)
        if shutil.disk_usage(folder()).free < 2 * size:
            raise OSError("the disk is too full")


def folder() -> Path:
    """Return the folder of all snapshots; it may not exist yet."""
    return cache_folder("unfinished")


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _placed(array: np.ndarray, leaf: Any) -> Any:
    """Return an array that `_plain` made in the form of the original leaf, on the leaf's devices.

    Raises:
        ValueError: where the array has another shape or type.
    """
    if _is_key(leaf):
        return jax.random.wrap_key_data(_placed(array, jax.random.key_data(leaf)), impl=jax.random.key_impl(leaf))
    if array.dtype.kind == "V":  # how NumPy stores a kind of number that is not its own, such as bfloat16
        array = array.view(leaf.dtype)
    if (array.shape, array.dtype) != (leaf.shape, leaf.dtype):
        raise ValueError("it does not fit the state")
    return jax.device_put(array, leaf.sharding, may_alias=False)  # the next call takes it
