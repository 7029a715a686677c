"""Counts the work of a traced program: operations, and bytes that it must access.

On CPUs, XLA's analysis of a compiled program counts the body of a loop once, however often it runs. Here a loop counts
as often as it runs, where that is known in advance: `jax.lax.scan`, and `fori_loop` with fixed bounds; any other counts
once. Nothing is compiled or computed, so shapes are enough.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from bench.data.task import Task
from bench.sweeps import engine

# Primitives that compute one number for each number that they return.
# fmt: off
ELEMENTWISE = {
    "abs", "acos", "add", "add_any", "asin", "atan", "atan2", "cbrt", "ceil", "clamp", "cos", "cosh", "div", "erf",
    "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "integer_pow", "is_finite", "lgamma", "log", "log1p",
    "logistic", "max", "min", "mul", "neg", "nextafter", "pow", "rem", "round", "rsqrt", "select_n", "sign", "sin",
    "sinh", "sqrt", "square", "sub", "tan", "tanh",
}
# fmt: on
LOOKING_UP = {"gather", "dynamic_slice"}  # read as much as they return, not all of their first operand
UPDATED = {"scatter": 2, "scatter-add": 2, "dynamic_update_slice": 1}  # primitive -> place of what is written


class Counts(NamedTuple):
    """The work of one call.

    flops: floating-point operations; a product and a sum are two, any function of a number is one.
    bytes: the size of the arguments that are read, each once; of an argument that is indexed, only what is looked up.
        So no program with the same arguments can move fewer.
    """

    flops: float = 0.0
    bytes: float = 0.0

    def plus(self, other: "Counts", times: float = 1) -> "Counts":
        """Return the sum of this and `times` times the other."""
        return Counts(self.flops + times * other.flops, self.bytes + times * other.bytes)


def count(function: Callable, *args) -> Counts:
    """Return the work of a call of a function with arrays, or with their shapes, as arguments. Of several branches, the
    one that computes most counts.

    Args:
        function: a function that jax can trace.
        args: pytrees of arrays or of jax.ShapeDtypeStruct.
    """
    jaxpr = jax.make_jaxpr(function)(*args).jaxpr
    return Counts(_operations(jaxpr), sum(_read(jaxpr)))


def _inner(equation) -> tuple[Any, int] | None:
    """Return the program within an equation, if any, and how often it runs; of a loop without a known length, once."""
    params = equation.params
    for name in ("body_jaxpr", "jaxpr", "call_jaxpr", "fun_jaxpr"):
        if name in params:
            return getattr(params[name], "jaxpr", params[name]), params.get("length", 1)
    return None


def _operations(jaxpr) -> float:
    """Return the floating-point operations of a program."""
    total = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "cond":  # the branch that does most
            total += max(_operations(branch.jaxpr) for branch in equation.params["branches"])
        elif inner := _inner(equation):
            body, times = inner
            total += times * _operations(body)
        elif jnp.issubdtype(equation.outvars[0].aval.dtype, jnp.floating):
            total += _flops(equation)
    return total


def _flops(equation) -> float:
    """Return the floating-point operations of an equation that contains no program."""
    name, params = equation.primitive.name, equation.params
    size = float(sum(math.prod(out.aval.shape) for out in equation.outvars))
    shape: Any = equation.invars[0].aval.shape if equation.invars else ()
    if name == "dot_general":
        (contracted, _), _ = params["dimension_numbers"]
        return 2 * size * math.prod(shape[axis] for axis in contracted)
    if name == "conv_general_dilated":
        kernel, numbers = equation.invars[1].aval.shape, params["dimension_numbers"]
        return 2 * size * math.prod(kernel) / kernel[numbers.rhs_spec[0]]
    if name.startswith(("reduce_", "cum", "arg", "scatter")) and name != "reduce_precision":
        return float(math.prod(equation.invars[-1 if name.startswith("scatter") else 0].aval.shape))
    if name == "sort":
        return size * math.log2(max(2, shape[params["dimension"]]))
    return size if name in ELEMENTWISE else 0.0


def _size(variable) -> float:
    aval = variable.aval
    return float(math.prod(aval.shape)) * (
        4 if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key) else aval.dtype.itemsize
    )


def _read(jaxpr) -> list[float]:
    """Return the bytes that a program reads of each of its arguments, at most all."""
    touched: dict[Any, float] = {}

    def add(variable, amount: float) -> None:
        if not isinstance(variable, core.Literal):
            touched[variable] = min(_size(variable), touched.get(variable, 0.0) + amount)

    for equation in jaxpr.eqns:
        name, inputs = equation.primitive.name, equation.invars
        if name in LOOKING_UP:
            add(inputs[0], sum(map(_size, equation.outvars)))
            inputs = inputs[1:]
        elif name in UPDATED:  # in place, where the operand is not used again
            add(inputs[0], _size(inputs[UPDATED[name]]))
            inputs = inputs[1:]
        elif name == "cond" or _inner(equation):
            for variable, amount in zip(inputs, _read_within(equation), strict=True):
                add(variable, amount)
            continue
        for variable in inputs:
            add(variable, math.inf)
    return [touched.get(variable, 0.0) for variable in jaxpr.invars]


def _read_within(equation) -> list[float]:
    """Return the bytes that the programs within an equation read of each input; the caller limits them to its size."""
    name, params = equation.primitive.name, equation.params
    if name == "cond":
        branches = np.array([_read(branch.jaxpr) for branch in params["branches"]])
        return [_size(equation.invars[0]), *branches.max(0).tolist()]
    if name == "while":
        test = params["cond_nconsts"]
        return [*map(_size, equation.invars[:test]), *_read(params["body_jaxpr"].jaxpr)]
    body, times = cast(tuple, _inner(equation))
    return [times * amount for amount in _read(body)]


class Work(NamedTuple):
    """The work of a program, of all its points and seeds together."""

    round: Counts
    evaluation: Counts

    def per_round(self, eval_every: int) -> Counts:
        """Return the work of a round, with its share of the evaluation that follows; that before the first round does
        not count."""
        return self.round.plus(self.evaluation, 1 / eval_every)


def work_of(program: engine.Program, task: Task, num_seeds: int, names: Iterable[str], num_points: int) -> Work:
    """Return the work of a round and of an evaluation. The bytes of the state count twice, since they are written, too.

    Args:
        program: what runs; its `num_rounds` has no effect.
        task: arrays or their shapes.
        num_seeds: runs that go together.
        names: of the traced arguments.
        num_points: points that go together.
    """
    single = program._replace(num_rounds=1)
    keys, hypers, state = engine.shapes_of(single, task, num_seeds, names, num_points)
    evaluation = count(partial(engine.evaluated, single), task, keys, hypers, state)
    first_round = jax.ShapeDtypeStruct((), jnp.int32)
    jaxpr = jax.make_jaxpr(partial(engine.advance, program=single))(task, keys, hypers, state, first_round).jaxpr
    bytes_read, before = _read(jaxpr), len(jax.tree.leaves((task, keys, hypers)))
    total = Counts(_operations(jaxpr), sum(bytes_read) + sum(bytes_read[before:]))
    return Work(total.plus(evaluation, -1), evaluation)
