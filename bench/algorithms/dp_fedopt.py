"""FedAvgM, FedAdam and FedYogi (Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar and McMahan, ICLR 2021), private
for users.

This is `dp_fedavg` with an optimiser on the server, which takes the noisy mean
Delta = (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D, here in units of a gradient, as its gradient. By Algorithm 2 of
the paper, with v = tau^2 at the start and without bias correction,

    m <- beta_1 m + (1 - beta_1) Delta
    v <- beta_2 v + (1 - beta_2) Delta^2                          "adam"
    v <- v - (1 - beta_2) Delta^2 sign(v - Delta^2)               "yogi"
    w <- w - eta_server m / (sqrt(v) + tau)

and with "momentum" (FedAvgM) m <- beta_1 m + Delta, w <- w - eta_server m, which for beta_1 = 0 is `dp_fedavg`.

What is protected is all data of one user, against everybody who sees w: the server's step is computed from what is
public. v also contains the squared noise, which makes steps shorter where privacy is strong.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from bench.algorithms.base import Algorithm, Method, Role, Scalar
from bench.algorithms.parts.averaging import AveragingArguments, averaging
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.user_changes import user_changes
from bench.algorithms.ranges import BelowOne, Positive
from bench.algorithms.search_space import Interval
from bench.data.task import Task
from bench.errors import check_name

OPTIMISERS = ("momentum", "adam", "yogi")


class Moments(NamedTuple):
    """The moments m and v of the module's docstring."""

    first: optax.Updates
    second: optax.Updates


def adaptive(optimiser: str, beta1: Scalar, beta2: Scalar, tau: Scalar) -> optax.GradientTransformation:
    """Return the optimiser whose direction is m / (sqrt(v) + tau), for "adam" or "yogi"."""

    def squared(v, delta):
        square = jnp.square(delta)
        if optimiser == "adam":
            return beta2 * v + (1 - beta2) * square
        return v - (1 - beta2) * square * jnp.sign(v - square)

    def init(params):
        start = jax.tree.map(lambda leaf: jnp.full_like(leaf, 1.0) * tau**2, params)
        return Moments(jax.tree.map(jnp.zeros_like, params), start)

    def update(updates, state, params=None):
        first = optax.tree.update_moment(updates, state.first, beta1, 1)
        second = jax.tree.map(squared, state.second, updates)
        step = jax.tree.map(lambda m, v: m / (jnp.sqrt(v) + tau), first, second)
        return step, Moments(first, second)

    return optax.GradientTransformation(init, update)


def optimiser_of(name: str, beta1: Scalar, beta2: Scalar, tau: Scalar) -> optax.GradientTransformation:
    """Return the optimiser of FedAvgM, FedAdam or FedYogi."""
    return optax.trace(beta1) if name == "momentum" else adaptive(name, beta1, beta2, tau)


def stepped(w, memory, mean, optimiser: optax.GradientTransformation, step_size: Scalar) -> tuple:
    """Return w after a step of length step_size along the optimiser's direction for the noisy mean, and its memory."""
    direction, memory = optimiser.update(mean, memory, w)
    return jax.tree.map(lambda z, d: z - step_size * d, w, direction), memory


def check_optimiser(optimiser: str) -> None:
    """Refuse the name of an optimiser that no server has."""
    check_name("optimiser", optimiser, OPTIMISERS)


@sharing(AveragingArguments)
def dp_fedopt(
    task: Task,
    shared: AveragingArguments,
    *,
    beta1: BelowOne = 0.9,
    beta2: BelowOne = 0.99,
    tau: Positive = 1e-3,
    optimiser: str = "momentum",
) -> Algorithm:
    """Private FedAvg with an optimiser on the server.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: see AveragingArguments.
        beta1, beta2: in [0, 1); "momentum" does not use the second.
        tau: > 0, prevents division by zero; "momentum" does not use it.
        optimiser: "momentum", "adam" or "yogi".
    """
    on_server = optimiser_of(optimiser, beta1, beta2, tau)

    def send(w_and_memory, batch):
        w, _ = w_and_memory
        return user_changes(task, w, batch, shared.num_steps, shared.step_size)

    def update(w_and_memory, total, divisor):
        w, memory = w_and_memory
        mean = jax.tree.map(lambda g: g / divisor, total)
        return stepped(w, memory, mean, on_server, shared.server_step_size)

    start = task.init_params, on_server.init(task.init_params)
    return averaging(task, shared, send, update, start=start, model=lambda w_and_memory: w_and_memory[0])


def check(task: Task, *, optimiser: str, **args) -> None:
    """Refuse incompatible values before anything is compiled."""
    check_optimiser(optimiser)
    check_participation(task, **args)


def roles(*, optimiser: str, **_) -> dict[str, Role]:
    """Return the role of the server's step, which is in units of the model where the optimiser adapts it."""
    if optimiser == "momentum":
        return {"server_step_size": Role("server_step_size", momentum="beta1")}
    return {"server_step_size": Role("adaptive_server_step_size")}


METHOD = Method(
    dp_fedopt,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check,
    space={
        "server_step_size": Interval(1e-4, 10.0),
        "beta1": (0.0, 0.5, 0.9),
        "beta2": (0.9, 0.99),
        "tau": Interval(1e-5, 0.1),
    },
    cost=cost_of_sums,
    divides=True,
    roles=roles,
)
