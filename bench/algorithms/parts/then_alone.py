"""Local steps of every user from the public model, after any user-level method.

The steps use the public model and the user's own data, and their result is never sent. They are post-processing of
public values on the user's own side, so any number of them costs no privacy against anybody else.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.algorithms.base import Algorithm, Cost, Scalar, State
from bench.algorithms.local_learning import local_learning
from bench.algorithms.parts.counting import used_at_least_once
from bench.algorithms.parts.participation import participation
from bench.data.task import Task
from bench.kernels import personal
from bench.kernels.platforms import by_platform
from bench.models.additive import Additive

STEPS_TOGETHER = 50  # of a user, before the next one


def then_alone(
    task: Task,
    together: Algorithm,
    *,
    batch_size: int,
    step_size: Scalar,
    num_steps: int,
    local: str = "dense",
    model: Callable[[State], Any] | None = None,
) -> Algorithm:
    """Return the method with predictions by models that the users train from its public model by themselves.

    Args:
        task: with stored examples.
        together: a method with a public model w.
        batch_size: m, examples of a step, drawn afresh without replacement.
        step_size: of the users, > 0.
        num_steps: number of steps of every user, from w + 0; taken whenever the method predicts, and never before the
            first round.
        local: form of the users' models, as for `ppsgd`.
        model: state of `together` -> w; None where its public state is w and nothing else.
    """
    training = _in_span if local == "dual" else _dense
    train_alone = training(task, batch_size=batch_size, step_size=step_size)
    public = together.public or together.params
    model_of = model or public

    def init(key):
        schedule, variables = together.init(key)
        return State((schedule, jnp.int32(0)), variables)

    def one_round(key, state):
        schedule, count = state.schedule
        after, info = together.round(key, State(schedule, state.variables))
        return State((after.schedule, count + 1), after.variables), info

    def state_of_method(state):
        return State(state.schedule[0], state.variables)

    def params(state):
        steps = jnp.where(state.schedule[1] > 0, num_steps, 0)
        return train_alone(jax.random.key(0), model_of(state_of_method(state)), steps)

    return Algorithm(init, one_round, params, public=lambda state: public(state_of_method(state)))


def _dense(task: Task, *, batch_size: int, step_size: Scalar) -> Callable[[Array, Any, Array], Additive]:
    """Return (key, w, num_steps) -> the models that every user trains from w, for any loss."""
    local = local_learning(task, batch_size=batch_size, step_size=step_size)

    def trained(key, w, num_steps):
        first_state = local.init(key)
        start = first_state._replace(variables=first_state.variables | {"w": w})
        end = jax.lax.fori_loop(0, num_steps, lambda t, s: local.round(jax.random.fold_in(key, t), s)[0], start)
        return local.params(end)

    return trained


def _in_span(task: Task, *, batch_size: int, step_size: Scalar) -> Callable[[Array, Any, Array], Additive]:
    """Return the same as `_dense`, as coefficients of the users' examples, for linear models under the squared loss.

    w stays where it is, so its scores on all examples are computed once. On a CPU users train one after the other, some
    steps at a time, so that a user's model stays in the processor's cache while it is trained.
    """
    gram, (inputs, targets) = task.gram, task.train
    assert gram is not None
    users_drawn = participation(task, num_sampled=task.num_clients, batch_size=batch_size, sampler="all")

    def trained(key, w, num_steps):
        errors = personal.shared_scores(inputs, w) - targets

        def batch_of_step(t):
            """Return the rows of step t, and their weights, [client, example]; they are those of `local_learning`."""
            key_draw, _ = jax.random.split(jax.random.fold_in(key, t))
            batch = users_drawn.draw(key_draw, ())[0].batch
            return batch.rows, jnp.where(t < num_steps, batch.weight, 0.0)

        def of_user(user):
            products, errors, coefficients, rows, weight = user

            def step(coefficients, rows_and_weights):
                rows, weight = rows_and_weights
                slopes = weight[:, None] * (errors[rows] + products[rows] @ coefficients)
                return coefficients.at[rows].add(-step_size * slopes), None

            return jax.lax.scan(step, coefficients, (rows, weight))[0]

        def block_of_steps(block, coefficients):
            rows, weight = jax.lax.map(batch_of_step, block * STEPS_TOGETHER + jnp.arange(STEPS_TOGETHER))
            users = gram, errors, coefficients, jnp.moveaxis(rows, 1, 0), jnp.moveaxis(weight, 1, 0)
            return by_platform(partial(jax.lax.map, of_user), jax.vmap(of_user))(users)

        zeros = jnp.zeros((*gram.shape[:2], targets.shape[-1]))
        blocks = (num_steps + STEPS_TOGETHER - 1) // STEPS_TOGETHER
        return Additive(w, coefficients=jax.lax.fori_loop(0, blocks, block_of_steps, zeros))

    return trained


def cost_then_alone(task: Task, together: Cost, *, batch_size: int, num_steps: int) -> Cost:
    """Return the cost of the method whose rounds cost `together`, with the users' own steps counted once, after the
    last round.

    Args:
        batch_size, num_steps: as for `then_alone`.
    """
    sizes = np.asarray(task.num_examples, float)
    batches = np.minimum(sizes, batch_size)
    examples = float(np.sum(used_at_least_once(sizes, batches, num_steps)))
    return together._replace(once=Cost(0.0, float(np.sum(batches)) * num_steps, examples))
