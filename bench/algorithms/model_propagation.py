"""Model propagation: local models, made once, smoothed over the graph (Bellet et al. 2018, equation 16).

    theta_i <- (sum_j (W_ij / D_ii) theta_j + mu c_i local_i) / (1 + mu c_i)

It is coordinate descent on Q with L_i = |theta_i - local_i|^2 / 2, each step an exact minimisation. The data enter
once, through local_i. With noise on local_i every agent makes one release, for any number of smoothing steps.
"""

import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, Cost, Method, Role, State
from bench.algorithms.parts import peers
from bench.algorithms.parts.peers import MECHANISMS, check_choice, check_peers
from bench.algorithms.ranges import ClipNorm, NonNegative, Positive, Ticks
from bench.algorithms.search_space import OWN_STEP
from bench.data.task import Linear, Peers, Task
from bench.kernels.graph import confidence, propagate
from bench.models.linear import Personal

LOCALS = ("minimizer", "noisy_step")
STARTS = ("local", "solution")


def model_propagation(
    task: Task,
    *,
    mu: Positive,
    local: str = "minimizer",
    noise_multiplier: NonNegative = 0.0,
    lipschitz: Positive = 1.0,
    clip_norm: ClipNorm = jnp.inf,
    step_size: Positive = 0.05,
    mechanism: str = "laplace",
    start: str = "local",
    num_ticks: Ticks = 1,
) -> Algorithm:
    """Propagation of local models; a round is `num_ticks` ticks, in each of which one agent wakes up.

    Args:
        task: as for coordinate_descent.
        mu: weight of the local models, > 0.
        local: "minimizer" of L_i, not private; "noisy_step", one step of length `step_size` from 0 along the noisy
            gradient.
        start: "local", the local models; "solution", the limit of the ticks.
        num_ticks: ticks in a round.
        noise_multiplier, lipschitz, clip_norm, mechanism: of that gradient, as for coordinate_descent.
    """
    graph = task.need(Peers).graph
    trust = peers.budgeted_confidence(task) if local == "noisy_step" else confidence(task.num_examples)

    def init(key):
        if local == "minimizer":
            models = peers.local_minimizers(task)
        else:
            models = peers.noisy_steps(key, task, step_size, noise_multiplier, lipschitz, clip_norm, mechanism)
        first = propagate(graph, models, mu * trust) if start == "solution" else models
        return State((), {"theta": first, "local": models})

    def one_round(key, state):
        own = state.variables["local"]

        def update(i, models):
            pull = mu * peers.row(trust, i)
            return (peers.neighbor_mean(graph, models, i) + pull * peers.row(own, i)) / (1 + pull)

        models, info = peers.updated_in_turn(key, task, num_ticks, state.variables["theta"], update)
        return State((), {"theta": models, "local": own}), info

    def public(state):
        return state.variables  # with the local models: if they are noisy, they are what is released

    return Algorithm(init, one_round, lambda state: Personal(state.variables["theta"], mu), public)


def releases(task: Task, *, delta: float, local: str, noise_multiplier: float, **args) -> dict:
    """Return one release of each agent, before the first round."""
    if local == "minimizer":
        return peers.exposed_releases(delta)
    noise = {name: args[name] for name in ("lipschitz", "clip_norm", "mechanism")}
    sigma = noise_multiplier
    readings = peers.readings(task, delta=delta, noise_multiplier=sigma, start_noise_multiplier=sigma, **noise)
    return {
        name: release._replace(event=lambda rounds, release=release: release.event(0))
        for name, release in readings.items()
    }


def cost(task: Task, *, local: str, num_ticks: int, **_) -> Cost:
    """Return the cost of a round. Ticks send models and use no data; local models are made once. The cost of computing
    the start "solution" is not counted.
    """
    awake = np.full(task.num_clients, num_ticks / task.num_clients)
    start = peers.cost_of_start(task, "local" if local == "minimizer" else "propagation")
    return peers.cost_of_exchange(task, awake, awake)._replace(gradients=0.0, examples=0.0, once=start)


def check(task: Task, *, local: str, mechanism: str, start: str, **_) -> None:
    """Refuse a task without a graph, and unknown names."""
    check_peers(task)
    check_choice("kind of local models", local, LOCALS)
    check_choice("mechanism", mechanism, MECHANISMS)
    check_choice("start", start, STARTS)


METHOD = Method(
    model_propagation,
    releases,
    version=1,
    check=check,
    needs=(Peers, Linear),
    cost=cost,
    roles=lambda **_: {"step_size": Role(OWN_STEP)},  # of the agents' own models, before anything is sent
)
