"""Record-level DP-SGD under "add or remove one": a record that is removed is absent, also where the method would send
something for a record with data of 0.
"""

import jax
import jax.numpy as jnp
import pytest
from slow_cases import cases

from bench import Algorithm, Method, Scalar, State
from bench.algorithms import ALGORITHMS
from bench.audit import audit
from bench.audit.subject import ABSENT, KEPT, ZERO, removal, subject_of
from bench.audit.text import text_of
from bench.kernels.gradient import clipped_sum
from bench.privacy.events import full_gaussian


def regularised(task, *, step_size: Scalar, clip_norm: Scalar, noise_multiplier: Scalar, strength: Scalar = 0.0,
                leaves_out: bool = True) -> Algorithm:  # fmt: skip
    """The sum over all records of the first client of clip(gradient + strength w)."""
    there = task.present_examples[0] if leaves_out else jnp.ones(task.train[0].shape[1], bool)

    def one_round(key, state):
        w = state.variables
        records = (leaf[0] for leaf in task.train)
        gradients = jax.vmap(lambda *record: jax.grad(task.loss)(w, 0 * w, record) + strength * w)(*records)
        total, _ = clipped_sum(jnp.where(there[:, None], gradients, 0.0), clip_norm)
        noise = noise_multiplier * clip_norm * jax.random.normal(key, w.shape)
        return State((), w - step_size * (total + noise)), {}

    return Algorithm(lambda key: State((), task.init_params), one_round, lambda state: state.variables)


def releases(task, *, delta, noise_multiplier, worth=1.0, **_):
    return full_gaussian(worth * noise_multiplier, delta=delta, privacy_unit="record", protects_against="the server")


def half(task, *, delta, **args):
    return releases(task, delta=delta, worth=2.0, **args)


METHOD = Method(regularised, releases, version=1)
QUICK = {"runs": 1200}


@pytest.mark.parametrize("strength", cases([1.0, 0.0, 30.0], slow={0.0, 30.0}))
def test_the_right_one_passes_and_half_of_its_noise_is_refuted(strength):
    args, options = {"strength": strength}, QUICK
    found = audit(METHOD, args=args, **options)
    assert found.verdict == "passed", text_of(found)
    assert text_of(found).startswith("passed: consistent with epsilon 3 (paper); noise 1.")
    assert {part.removal for part in found.task_audits} == {"absent"}
    parts = [
        part._replace(findings=tuple(each._replace(played=False) for each in part.findings))
        for part in found.task_audits
    ]
    assert found._replace(task_audits=tuple(parts)).verdict == "inconclusive"  # whatever would have been seen
    wrong = audit(METHOD._replace(releases=half), args=args, **options)
    assert wrong.refuted, text_of(wrong)


@pytest.mark.parametrize(
    ("strength", "verdict"), [pytest.param(0.0, "passed", marks=pytest.mark.slow), (1.0, "inconclusive")]
)
def test_one_that_uses_what_is_absent_passes_only_if_data_of_0_are_as_good_as_none(strength, verdict):
    found = audit(METHOD, args={"strength": strength, "leaves_out": False}, **QUICK)
    assert found.verdict == verdict, text_of(found)
    assert found.task_audits[0].removal == (ZERO if strength == 0 else KEPT)
    if verdict == "inconclusive":
        first = text_of(found).splitlines()[0]
        assert "add-or-remove one, could not be played" in first
        assert "Task.present_examples" in first


def test_two_data_sets_that_are_two_neighbours_apart_still_refute_what_is_grossly_wrong():
    grossly = METHOD._replace(releases=lambda task, **args: releases(task, worth=20.0, **args))
    found = audit(grossly, args={"strength": 1.0, "leaves_out": False}, **QUICK)
    assert found.refuted, text_of(found)
    assert found.findings[0].bounds == ()
    assert found.findings[0].replay_refutes


@pytest.mark.parametrize(
    ("name", "family", "given"),
    [
        ("mr_mtl", "records", {"regularization": 1.0, "sampler": "poisson", "batch_size": 2}),
        ("mr_mtl", "records", {"regularization": 1.0}),
        ("dp_scaffold", "records", {}),
        ("dpsgd_fedavg", "images", {}),
    ],
)
def test_built_in_methods_leave_out_a_record_that_is_absent(name, family, given):
    one = subject_of(ALGORITHMS[name], family=family, rounds=2, delta=1e-5, args=given)
    assert removal(one) == ABSENT


def test_a_regulariser_in_the_clipped_gradient_of_mr_mtl_is_not_refuted():
    found = audit("mr_mtl", args={"regularization": 1.0}, **QUICK)
    assert not found.refuted, text_of(found)
    assert {part.removal for part in found.task_audits} == {"absent"}
