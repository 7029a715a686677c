"""The one loop: points x seeds vmapped inside, rounds scanned around them, and what is observed.

    for seed, for point (vmap): state
    scan over rounds: draw once per seed -> one round at every point -> what is observed
    after the last round: what is measured

Sweeps measure a task's metrics and the means of what rounds report. Audits and attacks observe what is public, in runs
that differ in their data: then a run is not a key alone, but a key and what its task is made of (`Program.task_of`).

The rounds between two evaluations are one call, or several calls of the same program where they take seconds, so that
progress can be reported in between. How they are divided changes no number.

The scan is outside and the vmap inside: on a CPU that runs twice as fast as the reverse, and it lets the
schedule half of the state (queues, permutations) stay unbatched, so that what does not depend on the point is
computed once, or else the program does not compile.

A run's key depends on its trial and seed alone, and a round's key on the run's key and the round's number:
adding a point, a chunk or a later round changes no other number.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, State
from bench.data.task import Task
from bench.errors import InputError
from bench.kernels.platforms import by_platform
from bench.sweeps import devices, diagnose
from bench.sweeps.columns import check_measured

OVER_POINTS = State(schedule=None, variables=0)
START, ROUNDS = 0, 1  # the two uses of a run's key
CALL_S = 5.0  # wanted length of a call, after which progress is reported
GROWTH = 16  # at most this many times the rounds of the call before
STRIDE = 20  # rounds at a time at most on an accelerator, which asks the host whether there are more


def reported(task: Task, algorithm: Algorithm, state: State, info: Any) -> dict[str, Any]:
    """Observe what a round reports, as sweeps do."""
    return info


class Program(NamedTuple):
    """What is fixed at compile time.

    make: the method's factory.
    static: its static arguments.
    num_rounds: rounds in a call.
    at_start: whether models are evaluated before the first round, too.
    task_of: (task, given) -> the task of one run, where runs differ in it: a run is then (key, given).
    observe: (task, algorithm, state after a round, what the round reports) -> what is kept of every round.
    measure: (program, task, runs, hypers, state, what is kept, [round, seed, point, ...]) -> what a call returns after
        the last round; None: `measured`.
    """

    make: Callable
    static: tuple[tuple[str, Any], ...]
    num_rounds: int
    at_start: bool = True
    task_of: Callable | None = None
    observe: Callable = reported
    measure: Callable | None = None

    @property
    def name(self) -> str:
        """The method's name."""
        return self.make.__name__

    def algorithm(self, task: Task, hypers: Mapping) -> Algorithm:
        """Return the algorithm that the factory makes of the task and its arguments."""
        with diagnose.calling(f"`make` of {self.name}", task):
            algorithm = self.make(task, **dict(self.static), **hypers)
        return diagnose.checked_algorithm(algorithm, self.name)

    def of_run(self, task: Task, run, hypers: Mapping):
        """Return the key of a run, its task, and its algorithm."""
        key, task = (run, task) if self.task_of is None else (run[0], self.task_of(task, run[1]))
        return key, task, self.algorithm(task, hypers)


def run_key(trial: int, seed: int):
    """Return the key of a run: a function of the data split and the seed, and of nothing else."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(0), trial), seed)


@jax.jit
def run_keys(trials, seeds):
    """Return `run_key` of each pair, [run]."""
    return jax.vmap(run_key)(trials, seeds)


def _over(function, in_axes, out_axes, size: int | None) -> Callable:
    """Return the function vmapped over the first axis of what has axis 0; for size 1 the plain function, which compiles
    to faster code.

    in_axes and out_axes are pytree prefixes of 0 and None. Where size is None nothing has the axis.
    """
    if size is None:
        return function
    if size > 1:
        return jax.vmap(function, in_axes=in_axes, out_axes=out_axes)

    def mapped(axes, trees, change):
        def change_one(axis, tree):
            return tree if axis is None else jax.tree.map(change, tree)

        return jax.tree.map(change_one, axes, trees, is_leaf=lambda axis: axis is None)

    def unmapped(*args):
        out = function(*mapped(in_axes, args, lambda leaf: leaf[0]))
        return mapped(out_axes, out, lambda leaf: jnp.asarray(leaf)[None])

    return unmapped


def _sizes(runs, hypers) -> tuple[int, int | None]:
    """Return the numbers of seeds and of points; None where hyperparameters are numbers, so that there is no axis of
    points."""
    points = {leaf.shape for leaf in jax.tree.leaves(hypers)} - {()}
    return len(jax.tree.leaves(runs)[0]), min(points)[0] if points else None


def scored(program: Program, task: Task, runs, hypers, state, score: Callable) -> Any:
    """Return what `score`, (task, algorithm, state) -> tree, returns at [seed, point]."""
    num_seeds, num_points = _sizes(runs, hypers)

    def score_one(run, hyper, state):
        return score(*program.of_run(task, run, hyper)[1:], state)

    over_points = _over(score_one, (None, 0, OVER_POINTS), 0, num_points)
    return _over(over_points, (0, None, State(0, 0)), 0, num_seeds)(runs, hypers, state)


def _params(program: Program, task: Task, algorithm: Algorithm, state: State) -> Any:
    with diagnose.calling(f"`params` of {program.name}", task):
        return algorithm.params(state)


def _metrics(program: Program, task: Task, algorithm: Algorithm, state: State) -> dict[str, Any]:
    return diagnose.metrics_of(program.name, _params(program, task, algorithm, state), task)


def evaluated(program: Program, task: Task, runs, hypers, state):
    """Return the task's metrics at [seed, point]."""
    metrics = task.metrics
    assert metrics is not None, f"task {task.name} has no metrics"
    if task.division is None:
        return scored(program, task, runs, hypers, state, partial(_metrics, program))
    everybody = devices.undivided(task)

    def models(task, runs, hypers, state):
        return scored(program, task, runs, hypers, state, partial(_params, program))

    num_seeds, num_points = _sizes(runs, hypers)
    over_points = _over(lambda params: metrics(params, everybody), (0,), 0, num_points)
    return _over(over_points, (0,), 0, num_seeds)(_device_program(program, task, runs, hypers).models(models, state))


def _begun(program: Program, task: Task, runs, hypers):
    """Return the state before the first round, leaves [seed, point, ...]."""

    def start_one(run, hyper):
        key, task_of_run, algorithm = program.of_run(task, run, hyper)
        with diagnose.calling(f"`init` of {program.name}", task_of_run):
            state = algorithm.init(jax.random.fold_in(key, START))
        return diagnose.checked_state(state, program.name)

    num_seeds, num_points = _sizes(runs, hypers)
    over_points = _over(start_one, (None, 0), OVER_POINTS, num_points)
    return _over(over_points, (0, None), State(0, 0), num_seeds)(runs, hypers)


def _device_program(program: Program, task: Task, runs, hypers) -> devices.DeviceProgram:
    """Return the program that runs on each device, for a task whose clients are divided."""
    return devices.DeviceProgram(partial(_begun, program), task, runs, hypers)


def _trained(program: Program, rounds: Callable, task: Task, runs, hypers, state, *numbers):
    """Return what (task, runs, hypers, state, *numbers) -> (state, info) returns, on each device for its clients."""
    if task.division is None:
        return rounds(task, runs, hypers, state, *numbers)
    return _device_program(program, task, runs, hypers).rounds(rounds, state, *numbers)


@partial(jax.jit, static_argnames="program")
def start(task: Task, runs, hypers, *, program: Program):
    """Return the state before the first round, leaves [seed, point, ...], and its metrics, [seed, point], if
    `program.at_start`."""
    if task.division is None:
        state = _begun(program, task, runs, hypers)
    else:
        state = _device_program(program, task, runs, hypers).start()
    return state, evaluated(program, task, runs, hypers, state) if program.at_start else {}


@partial(jax.jit, static_argnames="program", inline=True)
def _one_round(task: Task, runs, hypers, state, t, *, program: Program):
    """Return the state after round number t of all seeds and points, and what is observed, [seed, point, ...].

    A round that `observation_shapes` has traced is not traced again when the program is compiled. `inline` puts its
    operations into the program around it, as without `jax.jit`.
    """

    def round_of_run(run, hyper, state):
        key, task_of_run, algorithm = program.of_run(task, run, hyper)
        with diagnose.calling(f"`round` of {program.name}", task_of_run):
            out = algorithm.round(key, state)
        after, info = diagnose.checked_round(state, out, program.name)
        return after, program.observe(task_of_run, algorithm, after, info)

    num_seeds, num_points = _sizes(runs, hypers)
    over_points = _over(round_of_run, (None, 0, OVER_POINTS), (OVER_POINTS, 0), num_points)
    over_seeds = _over(over_points, (0, None, State(0, 0)), (State(0, 0), 0), num_seeds)
    keys, data = (runs, None) if program.task_of is None else runs
    at_t = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, ROUNDS), t))(keys)
    return over_seeds(at_t if program.task_of is None else (at_t, data), hypers, state)


def measured(program: Program, task: Task, runs, hypers, state, observations):
    """Return the metrics, and the mean of the info of all rounds [round, seed, point], each [seed, point]."""
    means = jax.tree.map(lambda leaf: leaf.mean(0), observations)
    metrics = evaluated(program, task, runs, hypers, state)
    args = [*dict(program.static), *hypers]
    check_measured(program.name, task.name, metrics=metrics, info=means, args=args)
    return metrics | means


@partial(jax.jit, static_argnames=("program", "stride"), donate_argnames=("state", "observations"))
def advance(
    task: Task,
    runs,
    hypers,
    state,
    first_round,
    observations=None,
    begin=0,
    end=0,
    *,
    program: Program,
    stride: int = 0,
):
    """Do some of the rounds between two measurements; what is measured is NaN until all are done.

    Args:
        task, runs, hypers, state: of all seeds and points.
        first_round: number of the first one of all rounds.
        observations: what was observed in the rounds so far, leaves [round, seed, point, ...].
        begin, end: the rounds to do, from 0 to `program.num_rounds`; multiples of `stride`.
        program: what runs.
        stride: rounds that the device does without asking whether there are more; 0: all, whatever `begin` and `end`.

    Returns:
        The state, what was observed, and what is measured.
    """

    def all_rounds(task, runs, hypers, state, first_round):
        one_round = partial(_one_round, task, runs, hypers, program=program)
        return jax.lax.scan(one_round, state, first_round + jnp.arange(program.num_rounds))

    def rounds(task, runs, hypers, state, observations, first_round, begin, end):
        one_round = partial(_one_round, task, runs, hypers, program=program)

        def some_rounds(place, carry):
            state, observations = carry
            offset = place * stride
            if stride == 1:
                state, new = one_round(state, first_round + offset)
                new = jax.tree.map(lambda leaf: leaf[None], new)
            else:
                state, new = jax.lax.scan(one_round, state, first_round + offset + jnp.arange(stride))
            insert = partial(jax.lax.dynamic_update_slice_in_dim, start_index=offset, axis=0)
            return state, jax.tree.map(insert, observations, new)

        return jax.lax.fori_loop(begin // stride, end // stride, some_rounds, (state, observations))

    def measurement():
        return (program.measure or measured)(program, task, runs, hypers, state, observations)

    if stride in (0, program.num_rounds):
        state, observations = _trained(program, all_rounds, task, runs, hypers, state, first_round)
        return state, observations, measurement()
    state, observations = _trained(program, rounds, task, runs, hypers, state, observations, first_round, begin, end)
    shapes = jax.eval_shape(measurement)

    def unfinished():
        return jax.tree.map(lambda shape: jnp.full(shape.shape, jnp.nan).astype(shape.dtype), shapes)

    return state, observations, jax.lax.cond(end == program.num_rounds, measurement, unfinished)


def observation_shapes(program: Program, task: Task, runs, hypers, state) -> Any:
    """Return the shapes of what is observed in all rounds, which `advance` fills, [round, seed, point, ...]."""

    def one_round(task, runs, hypers, state, t):
        return _trained(program, partial(_one_round, program=program), task, runs, hypers, state, t)[1]

    of_round = jax.eval_shape(one_round, task, runs, hypers, state, jax.ShapeDtypeStruct((), jnp.int32))
    observations = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((program.num_rounds, *leaf.shape), leaf.dtype), of_round
    )
    return devices.shapes_on_all(observations, task)


def stride_of(num_rounds: int) -> int:
    """Return the number of rounds that are never divided: 1 on a CPU, elsewhere the largest divisor of all rounds that
    is at most STRIDE."""
    most = by_platform(1, STRIDE)
    return max(size for size in range(1, min(num_rounds, most) + 1) if num_rounds % size == 0)


def nothing(*_: Any) -> dict:
    """Observe nothing, or measure nothing."""
    return {}


class Step:
    """The compiled rounds between two evaluations: (task, runs, hypers, state, first_round) -> (state, measured).

    It learns from every call how many rounds take about CALL_S seconds, and divides the rounds accordingly.

    Args:
        compiled: `advance`.
        num_rounds: rounds between two evaluations.
        stride: rounds that are never divided.
        observations: shapes of what is observed in all rounds; empty where the rounds are never divided.
    """

    def __init__(self, compiled: Callable, num_rounds: int, stride: int, observations: Any):
        self.compiled, self.num_rounds, self.stride, self.observations = compiled, num_rounds, stride, observations
        self.last = 0  # rounds of the last call
        self.round_s = 0.0  # seconds of a round, measured by the last call without an evaluation

    def no_observations(self) -> Any:
        """Return arrays of zeros for what is observed in all rounds."""
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype, device=leaf.sharding), self.observations)

    def __call__(
        self,
        task: Task,
        runs,
        hypers,
        state,
        first_round,
        on_call: Callable[[int, Any, Any], object] | None = None,
        begun: tuple[int, Any] | None = None,
    ):
        """Do all rounds, and return the state and what is measured.

        Args:
            task, runs, hypers, state, first_round: as for `advance`.
            on_call: called after each call but the last, with how many rounds are done, the state and what was observed
                so far. The next call takes both.
            begun: how many of the rounds led to this state, and what was observed; None where the state is that before
                the first round.
        """
        begin, observations = begun or (0, self.no_observations())
        measurement = {}
        while begin < self.num_rounds:
            end, began = self._end(begin), time.monotonic()
            numbers = np.int32(begin), np.int32(end)
            state, observations, measurement = self.compiled(
                task, runs, hypers, state, first_round, observations, *numbers
            )
            if end < self.num_rounds:
                jax.block_until_ready(measurement)
                self.round_s = (time.monotonic() - began) / (end - begin)
                if on_call:
                    on_call(end, state, observations)
            self.last, begin = end - begin, end
        return state, measurement

    def _end(self, begin: int) -> int:
        """Return the round at which the next call ends: after one stride at first, then after about CALL_S seconds."""
        size = self.stride
        if self.last:
            target = min(int(CALL_S / self.round_s), GROWTH * self.last) if self.round_s else self.last
            size = max(self.stride, target // self.stride * self.stride)
        return min(begin + size, self.num_rounds)


class FittedChunk(NamedTuple):
    """The number of points in a call, the bytes of memory that it needs by the compiler, and the step that calls it."""

    chunk: int
    peak_bytes: int
    step: Step


def _pad(hypers: Mapping[str, np.ndarray], length: int) -> dict:
    """Return the columns as float32 arrays of the given length; the last point is repeated."""
    return {
        name: jnp.asarray(np.pad(np.asarray(column, np.float32), (0, length - len(column)), mode="edge"))
        for name, column in hypers.items()
    }


def shapes_of(program: Program, task: Task, num_seeds: int, names, num_points: int):
    """Return the shapes of keys, points and state."""
    seeds = jax.ShapeDtypeStruct((num_seeds,), jnp.int32)
    keys = jax.eval_shape(run_keys, seeds, seeds)
    hypers = {name: jax.ShapeDtypeStruct((num_points,), jnp.float32) for name in names}
    keys, hypers = devices.shapes_on_all((keys, hypers), task)
    state = jax.eval_shape(partial(start, program=program), task, keys, hypers)[0]
    if task.division is not None:
        state = _device_program(program, task, keys, hypers).placed(state)
    return keys, hypers, state


def _step(program: Program, task: Task, runs, hypers, state) -> Step:
    """Return the step of the program, compiled for these shapes."""
    number, stride = jax.ShapeDtypeStruct((), jnp.int32), stride_of(program.num_rounds)
    observations = {} if stride == program.num_rounds else observation_shapes(program, task, runs, hypers, state)
    options = {"program": program, "stride": stride}
    compiled = advance.lower(task, runs, hypers, state, number, observations, number, number, **options).compile()
    return Step(compiled, program.num_rounds, stride, observations)


def _peak_bytes(step: Step) -> int:
    """Return the memory that a step needs at most by the compiler; 0 where the backend does not say."""
    memory = step.compiled.memory_analysis()
    if memory is None:
        return 0
    peak = memory.argument_size_in_bytes + memory.temp_size_in_bytes + memory.output_size_in_bytes
    return peak - memory.alias_size_in_bytes


def fitted_chunk(program: Program, task: Task, num_seeds: int, names, num_points: int, *, budget: float) -> FittedChunk:
    """Return the largest chunk, at most `num_points` points, whose compiled program fits into `budget` bytes.

    The compiler's own figure decides; where it is too large the chunk is halved and compiled again.

    Args:
        program, task: what runs.
        num_seeds: runs that go together.
        names: of the traced arguments.
        num_points: the largest number of points in a chunk.
        budget: bytes.

    Raises:
        InputError: where a function of the method fails or returns something wrong; naming it.
    """
    try:
        return fitted(program, task, partial(shapes_of, program, task, num_seeds, names), num_points, budget)
    except ValueError as error:
        if isinstance(error, InputError) or "out_axes" not in str(error):
            raise
        raise InputError(
            f"the schedule of {program.name} depends on a hyper-parameter: keep that part in State.variables"
        ) from error


def fitted(program: Program, task: Task, shapes: Callable[[int], tuple], most: int, budget: float) -> FittedChunk:
    """Return the largest chunk, at most `most`, whose compiled program fits into `budget` bytes.

    Args:
        program, task: what runs.
        shapes: of a chunk of a size: those of runs, hyperparameters and state.
        most: size of the largest chunk.
        budget: bytes.
    """
    chunk = most
    while True:
        runs, hypers, state = shapes(chunk)
        state_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state.variables))
        if state_bytes > budget and chunk > 1:  # too large for certain: not worth compiling
            peak = state_bytes
        else:
            step = _step(program, task, runs, hypers, state)
            peak = _peak_bytes(step)
            if peak <= budget or chunk == 1:
                return FittedChunk(chunk, peak, step)
        chunk = max(1, min(chunk // 2, int(chunk * budget / peak)))


class Begun(NamedTuple):
    """Runs of which some rounds are done.

    rounds: the number of rounds that are done.
    kept: the state after them, and the info of the rounds since the last evaluation, empty where there are none.
    metrics: of each evaluation so far, that at round 0 included: name -> [seed, point].
    """

    rounds: int
    kept: tuple[Any, Mapping[str, jax.Array]]
    metrics: Sequence[Mapping[str, np.ndarray]]


def run_chunk(
    program: Program,
    step,
    task: Task,
    keys,
    hypers,
    *,
    num_evals: int,
    chunk: int,
    on_block: Callable[[int, Any, Sequence[Mapping[str, np.ndarray]]], object] = nothing,
    begun: Callable[[Callable[[int], Any]], Begun | None] = lambda like: None,
):
    """Train all the given points with all the given keys.

    Args:
        program: with `num_rounds` = rounds between evaluations.
        step: of the chunk that fits.
        task: the data.
        keys: of the runs, [seed].
        hypers: traced arguments, each [point]; padded to `chunk` here.
        num_evals: evaluations after the one at round 0.
        chunk: points that the compiled program has room for.
        on_block: called with the number of rounds done: 0 before the first round, when the start is compiled and
            evaluated, and then after each evaluation, and between evaluations where they are seconds apart; with the
            state and the info since the last evaluation, which the next round takes, None before the first round and
            after the last; and with the metrics so far.
        begun: returns what of the runs was done before; None where nothing was. Its argument is a function of a number
            of rounds that returns what is kept after them, with other numbers.

    Returns:
        name -> [seed, point, 1 + num_evals] float32. At round 0, info that exists only between evaluations is NaN, and
        where models are not evaluated there, all is. A point that diverges is NaN or inf in its own place alone.
    """
    num_points = len(next(iter(hypers.values())))
    keys, padded = devices.on_all((keys, _pad(hypers, chunk)), task)
    state, start_metrics = start(task, keys, padded, program=program)
    blocks = [jax.device_get(start_metrics)]
    on_block(0, None, blocks)
    index, resume_from = 0, None
    if done_before := begun(lambda rounds: (state, step.no_observations() if rounds % program.num_rounds else {})):
        index, past = divmod(done_before.rounds, program.num_rounds)
        (state, info), blocks = done_before.kept, list(done_before.metrics)
        resume_from = (past, info) if past else None

    def on_call(before: int, done: int, state, info) -> None:
        on_block(before + done, (state, info), blocks)

    for number in range(index, num_evals):
        before = number * program.num_rounds
        state, metrics = step(task, keys, padded, state, np.int32(before), partial(on_call, before), resume_from)
        blocks.append(jax.device_get(metrics))
        resume_from = None
        on_block(before + program.num_rounds, (state, {}) if number + 1 < num_evals else None, blocks)
    empty = np.full((len(keys), chunk), np.nan, np.float32)
    names = blocks[-1]
    return {
        name: np.stack([np.asarray(block.get(name, empty)) for block in blocks], axis=-1)[:, :num_points]
        for name in names
    }
