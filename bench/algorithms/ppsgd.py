"""Personalised private SGD (Bietti et al. 2022, Algorithms 1, 2 and 3, and the loop behind the experiments).

Every sampled user i takes a gradient g_i at (w, theta_i), moves its own theta_i with it, and sends the server
the clipped gradient, on which the server adds noise:

    theta_i <- theta_i - eta_theta g_i                        (free: never leaves the user)
    w       <- w - eta_w (sum_i clip(g_i, C) + sigma C N(0, I)) / D

What is protected is all data of one user, against all other users together (joint differential privacy in the
billboard model: the sequence of w is public, theta_i stays with user i).
"""

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.data.task import Task
from bench.errors import InputError, unknown_name
from bench.kernels import gradient as kernel
from bench.kernels import personal, sampling
from bench.models.additive import Additive
from bench.privacy.events import gaussian_claims, nothing_released

SAMPLERS = ("all", "fixed", "poisson", "queue")


def step_sizes(step_size, personalization):
    """(eta_w, eta_theta) with ratio a: (a s, s) for a <= 1, (s, s / a) for a > 1, (s, 0) for a = inf."""
    return step_size * jnp.minimum(personalization, 1.0), step_size / jnp.maximum(personalization, 1.0)


def ppsgd(
    task: Task,
    *,
    num_sampled: int,
    batch_size: int,
    step_size: Scalar,
    personalization: Scalar,
    clip_norm: Scalar,
    noise_multiplier: Scalar,
    sampler: str = "fixed",
    num_epochs: int = 1,
    reduce: str = "mean",
    local: str = "dense",
    average: bool = False,
) -> Algorithm:
    """PPSGD on a task with an additive model, from w = theta_i = 0.

    The authors' experiments: sampler "all" (synthetic) or "queue" (real data), reduce "mean".
    Algorithm 1: sampler "all". Algorithm 2: "poisson" with reduce "sum". Algorithm 3: "poisson", "mean".
    In the paper's symbols a = alpha D, eta = D eta_theta and sigma_zeta = sigma C / D, with D below.

    Args:
        task: with loss(w, theta_i, example).
        num_sampled: Q, users in a round; with "poisson" the expected number, q = Q / N.
        batch_size: m, examples of a user in a round; a user with fewer uses all it has, except with "queue".
        step_size: s > 0; the larger of the two steps.
        personalization: a = eta_w / eta_theta >= 0 (alpha Q in the paper's legends); 0 learns locally,
            inf globally.
        clip_norm: C > 0, on a user's reduced gradient; inf does not clip.
        noise_multiplier: sigma >= 0; the noise on the sum of clipped gradients has std sigma C.
        sampler: "all" users; "fixed" size without replacement; "poisson", each with probability q; "queue":
            as the authors did, each user holds num_epochs passes over its blocks of `batch_size` consecutive
            examples (the remainder is not used), and Q random users with blocks left use one each.
        num_epochs: passes, read by "queue" only.
        reduce: "mean" or "sum" of a user's example gradients. D is the number of users that took part
            ("queue"), else its expectation q N, times the mean minibatch size for "sum".
        local: "dense" keeps theta_i, "dual" its coefficients (linear model on stored examples).
        average: predict with the average of the iterates 0..t-1, which the theorems are about.
    """
    num_clients = task.num_clients
    rate = num_sampled / num_clients
    sizes = jnp.minimum(task.num_examples, batch_size)
    expected = rate * (jnp.sum(sizes) if reduce == "sum" else num_clients)
    form = (
        personal.dense(task.loss, task.init_params, num_clients)
        if local == "dense"
        else personal.dual(task.gram, task.init_params.shape[0])
    )
    eta_w, eta_theta = step_sizes(step_size, personalization)

    def init(key):
        schedule = {}
        if sampler == "queue":
            num_blocks = task.num_examples // batch_size
            max_blocks = jax.tree.leaves(task.train)[0].shape[1] // batch_size
            schedule["queue"] = sampling.queue_start(key, num_blocks, num_epochs, max_blocks)
        variables = {"w": task.init_params, "local": form.init()}
        if average:
            schedule["t"] = jnp.zeros(())
            variables["mean"] = variables
        return State(schedule, variables)

    def participants(key, schedule):
        """Clients (None for all, in order), which of the places are taken, their blocks, the schedule."""
        everybody = jnp.ones(num_sampled, bool)
        if sampler == "queue":
            queue, clients, blocks, present = sampling.queue_draw(
                key, schedule["queue"], task.num_examples // batch_size, num_sampled
            )
            return clients, present, blocks, schedule | {"queue": queue}
        if sampler == "poisson":
            bound = sampling.poisson_bound(num_clients, rate)
            return *sampling.poisson(key, num_clients, rate, bound), None, schedule
        clients = None if sampler == "all" else sampling.fixed_size(key, num_clients, num_sampled)
        return clients, everybody, None, schedule

    def minibatches(key, clients, blocks):
        """Rows of the stored examples (None for a stream), the examples, and which of them are real."""
        if task.train is None:
            taken = sizes if clients is None else sizes[clients]
            real = jnp.arange(batch_size) < taken[:, None]
            return None, task.sample(key, task, clients, batch_size), real
        clients = jnp.arange(num_clients) if clients is None else clients
        if blocks is None:
            capacity = jax.tree.leaves(task.train)[0].shape[1]
            rows, real = sampling.distinct_rows(key, task.num_examples[clients], capacity, batch_size)
        else:
            rows = blocks[:, None] * batch_size + jnp.arange(batch_size)
            real = jnp.ones(rows.shape, bool)
        return rows, jax.tree.map(lambda leaf: leaf[clients[:, None], rows], task.train), real

    def draw(key, schedule):
        """The round's batch, how many take part, and the schedule after it."""
        key_clients, key_examples = jax.random.split(key)
        clients, present, blocks, schedule = participants(key_clients, schedule)
        rows, examples, real = minibatches(key_examples, clients, blocks)
        weight = (real & present[:, None]).astype(jnp.float32)
        if reduce == "mean":
            weight = weight / jnp.maximum(jnp.sum(real, axis=1, keepdims=True), 1)
        if rows is not None and clients is None:
            clients = jnp.arange(num_clients)
        return personal.Batch(clients, rows, examples, weight), jnp.sum(present), schedule

    def one_round(key, state):
        key_batch, key_noise = jax.random.split(key)
        schedule, variables = state
        w, local_models = variables["w"], variables["local"]
        batch, count, schedule = draw(key_batch, schedule)
        divisor = jnp.maximum(count, 1) if sampler == "queue" else expected
        grads = form.gradients(w, local_models, batch)
        total, norms = form.clipped_sum(batch, grads, clip_norm)
        noise = kernel.gaussian_like(key_noise, w)
        # A round in which the queue is empty releases nothing; a Poisson round without users still does.
        released = count > 0 if sampler == "queue" else jnp.ones((), bool)
        std = jnp.where(released, kernel.noise_scale(noise_multiplier, clip_norm), 0.0)
        step = jax.tree.map(lambda g, n: (g + std * n) / divisor, total, noise)
        moved = {
            "w": jax.tree.map(lambda leaf, g: leaf - eta_w * g, w, step),
            "local": form.move(local_models, batch, grads, eta_theta),
        }
        if average:
            t = schedule["t"]
            current = {"w": w, "local": local_models}
            mean = jax.tree.map(lambda m, z: m + (z - m) / (t + 1), variables["mean"], current)
            schedule, moved = schedule | {"t": t + 1}, moved | {"mean": mean}
        info = {
            "released": released.astype(jnp.float32),
            "clipped": jnp.sum(norms > clip_norm) / jnp.maximum(count, 1),
        }
        return State(schedule, moved), info

    def params(state):
        now = state.variables["mean"] if average else state.variables
        return Additive(now["w"], **{"theta" if local == "dense" else "coefficients": now["local"]})

    return Algorithm(init, one_round, params)


def releases(task: Task, *, delta: float, **args) -> dict:
    """What a run makes public, as `bench.privacy` describes it: noisy sums of clipped user gradients.

    The names are those of `gaussian_claims`. "sampler" assumes a fresh uniform sample each round, which the
    queue is not: its rounds depend on each other, and only "worst_case" is sound for it.
    """
    said = {"delta": delta, "privacy_unit": "user", "protects_against": "all other users together"}
    if args["personalization"] == 0:
        return {name: nothing_released(**said) for name in ("paper", "sampler", "tight", "worst_case")}
    if args.get("sampler", "fixed") == "queue":
        blocks = np.max(np.asarray(task.num_examples)) // args["batch_size"]
        most = int(blocks) * args.get("num_epochs", 1)

        def participations(rounds):
            return min(rounds, most)
    else:

        def participations(rounds):
            return rounds

    return gaussian_claims(
        noise_multiplier=args["noise_multiplier"],
        num_clients=task.num_clients,
        num_sampled=args["num_sampled"],
        max_participations=participations,
        **said,
    )


def check(task: Task, **args) -> None:
    """Refuse values that do not go together, before anything is compiled."""
    chosen = args.get("sampler", "fixed")
    if chosen not in SAMPLERS:
        raise unknown_name("sampler", chosen, SAMPLERS)
    if args["num_sampled"] > task.num_clients:
        raise InputError(
            f"num_sampled is {args['num_sampled']}, but task {task.name} has {task.num_clients} clients: "
            "sample at most that many"
        )
    if chosen == "all" and args["num_sampled"] != task.num_clients:
        raise InputError(f"sampler 'all' means num_sampled = {task.num_clients}, not {args['num_sampled']}")
    if args.get("local", "dense") == "dual" and task.gram is None:
        raise InputError(f"task {task.name} has no Gram matrices: use local='dense'")
    if chosen == "queue" and task.train is None:
        raise InputError(
            f"task {task.name} is a stream: the queue needs stored examples, use sampler='fixed'"
        )
    if task.train is not None and args["batch_size"] > jax.tree.leaves(task.train)[0].shape[1]:
        raise InputError(f"batch_size is {args['batch_size']}, more than any client of {task.name} has")


METHOD = Method(ppsgd, releases, version=1, check=check)
