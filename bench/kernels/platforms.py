"""All choices between programs for a CPU and programs for an accelerator.

A program is made for JAX's default platform, or within `made_for` for another one, whether or not this machine has it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool

LARGE = 2**14  # values; with a smaller model, a call for each client costs more than the cache saves
_PLATFORM = jax.make_user_context()  # part of the key under which JAX keeps traces and programs

T = TypeVar("T")


def made_for(platform: str) -> AbstractContextManager:
    """Return a context in which programs are traced and lowered for that platform, such as "cuda"."""
    return _PLATFORM(platform)


def on_cpu() -> bool:
    """Return whether programs are made for a CPU."""
    return (_PLATFORM.value or jax.default_backend()) == "cpu"


def by_platform(cpu: T, accelerator: T) -> T:
    """Return the first for a program that is made for a CPU, else the second."""
    return cpu if on_cpu() else accelerator


def made_once(values: T) -> T:
    """Return the values, made once for all vmapped points that use them.

    XLA for CPUs would otherwise fuse the work into the loop over the points, which then repeats it.
    """
    return by_platform(jax.lax.optimization_barrier, lambda same: same)(values)


def in_turn(function: Callable, together: Callable | None = None) -> Callable:
    """Return the function with its vmapped calls made one after the other on a CPU.

    There the data of one call then stay in the cache, and convolutions with different kernels stay convolutions. On an
    accelerator the calls are made together.

    Args:
        function: of arrays, all passed as arguments.
        together: what an accelerator computes in its place; by default the function.
    """
    one_by_one = jax.custom_batching.sequential_vmap(function)
    return lambda *args: by_platform(one_by_one, together or function)(*args)


def unless(rare: Bool[Array, ""], usual: Callable, always: Callable, *args: Any) -> Any:
    """Return usual(*args) if `rare` is false, else always(*args), which must then be the same.

    A CPU computes one of the two, also for vmapped calls, all by the second if `rare` holds for any of them. An
    accelerator would have to ask its CPU which, and always computes the second.

    Args:
        rare: whether `usual` will not do.
        usual, always: functions of arrays, all passed as arguments.
        args: pytrees of arrays.
    """

    @jax.custom_batching.custom_vmap
    def chosen_branch(rare, *args):
        return jax.lax.cond(rare, always, usual, *args)

    @chosen_branch.def_vmap
    def vmapped(size, batched, rare, *args):
        axes = jax.tree.map(lambda is_batched: 0 if is_batched else None, tuple(batched[1:]))
        branches = (jax.vmap(function, axes, axis_size=size) for function in (usual, always))
        out = unless(jnp.any(rare), *branches, *args)
        return out, jax.tree.map(lambda _: True, out)

    return by_platform(chosen_branch, lambda _, *args: always(*args))(rare, *args)


def over_clients(function: Callable, shared: Any, *rows: Any, size: int | None = None) -> Any:
    """Return function(shared, *row) for every client's row, stacked.

    On a CPU, clients with a large model are computed one after the other, which keeps their data in the cache.

    Args:
        function: of arrays, all passed as arguments, since it may close over no traced array.
        shared: what all clients have in common, the model: a pytree.
        rows: what each client has: pytrees of arrays [client, ...].
        size: numbers of the model, where `shared` has more than that; default all of it.
    """

    def together(shared, *rows):
        return jax.vmap(function, (None, *(0 for _ in rows)))(shared, *rows)

    def one_by_one(shared, *rows):
        # Batches of one client, because XLA on a CPU multiplies matrices faster with this axis than without any.
        return jax.lax.map(lambda row: function(shared, *row), rows, batch_size=1)

    size = sum(jnp.size(leaf) for leaf in jax.tree.leaves(shared)) if size is None else size
    large = size >= LARGE
    return (in_turn(one_by_one, together) if large else together)(shared, *rows)
