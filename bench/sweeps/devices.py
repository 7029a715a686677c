"""Users of one run over several devices: the layout of a task's arrays, and the program that runs on each device.

Training is divided by `jax.shard_map` around the whole scan of rounds: within it a method sees the rows of one device's
users, and `Participation.in_blocks` or `Task.total` adds up over devices. The metrics see all users. They are any
function of them, so it is the compiler that divides them. `jax.shard_map` is told not to check what varies between
devices: with the check, JAX would add up the gradients of different devices' users with respect to the shared model,
and refuse a method whose loop over own examples starts from zeros.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from bench.algorithms.base import Method
from bench.data.task import Task
from bench.errors import InputError
from bench.kernels.division import AXIS, Division

BY_CLIENT = ("num_examples", "train", "gram", "present", "present_examples")  # fields of a task
SHARED, HELD = P(), P(AXIS)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Padded:
    """An array by client of `Task.evaluation`, with rows at the end that are no clients."""

    rows: Array
    users: int = field(metadata={"static": True})


def mesh_of(division: Division) -> Mesh:
    """Return the mesh of the first devices."""
    return Mesh(np.array(jax.devices()[: division.devices]), (AXIS,))


def check(method: Method, task: Task, devices: int) -> None:
    """Refuse what cannot be divided.

    Raises:
        InputError: naming it.
    """
    name = method.make.__name__
    if not method.divides:
        raise InputError(f"{name} cannot divide its clients over {devices} devices: leave out --devices")
    if task.train is None:
        raise InputError(
            f"task {task.name} is a stream, which draws the examples of all its users at once, and cannot be divided "
            f"over {devices} devices: leave out --devices"
        )
    if jax.config.jax_default_prng_impl != "threefry2x32" or not jax.config.jax_threefry_partitionable:  # pyright: ignore[reportAttributeAccessIssue]
        raise InputError("--devices needs JAX's own generator of random numbers: unset jax_default_prng_impl")
    if task.num_clients < devices:
        raise InputError(f"{task.name} has {task.num_clients} clients for {devices} devices: give fewer --devices")


def lay_out(task: Task, devices: int) -> Task:
    """Return the task with its arrays by client laid over the first devices, in blocks of equally many clients.

    A device gets only its rows. What is not by client, such as a network's pool of examples, goes to all.

    Args:
        task: with arrays on one device, or on none.
        devices: D, at least 2.
    """
    division = Division(task.num_clients, devices)
    place, everywhere = (NamedSharding(mesh_of(division), spec) for spec in (HELD, SHARED))

    def held(leaf):
        everybody = np.asarray(leaf)

        def rows(index):
            block = everybody[index]
            return np.pad(block, [(0, division.held - len(block)), *[(0, 0)] * (block.ndim - 1)])

        return jax.make_array_from_callback((devices * division.held, *everybody.shape[1:]), place, rows)

    def evaluated(leaf):
        by_client = np.ndim(leaf) > 0 and len(leaf) == task.num_clients
        return _Padded(held(leaf), task.num_clients) if by_client else jax.device_put(leaf, everywhere)

    by_client = {name: jax.tree.map(held, getattr(task, name)) for name in BY_CLIENT}
    undivided_fields = replace(task, evaluation=None, **dict.fromkeys(BY_CLIENT))
    evaluation = jax.tree.map(evaluated, task.evaluation)
    shared = jax.device_put(undivided_fields, everywhere)
    return replace(shared, evaluation=evaluation, division=division, **by_client)


def undivided(task: Task) -> Task:
    """Return the task of all clients that `lay_out` divided, within a program that is compiled for all devices."""
    if task.division is None:
        return task
    users = task.division.users
    by_client = {name: jax.tree.map(lambda leaf: leaf[:users], getattr(task, name)) for name in BY_CLIENT}
    evaluation = jax.tree.map(
        lambda leaf: leaf.rows[: leaf.users] if isinstance(leaf, _Padded) else leaf,
        task.evaluation,
        is_leaf=lambda leaf: isinstance(leaf, _Padded),
    )
    return replace(task, evaluation=evaluation, division=None, **by_client)


def _specs(task: Task) -> Task:
    """Return the partition of the task's arrays over the devices; the task has no data for metrics."""
    by_client = {name: jax.tree.map(lambda _: HELD, getattr(task, name)) for name in BY_CLIENT}
    return replace(jax.tree.map(lambda _: SHARED, replace(task, **dict.fromkeys(BY_CLIENT))), **by_client)


class DeviceProgram:
    """A program that runs on each device's users.

    Args:
        begun: (task, keys, hypers) -> state.
        task: as `lay_out` returns it.
        keys, hypers: the other arguments of `begun`.
    """

    def __init__(self, begun: Callable, task: Task, keys, hypers):
        self.task, self.keys, self.hypers = replace(task, evaluation=None), keys, hypers
        self.begun = begun
        assert task.division is not None
        self.division = task.division
        self._shapes = [self._on_one_device(division, begun) for division in self._divisions()]
        self.state = _where(*self._shapes)

    def _divisions(self) -> tuple[Division, Division]:
        """Return the division, and that over one device; an array whose shape differs between them is by client."""
        return self.division, replace(self.division, devices=1)

    def _on_one_device(self, division: Division, function: Callable, *args) -> Any:
        """Return the shapes of the function's results on one device of this division."""
        specs = _specs(self.task)

        def rows(leaf, spec):
            shape = (division.held, *leaf.shape[1:]) if spec == HELD else leaf.shape
            return jax.ShapeDtypeStruct(shape, leaf.dtype)

        task = replace(jax.tree.map(rows, self.task, specs), division=division)
        along = jax.vmap(function, in_axes=None, out_axes=0, axis_name=AXIS, axis_size=1)
        shapes = jax.eval_shape(along, task, self.keys, self.hypers, *args)
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), shapes)

    def _call(self, function: Callable, *args, specs: Sequence, out) -> Any:
        mapped = jax.shard_map(
            function,
            mesh=mesh_of(self.division),
            in_specs=(_specs(self.task), SHARED, SHARED, *specs),
            out_specs=out,
            check_vma=False,
        )
        return mapped(self.task, self.keys, self.hypers, *args)

    def start(self) -> Any:
        """Return the state before the first round."""
        return self._call(self.begun, specs=(), out=self.state)

    def rounds(self, function: Callable, state, *numbers) -> Any:
        """Return what (task, keys, hypers, state, *numbers) -> (state, info) returns; numbers and info are shared."""
        return self._call(
            function, state, *numbers, specs=(self.state, *[SHARED] * len(numbers)), out=(self.state, SHARED)
        )

    def models(self, function: Callable, state) -> Any:
        """Return what (task, keys, hypers, state) -> parameters returns, for all clients."""
        divisions = zip(self._divisions(), self._shapes, strict=True)
        on_one, on_all_devices = (self._on_one_device(division, function, shapes) for division, shapes in divisions)
        laid = _where(on_one, on_all_devices)
        models = self._call(function, state, specs=(self.state,), out=laid)
        return jax.tree.map(lambda leaf, shape: leaf[tuple(map(slice, shape.shape))], models, on_all_devices)

    def placed(self, shapes):
        """Return the shapes of a state with their devices."""
        mesh = mesh_of(self.division)
        return jax.tree.map(
            lambda leaf, spec: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec)),
            shapes,
            self.state,
        )


def _where(on_one, on_all_devices) -> Any:
    """Return the partition of arrays with these shapes on one of several devices, and on a single device."""

    def spec(on_device, on_all):
        return P(*(AXIS if a != b else None for a, b in zip(on_device.shape, on_all.shape, strict=True)))

    return jax.tree.map(spec, on_one, on_all_devices)


def shapes_on_all(shapes, task: Task):
    """Return the shapes, for arrays that are on all devices of the task."""
    if task.division is None:
        return shapes
    place = NamedSharding(mesh_of(task.division), SHARED)
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=place), shapes)


def on_all(tree, task: Task):
    """Return the tree on all devices of the task."""
    return tree if task.division is None else jax.device_put(tree, NamedSharding(mesh_of(task.division), SHARED))
