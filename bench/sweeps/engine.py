"""The one compiled program: points x seeds vmapped inside, rounds scanned around them, evaluation at the end.

    for seed, for point (vmap): state
    scan over rounds: draw once per seed -> one round at every point

The scan is outside and the vmap inside: on a CPU that runs twice as fast as the reverse, and it lets the
schedule half of the state (queues, permutations) stay unbatched, so that what does not depend on the point is
computed once, or else the program does not compile.

A run's key depends on its trial and seed alone, and a round's key on the run's key and the round's number:
adding a point, a chunk or a later round changes no other number.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import State
from bench.data.task import Task
from bench.errors import InputError
from bench.sweeps import malformed
from bench.sweeps.columns import check_measured

OVER_POINTS = State(schedule=None, variables=0)
START, ROUNDS = 0, 1  # the two uses of a run's key


class Program(NamedTuple):
    """What is fixed at compile time: the method's factory, its static arguments, rounds in a call."""

    make: Callable
    static: tuple[tuple[str, Any], ...]
    num_rounds: int

    def algorithm(self, task: Task, hypers: Mapping):
        return self.make(task, **dict(self.static), **hypers)


def run_key(trial: int, seed: int):
    """The key of a run: a function of the data split and the seed, of nothing else."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(0), trial), seed)


@jax.jit
def run_keys(trials, seeds):
    """`run_key` of each pair, [run]."""
    return jax.vmap(run_key)(trials, seeds)


def _over(function, in_axes, out_axes, size: int) -> Callable:
    """`jax.vmap` over the first axis of what has axis 0; for size 1 the plain function, which compiles to faster code.

    in_axes and out_axes are pytree prefixes of 0 and None.
    """
    if size > 1:
        return jax.vmap(function, in_axes=in_axes, out_axes=out_axes)

    def each(axes, trees, change):
        def one(axis, tree):
            return tree if axis is None else jax.tree.map(change, tree)

        return jax.tree.map(one, axes, trees, is_leaf=lambda axis: axis is None)

    def alone(*args):
        out = function(*each(in_axes, args, lambda leaf: leaf[0]))
        return each(out_axes, out, lambda leaf: jnp.asarray(leaf)[None])

    return alone


def _sizes(keys, hypers) -> tuple[int, int]:
    """Numbers of seeds and of points."""
    return keys.shape[0], jax.tree.leaves(hypers)[0].shape[0]


def evaluated(program: Program, task: Task, keys, hypers, state):
    """The task's metrics at [seed, point]."""
    num_seeds, num_points = _sizes(keys, hypers)

    metrics = task.metrics
    assert metrics is not None, f"task {task.name} has no metrics"

    def one(hyper, state):
        return metrics(program.algorithm(task, hyper).params(state), task)

    over_points = _over(one, (0, OVER_POINTS), 0, num_points)
    return _over(over_points, (None, State(0, 0)), 0, num_seeds)(hypers, state)


@partial(jax.jit, static_argnames="program")
def start(task: Task, keys, hypers, *, program: Program):
    """The state before the first round, leaves [seed, point, ...], and its metrics [seed, point]."""

    def one(key, hyper):
        return program.algorithm(task, hyper).init(jax.random.fold_in(key, START))

    num_seeds, num_points = _sizes(keys, hypers)
    over_points = _over(one, (None, 0), OVER_POINTS, num_points)
    state = _over(over_points, (0, None), State(0, 0), num_seeds)(keys, hypers)
    return state, evaluated(program, task, keys, hypers, state)


@partial(jax.jit, static_argnames="program", donate_argnames="state")
def advance(task: Task, keys, hypers, state, first_round, *, program: Program):
    """`program.num_rounds` rounds, then the metrics and the mean of the rounds' info, each [seed, point]."""

    def one(key, hyper, state):
        return program.algorithm(task, hyper).round(key, state)

    num_seeds, num_points = _sizes(keys, hypers)
    over_points = _over(one, (None, 0, OVER_POINTS), (OVER_POINTS, 0), num_points)
    over_seeds = _over(over_points, (0, None, State(0, 0)), (State(0, 0), 0), num_seeds)

    def one_round(state, t):
        at_t = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, ROUNDS), t))(keys)
        return over_seeds(at_t, hypers, state)

    state, info = jax.lax.scan(one_round, state, first_round + jnp.arange(program.num_rounds))
    leaves = jax.tree.leaves(info)  # each [round, seed, point]
    usable = all(leaf.ndim == 3 and not jnp.iscomplexobj(leaf) for leaf in leaves)
    if not (isinstance(info, dict) and usable):
        raise TypeError("the info of a round is no dictionary of real scalars")
    means = jax.tree.map(lambda leaf: leaf.mean(0), info)
    metrics = evaluated(program, task, keys, hypers, state)
    args = [*dict(program.static), *hypers]
    check_measured(program.make.__name__, task.name, metrics=metrics, info=means, args=args)
    return state, metrics | means


class Plan(NamedTuple):
    """How many points share a call, and the memory that the compiler says it needs, in bytes."""

    chunk: int
    peak_bytes: int
    step: Callable


def _pad(hypers: Mapping[str, np.ndarray], length: int) -> dict:
    """The columns as float32 arrays of the given length; the last point is repeated."""
    return {
        name: jnp.asarray(np.pad(np.asarray(column, np.float32), (0, length - len(column)), mode="edge"))
        for name, column in hypers.items()
    }


def shapes_of(program: Program, task: Task, num_seeds: int, names, num_points: int):
    """The shapes of keys, points and state; refuses a method whose schedule is not the same for all points."""
    seeds = jax.ShapeDtypeStruct((num_seeds,), jnp.int32)
    keys = jax.eval_shape(run_keys, seeds, seeds)
    hypers = {name: jax.ShapeDtypeStruct((num_points,), jnp.float32) for name in names}
    try:
        return keys, hypers, jax.eval_shape(partial(start, program=program), task, keys, hypers)[0]
    except ValueError as error:
        raise _schedule_error(program, error) from error


def _schedule_error(program: Program, error: ValueError) -> ValueError:
    """The error to raise for one of tracing: in our words where an output that must be shared has a point axis."""
    if "out_axes" not in str(error):
        return error
    return InputError(
        f"the schedule of {program.make.__name__} depends on a hyper-parameter: keep that part in State.variables"
    )


def _peak(program: Program, task: Task, keys, hypers, state):
    """The compiled step for these shapes, and its peak memory."""
    try:
        first_round = jax.ShapeDtypeStruct((), jnp.int32)
        step = advance.lower(task, keys, hypers, state, first_round, program=program).compile()
    except ValueError as error:
        raise _schedule_error(program, error) from error
    memory = step.memory_analysis()
    if memory is None:  # a backend that does not say
        return step, 0
    peak = memory.argument_size_in_bytes + memory.temp_size_in_bytes + memory.output_size_in_bytes
    return step, peak - memory.alias_size_in_bytes


def plan(program: Program, task: Task, num_seeds: int, names, num_points: int, *, budget: float) -> Plan:
    """The largest chunk, at most `num_points` points, whose compiled program fits into `budget` bytes.

    The compiler's own figure decides; where it is too large the chunk is halved and compiled again.

    Args:
        program, task: what runs.
        num_seeds: runs that go together.
        names: of the traced arguments.
        num_points: that are wanted in a chunk.
        budget: bytes.

    Raises:
        InputError: where a function of the method stops, or does not give what it must; naming it.
    """
    try:
        return _plan(program, task, num_seeds, names, num_points, budget)
    except Exception as error:
        if culprit := malformed.culprit(program.algorithm, program.make.__name__, task, names):
            raise InputError(culprit) from error
        raise


def _plan(program: Program, task: Task, num_seeds: int, names, num_points: int, budget: float) -> Plan:
    chunk = num_points
    while True:
        shapes = shapes_of(program, task, num_seeds, names, chunk)
        held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes[-1].variables))
        if held > budget and chunk > 1:  # too large for certain: not worth compiling
            peak = held
        else:
            step, peak = _peak(program, task, *shapes)
            if peak <= budget or chunk == 1:
                return Plan(chunk, peak, step)
        chunk = max(1, min(chunk // 2, int(chunk * budget / peak)))


def run_chunk(program: Program, step, task: Task, keys, hypers, *, num_evals: int, chunk: int, on_block=None):
    """Train all the given points with all the given keys.

    Args:
        program: with `num_rounds` = rounds between evaluations.
        step: `advance`, compiled for this chunk.
        task: the data.
        keys: of the runs, [seed].
        hypers: traced arguments, each [point]; padded to `chunk` here.
        num_evals: evaluations after the one at round 0.
        chunk: points that the compiled program has room for.
        on_block: called after each evaluation with the number of rounds done.

    Returns:
        name -> [seed, point, 1 + num_evals] float32; info that exists only between evaluations is NaN at
        round 0. A point that diverges is NaN or inf in its own place alone.
    """
    num_points = len(next(iter(hypers.values())))
    padded = _pad(hypers, chunk)
    state, first = start(task, keys, padded, program=program)
    blocks = [first]
    for index in range(num_evals):
        state, metrics = step(task, keys, padded, state, jnp.int32(index * program.num_rounds))
        blocks.append(jax.device_get(metrics))
        if on_block:
            on_block((index + 1) * program.num_rounds)
    empty = np.full((len(keys), chunk), np.nan, np.float32)
    names = blocks[-1]
    return {
        name: np.stack([np.asarray(block.get(name, empty)) for block in blocks], axis=-1)[:, :num_points]
        for name in names
    }
