"""A toy problem for every built-in method, with an optimum in closed form that the method reaches without noise.

All losses are squared, but for the network's; inputs have the same second moment in every client or silo, so that
gradient methods converge at a known rate.
"""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from grouped_examples import frequencies, own_groups, own_probabilities, probabilities, saturated
from tiny_gossip import standing_still
from tiny_peers import MU, dense, listed, minimizer, squared_peers
from tiny_silos import task_of

from bench.data.task import Head, Task
from bench.data.tasks.quadratic import half_square
from bench.kernels.graph import confidence
from bench.models.additive import squared_loss
from bench.models.parts import joined

CLIENTS, EXAMPLES, FEATURES = 5, 6, 3
MOMENTS = np.array([1.0, 0.8, 0.6])  # of the inputs, X_i^T X_i / m = diag of these
RIDGE = 0.5


class Toy(NamedTuple):
    """What one method is tried on.

    task: () -> Task.
    args: of the method, without noise; those that it can do without are left out.
    rounds: of a run.
    optimum: what `read` gives at the optimum, float64.
    tolerance: largest absolute error after the run.
    read: params -> the array that is compared with the optimum.
    fixed: arguments that are floats and may not change without compiling again.
    random: whether a run with noise depends on its seed.
    """

    task: Callable[[], Task]
    args: dict[str, Any]
    rounds: int
    optimum: Callable[[], np.ndarray]
    tolerance: float = 1e-4
    read: Callable[[Any], jax.Array] = lambda params: params
    fixed: tuple[str, ...] = ()
    random: bool = True


def toy_of(name: str) -> Toy:
    """The toy problem of a method.

    Raises:
        LookupError: for a method that has none, saying what to add.
    """
    if name not in TOYS:
        raise LookupError(f"{name} has no toy problem: add a row to TOYS in tests/helpers/toy_problems.py")
    return TOYS[name]


# ---- Least squares of clients and of silos ----


@cache
def records(noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs [client, example, feature], targets [client, example] of clients whose own models differ."""
    rng = np.random.default_rng(5)
    inputs = np.linalg.qr(rng.standard_normal((CLIENTS, EXAMPLES, FEATURES)))[0] * np.sqrt(EXAMPLES * MOMENTS)
    models = rng.standard_normal((CLIENTS, FEATURES))
    targets = np.einsum("nmd,nd->nm", inputs, models) + noise * rng.standard_normal((CLIENTS, EXAMPLES))
    return inputs, targets


@cache
def least_squares(noise: float = 1.0) -> Task:
    """Loss (<w, x> - y)^2 / 2."""
    return task_of(*records(noise), half_square, squared_loss)


FACTORS, DIRECTION = np.array([0.5, 1.5, 1.0, -0.7, 0.8]), np.array([1.0, -0.5, 0.7])


@cache
def one_factor() -> Task:
    """Users whose models are multiples of one direction: loss (a_i <b, x> - y)^2 / 2 without noise, head a, body b."""
    inputs, _ = records()
    targets = np.einsum("nmd,d,n->nm", inputs, DIRECTION, FACTORS)

    def loss(shared, local, example):
        model, (x, y) = joined(shared, local), example
        return half_square(model["head"] * (model["body"] @ x), y)

    start = {"body": jnp.asarray([0.5, 0.1, 0.4]), "head": jnp.asarray(0.9)}
    whole = task_of(inputs, targets, link=None, loss=loss, name="one_factor")
    return dataclasses.replace(whole, init_params=start, head=Head(("head",)), metrics=size_of_model)


def size_of_model(params, task):
    return {"norm": sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(params))}


def of_all(ridge: float = 0.0) -> np.ndarray:
    """The one model that fits all records, argmin mean loss + ridge / 2 |w|^2, [feature]."""
    inputs, targets = records()
    right = np.einsum("nmd,nm->d", inputs, targets) / targets.size
    return np.linalg.solve(np.diag(MOMENTS) + ridge * np.eye(FEATURES), right)


def of_each(noise: float = 1.0) -> np.ndarray:
    """Every client's own least squares, [client, feature]."""
    return np.stack([np.linalg.lstsq(x, y)[0] for x, y in zip(*records(noise), strict=True)])


def where_sharpness_stops(radius: float) -> np.ndarray:
    """Where the clients' gradients at a distance `radius` uphill cancel, found step by step, [feature]."""
    alone, w = of_each(), of_all()
    for _ in range(500):
        uphill = MOMENTS * (w - alone)
        uphill /= np.linalg.norm(uphill, axis=1, keepdims=True)
        w = w - 0.5 * (MOMENTS * (w + radius * uphill - alone)).mean(0)
    return w


def near_their_mean(pull: float) -> np.ndarray:
    """argmin of own squares + pull / 2 |own - mean|^2, [client, feature]; the mean is that of `of_each`."""
    alone = of_each()
    right = alone * MOMENTS + pull * alone.mean(0)
    return right / (MOMENTS + pull)


@cache
def copies() -> Task:
    """Silos that hold one record each, many times, so that any part of a silo's records says what all of them say."""
    inputs, targets = (array.reshape(-1, *array.shape[2:])[:, None] for array in records())
    return task_of(np.repeat(inputs, 8, axis=1), np.repeat(targets, 8, axis=1), half_square, squared_loss)


def after_two_phases(growth: float) -> np.ndarray:
    """Ridge regression around 0, then with 2^growth times the strength around its answer, [feature]."""
    stronger = RIDGE * 2**growth
    right = np.diag(MOMENTS) @ of_all() + stronger * of_all(RIDGE)
    return np.linalg.solve(np.diag(MOMENTS) + stronger * np.eye(FEATURES), right)


# ---- Peers ----


def own_minimizers() -> np.ndarray:
    """argmin (1 / m_i) |X_i theta - y_i|^2 + lambda_i |theta|^2, [agent, feature]."""
    task, out = squared_peers(), []
    for x, y, ridge in zip(*listed(task)[:2], np.asarray(task.peers.regularization, float), strict=True):
        out.append(np.linalg.solve(x.T @ x / len(y) + ridge * np.eye(x.shape[1]), x.T @ y / len(y)))
    return np.stack(out)


def propagated() -> np.ndarray:
    """argmin sum_{i<j} W_ij |theta_i - theta_j|^2 + mu sum_i D_ii c_i |theta_i - local_i|^2, [agent, feature]."""
    task = squared_peers()
    weights, trust = dense(task), np.asarray(confidence(task.num_examples), float)
    pull = MU * weights.sum(1) * trust
    return np.linalg.solve(np.diag(weights.sum(1) + pull) - weights, pull[:, None] * own_minimizers())


def theta(params) -> jax.Array:
    """Every agent's model."""
    return params.theta


PEERS = {"mu": MU}
USERS = {"num_sampled": CLIENTS, "sampler": "all", "batch_size": EXAMPLES, "clip_norm": np.inf, "noise_multiplier": 0.0}
SILOS = {"num_sampled": CLIENTS, "sampler": "all", "clip_norm": np.inf, "noise_multiplier": 0.0}

# Methods that share a program with another one, which is tried by default: `--slow` tries these as well.
VARIANTS = {"dpsgd_fedadamw", "dpsgd_fedopt", "dpsgd_fedprox", "dpsgd_mrmtl", "dpsgd_scaffold"}
# Methods that use examples and draw as another one does, from which they differ in their messages, in the local
# objective or in the server's step. Files of their own try these.
ALIKE = {"dp_fedopt", "dp_fedprox", "dp_fedsam", "dp_fedblur", "dp_fedsmp", "dp_fedls", "accelerated", "subgradient"}
ALIKE |= {"local_networks"}

AT_ONCE = {  # of networks: all examples that a client has in every step, so samples at rate 1
    "total_epochs": 100,
    "num_epochs": 1.0,
    "batch_size": 4,
    "step_size": 2.0,
    "momentum": 0.0,
    "clip_norm": np.inf,
    "noise_multiplier": 0.0,
}
TOYS: dict[str, Toy] = {
    "accelerated": Toy(
        least_squares,
        SILOS | {"phase_rounds": 60, "step_size": 0.5, "regularization": RIDGE, "num_stages": 4},
        60,
        lambda: of_all(RIDGE),
    ),
    "admm": Toy(
        squared_peers, PEERS | {"penalty": 0.1, "num_ticks": 40}, 60, lambda: minimizer(squared_peers(), MU), read=theta
    ),
    "coordinate_descent": Toy(
        squared_peers, PEERS | {"num_ticks": 20}, 100, lambda: minimizer(squared_peers(), MU), read=theta
    ),
    "ditto": Toy(  # w goes to the common model, and the own ones are held near it
        least_squares,
        USERS | {"step_size": 0.6, "local_step_size": 0.6, "regularization": RIDGE},
        100,
        lambda: near_their_mean(RIDGE),
        read=lambda params: params.w + params.theta,
    ),
    "dp_dsgd": Toy(  # with steps of one length agents end near the optimum, at known places around it
        squared_peers,
        {"step_size": 0.3, "clip_norm": np.inf, "noise_multiplier": 0.0},
        200,
        lambda: standing_still(squared_peers(), 0.3),
    ),
    "dp_fedavg": Toy(least_squares, USERS | {"step_size": 1.0, "server_step_size": 1.0}, 40, of_all),
    "dp_fedblur": Toy(
        least_squares,
        USERS | {"step_size": 0.5, "server_step_size": 0.5, "bound": 0.5, "num_steps": 3},
        40,
        of_all,
        fixed=("kept",),
    ),
    "dp_fedls": Toy(
        least_squares,
        USERS | {"step_size": 1.0, "server_step_size": 1.0, "smoothing_strength": 0.3, "num_steps": 1},
        120,
        of_all,
    ),
    "dp_fedopt": Toy(
        least_squares,
        USERS
        | {"step_size": 1.0, "server_step_size": 0.1, "optimiser": "adam", "beta1": 0.5, "beta2": 0.9, "tau": 0.1},
        200,
        of_all,
    ),
    "dp_fedprox": Toy(
        least_squares,
        USERS | {"step_size": 0.5, "server_step_size": 0.5, "proximal": 0.5, "num_steps": 3},
        40,
        of_all,
    ),
    "dp_fedrep": Toy(
        one_factor,
        USERS | {"step_size": 0.3, "server_step_size": 0.3, "local_step_size": 0.3, "num_steps": 3},
        150,
        lambda: FACTORS[:, None] * DIRECTION,
        read=lambda params: params.theta["head"][:, None] * params.w["body"],
    ),
    "dp_fedsam": Toy(
        least_squares,
        USERS | {"step_size": 1.0, "server_step_size": 1.0, "sharpness": 0.2, "num_steps": 1},
        60,
        lambda: where_sharpness_stops(0.2),
        fixed=("kept",),
    ),
    "dp_fedsmp": Toy(  # two of three numbers in a round
        least_squares,
        USERS | {"step_size": 0.5, "server_step_size": 0.5, "kept": 0.67, "num_steps": 3},
        120,
        of_all,
        fixed=("kept",),
    ),
    "dp_scaffold": Toy(
        least_squares,
        {"num_sampled": CLIENTS, "num_steps": 3, "batch_size": EXAMPLES, "sampler": "all", "step_size": 0.3}
        | {"clip_norm": np.inf, "noise_multiplier": 0.0},
        60,
        of_all,
    ),
    "dpsgd_fedavg": Toy(saturated, AT_ONCE, 100, frequencies, read=probabilities),
    "dpsgd_fedadamw": Toy(
        saturated,
        {name: value for name, value in AT_ONCE.items() if name != "momentum"}
        | {"step_size": 0.5, "total_epochs": 400, "tau": 1.0, "decay": 0.0, "alignment": 0.0},
        400,
        frequencies,
        read=probabilities,
    ),
    "dpsgd_fedopt": Toy(
        saturated, AT_ONCE | {"beta1": 0.0, "server_step_size": 1.5}, 100, frequencies, read=probabilities
    ),
    "dpsgd_fedprox": Toy(saturated, AT_ONCE | {"proximal": 0.1}, 100, frequencies, read=probabilities),
    "dpsgd_scaffold": Toy(
        saturated,
        {name: value for name, value in AT_ONCE.items() if name != "momentum"},
        100,
        frequencies,
        read=probabilities,
    ),
    "dpsgd_mrmtl": Toy(own_groups, AT_ONCE | {"regularization": 0.0}, 100, frequencies, read=own_probabilities),
    "fine_tuning": Toy(  # so many own steps find everybody's own model
        least_squares,
        USERS | {"step_size": 1.0, "server_step_size": 1.0, "local_step_size": 0.6, "own_steps": 60},
        20,
        of_each,
        read=lambda params: params.w + params.theta,
    ),
    "local_dp": Toy(squared_peers, PEERS | {"noise_multiplier": 0.0, "bound": 2.0}, 3, own_minimizers, read=theta),
    "local_learning": Toy(  # minibatches of records without noise, which all agree with the client's own model
        lambda: least_squares(0.0),
        {"batch_size": EXAMPLES // 2, "step_size": 0.2},
        150,
        lambda: of_each(0.0),
        read=lambda params: params.w + params.theta,
    ),
    "local_models": Toy(squared_peers, PEERS, 3, own_minimizers, read=theta, random=False),
    "local_networks": Toy(
        own_groups,
        {"total_epochs": 100, "batch_size": 4, "step_size": 2.0, "momentum": 0.0},
        100,
        frequencies,
        read=own_probabilities,
        random=False,
    ),
    "localized": Toy(
        copies,
        SILOS
        | {"num_sampled": CLIENTS * EXAMPLES, "num_phases": 2, "phase_rounds": 40, "step_size": 1.0}
        | {"regularization": RIDGE, "growth": 1.0},
        80,
        lambda: after_two_phases(1.0),
        fixed=("share", "rounds_ratio"),
    ),
    "minibatch_sgd": Toy(least_squares, SILOS | {"phase_rounds": 40, "step_size": 1.0}, 40, of_all),
    "model_propagation": Toy(squared_peers, PEERS | {"num_ticks": 20}, 100, propagated, read=theta),
    "mr_mtl": Toy(
        least_squares,
        {"batch_size": EXAMPLES, "sampler": "all", "step_size": 0.6, "regularization": RIDGE}
        | {"clip_norm": np.inf, "noise_multiplier": 0.0},
        60,
        lambda: near_their_mean(RIDGE),
        read=lambda params: params.w + params.theta,
    ),
    "ppsgd": Toy(
        least_squares,
        USERS | {"step_size": 0.5, "personalization": 1.0},
        100,
        of_each,
        read=lambda params: params.w + params.theta,
    ),
    "subgradient": Toy(  # the mean of its iterates is off by O(1 / rounds)
        least_squares,
        SILOS | {"phase_rounds": 400, "step_size": 2.0, "regularization": RIDGE},
        400,
        lambda: of_all(RIDGE),
        tolerance=2e-3,
    ),
}
