"""Local steps of every user from the public model, after any user-level method.

The steps use the public model and the user's own data, and their result is never sent. They are post-processing of
public values on the user's own side, so any number of them costs no privacy against anybody else.
"""

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, Cost, Scalar, State
from bench.algorithms.counting import used_at_least_once
from bench.algorithms.local_learning import local_learning
from bench.data.task import Task


def then_alone(
    task: Task, together: Algorithm, *, batch_size: int, step_size: Scalar, num_steps: int, local: str = "dense"
) -> Algorithm:
    """Return the method with predictions by models that the users train from its public model by themselves.

    Args:
        task: with stored examples.
        together: a method whose public state is the common model w and nothing else.
        batch_size: m, examples of a step, drawn afresh without replacement.
        step_size: of the users, > 0.
        num_steps: number of steps of every user, from w + 0; taken whenever the method predicts, and never before the
            first round.
        local: form of the users' models, as for `ppsgd`.
    """
    alone = local_learning(task, batch_size=batch_size, step_size=step_size, local=local)
    public = together.public or together.params

    def init(key):
        schedule, variables = together.init(key)
        return State((schedule, jnp.int32(0)), variables)

    def one_round(key, state):
        schedule, count = state.schedule
        after, info = together.round(key, State(schedule, state.variables))
        return State((after.schedule, count + 1), after.variables), info

    def before(state):
        return State(state.schedule[0], state.variables)

    def params(state):
        key = jax.random.key(0)
        fresh = alone.init(key)
        start = fresh._replace(variables=fresh.variables | {"w": public(before(state))})
        steps = jnp.where(state.schedule[1] > 0, num_steps, 0)
        tuned = jax.lax.fori_loop(0, steps, lambda t, now: alone.round(jax.random.fold_in(key, t), now)[0], start)
        return alone.params(tuned)

    return Algorithm(init, one_round, params, public=lambda state: public(before(state)))


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
