"""The parts shared by first-order methods on silos: a solver of one regularised problem, and a run through its phases.

Phase i minimises, over its own records, the mean loss of the silos plus lambda_i / 2 |w - w_{i-1}|^2, on the ball
|w - w_{i-1}| <= D_i. Here w_{i-1} is the answer of the phase before, from which phase i starts. A solver may divide a
phase into stages, each of which restarts from the answer of the stage before. All of this is arithmetic on the number
of the round, inside one scan.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Algorithm, Scalar, State
from bench.algorithms.parts import silos
from bench.algorithms.parts.phases import num_records, plan_phases
from bench.algorithms.parts.silo_arguments import SiloArguments
from bench.data.task import Task

Iterate = dict[str, Array]  # the state that a solver carries from round to round


class Subproblem(NamedTuple):
    """The terms that a phase adds to the silos' losses: a regulariser and a ball, both around w_{i-1}.

    center: w_{i-1}, [feature].
    strength: lambda_i, of the regulariser; 0 for none.
    radius: D_i; inf for the whole space.
    """

    center: Array
    strength: Scalar
    radius: Scalar


class Place(NamedTuple):
    """The position of a round in its stage: its number r = 1, 2, ..., the rounds R of the stage, and its number k."""

    round: Array
    rounds: Array
    stage: Array


class Solver(NamedTuple):
    """One stage of a method.

    start: w -> iterate.
    query: (iterate, place, subproblem) -> the model at which the silos take gradients.
    step: (iterate, gradient, place, subproblem) -> iterate; gradient is of the whole regularised objective.
    answer: (iterate, place) -> the model after the round at `place` (round 0: before the first).
    stages: rounds of a phase -> rounds of its stages.
    """

    start: Callable[[Array], Iterate]
    query: Callable[[Iterate, Place, Subproblem], Array]
    step: Callable[[Iterate, Array, Place, Subproblem], Iterate]
    answer: Callable[[Iterate, Place], Array]
    stages: Callable[[int], list[int]] = lambda rounds: [rounds]


def run_phases(
    task: Task, shared: SiloArguments, solver: Solver, subproblem_of: Callable[[Array, Array], Subproblem]
) -> Algorithm:
    """Run the phases one after the other from the task's w_0; after the last round no silo answers and nothing changes.

    Args:
        task: stored records, equally many in every silo.
        shared: the arguments of the silos' messages; see SiloArguments.
        solver: the solver of a phase.
        subproblem_of: (phase i = 0, 1, ..., center) -> the terms that the phase adds to the silos' losses.
    """
    phases = plan_phases(num_records(task), shared)
    oracle = silos.silos(task, phases, shared)
    stages = [
        (phase, k + 1, R) for phase, rounds in enumerate(phases.rounds) for k, R in enumerate(solver.stages(rounds))
    ]
    by_round = np.array([(phase, r + 1, R, k) for phase, k, R in stages for r in range(R)])
    ends_phase = np.append(np.diff(by_round[:, 0]) > 0, True)

    def position(t):
        phase, round, rounds, stage = jnp.asarray(by_round, jnp.int32)[t]
        return phase, Place(round.astype(jnp.float32), rounds.astype(jnp.float32), stage.astype(jnp.float32))

    def init(key):
        schedule = {"t": jnp.int32(0), "records": oracle.shuffle(key)}
        return State(schedule, (task.init_params, solver.start(task.init_params)))

    def one_round(key, state):
        t, (center, iterate) = state.schedule["t"], state.variables
        phase, place = position(t)
        subproblem = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), subproblem_of(phase, center))
        query = solver.query(iterate, place, subproblem)
        gradient = oracle.mean(key, state.schedule["records"], t, query) + subproblem.strength * (query - center)
        new_iterate = solver.step(iterate, gradient, place, subproblem)
        w = solver.answer(new_iterate, place)
        restarts = place.round == place.rounds
        new_iterate = jax.tree.map(lambda new, old: jnp.where(restarts, new, old), solver.start(w), new_iterate)
        variables = (jnp.where(jnp.asarray(ends_phase)[t], w, center), new_iterate)
        is_running = t < phases.total
        variables = jax.tree.map(lambda new, old: jnp.where(is_running, new, old), variables, state.variables)
        return State(state.schedule | {"t": t + 1}, variables), {"released": is_running.astype(jnp.float32)}

    def params(state):
        _, place = position(jnp.minimum(state.schedule["t"], phases.total - 1))
        num_before = jnp.where(state.schedule["t"] < phases.total, place.round - 1, 0.0)
        return solver.answer(state.variables[1], place._replace(round=num_before))

    def public(state):
        return state.variables  # everybody sees the messages, and can compute the state from them

    return Algorithm(init, one_round, params, public)


def same_subproblem(strength: Scalar, radius: Scalar) -> Callable[[Array, Array], Subproblem]:
    """Return a `subproblem_of` with this regulariser and radius in every phase, both around the phase's start."""
    return lambda _, center: Subproblem(center, strength, radius)
