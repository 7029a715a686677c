"""Private asynchronous block coordinate descent on a graph (Bellet et al. 2018, equations 4 and 6).

Agent i wakes up, takes a step on its own block of Q with a noisy gradient of its own objective, and sends its model
to its neighbours:

    theta_i <- (1 - a) theta_i + a (sum_j (W_ij / D_ii) theta_j - mu c_i (grad L_i(theta_i) + noise)),
    a = 1 / (1 + mu c_i Lloc_i),  noise ~ Laplace(sigma L0 / m_i) in each coordinate.

What is protected is one data point of one agent, replaced by another, against everybody who sees all messages, all
other agents together included. Sizes m_i, the graph, the regularisation and the steps' bounds Lloc_i are public.
Laplace noise needs the L1 norm of an example's gradient bounded by L0. (The paper asks for a loss that is Lipschitz
in the L1 norm, which bounds the gradient in the maximum norm; its proof uses the L1 norm.)
"""

import jax
import jax.numpy as jnp

from bench.algorithms import peers
from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.algorithms.peers import MECHANISMS, check_choice, check_peers
from bench.data.task import Linear, Peers, Task
from bench.errors import InputError
from bench.kernels.graph import confidence, propagate
from bench.models.linear import Personal

STARTS = ("zero", "constant", "local", "descent", "propagation")
ALLOCATIONS = {"equal": 0.0, "published": 1 / 3, "unrolled": -1 / 3}  # epsilon_i(t) grows as C^(t * this)
DESCENT_STEPS = 100  # of the start "descent"


def coordinate_descent(
    task: Task,
    *,
    mu: Scalar,
    noise_multiplier: Scalar = 0.0,
    lipschitz: Scalar = 1.0,
    clip_norm: Scalar = jnp.inf,
    num_updates: Scalar = jnp.inf,
    max_updates: int = 0,
    start: str = "zero",
    start_value: Scalar = 0.0,
    start_noise_multiplier: Scalar = 0.0,
    start_step_size: Scalar = 0.05,
    mechanism: str = "laplace",
    allocation: str = "equal",
    num_ticks: int = 1,
    num_awake: int = 1,
) -> Algorithm:
    """Coordinate descent; a round is `num_ticks` ticks, in each of which one agent (or `num_awake` agents) wakes up.

    Args:
        task: with graph, link, regularization, smoothness and budget.
        mu: weight of the agents' own objectives, > 0.
        noise_multiplier: sigma >= 0; the noise on an agent's mean gradient has scale sigma L0 / m_i, so an update
            costs 2 / sigma if L0 bounds the gradients' norm.
        lipschitz: L0 > 0, the bound that the noise is scaled to.
        clip_norm: C > 0, on each example's gradient, in L1 for Laplace noise and in L2 for Gaussian; inf does not
            clip. The noise is right where C <= L0, or the task's own Lipschitz bound is.
        num_updates: T_i, after which an agent falls silent; inf never.
        max_updates: the largest T_i of the points that share a program, which fixes the order in which clocks ring;
            0 draws agents uniformly without end.
        start: "zero"; "constant", all `start_value`; "local", the exact minimisers of L_i, not private; "descent",
            100 gradient steps of length `start_step_size` towards them, not private; "propagation", the private warm
            start with noise `start_noise_multiplier`, after one step of length `start_step_size`.
        mechanism: "laplace" or "gaussian".
        allocation: of an agent's budget to its updates: "equal"; "published", Proposition 2 of the paper;
            "unrolled", the same with the weights of its Theorem 2 in the order of the recursion
            (`bench.theory.p2p`). The last two know the order of all wake-ups.
        num_ticks: ticks in a round; their draws are made together.
        num_awake: agents that wake up at once; those next to an earlier one sleep on, so it is the same as one
            after the other. With max_updates they lose that ring, and so speak less often than they might.
    """
    objectives, everybody = task.need(Peers), peers.agents(task)
    graph = objectives.graph
    draw, order = MECHANISMS[mechanism]
    trust, degrees = confidence(task.num_examples), graph.degrees
    scales = peers.noise_scales(task, noise_multiplier, lipschitz)
    curvature = 1 + mu * trust * objectives.smoothness
    # C = 1 - strong convexity / (n largest block smoothness)
    strong = mu * jnp.min(degrees * trust * 2 * objectives.regularization)
    log_rate = jnp.log1p(-strong / (task.num_clients * jnp.max(degrees * curvature)))
    exponent = ALLOCATIONS[allocation]

    def first_models(key):
        zeros = peers.zeros(task)
        if start == "constant":
            return zeros + start_value
        if start == "local":
            return peers.local_minimizers(task)
        if start == "descent":
            return peers.local_descent(task, start_step_size, DESCENT_STEPS)
        if start == "propagation":
            # The paper does not say how its local models were made private; output perturbation of the minimisers
            # would drown them in noise. What an agent sends is one noisy step; smoothing touches no data.
            sigma = start_noise_multiplier
            local = peers.noisy_steps(key, task, start_step_size, sigma, lipschitz, clip_norm, mechanism)
            return propagate(graph, local, mu * peers.heard(task))
        return zeros

    def init(key):
        key_start, key_order = jax.random.split(key)
        schedule = {"step": jnp.int32(0), "counts": jnp.zeros(task.num_clients, jnp.int32), "most": jnp.int32(0)}
        variables = {"theta": first_models(key_start)}
        if max_updates:
            schedule["order"] = peers.ring_order(key_order, task, max_updates)
        if exponent:
            ticks = jnp.argsort(schedule["order"], stable=True).reshape(task.num_clients, max_updates)
            used = jnp.arange(max_updates, dtype=jnp.float32) < num_updates
            weights = jnp.where(used, jnp.exp(exponent * log_rate * ticks.astype(jnp.float32)), 0.0)
            variables["mean_weight"] = weights.sum(1) / jnp.minimum(num_updates, max_updates)
        return State(schedule, variables)

    def who_wakes(key, schedule):
        """Agents, int32 [tick, awake], and which places of a fixed order are there, bool [tick, awake]."""
        shape = (num_ticks, num_awake)
        if not max_updates:
            return peers.awake(key, task, *shape), jnp.ones(shape, bool)
        places = schedule["step"] * num_awake + jnp.arange(num_ticks * num_awake).reshape(shape)
        last = task.num_clients * max_updates - 1
        return schedule["order"][jnp.minimum(places, last)], places <= last

    def moved(i, noise, step, others, models, variables):
        """theta_i after its update."""
        agent = jax.tree.map(lambda leaf: peers.row(leaf, i), everybody)
        model, scale, pull = peers.row(models, i), peers.row(scales, i), mu * peers.row(trust, i)
        if exponent:
            weight = jnp.exp(exponent * log_rate * step.astype(jnp.float32))
            scale = scale * peers.row(variables["mean_weight"], i) / weight
        gradient = peers.own_gradient(task, agent, model, clip_norm, order) + scale * noise
        return model + (others - model - pull * gradient) / peers.row(curvature, i)

    def one_round(key, state):
        key_wake, key_noise = jax.random.split(key)
        schedule, variables = state
        chosen, there = who_wakes(key_wake, schedule)
        noise = draw(key_noise, (num_ticks, num_awake, task.init_params.shape[-1]))

        def tick(carry, at):
            models, counts, most = carry
            who, there, noise, step = at
            allowed = there & (objectives.budget[who] > 0)
            if num_awake > 1:
                allowed = allowed & peers.alone(task, who)
            speaks = allowed & (counts[who].astype(jnp.float32) < num_updates)
            if num_awake == 1:
                i = who[0]
                new = moved(i, noise[0], step, peers.neighbor_mean(graph, models, i), models, variables)
                new = jnp.where(speaks[0], new, peers.row(models, i))
                models = jax.lax.dynamic_update_index_in_dim(models, new, i, 0)
            else:
                others = jnp.einsum("bk,bkd->bd", graph.weights[who], models[graph.neighbors[who]])
                others = others / degrees[who][:, None]
                new = jax.vmap(moved, (0, 0, None, 0, None, None))(who, noise, step, others, models, variables)
                models = models.at[who].add(jnp.where(speaks[:, None], new - models[who], 0.0))
            # Epsilon is that of the agent that has spoken most: it rises when the largest count does.
            now = jnp.maximum(most, jnp.max(jnp.where(allowed, counts[who] + 1, 0)))
            info = {
                "released": ((now > most) & (most.astype(jnp.float32) < num_updates)).astype(jnp.float32),
                "updates": jnp.sum(speaks, dtype=jnp.float32),
                "vectors_sent": jnp.sum(jnp.where(speaks, graph.num_neighbors[who], 0), dtype=jnp.float32),
            }
            return (models, counts.at[who].add(allowed.astype(jnp.int32)), now), info

        steps = schedule["step"] + jnp.arange(num_ticks, dtype=jnp.int32)
        start = (variables["theta"], schedule["counts"], schedule["most"])
        (models, counts, most), info = jax.lax.scan(tick, start, (chosen, there, noise, steps))
        schedule = schedule | {"step": schedule["step"] + num_ticks, "counts": counts, "most": most}
        return State(schedule, variables | {"theta": models}), jax.tree.map(jnp.sum, info)

    def params(state):
        return Personal(state.variables["theta"], mu)

    return Algorithm(init, one_round, params)


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
    """An agent's models, after each of its updates, and its warm start if there is one."""
    if start in ("local", "descent"):
        return peers.exposed(delta)
    if allocation != "equal":  # an uneven split is charged in full at the first update, which bounds every part of it
        noise_multiplier = noise_multiplier / num_updates
    first = start_noise_multiplier if start == "propagation" else None
    said = {name: args[name] for name in ("lipschitz", "clip_norm", "mechanism")}
    found = peers.readings(task, noise_multiplier=noise_multiplier, start_noise_multiplier=first, delta=delta, **said)
    if allocation == "equal":
        return found
    return {name: one._replace(event=lambda rounds, one=one: one.event(min(rounds, 1))) for name, one in found.items()}


def check(
    task: Task,
    *,
    start: str,
    mechanism: str,
    allocation: str,
    num_awake: int,
    max_updates: int,
    num_updates: float,
    **_,
) -> None:
    """Refuse a task without a graph, unknown names, and values that do not go together."""
    check_peers(task)
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


METHOD = Method(coordinate_descent, releases, version=1, check=check, needs=(Peers, Linear))
