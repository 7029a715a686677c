"""A method that sends more than a gradient: the clipping norm follows a quantile of the users' norms (Andrew et al.
2021), found by a noisy count, and the budget is split over the sum and the count. A user that is removed sends neither.
"""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from slow_cases import rows

from bench import Algorithm, Method, Scalar, State
from bench.algorithms.parts.participation import check_participation, participation
from bench.audit import audit
from bench.audit.text import text_of
from bench.kernels.gradient import clipped_sum
from bench.privacy.events import poisson_gaussian

SHARE = 0.5  # of 1 / sigma^2 that goes to the count, which a user moves by 1/2


def adaptive(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, clip_norm: Scalar,
             noise_multiplier: Scalar, answers: str = "who takes part") -> Algorithm:  # fmt: skip
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)
    of_sum, of_count = noise_multiplier * (1 - SHARE) ** -0.5, noise_multiplier * SHARE**-0.5 / 2

    def gradient(w, examples, weight):
        return jax.grad(lambda w: weight @ jax.vmap(lambda e: task.loss(w, 0 * w, e))(examples))(w)

    def one_round(key, state):
        (key_draw, key_sum, key_count), (w, bound) = jax.random.split(key, 3), state.variables
        drawn, schedule = who.draw(key_draw, state.schedule)
        gradients = jax.vmap(gradient, (None, 0, 0))(w, drawn.batch.examples, drawn.batch.weight)
        total, norms = clipped_sum(gradients, bound)
        bits = jnp.where(norms <= bound, 0.5, -0.5)
        there = drawn.batch.weight.sum(1) > 0
        count = (bits if answers == "every place" else jnp.where(there, bits, 0.0)).sum()
        total = total + of_sum * bound * jax.random.normal(key_sum, w.shape)
        count = count + of_count * jax.random.normal(key_count)
        w = w - step_size * total / drawn.divisor
        return State(schedule, (w, bound * jnp.exp(-0.2 * count / drawn.divisor))), {}

    start = task.init_params, jnp.asarray(clip_norm, jnp.float32)
    return Algorithm(
        lambda key: State(who.init(key), start),
        one_round,
        lambda state: state.variables[0],
        public=lambda state: state.variables,
    )


def releases(task, *, delta, num_sampled, noise_multiplier, worth=1.0, **_):
    rate = num_sampled / task.num_clients
    return poisson_gaussian(worth * noise_multiplier, sampling_rate=rate, delta=delta, accountant="pld")


METHOD = Method(adaptive, releases, version=1, check=check_participation)
QUICK = {"runs": 9000}
ARGS = {"noise_multiplier": 1.75}  # for an epsilon of 3 with half of the users


@pytest.mark.parametrize(
    ("sampler", "family"),
    rows([("all", "users"), ("all", None), ("poisson", None)], slow=[("all", None), ("poisson", None)]),
)
def test_a_user_that_is_removed_sends_nothing(sampler, family):
    """Not its half to the count, either: it would move by 1, and the method, which is right, be refuted."""
    args = ARGS | {"sampler": sampler, "num_sampled": 4 if sampler == "all" else 2}
    found = audit(METHOD, args=args, family=family, **QUICK)
    assert {part.removal for part in found.task_audits} == {"absent"}
    assert not found.refuted, text_of(found)
    assert "removed means" not in text_of(found)
    assert found.strongest.factor == pytest.approx(1, abs=0.08)
    shares = [bound.lower_bound / bound.declared for bound in found.findings[0].bounds]
    assert max(shares) > 0.4


@pytest.mark.slow
def test_noise_for_half_of_that_count_and_a_place_without_a_user_that_answers_are_refuted():
    assert audit(METHOD._replace(releases=partial(releases, worth=2.0)), args=ARGS, **QUICK).refuted
    assert audit(METHOD, args=ARGS | {"answers": "every place"}, **QUICK).refuted
