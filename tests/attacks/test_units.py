"""Who is in a run, and that a unit that is out of it changes nothing."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
import tiny_networks
from tiny_attacks import attacked, seen, task

from bench.algorithms import ALGORITHMS
from bench.attacks.released import is_shared, released
from bench.attacks.runs import Attacked, scores
from bench.attacks.units import Units, allowance, units_of
from bench.errors import InputError
from bench.kernels.per_example import cross_entropy
from bench.sweeps.spec import arguments


def the_model(task, candidates, model):
    """A score that is the model itself."""
    return jnp.ravel(model)


def models(one, present, **options):
    units = Units("present", np.asarray(present), np.asarray(present), None, the_model)
    return scores(one, units, seeds=np.zeros(len(present), int), **options)


PRESENT = np.arange(24) % 3 > 0


@pytest.mark.parametrize(("name", "sampler"), [("dp_fedavg", "all"), ("dp_fedavg", "cyclic"), ("ditto", "poisson")])
def test_the_data_of_a_user_who_is_out_change_nothing(name, sampler):
    own = {"num_sampled": 24 if sampler == "all" else 6, "sampler": sampler, "noise_multiplier": 0.5}
    if name == "ditto":
        own |= {"local_step_size": 0.1, "regularization": 0.1}
    whole = task()
    x, y = whole.train
    other = replace(whole, train=(x, jnp.where(PRESENT[:, None, None], y, 100.0)))
    one, two = (models(attacked(on, 6, name, **own), PRESENT[None]) for on in (whole, other))
    np.testing.assert_array_equal(one, two)
    everybody = (models(attacked(on, 6, name, **own), np.ones((1, 24), bool)) for on in (whole, other))
    assert not np.array_equal(*everybody)


def test_a_run_is_the_one_on_a_task_without_those_who_are_out():
    """With all users in a round the sampling is the same; the divisor counts those who are out, so the step differs."""
    whole = task()
    x, y = whole.train
    fewer = replace(whole, train=(x[PRESENT], y[PRESENT]), gram=whole.gram[PRESENT], num_examples=jnp.full(16, 2))
    one = models(attacked(whole, 6, server_step_size=12.0, noise_multiplier=0.5), PRESENT[None])
    two = models(attacked(fewer, 6, server_step_size=12.0 * 16 / 24, noise_multiplier=0.5), np.ones((1, 16), bool))
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_runs_in_small_chunks_are_those_in_large_ones():
    one = attacked(rounds=4, noise_multiplier=0.5)
    whole, members = seen(one, 10)
    steps = []
    again, _ = seen(one, 10, most_bytes=1, report=steps.append)
    np.testing.assert_allclose(whole, again, rtol=1e-4, atol=1e-5)
    assert sum(step.units for step in steps) == 4 * 10
    assert 0.3 < members.mean() < 0.7


def test_the_score_of_a_user_is_the_mean_loss_of_its_real_examples():
    whole = replace(task(), num_examples=jnp.arange(24) % 2 + 1)
    (x, y), w = whole.train, np.random.default_rng(0).standard_normal(whole.init_params.shape).astype(np.float32)
    found = units_of(whole, "user", 8, 0).score(whole, None, jnp.asarray(w))
    losses = 0.5 * np.square(np.asarray(x) @ w.T - np.asarray(y)).sum(-1)
    plain = [-losses[user, : user % 2 + 1].mean() for user in range(24)]
    np.testing.assert_allclose(found, plain, rtol=1e-5)


def test_examples_that_are_out_are_replaced_by_others_of_the_same_class():
    pictures = tiny_networks.task([[0, 1, 2], [3, 4, 5]], num_pool=200)
    of = units_of(pictures, "example", 40, 0)
    candidates, labels = np.asarray(of.candidates), np.asarray(pictures.network.pool[1])
    assert candidates.shape == (2, 6)
    assert len(np.unique(candidates)) == 12
    np.testing.assert_array_equal(candidates[:, :3], pictures.train)
    np.testing.assert_array_equal(labels[candidates[:, :3]], labels[candidates[:, 3:]])
    assert of.values.shape == (40, 2, 3)
    for run in range(40):
        members = of.members[run].reshape(2, 6)
        assert (members.sum(axis=1) == 3).all()
        for client in range(2):
            assert set(of.values[run, client]) == set(candidates[client][members[client]])
    assert 0.3 < of.members.mean(axis=0).min() < of.members.mean(axis=0).max() < 0.7


@pytest.mark.slow
def test_the_score_of_an_example_is_its_confidence_and_members_of_a_network_are_found():
    pictures = tiny_networks.task(np.arange(12).reshape(2, 6), num_pool=200)
    of = units_of(pictures, "example", 8, 0)
    params = pictures.init_params
    rows = np.asarray(of.candidates).ravel()
    inputs, labels = pictures.network.pool
    logits = tiny_networks.Tiny().apply({"params": params}, inputs[rows])
    p = np.exp(-np.asarray(cross_entropy(logits, labels[rows]), float))
    np.testing.assert_allclose(of.score(pictures, of.candidates, params), np.log(p / (1 - p)), rtol=1e-3, atol=1e-4)
    method = ALGORITHMS["dpsgd_fedavg"]
    args = {"total_epochs": 20, "batch_size": 3, "num_epochs": 1.0, "step_size": 0.5, "momentum": 0.5}
    args |= {"clip_norm": 10.0, "noise_multiplier": 0.0}
    found, members = seen(Attacked(method, arguments(method, args), 20, pictures), 12, "example")
    assert found[members].mean() > found[~members].mean() + 0.5


def test_a_task_whose_units_cannot_be_left_out_is_refused():
    for whole, unit in ((replace(task(), train=None), "user"), (task(), "example"), (task(), "point")):
        with pytest.raises(InputError, match="cannot be left out of a run"):
            units_of(whole, unit, 8, 0)
    with pytest.raises(InputError, match="too few examples that no client uses"):
        units_of(tiny_networks.task(np.arange(20).reshape(2, 10)), "example", 8, 0)


def test_what_is_released_is_never_a_private_model():
    whole = task()
    w = whole.init_params
    each = jnp.zeros((24, *w.shape))
    assert released(whole, w) is w
    assert released(whole, (w, jnp.zeros(()))) is w
    assert released(whole, each) is each
    assert is_shared(whole, w)
    assert not is_shared(whole, each)
    for public in ((), None, jnp.zeros(3), {"w": w, "theta": each}):
        with pytest.raises(InputError, match="is no model of the task"):
            released(whole, public)


def test_replacing_an_example_is_two_steps_of_adding_or_removing():
    assert allowance("user", 1.0, 1e-5, "add-or-remove one") == (1.0, 1e-5)
    assert allowance("example", 1.0, 1e-5, "replace one") == (1.0, 1e-5)
    assert allowance("example", 1.0, 1e-5, "add-or-remove one") == (2.0, pytest.approx((1 + np.e) * 1e-5))
    assert allowance("example", np.inf, 1e-5, "add-or-remove one") == (np.inf, 1.0)
