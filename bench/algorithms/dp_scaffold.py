"""DP-SCAFFOLD (Noble, Bellet, Dieuleveut, AISTATS 2022, Algorithm 1): private local steps with control variates, which
correct the drift between clients with different data.

In a round M of N clients start from x. Client i takes K steps on fresh samples B of its own n records, and keeps c_i:

    H    = (sum_{r in B} clip(grad loss(y; r), C) + sigma C N(0, I)) / b
    y   <- y - eta (H - c_i + c)                                                                  from y = x
    c_i <- c_i - c + (x - y) / (K eta)                               which is the mean of the K noisy gradients H

    x   <- x + eta_server mean_i (y - x),     c <- c + (M / N) mean_i (change of c_i)

Without control variates (c = c_i = 0) it is the paper's DP-FedAvg, that is, DP-SGD on every client, and averaging.

What is protected is one record of one client, against the server, which sees everything that the clients send. y and
c_i follow from the noisy gradients H and from what the server knows already, so the epsilon of a run is that of the
noisy gradients. The server knows which M of N clients are drawn, so this sampling does not amplify privacy, and every
client is counted in every round.

Source read: the authors' program (github.com/maxencenoble/Differential-Privacy-for-Heterogeneous-Federated-Learning).
It clips layer by layer at the median of the batch's own gradient norms, which depends on the data, and adds noise in
proportion to it, so no statement of privacy follows (docs/methods/dp_scaffold.md). Here C is a fixed bound on the
gradient with respect to all parameters together.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Algorithm, Cost, Method, State, check_noise_has_a_scale
from bench.algorithms.parts.counting import num_parameters, used_at_least_once
from bench.algorithms.parts.samplers import drawn_clients, sum_over
from bench.algorithms.ranges import ClipNorm, Count, NonNegative, Positive
from bench.data.task import Task
from bench.errors import InputError, check_name
from bench.kernels import gradient, sampling
from bench.privacy import events

SAMPLERS = ("poisson", "fixed", "all")
SERVER, THIRD = "the server", "a third party who sees the shared model and control variate alone"


def dp_scaffold(
    task: Task,
    *,
    num_sampled: Count,
    batch_size: Count,
    step_size: Positive,
    clip_norm: ClipNorm,
    noise_multiplier: NonNegative,
    server_step_size: Positive = 1.0,
    num_steps: Count = 1,
    sampler: str = "poisson",
    control_variates: bool = True,
) -> Algorithm:
    """DP-SCAFFOLD, or DP-FedAvg, on stored records, equally many for every client.

    Args:
        task: with loss(w, theta_i, record); theta_i is held at 0.
        num_sampled: M, clients in a round, a uniformly random subset.
        batch_size: b; with "poisson" the expected size of a sample.
        step_size: eta > 0, of a client's step.
        clip_norm: C > 0, on one record's gradient; inf does not clip.
        noise_multiplier: sigma >= 0; the noise on a sum of clipped gradients has std sigma C.
        server_step_size: eta_server > 0.
        num_steps: K.
        sampler: how a client draws its records, afresh in each step: "poisson", "fixed" (b of them without replacement)
            or "all" (then b is n).
        control_variates: False holds all of them at 0.
    """
    length, rate = task.capacity, batch_size / task.capacity
    bound = sampling.poisson_bound(length, rate) if sampler == "poisson" else batch_size
    divisor = length if sampler == "all" else batch_size
    std = gradient.noise_scale(noise_multiplier, clip_norm)
    share = num_sampled / task.num_clients
    example_loss = task.loss
    assert example_loss is not None

    def sample(key) -> tuple[Array, Array]:
        """Return rows of a client's records, and which of them count."""
        if sampler == "poisson":
            return sampling.poisson(key, length, rate, bound)
        if sampler == "fixed":
            return sampling.fixed_size(key, length, batch_size), jnp.ones(batch_size, bool)
        return jnp.arange(length), jnp.ones(length, bool)

    def noisy_gradient(key, y, records, present):
        key_rows, key_noise = jax.random.split(key)
        rows, counts = sample(key_rows)
        counts = counts if present is None else counts & present[rows]
        nothing_local = jax.tree.map(jnp.zeros_like, y)

        def record_gradient(record, valid):
            return jax.tree.map(lambda g: jnp.where(valid, g, 0.0), jax.grad(example_loss)(y, nothing_local, record))

        gradients = jax.vmap(record_gradient)(jax.tree.map(lambda leaf: leaf[rows], records), counts)
        total, norms = gradient.clipped_sum(gradients, clip_norm)
        noise = gradient.gaussian_like(key_noise, y)
        clipped = jnp.sum(norms > clip_norm, dtype=jnp.float32) / jnp.maximum(jnp.sum(counts, dtype=jnp.float32), 1.0)
        return jax.tree.map(lambda g, n: (g + std * n) / divisor, total, noise), clipped

    def local_steps(key, x, correction, records, present):
        """Return y - x of one client, the mean of its noisy gradients, and the share of clipped gradients."""

        def body(carry, step):
            y, total = carry
            h, clipped = noisy_gradient(jax.random.fold_in(key, step), y, records, present)
            y = jax.tree.map(lambda z, g, towards: z - step_size * (g + towards), y, h, correction)
            return (y, jax.tree.map(jnp.add, total, h)), clipped

        start = x, jax.tree.map(jnp.zeros_like, x)
        (y, total), clipped = jax.lax.scan(body, start, jnp.arange(num_steps))
        return jax.tree.map(jnp.subtract, y, x), jax.tree.map(lambda h: h / num_steps, total), jnp.mean(clipped)

    def init(key):
        nothing = jax.tree.map(jnp.zeros_like, task.init_params)
        own = jax.tree.map(lambda leaf: jnp.zeros((task.num_held, *leaf.shape)), task.init_params)
        return State((), {"x": task.init_params, "c": nothing, "own": own})

    def one_round(key, state):
        key_clients, key_steps = jax.random.split(key)
        x, c, own = (state.variables[name] for name in ("x", "c", "own"))
        drawn = drawn_clients(task, key_clients, num_sampled)
        clients, numbers = drawn.clients, task.numbers()[drawn.clients]
        keys = jax.vmap(lambda client: jax.random.fold_in(key_steps, client))(numbers)
        client_data = jax.tree.map(lambda leaf: leaf[clients], (task.train, task.present_examples, own))
        records, present, own_variates = client_data
        correction = jax.tree.map(lambda shared, mine: jnp.broadcast_to(shared, mine.shape) - mine, c, own_variates)
        moved, means, clipped = jax.vmap(local_steps, (0, None, 0, 0, 0))(keys, x, correction, records, present)
        changes = jax.tree.map(jnp.subtract, means, own_variates) if control_variates else ()
        change, changed, clipped = task.total(sum_over(task, drawn, (moved, changes, clipped)))
        x = jax.tree.map(lambda z, change: z + server_step_size * (change / num_sampled), x, change)
        if control_variates:
            c = jax.tree.map(lambda shared, change: shared + share * (change / num_sampled), c, changed)
            if task.division is None or clients is None:
                rows = clients
            else:
                rows = jnp.where(drawn.present, clients, task.num_held)
            own = jax.tree.map(lambda leaf, new: leaf.at[rows].set(new, mode="drop"), own, means)
        return State((), {"x": x, "c": c, "own": own}), {"clipped": clipped / num_sampled}

    def public(state):
        """Return what the server knows: the model, and all control variates."""
        return state.variables

    return Algorithm(init, one_round, lambda state: state.variables["x"], public=public)


def releases(
    task: Task,
    *,
    delta: float,
    noise_multiplier: float,
    batch_size: int,
    num_steps: int,
    num_sampled: int,
    sampler: str = "poisson",
    **_,
) -> dict[str, events.Release]:
    """Return what a run reveals of one record of a client, in three ways of accounting. In a round each client releases
    K noisy gradients.

    paper: to the server, by Renyi DP. Every client is counted in every round, with K gradients a round on samples of
        its records; one record is added or removed ("poisson", "all"), or replaced ("fixed").
    tight: the same by privacy loss distributions, exactly with "all"; with "fixed", for which there are none, by RDP.
    third_party: to somebody who sees x and c alone, which are means over M clients with the noise of each. This is
        proven
        only where all clients are in every round with one step: a second step starts from the first with the client's
        noise alone, and a c_i that is used again carries no fresh noise.
    """
    rate = batch_size / task.capacity

    def gradients(sigma: float, accountant: str, against: str) -> events.Release:
        release = events.gaussian(
            sigma,
            sampling="none" if sampler == "all" else sampler,
            sampling_rate=rate,
            accountant="rdp" if sampler == "fixed" else accountant,
            delta=delta,
            privacy_unit="record",
            protects_against=against,
        )
        return release._replace(event=lambda rounds: release.event(rounds * num_steps))

    sigma = float(noise_multiplier)
    third = gradients(sigma * float(np.sqrt(num_sampled)), "rdp", THIRD)
    return {
        "paper": gradients(sigma, "rdp", SERVER),
        "tight": gradients(sigma, "pld", SERVER),
        "third_party": third._replace(sound=num_sampled == task.num_clients and num_steps == 1),
    }


def cost(
    task: Task,
    *,
    num_sampled: int,
    batch_size: int,
    num_steps: int,
    sampler: str,
    control_variates: bool,
    **_,
) -> Cost:
    """Return the cost of a round: a client sends the changes of its model and of its control variate, if it has one."""
    records = task.capacity if sampler == "all" else batch_size
    num_different = float(used_at_least_once(task.capacity, records, num_steps))
    message = num_parameters(task) * (2 if control_variates else 1)
    return Cost(float(num_sampled * message), float(num_sampled * num_steps * records), num_sampled * num_different)


def check(
    task: Task,
    *,
    num_sampled: int,
    num_steps: int,
    batch_size: int,
    clip_norm: float,
    noise_multiplier: float,
    sampler: str,
    **_,
) -> None:
    """Refuse incompatible values before anything is compiled.

    Raises:
        InputError: naming the value and what to do.
    """
    check_name("sampler", sampler, SAMPLERS)
    if task.train is None or task.loss is None or task.network is not None:
        raise InputError(f"task {task.name}: dp_scaffold needs stored records and their loss: take one such as softmax")
    if np.any(np.asarray(task.num_examples) != task.capacity):
        raise InputError(f"the clients of {task.name} have unequally many records: dp_scaffold needs as many in each")
    if num_sampled > task.num_clients:
        raise InputError(
            f"num_sampled is {num_sampled}, more than the {task.num_clients} clients of {task.name}: sample fewer"
        )
    if batch_size > task.capacity:
        raise InputError(f"batch_size is {batch_size}, of {task.capacity} records of a client: take a smaller one")
    if sampler == "all" and batch_size != task.capacity:
        raise InputError(f"sampler 'all' means batch_size = {task.capacity}, not {batch_size}")
    check_noise_has_a_scale(noise_multiplier, clip_norm)


METHOD = Method(dp_scaffold, releases, version=1, check=check, cost=cost, divides=True)
