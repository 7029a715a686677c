"""Many independent runs of one method, each with its own members, as one compiled program.

The runs are vmapped inside, and the rounds scanned around them, as in `bench.sweeps.engine`, whose keys they have.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Method
from bench.attacks.released import released
from bench.data.task import Task
from bench.execution import memory
from bench.sweeps.engine import ROUNDS, START, Program, run_keys
from bench.sweeps.spec import parameters

MOST_BYTES = 2**31  # of a compiled program
BLOCKS = 10  # calls for the rounds of a run, after each of which progress is reported


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

    def program(self, num_rounds: int) -> tuple[Program, dict]:
        """Return what is fixed when compiling, and the traced arguments."""
        traced = parameters(self.method)[1]
        static = tuple((name, value) for name, value in self.args.items() if name not in traced)
        hypers = {name: jnp.float32(self.args[name]) for name in sorted(traced)}
        return Program(self.method.make, static, num_rounds), hypers


@cache
def _budget() -> float:
    return min(memory.budget() / 2, MOST_BYTES)


def block_of(rounds: int) -> int:
    """Return the number of rounds in a call: the largest divisor of all rounds that gives at least BLOCKS calls."""
    return max(size for size in range(1, max(rounds // BLOCKS, 1) + 1) if rounds % size == 0)


def _with(task: Task, field: str, value) -> Task:
    return replace(task, **{field: value})


@partial(jax.jit, static_argnames=("program", "field"))
def _start(task: Task, hypers, given, keys, *, program: Program, field: str):
    def one(value, key):
        return program.algorithm(_with(task, field, value), hypers).init(jax.random.fold_in(key, START))

    return jax.vmap(one)(given, keys)


@partial(jax.jit, static_argnames=("program", "field"), donate_argnames="state")
def _advance(task: Task, hypers, given, keys, state, first_round, *, program: Program, field: str):
    def one(value, key, state):
        return program.algorithm(_with(task, field, value), hypers).round(key, state)[0]

    def step(state, t):
        at_t = jax.vmap(lambda key: jax.random.fold_in(jax.random.fold_in(key, ROUNDS), t))(keys)
        return jax.vmap(one)(given, at_t, state), None

    return jax.lax.scan(step, state, first_round + jnp.arange(program.num_rounds))[0]


@partial(jax.jit, static_argnames=("program", "field", "score"))
def _scored(task: Task, hypers, given, state, candidates, *, program: Program, field: str, score: Callable):
    def one(run):
        value, state = run
        algorithm = program.algorithm(_with(task, field, value), hypers)
        return score(task, candidates, released(task, (algorithm.public or algorithm.params)(state)))

    return jax.lax.map(one, (given, state))


def scores(
    one: Attacked,
    *,
    field: str,
    given: np.ndarray,
    candidates,
    score: Callable,
    seeds: np.ndarray,
    on_block: Callable[[int], None] = lambda done: None,
    most_bytes: float | None = None,
) -> np.ndarray:
    """Return the scores of all units in all runs, [run, unit].

    Args:
        one: what is attacked.
        field: of the task, which differs between runs.
        given: its value in every run, [run, ...].
        candidates: the units, as `score` takes them.
        score: (task, candidates, released model) -> [unit].
        seeds: of the runs, [run].
        on_block: called with the number of run-rounds done since its last call; with 0 when the first can begin.
        most_bytes: that the compiled program may need; default half of what this machine has available, at most 2 GiB.
    """
    size = block_of(one.rounds)
    program, hypers = one.program(size)
    keys = run_keys(jnp.full(len(seeds), one.trial, jnp.int32), jnp.asarray(seeds, jnp.int32))
    task, how = one.task, {"program": program, "field": field}
    budget = float(most_bytes or _budget())
    chunk, advance = _chunk(task, hypers, given, keys, how, budget)
    found = []
    for first in range(0, len(given), chunk):
        rows = np.minimum(np.arange(first, first + chunk), len(given) - 1)  # the last chunk is filled up
        values, chosen = jnp.asarray(given[rows]), keys[rows]
        state = jax.block_until_ready(_start(task, hypers, values, chosen, **how))
        if first == 0:
            on_block(0)
        for begin in range(0, one.rounds, size):
            state = jax.block_until_ready(advance(task, hypers, values, chosen, state, jnp.int32(begin)))
            on_block(size * min(chunk, len(given) - first))
        part = _scored(task, hypers, values, state, candidates, score=score, **how)
        found.append(np.asarray(jax.device_get(part)))
    return np.concatenate(found)[: len(given)]


_compiled: dict[tuple, tuple] = {}  # by shapes: all epsilons of a method share a program


def _chunk(task: Task, hypers, given, keys, how, budget: float):
    """Return how many runs go together, and the compiled rounds; runs are halved until the program fits."""
    leaves, structure = jax.tree.flatten((task, hypers))
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in (*leaves, given))
    key = (structure, shapes, tuple(how.items()), budget)
    if key not in _compiled:
        _compiled.clear()  # one program at a time is in use, and they are large
        _compiled[key] = _fitting(task, hypers, given, keys, how, budget)
    return _compiled[key]


def _fitting(task: Task, hypers, given, keys, how, budget: float):
    chunk = len(given)
    while True:
        values = jax.ShapeDtypeStruct((chunk, *given.shape[1:]), given.dtype)
        some = keys[:chunk]
        state = jax.eval_shape(partial(_start, **how), task, hypers, values, some)
        held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
        if held * 2 <= budget or chunk == 1:
            lowered = _advance.lower(task, hypers, values, some, state, jax.ShapeDtypeStruct((), jnp.int32), **how)
            step = lowered.compile()
            needed = step.memory_analysis()
            peak = 0 if needed is None else needed.temp_size_in_bytes + needed.output_size_in_bytes
            if peak <= budget or chunk == 1:
                return chunk, step
        chunk = max(1, -(-chunk // 2))


@partial(jax.jit, static_argnames="program")
def _trajectory(task: Task, hypers, key, outputs, inputs, *, program: Program):
    algorithm = program.algorithm(task, hypers)
    public = algorithm.public or algorithm.params

    def cosines(change):
        """Return the cosine of a change of w [output, feature] with every direction."""
        length = jnp.maximum(jnp.linalg.norm(change), jnp.finfo(jnp.float32).tiny)
        return jnp.einsum("ck,kd,cd->c", outputs, change / length, inputs, precision="highest")

    def step(state, t):
        before = released(task, public(state))
        at_t = jax.random.fold_in(jax.random.fold_in(key, ROUNDS), t)
        state = algorithm.round(at_t, state)[0]
        return state, cosines(released(task, public(state)) - before)

    state = algorithm.init(jax.random.fold_in(key, START))
    start = released(task, public(state))
    state, by_round = jax.lax.scan(step, state, jnp.arange(program.num_rounds))
    return cosines(released(task, public(state)) - start), jnp.max(by_round, axis=0)


def trajectory(one: Attacked, outputs: np.ndarray, inputs: np.ndarray, *, seed: int):
    """Return the cosines of directions with the change of the released model in one run: over all rounds, and the
    largest over single rounds, each [direction].

    Args:
        one: on a task with a shared model [output, feature].
        outputs, inputs: the two factors of each direction, of length 1, [direction, output] and [direction, feature].
        seed: of the run.
    """
    program, hypers = one.program(one.rounds)
    key = run_keys(jnp.full(1, one.trial, jnp.int32), jnp.full(1, seed, jnp.int32))[0]
    found = _trajectory(one.task, hypers, key, jnp.asarray(outputs), jnp.asarray(inputs), program=program)
    return tuple(np.asarray(leaf) for leaf in jax.device_get(found))
