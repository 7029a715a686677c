"""Mistakes in rounds of private sums over users: the audit finds each of them with the command's own options, though
some leave the mean of what is public where it is, or show only after several rounds or in a model of several leaves.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import stats

from bench import Algorithm, Method, Scalar, State
from bench.algorithms.participation import check_participation, participation
from bench.audit import audit
from bench.audit.commands import text_of
from bench.kernels.gradient import clip
from bench.privacy.events import poisson_gaussian


def sums(task, *, num_sampled: int, batch_size: int, sampler: str, step_size: Scalar, clip_norm: Scalar,
         noise_multiplier: Scalar, mistake: str = "none") -> Algorithm:  # fmt: skip
    """A noisy sum of clipped user gradients a round, with one mistake."""
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler)
    flat, unravel = ravel_pytree(task.init_params)
    sizes = [leaf.size for leaf in jax.tree.leaves(task.init_params)]
    ends = np.cumsum(sizes)[:-1].tolist()

    def in_parts(g, ends):
        return jnp.concatenate([clip(part, clip_norm) for part in jnp.split(g, ends)])

    clips = {
        "by value": lambda g: jnp.clip(g, -clip_norm, clip_norm),
        "halves": lambda g: in_parts(g, [g.size // 2]),
        "leaves": lambda g: in_parts(g, ends),
        "after averaging": lambda g: g,
        "at the largest norm": lambda g: g,
    }

    def gradient(w, examples, weight):
        def loss(w):
            return weight @ jax.vmap(lambda e: task.loss(w, jax.tree.map(jnp.zeros_like, w), e))(examples)

        return ravel_pytree(jax.grad(loss)(w))[0]

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        w, t, first, remainder = state.variables
        if mistake == "drawn once":
            key_draw = first
        again = {"noise of one key": 0 * t, "noise of every second round": t // 2, "noise of period 4": t % 4}
        if mistake in again:
            key_noise = jax.random.fold_in(first, again[mistake])
        drawn, schedule = who.draw(key_draw, state.schedule)
        gradients = jax.vmap(gradient, (None, 0, 0))(unravel(w), drawn.batch.examples, drawn.batch.weight)
        norms, users = jnp.linalg.norm(gradients, axis=1), drawn.count
        messages = jax.vmap(clips.get(mistake, lambda g: clip(g, clip_norm)))(gradients)
        total, bound = messages.sum(0), jnp.asarray(clip_norm)
        if mistake == "after averaging":
            total = num_sampled * clip(total / num_sampled, clip_norm)
        if mistake == "at the largest norm":
            bound = jnp.maximum(norms.max(), 1e-6)
        if mistake == "remainder":
            total, remainder = total + jax.vmap(lambda g: clip(g, clip_norm))(remainder).sum(0), gradients - messages
        noise = (
            noise_multiplier * bound * jax.random.normal(key_noise, () if mistake == "scalar noise" else total.shape)
        )
        shares = {
            "half": 0.5,
            "noise / 10 from the fifth round": jnp.where(t >= 4, 0.1, 1.0),
            "no noise without participants": jnp.where(users > 0, 1.0, 0.0),
        }
        steps = {
            "step frozen": jnp.where(norms.max() > clip_norm, 0.0, 1.0),
            "private divisor": 1 / (1 + norms.sum()),
            "private step": 1 / jnp.maximum(norms.max(), 1.0),
            "divided by the count": drawn.divisor / jnp.maximum(users, 1.0),
        }
        change = steps.get(mistake, 1.0) * (total + shares.get(mistake, 1.0) * noise) / drawn.divisor
        info = {"clipped": (norms > clip_norm).sum().astype(jnp.float32)}
        return State(schedule, (w - step_size * change, t + 1, first, remainder)), info

    def init(key):
        places = jax.eval_shape(who.draw, key, who.init(key))[0].batch.weight.shape[0]
        return State(who.init(key), (flat, jnp.int32(0), key, jnp.zeros((places, flat.size))))

    return Algorithm(init, one_round, lambda state: unravel(state.variables[0]))


def releases(task, *, delta, num_sampled, noise_multiplier, **_):
    rate = num_sampled / task.num_clients
    return poisson_gaussian(noise_multiplier, sampling_rate=rate, delta=delta, accountant="pld")


METHOD = Method(sums, releases, version=1, check=check_participation)

SHIFTS = ["half", "noise of one key", "noise of every second round", "after averaging", "by value", "halves",
          "scalar noise", "remainder", "drawn once", "noise of period 4", "noise / 10 from the fifth round",
          "leaves"]  # fmt: skip
SCALES = ["at the largest norm", "step frozen", "private divisor", "private step", "divided by the count",
          "no noise without participants"]  # fmt: skip
FIRST_LOOK = {"confidence": 0.9995, "canaries": 0}  # of the command, which keeps half of the significance for later


def audited(mistake: str, **options):
    return audit(METHOD, args={"mistake": mistake}, **options)


@pytest.mark.slow
@pytest.mark.parametrize("mistake", SHIFTS + SCALES)
def test_every_mistake_is_refuted_by_the_default_options(mistake):
    found = audited(mistake, **FIRST_LOOK)
    assert [part.family for part in found.parts] == ["users", "layers"]
    assert found.refuted, text_of(found)
    assert text_of(found).startswith("FAILED: ")
    by = {bound.by for finding in found.findings for bound in finding.bounds if bound.refutes}
    assert ("scale" in by) == (mistake in SCALES)


@pytest.mark.parametrize("mistake", ["private divisor", "divided by the count", "leaves", "noise of period 4"])
def test_those_that_used_to_be_missed_are_refuted_on_the_second_task(mistake):
    found = audited(mistake, family="layers", rounds=8, runs=6000, canaries=0)
    assert found.refuted, text_of(found)


@pytest.mark.parametrize("family", ["users", "layers", "pair"])
def test_the_right_one_is_not_refuted(family):
    found = audited("none", family=family, runs=6000, canaries=0)
    assert not found.refuted, text_of(found)
    assert found.left_out
    assert found.inconclusive
    assert "was not checked" in text_of(found).splitlines()[0]


def test_a_count_without_noise_among_what_is_reported_is_named():
    """Nothing says that it is public, so that it does not refute the method; but the report says what it would show."""
    found = audited("none", family="users", runs=3000, canaries=0)
    assert found.parts[0].reported["clipped"] > 3
    said = text_of(found)
    assert "not looked at, since `public` leaves it out: clipped, variables[1], variables[2], variables[3]" in said
    assert "`clipped`, if it were published as `round` reports it, would prove epsilon" in said


def test_a_number_of_the_state_is_seen_if_the_method_says_that_it_is_public():
    @functools.wraps(sums)
    def telling(task, **args):
        """The remainders of the users, which are what was clipped off."""
        made = sums(task, **args)
        return made._replace(public=lambda state: (made.params(state), state.variables[3]))

    found = audit(
        METHOD._replace(make=telling), args={"mistake": "remainder"}, family="users", runs=600, rounds=2, canaries=0
    )
    assert found.refuted
    assert "variables[3]" not in found.parts[0].unseen


@pytest.mark.slow
def test_a_right_method_is_refuted_no_oftener_than_the_confidence_says():
    """With scores of shift and of scale. Every user takes part, so that the declared epsilon is exact."""
    tries, confidence = 60, 0.8
    args = {"sampler": "all", "num_sampled": 4}
    options = {"family": "users", "runs": 1500, "rounds": 2, "canaries": 0, "confidence": confidence}
    refuted = [audit(METHOD, args=args, seed=10 * seed, **options).refuted for seed in range(tries)]
    assert sum(refuted) <= stats.binom.isf(1e-4, tries, 1 - confidence)
    assert audit(METHOD, args=args | {"mistake": "half"}, **options).refuted
