"""Many independent runs of one method, each with its own members, in the loop of `bench.sweeps.engine`."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, Method, State
from bench.attacks.released import released
from bench.attacks.units import Units
from bench.data.task import Task
from bench.execution import memory
from bench.execution.progress import Increment, Report
from bench.sweeps import engine
from bench.sweeps.spec import compiled_arguments

MOST_BYTES = 2**31  # of a compiled program


class Attacked(NamedTuple):
    """A method on a task, with all its arguments, and the number of its rounds.

    method: the Method.
    args: all its arguments.
    rounds: of a run.
    task: with the data of all units.
    trial: the data split, for the keys of runs.
    declared: the columns of its row that say what is attacked: task, method, the epsilon that its noise was calibrated
        for (inf without noise), and the privacy that is declared.
    point: the board's id of these settings.
    """

    method: Method
    args: Mapping[str, Any]
    rounds: int
    task: Task
    trial: int = 0
    declared: Mapping[str, Any] = {}
    point: str = ""


@cache  # one function for each, by which a compiled program is known
def _task_with(field: str) -> Callable[[Task, Any], Task]:
    """Return (task, value) -> the task with another value of the field."""
    return lambda task, value: replace(task, **{field: value})


@partial(jax.jit, static_argnames=("program", "score"))
def _scores_of_chunk(task: Task, runs, hypers, state, candidates, *, program: engine.Program, score: Callable):
    """Return what `score` returns of each run, one after the other, [run, unit]."""

    def score_of_run(run):
        value, state = run
        model = engine.scored(program, task, value, hypers, state, _released_model)
        return score(task, candidates, jax.tree.map(lambda leaf: leaf[0], model))

    pairs = jax.tree.map(lambda leaf: leaf[:, None], (runs, state))
    return jax.lax.map(score_of_run, pairs)


def _released_model(task: Task, algorithm: Algorithm, state: State) -> Any:
    return released(task, (algorithm.public or algorithm.params)(state))


def scores(
    attacked: Attacked,
    units: Units,
    *,
    seeds: np.ndarray,
    report: Report = lambda step: None,
    most_bytes: float | None = None,
) -> np.ndarray:
    """Return the scores of all units in all runs, [run, unit].

    Args:
        attacked: the method.
        units: the units, and their membership in every run.
        seeds: of the runs, [run].
        report: receives the run-rounds that are done, and their time.
        most_bytes: that the compiled program may need; default half of what this machine has available, at most 2 GiB.
    """
    task, values, (static, hypers) = attacked.task, units.values, compiled_arguments(attacked.method, attacked.args)
    fixed = attacked.method.make, static, attacked.rounds
    program = engine.Program(*fixed, False, _task_with(units.field), engine.nothing, engine.nothing)
    keys = engine.run_keys(jnp.full(len(seeds), attacked.trial, jnp.int32), jnp.asarray(seeds, jnp.int32))
    chunk, _, step = _fitted_chunk(program, task, hypers, keys, values, most_bytes)
    chunks = []
    for first in range(0, len(values), chunk):
        rows = np.minimum(np.arange(first, first + chunk), len(values) - 1)  # the last chunk is filled up
        runs, num_runs = (keys[rows], jnp.asarray(values[rows])), min(chunk, len(values) - first)
        state, _ = jax.block_until_ready(engine.start(task, runs, hypers, program=program))
        done = [(0, time.monotonic())]  # rounds, and when

        def on_part(rounds: int, *_: Any, done: list = done, num_runs: int = num_runs) -> None:
            (last_rounds, last_time), now = done[-1], time.monotonic()
            report(Increment((rounds - last_rounds) * num_runs, now - last_time))
            done.append((rounds, now))

        state, _ = step(task, runs, hypers, state, np.int32(0), on_part)
        chunk_scores = _scores_of_chunk(task, runs, hypers, state, units.candidates, program=program, score=units.score)
        chunks.append(np.asarray(jax.device_get(chunk_scores)))
        on_part(attacked.rounds)
    return np.concatenate(chunks)[: len(values)]


_compiled: dict[tuple, engine.FittedChunk] = {}  # by shapes: all epsilons of a method share a program


def _fitted_chunk(program: engine.Program, task: Task, hypers, keys, values, most_bytes: float | None):
    """Return how many runs go together, and the compiled rounds."""

    def shapes(chunk: int):
        runs = keys[:chunk], jax.ShapeDtypeStruct((chunk, *values.shape[1:]), values.dtype)
        return runs, hypers, jax.eval_shape(partial(engine.start, program=program), task, runs, hypers)[0]

    leaves, structure = jax.tree.flatten(task)
    key = program, structure, tuple((leaf.shape, leaf.dtype) for leaf in (*leaves, values)), most_bytes
    if key not in _compiled:
        _compiled.clear()  # one program at a time is in use, and they are large
        budget = most_bytes or min(memory.budget() / 2, MOST_BYTES)
        _compiled[key] = engine.fitted(program, task, shapes, len(values), budget)
    return _compiled[key]
