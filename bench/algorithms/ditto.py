"""Ditto (Li, Hu, Beirami, Smith, ICML 2021), private for users: a common model w, and users' own models held near it.

User i minimises its loss at w + theta_i plus lambda / 2 |theta_i|^2, and w takes private steps on the users' losses at
w. In a round every participating user takes one step of each on the same examples:

    g_i = gradient of its loss at w,      w       <- w - eta (sum_i clip(g_i, C) + sigma C N(0, I)) / D
                                          theta_i <- theta_i - eta_local (gradient at w + theta_i + lambda theta_i)

What is protected is all data of one user, against all other users together: the sequence of w is public, and theta_i
never leaves user i. The paper takes several local steps of both, and has no privacy.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from bench.algorithms.base import Algorithm, Cost, Method, Role, Scalar
from bench.algorithms.parts.averaging import ONE_STEP, AveragingArguments, averaging, descent
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.user_changes import user_gradients
from bench.algorithms.ranges import NonNegative
from bench.algorithms.search_space import Interval
from bench.data.task import Task
from bench.errors import InputError
from bench.kernels import gradient as kernel
from bench.kernels import personal
from bench.kernels.platforms import over_clients
from bench.models.additive import Additive


@sharing(AveragingArguments, fixed=ONE_STEP)
def ditto(task: Task, shared: AveragingArguments, *, local_step_size: Scalar, regularization: NonNegative) -> Algorithm:
    """Private Ditto on a task with an additive model, from w and theta_i = 0.

    Args:
        task: with loss(w, theta_i, example), whose own models have the shape of the common one.
        shared: of w, see AveragingArguments: step_size is eta > 0, and the norm that is clipped at C is that of a
            user's gradient at w.
        local_step_size: eta_local > 0, of theta_i; at most about 1 / (curvature of the loss + lambda).
        regularization: lambda >= 0; 0 does not hold the models near w.
    """
    form = _dense(task) if task.gram is None else _dual(task, task.gram, shared.batch_size)

    def send(w, models, batch):
        moved = form.moved(w, models, batch, local_step_size, regularization)
        return moved, user_gradients(task, w, batch)

    def params(w, models):
        return Additive(w, **{form.name: models})

    return averaging(
        task, shared, send, descent(shared.step_size), kept=form.nothing, params=params, numbers=form.numbers
    )


class _Form(NamedTuple):
    """A form of the users' own models.

    name: of these models in `Additive`.
    nothing: () -> all theta_i = 0.
    moved: (w, own, batch, step_size, regularization) -> own, after a step of the round's users.
    numbers: that a user holds beside its examples.
    """

    name: str
    nothing: Callable
    moved: Callable
    numbers: int


def _occupancy(batch: personal.Batch) -> Array:
    """Return which places are taken, [sampled]; a Poisson sample has empty ones."""
    return jnp.sum(batch.weight, axis=1) > 0


def _dense(task: Task) -> _Form:
    """Return the form that keeps the models themselves, for any loss."""
    assert task.loss is not None
    gradient = kernel.batch_gradient(task.loss)

    def nothing():
        return jax.tree.map(lambda leaf: jnp.zeros((task.num_held, *leaf.shape)), task.init_params)

    def own_gradient(w, own, examples, weight):
        model = jax.tree.map(jnp.add, w, own)
        return gradient(model, jax.tree.map(jnp.zeros_like, model), examples, weight)

    def moved(w, theta, batch, step_size, regularization):
        clients = jnp.arange(task.num_held) if batch.clients is None else batch.clients
        models = jax.tree.map(lambda leaf: leaf[clients], theta)
        gradients, mask = over_clients(own_gradient, w, models, batch.examples, batch.weight), _occupancy(batch)

        def new_leaf(leaf, own, g):
            step = -step_size * (g + regularization * own)
            return leaf.at[clients].add(jnp.where(mask.reshape(-1, *[1] * (own.ndim - 1)), step, 0.0))

        return jax.tree.map(new_leaf, theta, models, gradients)

    return _Form("theta", nothing, moved, 4 * optax.tree.size(task.init_params))


def _dual(task: Task, gram: Array, batch_size: int) -> _Form:
    """Return the form that keeps coefficients of the users' examples, for linear models under the squared loss."""
    outputs = task.train[1].shape[-1]
    form = personal.dual(gram, outputs)

    def moved(w, coefficients, batch, step_size, regularization):
        inputs, targets = batch.examples
        clients, weight = personal.clients_of(gram, batch), batch.weight[..., None]
        errors = personal.shared_scores(inputs, w) - targets
        slopes = weight * (errors + personal.local_scores(gram, coefficients, batch))
        pull = jnp.where(_occupancy(batch)[:, None, None], regularization * coefficients[clients], 0.0)
        return form.move(coefficients.at[clients].add(-step_size * pull), batch, slopes, step_size)

    return _Form("coefficients", form.init, moved, gram.shape[1] * (batch_size + outputs))


def cost(task: Task, **args) -> Cost:
    """Return the cost of a round. A user takes two gradients of every example, at w and at w + theta_i, and sends that
    at w.
    """
    return cost_of_sums(task, **args, num_steps=2)


def check(task: Task, **args) -> None:
    """Refuse incompatible values, and own models of another shape than the common one.

    Raises:
        InputError: naming the value and what to do.
    """
    if task.init_local is not None:
        raise InputError(f"the users' own models on {task.name} are no copies of the common one: take ppsgd")
    check_participation(task, **args)


METHOD = Method(
    ditto,
    noisy_sums("all other users together"),
    version=1,
    check=check,
    cost=cost,
    divides=True,
    space={
        "local_step_size": Interval(3e-5, 3e-3),  # for inputs with norms like those of digits
        "regularization": Interval(0.03, 3.0),
    },
    roles=lambda **_: {"step_size": Role("server_step_size")},  # the users' own is local_step_size
)
