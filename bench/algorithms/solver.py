"""What first-order methods on silos share: a solver of one regularised problem, and a run through phases of them.

Phase i minimises, over its own records, the mean loss of the silos plus lambda_i / 2 |w - w_{i-1}|^2, on the ball
|w - w_{i-1}| <= D_i around the answer of the phase before, from where it starts. A solver may cut a phase into
stages, each of which starts afresh from the answer of the stage before. All of this is arithmetic on the number of
the round, inside one scan.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms import silos as asking
from bench.algorithms.base import Algorithm, State
from bench.algorithms.silos import Phases, Silos
from bench.data.task import Task


class Problem(NamedTuple):
    """What a phase adds to the silos' losses.

    center: w_{i-1}.
    strength: lambda_i, of the regulariser; 0 for none.
    radius: D_i; inf for the whole space.
    """

    center: Array
    strength: Array
    radius: Array


class Place(NamedTuple):
    """Where in its stage a round is: its number r = 1, 2, ..., the stage's rounds R, and the stage k = 1, 2, ..."""

    round: Array
    rounds: Array
    stage: Array


class Solver(NamedTuple):
    """One stage of a method. `iterate` is whatever it carries from round to round.

    start: w -> iterate.
    query: (iterate, place, problem) -> the model that the silos are asked about.
    step: (iterate, gradient, place, problem) -> iterate; gradient is of the whole regularised objective.
    answer: (iterate, place) -> the model after the round at `place` (round 0: before the first).
    stages: rounds of a phase -> rounds of its stages.
    """

    start: Callable
    query: Callable
    step: Callable
    answer: Callable
    stages: Callable[[int], list[int]] = lambda rounds: [rounds]


def run_phases(
    init_params: Any, silos: Silos, cut: Phases, solver: Solver, problem_of: Callable[[Array, Array], Problem]
) -> Algorithm:
    """The phases one after the other; after the last round nothing is asked and nothing moves.

    Args:
        init_params: w_0 [feature].
        silos: whom to ask.
        cut: rounds of the phases.
        problem_of: (phase i = 0, 1, ..., center) -> its problem.
    """
    stages = [(phase, k + 1, R) for phase, rounds in enumerate(cut.rounds) for k, R in enumerate(solver.stages(rounds))]
    by_round = np.array([(phase, r + 1, R, k) for phase, k, R in stages for r in range(R)])
    ends_phase = np.append(np.diff(by_round[:, 0]) > 0, True)

    def at(t):
        phase, round, rounds, stage = jnp.asarray(by_round, jnp.int32)[t]
        return phase, Place(round.astype(jnp.float32), rounds.astype(jnp.float32), stage.astype(jnp.float32))

    def init(key):
        return State({"t": jnp.int32(0), "records": silos.deal(key)}, (init_params, solver.start(init_params)))

    def one_round(key, state):
        t, (center, iterate) = state.schedule["t"], state.variables
        phase, place = at(t)
        problem = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), problem_of(phase, center))
        query = solver.query(iterate, place, problem)
        messages = silos.messages(key, state.schedule["records"], t, query)
        gradient = jnp.mean(messages, axis=0) + problem.strength * (query - center)
        moved = solver.step(iterate, gradient, place, problem)
        w = solver.answer(moved, place)
        restarts = place.round == place.rounds
        moved = jax.tree.map(lambda new, old: jnp.where(restarts, new, old), solver.start(w), moved)
        variables = (jnp.where(jnp.asarray(ends_phase)[t], w, center), moved)
        goes_on = t < cut.total
        variables = jax.tree.map(lambda new, old: jnp.where(goes_on, new, old), variables, state.variables)
        return State(state.schedule | {"t": t + 1}, variables), {"released": goes_on.astype(jnp.float32)}

    def params(state):
        _, place = at(jnp.minimum(state.schedule["t"], cut.total - 1))
        before = jnp.where(state.schedule["t"] < cut.total, place.round - 1, 0.0)
        return solver.answer(state.variables[1], place._replace(round=before))

    def public(state):
        return state.variables  # everybody sees the messages, and what follows from them

    return Algorithm(init, one_round, params, public)


def on_silos(
    task: Task, solver: Solver, problem_of: Callable[[Array, Array], Problem], *, sampler: str, cut: dict, **asked
) -> Algorithm:
    """`run_phases` on a task's silos.

    Args:
        task, solver, problem_of: see `run_phases`.
        sampler: of `silos.phases` and of `silos.silos`.
        cut: the other arguments of `silos.phases`.
        asked: the other arguments of `silos.silos`.
    """
    phases = asking.phases(asking.num_records(task), sampler=sampler, **cut)
    silos = asking.silos(task, phases, sampler=sampler, **asked)
    return run_phases(task.init_params, silos, phases, solver, problem_of)


def one_ball(strength, radius) -> Callable[[Array, Array], Problem]:
    """Every phase has this regulariser and a ball of this radius, both around where it starts."""
    return lambda _, center: Problem(center, strength, radius)
