"""Objects that are sent to a worker once, for any number of units: a task's data, its functions, a method.

An object has a key, under which a worker keeps it. A function that arrived twice would be two functions to the
compiler, and its program would be compiled twice. So functions are sent apart from data, once for all splits.
"""

import itertools
import sys
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import cloudpickle
import jax
import numpy as np

from bench.data.task import Task
from bench.errors import of_the_user
from bench.execution.unit import Unit
from bench.sweeps.points import Point

KEPT_TASKS = 2  # tasks whose data are kept although no unit needs them now


class Wire(NamedTuple):
    """A unit as it is sent, with keys in place of objects."""

    unit: tuple[Any, ...]  # the fields of a Unit without task; its points without method
    data: str
    functions: str
    method: str

    @property
    def keys(self) -> tuple[str, str, str]:
        return self.data, self.functions, self.method


@dataclass
class _Sent:
    """A task with the key of its data, and the number of units in training that need it."""

    task: Task
    key: str
    users: int = 0


class Sender:
    """The driver's side, which assigns keys to objects, and packs them when a worker requests them."""

    def __init__(self):
        self._prefix, self._numbers = uuid.uuid4().hex[:12], itertools.count()
        self._keys: dict[Any, str] = {}
        self._tasks: OrderedDict[int, _Sent] = OrderedDict()  # by identity, since two splits may be equal
        self._objects: dict[str, Any] = {}

    def _key(self, of: Any, value: Callable[[], Any]) -> str:
        if of not in self._keys:
            self._keys[of] = f"{self._prefix}-{next(self._numbers)}"
            self._objects[self._keys[of]] = value()
        return self._keys[of]

    def wire(self, unit: Unit) -> Wire:
        """Return a unit in the form in which it is sent. Its task is held until `finished`."""
        leaves, structure = jax.tree.flatten(unit.task)
        if id(unit.task) not in self._tasks:
            data = f"{self._prefix}-{next(self._numbers)}"
            self._tasks[id(unit.task)] = _Sent(unit.task, data)
            self._objects[data] = leaves
        self._tasks.move_to_end(id(unit.task))
        self._tasks[id(unit.task)].users += 1
        method = unit.points[0].method
        points = [point._replace(method=None) for point in unit.points]
        return Wire(
            tuple(unit._replace(task=None, points=points)),
            self._tasks[id(unit.task)].key,
            self._key(structure, lambda: jax.tree.unflatten(structure, [0] * len(leaves))),
            self._key((method.make, method.version), lambda: method),
        )

    def finished(self, wire: Wire) -> None:
        """Release the objects of a unit; of tasks that no unit needs only the last ones are kept."""
        next(sent for sent in self._tasks.values() if sent.key == wire.data).users -= 1
        unused = [name for name, sent in self._tasks.items() if not sent.users]
        for name in unused[: max(0, len(unused) - KEPT_TASKS)]:
            del self._objects[self._tasks.pop(name).key]

    def pack(self, key: str) -> bytes:
        """Return the object of a key, as bytes."""
        value = self._objects[key]
        if isinstance(value, list):  # data, which have no code
            return cloudpickle.dumps([np.asarray(leaf) for leaf in value])
        return packed(value)


class Receiver:
    """A worker's side, which keeps the objects that have arrived."""

    def __init__(self):
        self._objects: dict[str, Any] = {}
        self._tasks: OrderedDict[tuple[str, str], Task] = OrderedDict()

    def missing(self, wire: Wire) -> list[str]:
        """Return the keys of a unit that have not arrived yet."""
        here = {*self._objects, *(data for data, _ in self._tasks)}
        return [key for key in wire.keys if key not in here]

    def take(self, key: str, content: bytes) -> None:
        """Keep an object that has arrived under a key."""
        self._objects[key] = cloudpickle.loads(content)

    def unit(self, wire: Wire) -> Unit:
        """Return the unit that was sent; all its objects must have arrived."""
        name = wire.data, wire.functions
        if name not in self._tasks:
            leaves = [jax.numpy.asarray(leaf) for leaf in self._objects.pop(wire.data)]
            self._tasks[name] = jax.tree.unflatten(jax.tree.structure(self._objects[wire.functions]), leaves)
        self._tasks.move_to_end(name)
        while len(self._tasks) > KEPT_TASKS:
            self._tasks.popitem(last=False)
        method = self._objects[wire.method]
        unit = Unit(*wire.unit)
        points: list[Point] = [point._replace(method=method) for point in unit.points]
        return unit._replace(task=self._tasks[name], points=points)


def packed(value: Any) -> bytes:
    """Return an object as bytes. Code that is neither the suite's nor installed is sent itself, not by its name."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        named = isinstance(module, ModuleType) and isinstance(file, str) and module.__name__ != "__main__"
        if named and of_the_user(file):
            cloudpickle.register_pickle_by_value(module)
    return cloudpickle.dumps(value)
