"""Where programs for a CPU and for an accelerator differ: every such choice is made here.

It is made when a program is lowered, for the platform that it is lowered for, whether or not this machine has one.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import jax

_ON_CPU: ContextVar[bool | None] = ContextVar("on_cpu", default=None)  # of the branch that is being traced


def by_platform(cpu: Callable, accelerator: Callable, *args: Any) -> Any:
    """What `cpu` gives for the arguments on a CPU, and `accelerator` elsewhere; the compiler sees one of them alone.

    Within a function made by `only` the choice has been made already.

    Args:
        cpu, accelerator: functions with results of the same shapes. Both are traced.
        args: pytrees of arrays that they take.
    """
    on_cpu = _ON_CPU.get()
    if on_cpu is not None:
        return (cpu if on_cpu else accelerator)(*args)
    return jax.lax.platform_dependent(*args, cpu=only(cpu, on_cpu=True), default=only(accelerator, on_cpu=False))


def only(function: Callable, on_cpu: bool) -> Callable:
    """The function for that kind of platform alone, so that what it calls need not be traced for the other as well.

    Traces that JAX keeps do not say which kind they are of: what is jitted within is to be jitted nowhere else.
    """

    def chosen(*args):
        before = _ON_CPU.set(on_cpu)
        try:
            return function(*args)
        finally:
            _ON_CPU.reset(before)

    return chosen
