"""The calls of a method's functions: an error in one becomes a line with its place.

The whole traceback is that of the error's cause.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp

from bench import errors
from bench.algorithms.base import Algorithm, State
from bench.data.task import Task
from bench.errors import InputError

STATE = "return State(schedule, variables)"


def calling(what: str, task: Task) -> AbstractContextManager[None]:
    """Turn any error but a lack of memory into an InputError that says what fails, why and where.

    Args:
        what: what is called, such as "`round` of ppsgd".
        task: what it runs on.
    """
    return errors.calling(what, condition=f" on {task.name}", but=(jax.errors.JaxRuntimeError,))


def metrics_of(name: str, params: Any, task: Task) -> dict[str, Any]:
    """Return the metrics of what `params` of a method of this name returned."""
    assert task.metrics is not None
    shapes = ", ".join(str(jnp.shape(leaf)) for leaf in jax.tree.leaves(params))
    with calling(f"`metrics`, with what `params` of {name} returns, {shapes},", task):
        return task.metrics(params, task)


def checked_state(state: Any, name: str) -> State:
    """Return what `init` returned, if it is a State."""
    _check_kind(state, State, f"`init` of {name} returns", STATE)
    for leaf in jax.tree.leaves(state):
        _check_leaf(leaf, f"`init` of {name}")
    return state


def checked_round(before: State, out: Any, name: str) -> tuple[State, dict[str, Any]]:
    """Return what `round` returned, if it is a state like the one before, and a dictionary of scalars."""
    returns = f"`round` of {name} returns"
    if not (isinstance(out, tuple) and not isinstance(out, State) and len(out) == 2):
        raise InputError(f"{returns} {_kind(out)}: {STATE} and a dictionary")
    state, info = out
    _check_kind(state, State, returns, STATE, " as its state")
    _check_kind(info, dict, returns, "return a dictionary", " beside its state")
    for key, value in info.items():
        if not (_is_array(value) and jnp.shape(value) == () and _is_real(jnp.result_type(value))):
            kind = _array(value) if _is_array(value) else _kind(value)
            raise InputError(f"`round` of {name} reports {key} as {kind}: report real scalars")
    old, new = (jax.tree_util.tree_leaves_with_path(tree) for tree in (before, state))
    if [path for path, _ in old] != [path for path, _ in new]:
        raise InputError(f"{returns} a state of another structure than `init`: keep its parts")
    for (path, was), (_, leaf) in zip(old, new, strict=True):
        _check_leaf(leaf, f"`round` of {name}")
        if (jnp.shape(was), jnp.result_type(was)) != (jnp.shape(leaf), jnp.result_type(leaf)):
            place = f"State{jax.tree_util.keystr(path)}"
            raise InputError(
                f"`round` of {name} turns {place} from {_array(was)} into {_array(leaf)}: keep shape and dtype"
            )
    return state, info


def checked_algorithm(algorithm: Any, name: str) -> Algorithm:
    """Return what a method's factory returned, if it is an Algorithm.

    Args:
        algorithm: what it returned.
        name: of the method.

    Raises:
        InputError: where it is not.
    """
    _check_kind(algorithm, Algorithm, f"{name} returns", "return Algorithm(init, round, params)")
    for field in ("init", "round", "params"):
        _check_kind(getattr(algorithm, field), Callable, f"`{field}` of {name} is", "give a function")
    return algorithm


def _check_kind(value: Any, kind: Any, what: str, remedy: str, place: str = "") -> None:
    """Refuse a value that is not of this kind."""
    if not isinstance(value, kind):
        raise InputError(f"{what} {_kind(value)}{place}: {remedy}")


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _is_array(value: Any) -> bool:
    try:
        jax.typeof(value)
    except (TypeError, OverflowError):  # a Python integer of more than 64 bits
        return False
    return True


def _is_real(dtype: Any) -> bool:
    return any(jnp.issubdtype(dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_))


def _check_leaf(leaf: Any, function: str) -> None:
    if not _is_array(leaf):
        raise InputError(f"{function} returns {_kind(leaf)} in its state: return arrays")


def _array(leaf: Any) -> str:
    return f"{jnp.result_type(leaf)}{list(jnp.shape(leaf))}"
