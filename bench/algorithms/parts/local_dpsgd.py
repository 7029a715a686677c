"""DP-SGD at every client on its own examples, with rounds of communication: the part that methods for networks share.

All k clients take part in every round. A round is E epochs of every client, and an epoch has S = ceil(n / L) steps:

    B      Poisson sample of its n examples, rate q = 1 / S
    g      (sum_{x in B} clip(grad loss(theta, x), C) + sigma C N(0, I)) / floor(q n)  +  lambda (theta - w)
    v      <- mu v + g,    theta <- theta - eta v

where v starts from 0 in every round, or another optimiser takes the step. Then the server computes w from the clients'
theta: their mean, or a step from w by an optimiser that has w - mean as its gradient. A client goes on from w, or has a
model of its own and goes on from that.

What is protected is one example of one client, against the server, which sees every client's theta after every round.
The pull lambda (theta - w) is added after clipping and noise: theta and w follow from earlier noisy sums, so that it is
post-processing, and so is all that the server does. Hence all methods made of this part have the same releases. The
number of a client's examples counts as public: rates, steps and divisor follow from it.

In a sweep, a "round" of the engine is one local epoch, and there are T = E R of them; models meet after every E-th. So
all ways to split T share one compiled program, and a long round shows progress.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from bench.algorithms.base import Algorithm, Cost, Role, Scalar, State, check_noise_has_a_scale
from bench.algorithms.parts.counting import num_parameters, used_at_least_once
from bench.algorithms.parts.shared_arguments import SharedArguments
from bench.algorithms.ranges import BelowOne, ClipNorm, Count, NonNegative, Positive, Range
from bench.data.task import Network, Task
from bench.errors import InputError, check_name
from bench.kernels import gradient, sampling
from bench.kernels.per_example import clipped_gradient_of_rows
from bench.kernels.platforms import in_turn
from bench.models.linear import Personal
from bench.privacy.events import Release, poisson_gaussian

SAMPLERS = ("poisson", "in_order")
CLIPPINGS = ("flat", "per_layer")
# Probability that a Poisson sample exceeds its places. It adds less than 1 % to delta = 1e-5 in 2,000 steps at
# epsilon 8, by the bound in `sampling.poisson_bound`.
FAILURE = 1e-15
UNUSUAL = 1e-4  # probability that a sample needs more than one micro-batch on an accelerator


@dataclass(frozen=True, kw_only=True)
class LocalDpsgdArguments(SharedArguments):
    """The arguments shared by all methods of DP-SGD at every client.

    total_epochs: T = E R, epochs of a client in all.
    batch_size: L, expected size of a batch.
    num_epochs: E, local epochs in a communication round; divides T.
    step_size: eta > 0.
    momentum: mu, 0 <= mu < 1; the velocity starts from 0 in every communication round.
    clip_norm: C > 0, on one example's gradient; inf does not clip.
    noise_multiplier: sigma >= 0; the noise on the sum of clipped gradients has std sigma C.
    sampler: "poisson", or "in_order": fixed batches of L consecutive examples, the last of them smaller, which is how
        FedAvg without privacy was run.
    clipping: "flat", of the whole gradient; or "per_layer", each of the network's L layers to C / sqrt(L). Both bound
        the whole by C, so that noise and releases are the same.
    """

    total_epochs: Count
    batch_size: Count
    num_epochs: Annotated[Scalar, Range(lambda v: v >= 1, "at least 1")]
    step_size: Positive
    momentum: BelowOne
    clip_norm: ClipNorm
    noise_multiplier: NonNegative
    sampler: str = "poisson"
    clipping: str = "flat"


class LocalOptimizer(NamedTuple):
    """How a client steps along its noisy gradients, whose privacy it does not change.

    init: a client's model -> state, at the start of the run.
    update: (noisy gradient, state, model, what the server keeps) -> (change of the model, state).
    restart: (models, states, average), all of all clients -> states, at the start of a round. average: leaves
        [client, ...] -> their mean over the clients.
    """

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]
    restart: Callable[..., Any]


def momentum_sgd(step_size: Scalar, momentum: Scalar) -> LocalOptimizer:
    """Return SGD with a velocity that starts from 0 in every round."""
    sgd = optax.sgd(step_size, momentum)
    return LocalOptimizer(
        sgd.init,
        lambda g, state, theta, kept: sgd.update(g, state),
        lambda theta, states, average: jax.vmap(sgd.init)(theta),
    )


def local_dpsgd(
    task: Task,
    shared: LocalDpsgdArguments,
    *,
    optimizer: LocalOptimizer | None = None,
    pull: Scalar | None = None,
    server: Callable | None = None,
    memory: Any = (),
    personal: bool = False,
) -> Algorithm:
    """Return DP-SGD at every client, with averaging of some form.

    Args:
        task: with a network and equally many examples for every client.
        shared: see LocalDpsgdArguments.
        optimizer: of the clients; None takes `momentum_sgd`.
        pull: lambda >= 0; None adds no such term.
        server: (w, memory, w - mean) -> (w, memory), its update of w; None takes the mean.
        memory: of the server, before the first round.
        personal: whether every client has a model of its own and goes on from that; the score is the mean over clients.
    """
    batch_size = shared.batch_size
    network, num_examples = task.need(Network), _num_examples(task)
    steps, divisor = steps_of_epoch(task, batch_size), divisor_of_sums(task, batch_size)
    local_optimizer = optimizer or momentum_sgd(shared.step_size, shared.momentum)
    bound = usual = batch_size
    if shared.sampler == "poisson":
        bound, usual = (sampling.poisson_bound(num_examples, 1 / steps, rare) for rare in (FAILURE, UNUSUAL))
    clients = task.numbers()
    real = clients < task.num_clients  # the last devices may have rows without a client
    by_layer = shared.clipping == "per_layer"
    one_gradient = in_turn(
        lambda *args: clipped_gradient_of_rows(network.module, *args, usual=usual, per_layer=by_layer)
    )

    def batch(key, step):
        """Return a client's batch: its rows [place], how many of them count, and the divisor of their sum."""
        if shared.sampler == "in_order":
            count = jnp.minimum(batch_size, num_examples - step * batch_size)
            rows = jnp.minimum(step * batch_size + jnp.arange(bound), num_examples - 1)
            return rows, count, count.astype(jnp.float32)
        rows, count = sampling.poisson_in_order(key, num_examples, 1 / steps, bound)
        return rows, count, jnp.asarray(divisor, jnp.float32)

    def init(key):
        server_state = (task.init_params, memory) if pull is not None or server is not None else ()
        theta = copies(task.init_params)
        return State(jnp.zeros((), jnp.int32), (theta, jax.vmap(local_optimizer.init)(theta), server_state))

    def copies(params):
        """Return the same parameters for all clients."""
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (task.num_held, *leaf.shape)), params)

    def models_after_meeting(theta, mean, server_state):
        """Return the clients' models after they have met, and what the server keeps."""
        if not server_state:
            return theta if personal else copies(mean), server_state
        w, memory = server_state
        if server is None:
            w = mean
        else:
            w, memory = server(w, memory, jax.tree.map(jnp.subtract, w, mean))
        return theta if personal else copies(w), (w, memory)

    def average(theta, tallies=()):
        """Return the mean over the clients, and the tallies of all devices."""
        if task.division is None:
            return jax.tree.map(lambda leaf: jnp.mean(leaf, 0), theta), tallies
        theta = jax.tree.map(lambda leaf: jnp.where(real.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, 0), theta)
        total, tallies = task.total((jax.tree.map(lambda leaf: jnp.sum(leaf, 0), theta), tallies))
        return jax.tree.map(lambda leaf: leaf / task.num_clients, total), tallies

    def batches(key, step):
        """Return the batches of all clients: rows of the pool, how many of them count, divisors, the key of noise."""
        key_batch, key_noise = jax.random.split(jax.random.fold_in(key, step))
        keys = jax.vmap(lambda client: jax.random.fold_in(key_batch, client))(clients)
        rows, counts, divisors = jax.vmap(batch, (0, None))(keys, step)
        if task.present_examples is not None:
            rows, counts = jax.vmap(_absent_last)(rows, counts, task.present_examples)
        if task.division is not None:
            counts = jnp.where(real, counts, 0)  # the tallies of a place without a client are then 0
        return jnp.take_along_axis(task.train, rows, axis=1), counts, divisors, key_noise

    def one_step(rows, counts, divisors, key_noise, theta, velocity, *, server_state):
        total, *tallies = jax.vmap(one_gradient, (0, None, 0, 0, None))(
            theta, network.pool, rows, counts, shared.clip_norm
        )
        if shared.sampler == "poisson":
            std = gradient.noise_scale(shared.noise_multiplier, shared.clip_norm)
            noise = gradient.gaussian_rows_like(key_noise, theta, task.rows_drawn())
            total = jax.tree.map(lambda g, n: g + std * n, total, noise)
        mean = jax.vmap(lambda g, divisor: jax.tree.map(lambda leaf: leaf / divisor, g))(total, divisors)
        if pull is not None:
            mean = jax.tree.map(lambda g, z, w: g + pull * (z - w[None]), mean, theta, server_state[0])
        updates, velocity = jax.vmap(local_optimizer.update, (0, 0, 0, None))(mean, velocity, theta, server_state)
        return optax.apply_updates(theta, updates), velocity, [jnp.sum(tally) for tally in tallies]

    def one_epoch(key, state):
        theta, velocity, server_state = state.variables

        def body(models, drawn):
            *models, tallies = one_step(*drawn, *models, server_state=server_state)
            return tuple(models), tallies

        # Drawn before the loop: on an accelerator a step's draws are launches of a few numbers each.
        _, counts, *_ = drawn = jax.vmap(batches, (None, 0))(key, jnp.arange(steps))
        models, tallies = jax.lax.scan(body, (theta, velocity), drawn)
        tallies = jnp.sum(counts, 1, dtype=jnp.float32), *tallies
        ends = jnp.mod((state.schedule + 1).astype(jnp.float32), shared.num_epochs) == 0
        mean, (num_used, clipped, correct) = average(models[0], tallies)
        theta, successor = models_after_meeting(models[0], mean, server_state)
        states = local_optimizer.restart(theta, models[1], lambda leaves: average(leaves)[0])
        variables = jax.tree.map(
            lambda new, old: jnp.where(ends, new, old), (theta, states, successor), (*models, server_state)
        )
        examples = jnp.maximum(num_used, 1.0)
        info = {"clipped": jnp.mean(clipped / examples), "train_accuracy": jnp.mean(correct / examples)}
        return State(state.schedule + 1, variables), info

    def params(state):
        """Return the average, the model of every client at the end of a communication round, or all their own."""
        theta = state.variables[0]
        return Personal(theta, jnp.ones(())) if personal else average(theta)[0]

    def public(state):
        """Return every client's model: the server sees it at the end of a round, and here after every epoch."""
        return state.variables[0]

    return Algorithm(init, one_epoch, params, public)


def _absent_last(rows, count, present):
    """Return rows of which the first `count` count, without the examples that are absent, and how many are left."""
    is_counted = (jnp.arange(len(rows)) < count) & present[rows]
    return rows[jnp.argsort(~is_counted, stable=True)], jnp.sum(is_counted, dtype=count.dtype)


def _num_examples(task: Task) -> int:
    """Return n, the number of examples of every client."""
    return task.train.shape[1]


def _num_steps(num_examples: int, batch_size: int) -> int:
    """Return S, the number of steps of an epoch; a Poisson sample has the rate 1 / S."""
    return math.ceil(num_examples / batch_size)


def steps_of_epoch(task: Task, batch_size: int) -> int:
    """Return S, the number of steps of an epoch of every client."""
    return _num_steps(_num_examples(task), batch_size)


def divisor_of_sums(task: Task, batch_size: int) -> int:
    """Return floor(q n), by which a client divides its noisy sums under Poisson sampling."""
    return _num_examples(task) // steps_of_epoch(task, batch_size)


def local_release(
    noise_multiplier: float,
    *,
    num_examples: int,
    batch_size: int,
    delta: float,
    accountant: str = "pld",
    copies: float = 1,
) -> Release:
    """Return what the epochs of DP-SGD reveal of one example to the server; a "round" of the event is an epoch.

    Args:
        noise_multiplier: sigma.
        num_examples: n, of a client.
        batch_size: L; the sampling rate is 1 / ceil(n / L).
        delta: the delta at which epsilon is stated.
        accountant: "pld" or "rdp".
        copies: the number of clients that hold the example, each with independent randomness; it may be a mean of such
            numbers.
    """
    steps = _num_steps(num_examples, batch_size)
    step = poisson_gaussian(
        noise_multiplier,
        sampling_rate=1 / steps,
        delta=delta,
        accountant=accountant,
        privacy_unit="example",
        protects_against="the server",
    )
    return step._replace(event=lambda epochs: step.event(math.ceil(epochs * steps * copies)))


def releases(task: Task, *, delta: float, noise_multiplier: float, batch_size: int, sampler: str, **_) -> dict:
    """Return four ways of accounting for a run; each protects one example, added or removed, under Poisson sampling.

    paper: an example of one client, by privacy loss distributions. Adding it to one client changes nothing at the
        others, so with disjoint clients this is the epsilon of the whole run (parallel composition).
    rdp: the same by Renyi DP.
    worst: the example that the most clients hold, with one independent run of DP-SGD on it for each of them.
    average: an example held by the mean number of clients, over all examples that any client holds. The mean epsilon
        over these examples is at most this value, because epsilon is concave in that number.
    """
    holders = np.bincount(np.asarray(task.train).ravel())
    copies = {"paper": 1.0, "rdp": 1.0, "worst": float(holders.max()), "average": float(holders[holders > 0].mean())}
    proven = {"paper": holders.max() <= 1, "rdp": holders.max() <= 1, "worst": True, "average": False}
    noise_multiplier = noise_multiplier if sampler == "poisson" else 0.0
    return {
        name: local_release(
            noise_multiplier,
            num_examples=_num_examples(task),
            batch_size=batch_size,
            delta=delta,
            accountant="rdp" if name == "rdp" else "pld",
            copies=number,
        )._replace(sound=bool(proven[name]))
        for name, number in copies.items()
    }


def cost(task: Task, *, batch_size: int, num_epochs: float, sampler: str, **_) -> Cost:
    """Return the cost of a local epoch, a round of the engine; clients send their models after every E-th epoch."""
    n = _num_examples(task)
    steps = _num_steps(n, batch_size)
    num_different = float(used_at_least_once(n, n / steps, steps)) if sampler == "poisson" else float(n)
    clients = task.num_clients
    return Cost(clients * num_parameters(task) / float(num_epochs), float(clients * n), clients * num_different)


def check(
    task: Task,
    *,
    total_epochs: int,
    num_epochs: float,
    batch_size: int,
    clip_norm: float,
    noise_multiplier: float,
    sampler: str,
    clipping: str = "flat",
    **_,
) -> None:
    """Refuse incompatible values before anything is compiled."""
    if np.any(np.asarray(task.num_examples) != _num_examples(task)):
        raise InputError(f"the clients of {task.name} have unequally many examples: dpsgd_fedavg needs as many in each")
    check_name("sampler", sampler, SAMPLERS)
    check_name("clipping", clipping, CLIPPINGS)
    if num_epochs != int(num_epochs) or total_epochs % num_epochs:
        raise InputError(
            f"num_epochs is {num_epochs:g}, which does not divide total_epochs = {total_epochs}: "
            "take a divisor, so that the last round is a whole one"
        )
    if batch_size > _num_examples(task):
        raise InputError(
            f"batch_size is {batch_size}, more than the {_num_examples(task)} examples of a client of {task.name}: "
            "take a smaller one"
        )
    if noise_multiplier > 0 and sampler != "poisson":
        raise InputError(
            f"noise_multiplier is {noise_multiplier:g} with sampler {sampler!r}: the privacy of fixed batches is not "
            "accounted for here, take sampler 'poisson', or noise_multiplier 0"
        )
    check_noise_has_a_scale(noise_multiplier, clip_norm)


def roles(**_) -> dict[str, Role]:
    """Return the role of the clients' step."""
    return {"step_size": Role("step_size", momentum="momentum")}
