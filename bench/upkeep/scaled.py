"""A task and a program with another number of users, as shapes: what memory they take, and what can be traced."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import jax

from bench.data.task import Task
from bench.sweeps import engine

DRAW_BYTES = 20  # of a user, while those who take part are drawn


def with_users(task: Task, num_users: int) -> Task:
    """The shapes of a task with another number of users, all else being equal."""
    here = task.num_clients

    def shape(leaf, axes: int):
        sizes = [num_users if axis < axes and size == here else size for axis, size in enumerate(leaf.shape)]
        return jax.ShapeDtypeStruct(tuple(sizes), leaf.dtype)

    shapes = jax.tree.map(partial(shape, axes=0), task)
    own = ("num_examples", "train", "init_local", "gram", "evaluation")
    grown = {name: jax.tree.map(partial(shape, axes=1), getattr(task, name)) for name in own}
    return replace(shapes, **grown, peers=jax.tree.map(partial(shape, axes=2), task.peers))


def static_of(static: tuple[tuple[str, Any], ...], task: Task, num_users: int) -> tuple[tuple[str, Any], ...]:
    """The static arguments of a method, where all users take part in a round if all of the task's do, and else as many
    as did.
    """
    args = dict(static)
    if "num_sampled" in args:
        sampled, here = args["num_sampled"], task.num_clients
        args["num_sampled"] = num_users if sampled == here else min(sampled, num_users)
    return tuple(sorted(args.items()))


def _bytes(tree) -> float:
    return float(sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)))


def user_bytes(program: engine.Program, task: Task, traced: Iterable[str], num_users: int) -> tuple[float, float]:
    """Bytes of one more user: for all points together, and for each point.

    Args:
        program: on the task.
        task: with any number of users.
        traced: names of the traced arguments.
        num_users: how many there are.
    """

    def both(number: int) -> tuple[float, float]:
        larger = with_users(task, number)
        scaled = program._replace(static=static_of(program.static, task, number))
        state = engine.shapes_of(scaled, larger, 1, traced, 1)[-1]
        keyless = jax.tree.map(lambda leaf: jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf, state)
        return _bytes(larger) + _bytes(keyless.schedule), _bytes(keyless.variables)

    (shared, each), (more_shared, more_each) = both(num_users), both(2 * num_users)
    return DRAW_BYTES + (more_shared - shared) / num_users, (more_each - each) / num_users


def _is_key(leaf) -> bool:
    return jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
