"""Local models: every agent minimises its own objective alone. Nothing is sent, so nothing is released."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, Cost, Method, Scalar, State
from bench.algorithms.parts import peers
from bench.algorithms.parts.peers import check_choice, check_peers
from bench.algorithms.ranges import Positive
from bench.data.task import Linear, Peers, Task
from bench.kernels.newton import newton_step
from bench.models.linear import Personal
from bench.privacy.events import nothing_released

SOLVERS = ("newton", "descent")


def local_models(
    task: Task,
    *,
    mu: Positive,
    step_size: Positive = 1.0,
    solver: str = "newton",
    regularization_scale: Scalar = 1.0,
) -> Algorithm:
    """Local learning from 0; a round is one step of every agent.

    Args:
        task: as for coordinate_descent.
        mu: weight in the reported objective; it changes no model.
        step_size: the step size of "descent".
        solver: "newton" goes to the minimiser; "descent" takes gradient steps of a fixed length, whose models far from
            convergence resemble the published numbers.
        regularization_scale: factor of the task's lambda_i; 1 is the published definition.
    """
    task = peers.regularized(task, regularization_scale)
    agents, step = peers.agents(task), own_step(task, solver, step_size)

    def init(key):
        return State((), peers.zeros(task))

    def one_round(key, state):
        return State((), jax.vmap(step)(agents, state.variables)), {"released": jnp.float32(0.0)}

    return Algorithm(init, one_round, lambda state: Personal(state.variables, mu), public=lambda state: ())


def own_step(task: Task, solver: str, step_size: Scalar) -> Callable:
    """Return one step on an agent's own objective, (agent, model [feature]) -> model; see `local_models`."""

    def step(agent: peers.Agent, model: jax.Array) -> jax.Array:
        if solver == "newton":
            return newton_step(task.need(Linear).link, model, *agent)
        return model - step_size * peers.own_gradient(task, agent, model, jnp.inf, 2)

    return step


def releases(task: Task, *, delta: float, **_) -> dict:
    """Return empty releases, since nothing is sent."""
    silent = nothing_released(delta=delta, privacy_unit="point", protects_against="all other agents together")
    return dict.fromkeys(("paper", "tight", "true"), silent)


def cost(task: Task, **_) -> Cost:
    """Return the cost of one step of every agent, also a Newton step, as one gradient of every example."""
    num_examples = float(np.sum(np.asarray(task.num_examples)))
    return Cost(0.0, num_examples, num_examples)


def check(task: Task, *, solver: str, regularization_scale: float = 1.0, **_) -> None:
    """Refuse a task without agents' own objectives, and unknown solvers."""
    check_peers(task, regularization_scale)
    check_choice("solver", solver, SOLVERS)


METHOD = Method(
    local_models,
    releases,
    version=1,
    check=check,
    needs=(Peers, Linear),
    cost=cost,
)
