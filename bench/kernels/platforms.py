"""All choices between programs for a CPU and programs for an accelerator.

The choice is made when a program is lowered, for the platform that it is lowered for, whether or not this machine has
one.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool

LARGE = 2**14  # values; with a smaller model, a call for each client costs more than the cache saves
_ON_CPU: ContextVar[bool | None] = ContextVar("on_cpu", default=None)  # set while a branch is traced


def by_platform(cpu: Callable, accelerator: Callable, *args: Any) -> Any:
    """Return the result of `cpu` on a CPU, and of `accelerator` elsewhere; the compiler sees only one of them.

    Within a function made by `only` the choice has been made already.

    Args:
        cpu, accelerator: functions with results of the same shapes. Both are traced.
        args: the functions' arguments, pytrees of arrays.
    """
    on_cpu = _ON_CPU.get()
    if on_cpu is not None:
        return (cpu if on_cpu else accelerator)(*args)
    return jax.lax.platform_dependent(*args, cpu=only(cpu, on_cpu=True), default=only(accelerator, on_cpu=False))


def in_turn(function: Callable, together: Callable | None = None) -> Callable:
    """Return the function with its vmapped calls made one after the other on a CPU.

    There the data of one call then stay in the cache, and convolutions with different kernels stay convolutions. On an
    accelerator the calls are made together.

    Args:
        function: of arrays, all passed as arguments.
        together: what an accelerator computes in its place; by default the function.
    """
    # `jit` caches the trace: otherwise every `vmap` around the call would trace the function anew, outside of `only`.
    traced_once = jax.jit(only(function, on_cpu=True), inline=True)
    one_by_one = jax.custom_batching.sequential_vmap(traced_once)
    return lambda *args: by_platform(one_by_one, together or function, *args)


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

    return by_platform(chosen_branch, lambda _, *args: always(*args), rare, *args)


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


def only(function: Callable, on_cpu: bool) -> Callable:
    """Return the function for one kind of platform, so that nothing it calls is traced for the other.

    JAX's cached traces do not record the kind, so a function that is jitted inside must not be jitted anywhere else.
    """

    def function_on_platform(*args):
        token = _ON_CPU.set(on_cpu)
        try:
            return function(*args)
        finally:
            _ON_CPU.reset(token)

    return function_on_platform
