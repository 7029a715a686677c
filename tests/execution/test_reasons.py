"""Why a sweep takes long is found by counting the operations of its programs."""

from dataclasses import replace

import jax.numpy as jnp
from tiny_sweeps import WALK, resolved, sweep_of
from toy_problems import least_squares

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.execution.reasons import reasons
from bench.sweeps.spec import Entry, grid


def descent(task, *, num_sampled: int, everybody: bool, step_size: Scalar, noise_multiplier: Scalar = 0.0) -> Algorithm:
    """Gradient steps on a few clients; of all clients where `everybody`, with the weight of the others 0."""

    def one_round(key, state):
        number = task.num_clients if everybody else num_sampled
        inputs = task.train[0][:number]
        weight = (jnp.arange(number) < num_sampled).astype(inputs.dtype)
        moved = jnp.einsum("n,nmd,nme,...e->...d", weight, inputs, inputs, state.variables)
        return State((), state.variables - step_size * moved), {}

    return Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)


METHOD = Method(descent, WALK.releases, version=1)


def found(eval_every: int, **args) -> list[str]:
    """The reasons for points of the method, on a task whose metrics are as quick as can be or take long."""
    table = grid(step_size=[0.1, 0.2], **args)
    task = replace(least_squares(), metrics=lambda params, task: {"loss": jnp.square(task.train[0] @ params).mean()})
    sweep = sweep_of({"Descent": Entry(METHOD, table)}, eval_every=eval_every, tasks={"squares": lambda trial: task})
    (points,) = resolved(sweep).values()
    return reasons(points, task)


def test_a_method_that_computes_all_users_is_told_from_one_that_computes_the_sample():
    (reason,) = [one for one in found(20, num_sampled=2, everybody=True) if "users" in one]
    assert reason == "Descent computes as much as if all 5 users took part, although 2 do in a round"
    assert not [one for one in found(20, num_sampled=2, everybody=False) if "users" in one]
    assert not [one for one in found(20, num_sampled=5, everybody=True) if "users" in one]


def test_metrics_that_most_operations_are_for_are_named():
    (reason,) = [one for one in found(1, num_sampled=1, everybody=False) if "metrics" in one]
    assert "% of the operations of Descent are for metrics, which are computed after every round" in reason
    assert not [one for one in found(20, num_sampled=5, everybody=True) if "metrics" in one]
