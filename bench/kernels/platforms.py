"""All choices between programs for a CPU and programs for an accelerator.

The choice is made when a program is lowered, for the platform that it is lowered for, whether or not this machine has
one.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import jax

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


def only(function: Callable, on_cpu: bool) -> Callable:
    """Return the function for one kind of platform, so that nothing it calls is traced for the other.

    JAX's cached traces do not record the kind, so a function that is jitted inside must not be jitted anywhere else.
    """

    def chosen(*args):
        before = _ON_CPU.set(on_cpu)
        try:
            return function(*args)
        finally:
            _ON_CPU.reset(before)

    return chosen
