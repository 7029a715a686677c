"""Many independent runs of one method, each with its own members, in the loop of `bench.sweeps.engine`."""

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
    """

    method: Method
    args: Mapping[str, Any]
    rounds: int
    task: Task
    trial: int = 0


@cache
def _budget() -> float:
    return min(memory.budget() / 2, MOST_BYTES)


@cache  # one function for each, by which a compiled program is known
def _with(field: str) -> Callable[[Task, Any], Task]:
    """Return (task, value) -> the task with another value of the field."""
    return lambda task, value: replace(task, **{field: value})


@partial(jax.jit, static_argnames=("program", "score"))
def _scored(task: Task, runs, hypers, state, candidates, *, program: engine.Program, score: Callable):
    """Return what `score` returns of each run, one after the other, [run, unit]."""

    def one(run):
        given, state = run
        model = engine.scored(program, task, given, hypers, state, _released)
        return score(task, candidates, jax.tree.map(lambda leaf: leaf[0], model))

    each = jax.tree.map(lambda leaf: leaf[:, None], (runs, state))
    return jax.lax.map(one, each)


def _released(task: Task, algorithm: Algorithm, state: State) -> Any:
    return released(task, (algorithm.public or algorithm.params)(state))


def scores(
    attacked: Attacked,
    units: Units,
    *,
    seeds: np.ndarray,
    on_block: Callable[[int], None] = lambda done: None,
    most_bytes: float | None = None,
) -> np.ndarray:
    """Return the scores of all units in all runs, [run, unit].

    Args:
        attacked: the method.
        units: the units, and their membership in every run.
        seeds: of the runs, [run].
        on_block: called with the number of run-rounds done since its last call; with 0 when the first can begin.
        most_bytes: that the compiled program may need; default half of what this machine has available, at most 2 GiB.
    """
    task, given, (static, hypers) = attacked.task, units.given, compiled_arguments(attacked.method, attacked.args)
    fixed = attacked.method.make, static, attacked.rounds
    program = engine.Program(*fixed, False, _with(units.field), engine.nothing, engine.nothing)
    keys = engine.run_keys(jnp.full(len(seeds), attacked.trial, jnp.int32), jnp.asarray(seeds, jnp.int32))
    chunk, _, step = _fitted(program, task, hypers, keys, given, float(most_bytes or _budget()))
    found = []
    for first in range(0, len(given), chunk):
        rows = np.minimum(np.arange(first, first + chunk), len(given) - 1)  # the last chunk is filled up
        runs, number = (keys[rows], jnp.asarray(given[rows])), min(chunk, len(given) - first)
        state, _ = jax.block_until_ready(engine.start(task, runs, hypers, program=program))
        if first == 0:
            on_block(0)
        done = [0]

        def on_part(rounds: int, *_: Any, done: list[int] = done, number: int = number) -> None:
            on_block((rounds - done[-1]) * number)
            done.append(rounds)

        state, _ = step(task, runs, hypers, state, np.int32(0), on_part)
        part = _scored(task, runs, hypers, state, units.candidates, program=program, score=units.score)
        found.append(np.asarray(jax.device_get(part)))
        on_part(attacked.rounds)
    return np.concatenate(found)[: len(given)]


_compiled: dict[tuple, engine.FittedChunk] = {}  # by shapes: all epsilons of a method share a program


def _fitted(program: engine.Program, task: Task, hypers, keys, given, budget: float) -> engine.FittedChunk:
    """Return how many runs go together, and the compiled rounds."""

    def shapes(chunk: int):
        runs = keys[:chunk], jax.ShapeDtypeStruct((chunk, *given.shape[1:]), given.dtype)
        return runs, hypers, jax.eval_shape(partial(engine.start, program=program), task, runs, hypers)[0]

    leaves, structure = jax.tree.flatten(task)
    key = program, structure, tuple((leaf.shape, leaf.dtype) for leaf in (*leaves, given)), budget
    if key not in _compiled:
        _compiled.clear()  # one program at a time is in use, and they are large
        _compiled[key] = engine.fitted(program, task, shapes, len(given), budget)
    return _compiled[key]
