"""Private asynchronous block coordinate descent on a graph (Bellet et al. 2018, equations 4 and 6).

Agent i wakes up, takes a step on its own block of Q with a noisy gradient of its own objective, and sends its model
to its neighbours:

    theta_i <- (1 - a) theta_i + a (sum_j (W_ij / D_ii) theta_j - mu c_i (grad L_i(theta_i) + noise)),
    a = 1 / (1 + mu c_i Lloc_i),  noise ~ Laplace(sigma L0 / m_i) in each coordinate.

What is protected is one data point of one agent, replaced by another, against everybody who sees all messages,
including all other agents together. Sizes m_i, the graph, the regularisation and the steps' bounds Lloc_i are public.
Laplace noise needs the L1 norm of an example's gradient bounded by L0. (The paper asks for a loss that is Lipschitz
in the L1 norm, which bounds the gradient in the maximum norm; its proof uses the L1 norm.)
"""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array

from bench.algorithms.base import Algorithm, Cost, Method, Scalar, State
from bench.algorithms.parts import peers
from bench.algorithms.parts.block_step import ALLOCATIONS, block_step
from bench.algorithms.parts.peers import MECHANISMS, check_choice, check_peers
from bench.algorithms.parts.wake_ups import Clocks, Updates, WakeUp
from bench.algorithms.ranges import ClipNorm, Count, NonNegative, Positive, Range, Ticks
from bench.data.task import Linear, Peers, Task
from bench.errors import InputError
from bench.kernels.graph import propagate
from bench.models.linear import Personal

STARTS = ("zero", "constant", "local", "descent", "propagation")


def propagated_start(
    key: Array,
    task: Task,
    *,
    mu: Scalar,
    noise_multiplier: Scalar,
    step_size: Scalar,
    lipschitz: Scalar,
    clip_norm: Scalar,
    mechanism: str,
) -> Array:
    """Return the private warm start: one noisy step of every agent, smoothed over the graph, [client, feature].

    The paper does not say how its local models were made private. Output perturbation of the minimisers would add noise
    of norm 2,000 to models of norm 0.7 (p = 100, epsilon 0.05, and gradients of norm 1 as the published noise assumes),
    so each agent sends one noisy step; smoothing uses no data.
    """
    local = peers.noisy_steps(key, task, step_size, noise_multiplier, lipschitz, clip_norm, mechanism)
    return propagate(task.need(Peers).graph, local, mu * peers.budgeted_confidence(task))


def coordinate_descent(
    task: Task,
    *,
    mu: Positive,
    noise_multiplier: NonNegative = 0.0,
    lipschitz: Positive = 1.0,
    clip_norm: ClipNorm = jnp.inf,
    num_updates: Annotated[Scalar, Range(lambda v: v >= 1, "at least 1 (inf never stops)")] = jnp.inf,
    max_updates: Annotated[int, Range(lambda v: v >= 0, "at least 0 (0 never stops)")] = 0,
    start: str = "zero",
    start_value: Annotated[Scalar, Range(math.isfinite, "finite")] = 0.0,
    start_noise_multiplier: NonNegative = 0.0,
    start_step_size: Positive = 0.05,
    mechanism: str = "laplace",
    allocation: str = "equal",
    num_ticks: Ticks = 1,
    num_awake: Count = 1,
    regularization_scale: Scalar = 1.0,
) -> Algorithm:
    """Coordinate descent; a round is `num_ticks` ticks, in each of which one agent (or `num_awake` agents) wakes up.

    Args:
        task: with graph, link, regularization, smoothness and budget.
        mu: weight of the agents' own objectives, > 0.
        noise_multiplier: sigma >= 0; the noise on an agent's mean gradient has scale sigma L0 / m_i, so an update
            costs 2 / sigma if L0 bounds the gradients' norm.
        lipschitz: L0 > 0, the bound that the noise is scaled to.
        clip_norm: C > 0, on each example's gradient, in L1 for Laplace noise and in L2 for Gaussian; inf does not
            clip. The noise is large enough if C or the task's own Lipschitz bound is at most L0.
        num_updates: T_i, the number of updates after which an agent stops; inf means never.
        max_updates: the largest T_i of the points that share a program, which fixes the order in which clocks ring;
            0 draws agents uniformly without end.
        start: "zero"; "constant", all `start_value`; "local", the exact minimisers of L_i, not private; "descent",
            100 gradient steps of length `start_step_size` towards them, not private; "propagation", the private warm
            start with noise `start_noise_multiplier`, after one step of length `start_step_size`.
        mechanism: "laplace" or "gaussian".
        allocation: of an agent's budget to its updates: "equal"; "published", Proposition 2 of the paper;
            "unrolled", the same with the weights of its Theorem 2 in the order of the recursion
            (`bench.papers.p2p.theory`). The last two use the order of all wake-ups.
        num_ticks: ticks in a round; their draws are made together.
        num_awake: agents that wake up at once. Neighbours of an earlier agent of the tick do not update, so the result
            is the same as with one after the other. With max_updates they lose that ring, and so make fewer updates
            than they could.
        regularization_scale: factor of the task's lambda_i; 1 is the published definition.
    """
    task = peers.regularized(task, regularization_scale)
    step = block_step(
        task,
        mu=mu,
        noise_multiplier=noise_multiplier,
        lipschitz=lipschitz,
        clip_norm=clip_norm,
        mechanism=mechanism,
        allocation=allocation,
    )
    clocks = Clocks(task, num_ticks, num_awake, max_updates, num_updates)

    def first_models(key: Array) -> Array:
        if start == "constant":
            return peers.zeros(task) + start_value
        if start == "propagation":
            return propagated_start(
                key,
                task,
                mu=mu,
                noise_multiplier=start_noise_multiplier,
                step_size=start_step_size,
                lipschitz=lipschitz,
                clip_norm=clip_norm,
                mechanism=mechanism,
            )
        return peers.local_start(task, start, start_step_size)

    def init(key):
        key_start, key_order = jax.random.split(key)
        schedule, variables = clocks.start(key_order), {"theta": first_models(key_start)}
        if allocation != "equal":
            variables["mean_weight"] = step.allocation.mean_weights(schedule["order"], clocks)
        return State(schedule, variables)

    def one_round(key, state):
        key_wake, key_noise = jax.random.split(key)
        schedule, variables = state
        agents, rings = clocks.wake_ups(key_wake, schedule)
        noise = MECHANISMS[mechanism][0](key_noise, (num_ticks, num_awake, task.init_params.shape[-1]))

        def tick(carry: tuple[Array, Updates], wake_up: WakeUp):
            models, updates = carry
            may_update = clocks.may_update(wake_up)
            speaks = may_update & updates.remain(wake_up.agents, num_updates)
            models = step.after_tick(models, wake_up, speaks, variables.get("mean_weight"))
            counted = updates.counted(wake_up.agents, may_update)
            sent = jnp.where(speaks, step.graph.num_neighbors[wake_up.agents], 0)
            info = {
                "released": counted.released_since(updates, num_updates),
                "updates": jnp.sum(speaks, dtype=jnp.float32),
                "vectors_sent": jnp.sum(sent, dtype=jnp.float32),
            }
            return (models, counted), info

        ticks = schedule["step"] + jnp.arange(num_ticks, dtype=jnp.int32)
        before = (variables["theta"], Updates(schedule["counts"], schedule["most"]))
        (models, updates), info = jax.lax.scan(tick, before, WakeUp(agents, rings, noise, ticks))
        schedule = schedule | {"step": schedule["step"] + num_ticks} | updates._asdict()
        return State(schedule, variables | {"theta": models}), jax.tree.map(jnp.sum, info)

    return Algorithm(init, one_round, lambda state: Personal(state.variables["theta"], mu))


def releases(
    task: Task,
    *,
    delta: float,
    noise_multiplier: float,
    start: str,
    start_noise_multiplier: float,
    num_updates: float,
    allocation: str,
    **args,
) -> dict:
    """Return the releases of an agent's models after each of its updates, and of its warm start if there is one."""
    if start in ("local", "descent"):
        return peers.exposed_releases(delta)
    if allocation != "equal":  # an uneven split is charged in full at the first update, which bounds each of its parts
        noise_multiplier = noise_multiplier / num_updates
    first = start_noise_multiplier if start == "propagation" else None
    noise = {name: args[name] for name in ("lipschitz", "clip_norm", "mechanism")}
    readings = peers.readings(
        task, noise_multiplier=noise_multiplier, start_noise_multiplier=first, delta=delta, **noise
    )
    if allocation == "equal":
        return readings
    return {
        name: release._replace(event=lambda rounds, release=release: release.event(min(rounds, 1)))
        for name, release in readings.items()
    }


def cost(
    task: Task,
    *,
    start: str,
    num_ticks: int,
    num_awake: int,
    max_updates: int,
    num_updates: float,
    regularization_scale: float = 1.0,
    **_,
) -> Cost:
    """Return the cost of `num_ticks` ticks, on average as in `Clocks.expected`."""
    clocks = Clocks(task, num_ticks, num_awake, max_updates, num_updates)
    once = peers.cost_of_start(peers.regularized(task, regularization_scale), start)
    return peers.cost_of_exchange(task, *clocks.expected())._replace(once=once)


def check(
    task: Task,
    *,
    start: str,
    mechanism: str,
    allocation: str,
    num_awake: int,
    max_updates: int,
    num_updates: float,
    regularization_scale: float = 1.0,
    **_,
) -> None:
    """Refuse a task without a graph, unknown names, and incompatible values."""
    check_peers(task, regularization_scale)
    check_choice("start", start, STARTS)
    check_choice("mechanism", mechanism, MECHANISMS)
    check_choice("allocation", allocation, ALLOCATIONS)
    if num_awake > task.num_clients:
        raise InputError(f"num_awake is {num_awake}, but {task.name} has {task.num_clients} agents")
    if task.num_clients * max_updates >= 2**31:
        raise InputError(f"max_updates is {max_updates}: {task.num_clients} agents have no order of so many ticks")
    if max_updates and num_updates > max_updates:
        raise InputError(f"num_updates is {num_updates:g}, above max_updates = {max_updates}: raise max_updates")
    if allocation != "equal" and (not max_updates or mechanism != "laplace" or num_awake > 1):
        raise InputError(
            f"allocation {allocation} needs Laplace noise, max_updates, and one agent awake at a time: it knows the "
            "order of all wake-ups"
        )


METHOD = Method(
    coordinate_descent,
    releases,
    version=1,
    check=check,
    needs=(Peers, Linear),
    cost=cost,
)
