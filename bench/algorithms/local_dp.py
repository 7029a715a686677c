"""Local differential privacy: agents learn from inputs to which noise was added (Bellet et al., D.1).

    x~ = clip(x, -b, b) + Laplace(sigma b) in each coordinate, once; then steps on the agent's own objective on x~.

Every agent learns alone; or all of them learn together, by coordinate descent on the common objective
Q of the perturbed inputs. For the inputs this needs no further noise, but the models that agents send reveal labels. A
wake-up minimises Q exactly in the agent's own model, since perturbed inputs are so long that gradient steps would have
to be too short.

Each coordinate of the perturbed inputs is (2 / sigma)-DP by itself, because it moves by at most 2 b, so the inputs
could be published. A whole input has p coordinates and costs p times as much. Its label is left as it is, and is not
protected at all.
"""

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms import local_models
from bench.algorithms.base import Algorithm, Cost, Method, State
from bench.algorithms.local_models import own_step
from bench.algorithms.parts import peers
from bench.algorithms.parts.peers import check_choice, check_peers
from bench.algorithms.ranges import NonNegative, Positive, Ticks
from bench.data.task import Linear, Peers, Task
from bench.errors import InputError
from bench.kernels import draws
from bench.kernels.graph import confidence
from bench.kernels.newton import minimizer, pulled_minimizer
from bench.models.linear import Personal
from bench.privacy import events

LEARNING = ("alone", "together")


def local_dp(
    task: Task,
    *,
    mu: Positive,
    noise_multiplier: NonNegative,
    bound: Positive,
    step_size: Positive = 1.0,
    solver: str = "newton",
    learning: str = "alone",
    num_ticks: Ticks = 1,
) -> Algorithm:
    """Learning from perturbed inputs; a round is one step of every agent, or `num_ticks` ticks.

    Args:
        task: as for coordinate_descent.
        mu: weight of the agents' own objectives, > 0; it changes no model where agents learn alone.
        noise_multiplier: sigma >= 0; noise of scale sigma b on each coordinate.
        bound: b > 0, the bound to which the size of a coordinate is clipped.
        step_size, solver: as for local_models, where agents learn alone.
        learning: "alone", from 0; or "together", from the minimisers of the agents' own objectives.
        num_ticks: ticks of a round where agents learn together; in each of them one agent wakes up.
    """
    agents_given, graph, link = peers.agents(task), task.need(Peers).graph, task.need(Linear).link
    strength = mu * confidence(task.num_examples)

    def init(key):
        noise = draws.laplace(key, agents_given.inputs.shape)
        # Not those of `agents`: a coordinate that is not finite must leave the others of its input as they are.
        clipped = jnp.nan_to_num(jnp.clip(task.train[0], -bound, bound))
        inputs = clipped + noise_multiplier * bound * noise
        if learning == "alone":
            return State((), {"inputs": inputs, "theta": peers.zeros(task)})
        start = jax.vmap(lambda agent: minimizer(link, *agent))(agents_given._replace(inputs=inputs))
        return State((), {"inputs": inputs, "theta": start})

    step = own_step(task, solver, step_size)

    def together(key, state):
        agents = agents_given._replace(inputs=state.variables["inputs"])

        def update(i, models):
            agent = jax.tree.map(lambda leaf: peers.row(leaf, i), agents)
            return pulled_minimizer(link, peers.neighbor_mean(graph, models, i), peers.row(strength, i), *agent)

        models, info = peers.updated_in_turn(key, task, num_ticks, state.variables["theta"], update)
        return State((), {"inputs": agents.inputs, "theta": models}), info

    def alone(key, state):
        agents = agents_given._replace(inputs=state.variables["inputs"])
        models = jax.vmap(step)(agents, state.variables["theta"])
        return State((), {"inputs": agents.inputs, "theta": models}), {"released": jnp.float32(0.0)}

    def public(state):
        return state.variables["inputs"] if learning == "alone" else state.variables

    one_round = alone if learning == "alone" else together
    return Algorithm(init, one_round, lambda state: Personal(state.variables["theta"], mu), public)


def releases(task: Task, *, delta: float, noise_multiplier: float, **_) -> dict:
    """Return the release of the perturbed inputs, once, before the first round; `paper` protects one coordinate, `true`
    a whole point with its label.
    """
    statement: dict = {"delta": delta, "privacy_unit": "coordinate", "protects_against": "everybody"}
    coordinate = events.laplace(noise_multiplier, **statement)
    release_of_point = events.laplace(0.0, delta=delta, privacy_unit="point", protects_against="everybody")
    return {
        "paper": events.preceded_by(coordinate, coordinate),
        "true": events.preceded_by(release_of_point, release_of_point),
    }


def cost(task: Task, *, learning: str, num_ticks: int, **args) -> Cost:
    """Return the cost of a round. A step counts as one gradient of every example of the agent, and so does a wake-up,
    which takes several Newton steps. Perturbed inputs are not sent; the minimisers from which agents learn together are
    made once, and counted as those of the exact inputs.
    """
    if learning == "alone":
        return local_models.cost(task, **args)
    awake = np.full(task.num_clients, num_ticks / task.num_clients)
    touched = -np.expm1(num_ticks * np.log1p(-1 / task.num_clients))
    exchanged = peers.cost_of_exchange(task, awake, np.full(task.num_clients, touched))
    return exchanged._replace(once=peers.cost_of_start(task, "local"))


def check(task: Task, *, solver: str, learning: str, num_ticks: int, **_) -> None:
    """Refuse a task without agents' own objectives, unknown solvers, and values that have no effect together."""
    check_peers(task)
    check_choice("solver", solver, local_models.SOLVERS)
    check_choice("way of learning", learning, LEARNING)
    if learning == "together" and solver != "newton":
        raise InputError(f"solver is {solver!r}: agents that learn together minimise exactly, leave it out")
    if learning == "alone" and num_ticks != 1:
        raise InputError(f"num_ticks is {num_ticks}: agents that learn alone have no ticks, leave it out")


METHOD = Method(
    local_dp,
    releases,
    version=1,
    check=check,
    needs=(Peers, Linear),
    cost=cost,
)
