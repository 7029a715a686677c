"""Finds out why a method cannot be compiled, by tracing each of its functions separately."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, State
from bench.data.task import Task
from bench.errors import InputError, in_one_line, place_of

FRAME = re.compile(r"\n  File [^\n]*(?:\n    [^\n]*)*")  # of a traceback


def culprit(make: Callable[[Task, Mapping], Algorithm], name: str, task: Task, traced: Iterable[str]) -> str | None:
    """Return a sentence that names the faulty function and the fault; None where all functions return what they must.

    Args:
        make: (task, traced arguments) -> Algorithm.
        name: of the method.
        task: what it runs on.
        traced: names of its traced arguments.
    """
    hypers = {argument: jax.ShapeDtypeStruct((), jnp.float32) for argument in traced}
    key = jax.eval_shape(lambda: jax.random.key(0))

    def traced_alone(function: str, call: Callable, *args: Any) -> Any:
        try:
            return jax.eval_shape(call, *args)
        except (InputError, MemoryError):  # a lack of memory is no fault of the method
            raise
        except Exception as error:
            of_tree = isinstance(error, TypeError) and not isinstance(task.init_params, jax.Array | np.ndarray)
            remedy = f": the model of {task.name} is a tree of arrays, so compute with jax.tree.map" if of_tree else ""
            raise _Wrong(f"`{function}` of {name} fails: {_in_one_line(error)}{remedy}") from error

    try:
        traced_alone("make", lambda hyper: checked_algorithm(make(task, hyper), name) and None, hypers)
        state = traced_alone("init", lambda key, hyper: make(task, hyper).init(key), key, hypers)
        if not isinstance(state, State):
            return f"`init` of {name} returns {_kind(state)}: return State(schedule, variables)"
        out = traced_alone("round", lambda key, hyper, state: make(task, hyper).round(key, state), key, hypers, state)
        if wrong := _round(name, state, out):
            return wrong
        params = traced_alone("params", lambda hyper, state: make(task, hyper).params(state), hypers, state)
        if task.metrics is not None:
            shapes = ", ".join(str(leaf.shape) for leaf in jax.tree.leaves(params))
            try:
                jax.eval_shape(lambda params: task.metrics and task.metrics(params, task), params)
            except MemoryError:
                raise
            except Exception as error:
                return f"`params` of {name} returns {shapes}, which {task.name} cannot score: {_in_one_line(error)}"
    except _Wrong as wrong:
        return str(wrong)
    if _schedule_depends_on_the_point(lambda hyper: make(task, hyper), hypers, key):
        return f"the schedule of {name} depends on a hyper-parameter: keep that part in State.variables"
    return None


def _schedule_depends_on_the_point(algorithm: Callable[[Mapping], Algorithm], hypers: Mapping, key: Any) -> bool:
    """Return whether start and round can be traced over two points with a schedule for each, but not with one for
    both."""
    both = {name: jax.ShapeDtypeStruct((2, *leaf.shape), leaf.dtype) for name, leaf in hypers.items()}

    def traced(axes: State) -> bool:
        def start(key, both):
            return jax.vmap(lambda hyper: algorithm(hyper).init(key), out_axes=axes)(both)

        def end(key, both, state):
            def one(hyper, state):
                return algorithm(hyper).round(key, state)[0]

            return jax.vmap(one, in_axes=(0, axes), out_axes=axes)(both, state)

        try:
            state = jax.eval_shape(start, key, both)
            jax.eval_shape(end, key, both, state)
        except MemoryError:
            raise
        except Exception:
            return False
        return True

    return traced(State(0, 0)) and not traced(State(schedule=None, variables=0))


@contextmanager
def callbacks_not_logged() -> Iterator[None]:
    """Keep JAX from logging the traceback of a failing callback, which the error of the run names."""
    logger = logging.getLogger("jax._src.callback")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def of_callback(error: BaseException) -> str | None:
    """Return the error of a user's callback (`jax.pure_callback`, `jax.io_callback`) in one line; None for other
    errors."""
    _, called, text = str(error).partition("error calling callback:")
    if not called:
        return None
    # At exit JAX waits for the last callback on each device and would raise this error again: let another one be last.
    jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(np.asarray, x, x))(jnp.zeros(())))
    last = FRAME.split(text)[-1].strip().splitlines()
    return last[0] if last else "no message"


class _Wrong(Exception):
    pass


def checked_algorithm(made: Any, name: str) -> Algorithm:
    """Return what a method's factory returned, if it is an Algorithm.

    Args:
        made: what it returned.
        name: of the method.

    Raises:
        InputError: where it is not.
    """
    if not isinstance(made, Algorithm):
        raise InputError(f"{name} returns {_kind(made)}: return Algorithm(init, round, params)")
    for part in ("init", "round", "params"):
        if not callable(function := getattr(made, part)):
            raise InputError(f"`{part}` of {name} is {_kind(function)}: give a function")
    return made


def _round(name: str, state: State, out: Any) -> str | None:
    """Return what is wrong with what a round returns."""
    if not (isinstance(out, tuple) and not isinstance(out, State) and len(out) == 2):
        return f"`round` of {name} returns {_kind(out)}: return State(schedule, variables) and a dictionary"
    new, info = out
    if not isinstance(new, State):
        return f"`round` of {name} returns {_kind(new)} as its state: return State(schedule, variables)"
    if not isinstance(info, dict):
        return f"`round` of {name} returns {_kind(info)} beside its state: return a dictionary, which may be empty"
    for key, value in info.items():
        if getattr(value, "shape", ()) != ():
            return f"`round` of {name} reports {key} of shape {value.shape}: report scalars"
        if jnp.issubdtype(jnp.result_type(value), jnp.complexfloating):
            return f"`round` of {name} reports {key}, a complex number: report real ones"
    before, after = (jax.tree_util.tree_leaves_with_path(tree) for tree in (state, new))
    if [path for path, _ in before] != [path for path, _ in after]:
        return f"`round` of {name} returns a state of another structure than `init`: keep its parts"
    for (path, old), (_, leaf) in zip(before, after, strict=True):
        if (old.shape, old.dtype) != (leaf.shape, leaf.dtype):
            place = f"State{jax.tree_util.keystr(path)}"
            return f"`round` of {name} turns {place} from {_array(old)} into {_array(leaf)}: keep shape and dtype"
    return None


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _array(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"


def _in_one_line(error: Exception) -> str:
    """Its type and first line, and where in the method's own code it came from."""
    return f"{in_one_line(error)}{place_of(error)}"
