"""Local differential privacy: every agent learns by itself from inputs to which noise was added (Bellet et al., D.1).

    x~ = clip(x, -b, b) + Laplace(sigma b) in each coordinate, once; then steps on the agent's own objective on x~.

Each coordinate of the perturbed inputs is (2 / sigma)-DP by itself, because it moves by at most 2 b, so the inputs
could be published. A whole input has p coordinates and costs p times as much. Its label is left as it is, and is not
protected at all.
"""

import jax
import jax.numpy as jnp

from bench.algorithms import peers
from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.algorithms.local_models import SOLVERS, cost, own_step
from bench.algorithms.peers import check_choice, check_peers
from bench.data.task import Linear, Peers, Task
from bench.models.linear import Personal
from bench.privacy import events


def local_dp(
    task: Task,
    *,
    mu: Scalar,
    noise_multiplier: Scalar,
    bound: Scalar,
    step_size: Scalar = 1.0,
    solver: str = "newton",
) -> Algorithm:
    """Local learning on perturbed inputs; a round is one step of every agent.

    Args:
        task: as for coordinate_descent.
        mu: weight in the reported objective.
        noise_multiplier: sigma >= 0; noise of scale sigma b on each coordinate.
        bound: b > 0, the bound to which the size of a coordinate is clipped.
        step_size, solver: as for local_models.
    """
    everybody = peers.agents(task)

    def init(key):
        noise = jax.random.laplace(key, everybody.inputs.shape)
        inputs = jnp.clip(everybody.inputs, -bound, bound) + noise_multiplier * bound * noise
        return State((), {"inputs": inputs, "theta": peers.zeros(task)})

    step = own_step(task, solver, step_size)

    def one_round(key, state):
        agents = everybody._replace(inputs=state.variables["inputs"])
        models = jax.vmap(step)(agents, state.variables["theta"])
        return State((), {"inputs": agents.inputs, "theta": models}), {"released": jnp.float32(0.0)}

    def public(state):
        return state.variables["inputs"]

    return Algorithm(init, one_round, lambda state: Personal(state.variables["theta"], mu), public)


def releases(task: Task, *, delta: float, noise_multiplier: float, **_) -> dict:
    """Return the release of the perturbed inputs, once, before the first round; `paper` protects one coordinate, `true`
    a whole point with its label.
    """
    statement: dict = {"delta": delta, "privacy_unit": "coordinate", "protects_against": "everybody"}
    coordinate = events.laplace(noise_multiplier, **statement)
    bare = events.laplace(0.0, delta=delta, privacy_unit="point", protects_against="everybody")
    return {
        "paper": events.preceded_by(coordinate, coordinate),
        "true": events.preceded_by(bare, bare),
    }


def check(task: Task, *, solver: str, **_) -> None:
    """Refuse a task without agents' own objectives, and unknown solvers."""
    check_peers(task)
    check_choice("solver", solver, SOLVERS)


METHOD = Method(local_dp, releases, version=1, check=check, needs=(Peers, Linear), cost=cost)
