"""Units as they are sent to workers: a task's data once for all its units, and each function once.

Data and functions are sent separately: a function that arrived twice would be two functions to the compiler, and its
program would be compiled twice. So functions are kept by the bytes that they are sent as, for all splits of the data.
"""

import itertools
import platform
import sys
import uuid
import weakref
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle
import jax
import numpy as np

from bench.errors import InputError, of_the_user
from bench.execution import memory
from bench.execution.source import code
from bench.execution.unit import Outcome, Trainer, Unit
from bench.processes import tell

KEPT = 2  # tasks whose data a worker keeps, those that arrived last
PASSED_ON = (
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_default_matmul_precision",
)


class Settings(NamedTuple):
    """What a worker needs before its first unit.

    config: of jax, by name.
    code: digest of the suite's source, which must be the driver's.
    workers_here: the number of workers that share the machine's memory.
    """

    config: tuple[tuple[str, Any], ...]
    code: str
    workers_here: int


def settings(workers_here: int) -> Settings:
    """Return the settings of a worker on a machine with `workers_here` workers."""
    return Settings(tuple((name, getattr(jax.config, name)) for name in PASSED_ON), code(), workers_here)


class Wire(NamedTuple):
    """A unit as it is sent.

    unit: without task; its points without method.
    data: the key of the task's arrays.
    functions: the task without its arrays, and the method, as bytes.
    """

    unit: Unit
    data: str
    functions: bytes


class Sender:
    """The driver's side: it packs units for the workers."""

    def __init__(self):
        self._prefix, self._numbers = uuid.uuid4().hex[:12], itertools.count()
        self._keys: dict[int, str] = {}  # by identity, since two splits may be equal
        self._functions: dict[Any, bytes] = {}

    def wire(self, unit: Unit) -> Wire:
        """Return a unit in the form in which it is sent."""
        leaves, structure = jax.tree.flatten(unit.task)
        method = unit.points[0].method
        key = structure, method.make, method.version
        if key not in self._functions:
            self._functions[key] = packed((jax.tree.unflatten(structure, [0] * len(leaves)), method))
        if id(unit.task) not in self._keys:
            self._keys[id(unit.task)] = f"{self._prefix}-{next(self._numbers)}"
            weakref.finalize(unit.task, self._keys.pop, id(unit.task))
        points = [point._replace(method=None) for point in unit.points]
        return Wire(unit._replace(task=None, points=points), self._keys[id(unit.task)], self._functions[key])

    def data(self, unit: Unit) -> list[np.ndarray]:
        """Return the arrays of a unit's task."""
        return [np.asarray(leaf) for leaf in jax.tree.leaves(unit.task)]


class Receiver:
    """A worker's side: it unpacks units.

    data: key -> arrays of the tasks that arrived last.
    """

    def __init__(self):
        self.data: dict[str, list[jax.Array]] = {}

    def unit(self, wire: Wire, data: list[np.ndarray] | None) -> Unit:
        """Return the unit that was sent, with data unless they have arrived before."""
        if data is not None:
            self.data[wire.data] = [jax.numpy.asarray(leaf) for leaf in data]
            for key in list(self.data)[:-KEPT]:
                del self.data[key]
        shell, method = _unpacked(wire.functions)
        task = jax.tree.unflatten(jax.tree.structure(shell), self.data[wire.data])
        return wire.unit._replace(task=task, points=[point._replace(method=method) for point in wire.unit.points])


_unpacked = cache(cloudpickle.loads)


@lru_cache(1)
def prepared(worker_settings: Settings) -> tuple[Trainer, Receiver]:
    """Return the trainer and the receiver of this worker.

    Raises:
        InputError: where its source is another than the driver's.
    """
    if worker_settings.code != code():
        raise InputError(f"the suite's source on {platform.node()} is not the driver's: install the same commit there")
    for name, value in worker_settings.config:
        jax.config.update(name, value)
    return Trainer(memory.budget(worker_settings.workers_here)), Receiver()


def train(worker_settings: Settings, wire: Wire, data: list[np.ndarray] | None) -> Outcome:
    """Train a unit; runs in a worker."""
    trainer, receiver = prepared(worker_settings)
    return trainer.run(receiver.unit(wire, data), tell)


def packed(value: Any) -> bytes:
    """Return an object as bytes. Code that is neither the suite's nor installed is sent itself, not by its name."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        named = isinstance(module, ModuleType) and isinstance(file, str) and module.__name__ != "__main__"
        if named and of_the_user(file):
            cloudpickle.register_pickle_by_value(module)
    return cloudpickle.dumps(value)
