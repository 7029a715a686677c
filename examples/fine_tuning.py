"""Private SGD, fine-tuned: w is learned together with noise, then every user takes steps of its own from w. Those are
free, since theta_i is never sent: a baseline that personalised methods are hard pressed to beat.
"""

import math

import jax
import jax.numpy as jnp

from bench import Algorithm, Method, Scalar, State
from bench.algorithms import local_learning
from bench.algorithms.parts.participation import check_participation, noisy_sums
from bench.algorithms.ppsgd import ppsgd


def fine_tuning(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, local_step_size: Scalar,
                clip_norm: Scalar, noise_multiplier: Scalar, num_steps: int = 1000) -> Algorithm:  # fmt: skip
    form = {"batch_size": batch_size, "local": "dense" if task.gram is None else "dual"}
    together = ppsgd(task, num_sampled=num_sampled, sampler=sampler, step_size=step_size, personalization=math.inf,
                     clip_norm=clip_norm, noise_multiplier=noise_multiplier, **form)  # fmt: skip
    alone = local_learning.local_learning(task, step_size=local_step_size, **form)

    def init(key):
        return State((together.init(key).schedule, jnp.int32(0)), together.init(key).variables)

    def one_round(key, state):
        after, info = together.round(key, State(state.schedule[0], state.variables))
        return State((after.schedule, state.schedule[1] + 1), after.variables), info

    def params(state):  # before the first round there is no w to tune
        key, steps = jax.random.key(0), jnp.where(state.schedule[1] > 0, num_steps, 0)
        start = State(alone.init(key).schedule, state.variables)
        tuned = jax.lax.fori_loop(0, steps, lambda t, now: alone.round(jax.random.fold_in(key, t), now)[0], start)
        return alone.params(tuned)

    return Algorithm(init, one_round, params, public=lambda state: state.variables["w"])


def check(task, **args):
    check_participation(task, **args)
    local_learning.check(task, local="dense", **args)  # users of a stream have nothing to learn from by themselves


TRIED = {"local_step_size": [5e-4, 1e-3, 2e-3]}  # for inputs as long as those of digits
METHOD = Method(fine_tuning, noisy_sums("all other users together"), version=1, check=check, space=TRIED)
