"""A method whose output is not finite in one world, and finite in the other, tells who takes part."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

from bench import Algorithm, Method, Scalar, State
from bench.algorithms import ALGORITHMS
from bench.audit import audit
from bench.audit.subject import data_of, families_of, run, subject_of
from bench.audit.tasks import OVERFLOW
from bench.errors import InputError
from bench.kernels import gradient
from bench.parts import check_participation, noisy_sums, participation
from bench.privacy.events import REPLACE


def clipped_by_hand(
    task,
    *,
    num_sampled: int,
    batch_size: int,
    clip_norm: Scalar,
    noise_multiplier: Scalar,
    sampler: str = "poisson",
    kept: bool,
    step: Scalar,
):
    """Private SGD on users' gradients, which clips as most programs do, min(1, C / norm) g; `kept`: as they are."""
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)

    def one_round(key, state):
        key_drawn, key_noise = jax.random.split(key)
        drawn, schedule = who.draw(key_drawn, state.schedule)
        w = state.variables
        of_user = gradient.batch_gradient(task.loss)
        nothing = jax.tree.map(jnp.zeros_like, w)
        sent = jax.vmap(lambda *user: of_user(w, nothing, *user))(drawn.batch.examples, drawn.batch.weight)
        factors = jnp.minimum(1.0, clip_norm / jnp.maximum(gradient.norms_of(sent), 1e-9))
        scale = jax.vmap(lambda factor, tree: jax.tree.map(lambda leaf: factor * leaf, tree))
        clip = jax.vmap(partial(gradient.clip, clip_norm=clip_norm)) if kept else partial(scale, factors)
        noise = gradient.gaussian_like(key_noise, w)
        total = jax.tree.map(lambda leaf, n: leaf.sum(0) + noise_multiplier * clip_norm * n, clip(sent), noise)
        return State(schedule, jax.tree.map(lambda here, by: here - step * by / drawn.divisor, w, total)), {}

    return Algorithm(lambda key: State(who.init(key), task.init_params), one_round, lambda state: state.variables)


METHOD = Method(clipped_by_hand, noisy_sums("everybody"), version=1, check=check_participation)
QUICK = {"runs": 2000, "family": "users"}


def test_a_message_that_is_not_finite_fails_the_audit_which_says_so():
    found = audit(METHOD, args={"kept": False, "step": 1.0}, **QUICK)
    assert found.verdict == "FAILED"
    assert "numbers that are not finite tell who takes part" in str(found)
    assert not audit(METHOD, args={"kept": True, "step": 1.0}, **QUICK).refuted


def test_where_both_worlds_overflow_it_is_an_error_that_names_no_argument_that_the_method_lacks():
    with pytest.raises(InputError, match=r"is not finite in [\d,]+ of 4,000 runs: take smaller steps") as refused:
        audit(METHOD, args={"kept": True, "step": 1e38}, **QUICK)
    assert "step_size" not in str(refused.value)


LINEAR = ("minibatch_sgd", "coordinate_descent")  # one for silos and one for agents
NAMES = [name if name in LINEAR else pytest.param(name, marks=pytest.mark.slow) for name in ALGORITHMS]


@pytest.mark.parametrize("name", NAMES)
def test_no_built_in_method_tells_of_a_unit_whose_message_is_not_finite(name):
    for family in families_of(ALGORITHMS[name]):
        subject = subject_of(ALGORITHMS[name], family=family, rounds=3, delta=1e-5, args={})
        keys = jax.random.split(jax.random.key(0), 100)
        overflowing = run(subject, data_of(subject, REPLACE, OVERFLOW, 0), keys)
        assert overflowing.finite.all(), family
