"""The synthetic stream: its parameters, its examples, its exact risk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bench.data.tasks.synthetic import synthetic
from bench.models.additive import Additive

N, D = 30, 12


def task_of(trial=0, **args):
    return synthetic(trial, num_clients=N, num_features=D, **args)


def test_true_parameters_differ_in_the_last_five_coordinates_alone():
    truth = np.asarray(task_of(delta_std=0.5).evaluation["truth"])
    assert (truth[:, :-5] == truth[0, :-5]).all()
    assert len(np.unique(truth[:, -1])) == N
    many = synthetic(1, num_clients=4000, num_features=8, delta_std=0.5).evaluation["truth"]
    deviations = np.asarray(many)[:, -5:] - np.asarray(many).mean(0)[-5:]
    assert np.std(deviations, axis=0) == pytest.approx(0.5, rel=0.06)  # five standard errors
    assert np.abs(np.corrcoef(deviations.T) - np.eye(5)).max() < 5 / np.sqrt(4000)


def test_theta_0_has_standard_deviation_10():
    shared = np.concatenate([synthetic(t, num_clients=1).evaluation["truth"][0, :-5] for t in range(20)])
    statistic = np.sum((shared / 10) ** 2)
    assert 1e-6 < stats.chi2.cdf(statistic, len(shared)) < 1 - 1e-6


def test_inputs_have_variance_1_over_k_and_labels_the_noise_that_was_asked_for():
    task = task_of(label_noise=0.3, batch_size=4)
    clients = jnp.array([4, 17])
    x, y = jax.vmap(lambda key: task.sample(key, task, clients, 4))(jax.random.split(jax.random.key(0), 1000))
    x, y = np.asarray(x), np.asarray(y)
    covariance = np.cov(x.reshape(-1, D).T)
    scale = 1 / np.sqrt(np.arange(1, D + 1))
    assert np.abs(covariance / np.outer(scale, scale) - np.eye(D)).max() < 5 * np.sqrt(2 / x[..., 0].size)
    residuals = y - np.einsum("tnmd,nd->tnm", x, np.asarray(task.evaluation["truth"])[clients])
    assert np.std(residuals) == pytest.approx(0.3, rel=5 / np.sqrt(2 * residuals.size))
    assert abs(np.mean(residuals)) < 5 * 0.3 / np.sqrt(residuals.size)


def test_examples_are_fresh_every_round_and_clients_none_means_everybody():
    task = task_of()
    x, y = task.sample(jax.random.key(0), task, None, 3)
    assert x.shape == (N, 3, D)
    assert y.shape == (N, 3)
    named, _ = task.sample(jax.random.key(0), task, jnp.arange(N), 3)
    np.testing.assert_array_equal(x, named)
    other, _ = task.sample(jax.random.key(1), task, None, 3)
    assert np.abs(np.corrcoef(np.ravel(x), np.ravel(other))[0, 1]) < 5 / np.sqrt(x.size)


def test_the_risk_is_the_expected_squared_error_beyond_the_label_noise():
    """E (prediction - y)^2 = d * excess_risk + tau^2, by drawing; validation_loss is half of it on a fixed draw."""
    task = task_of(label_noise=0.5, batch_size=200)
    w = task.evaluation["truth"][0] + 0.3
    x, y = task.sample(jax.random.key(0), task, None, 500)
    squared = np.square(np.einsum("nmd,d->nm", x, w) - np.asarray(y))
    metrics = jax.jit(task.metrics)(w, task)
    expected = D * float(metrics["excess_risk"]) + 0.25
    assert squared.mean() == pytest.approx(expected, abs=5 * squared.std() / np.sqrt(squared.size))
    spread = squared.std() / np.sqrt(N * 200)
    assert 2 * float(metrics["validation_loss"]) == pytest.approx(expected, abs=5 * spread)


def test_no_single_model_for_all_gets_below_the_global_floor():
    task = task_of(delta_std=0.5)
    best = jnp.mean(task.evaluation["truth"], axis=0)
    floor = float(jax.jit(task.metrics)(best, task)["global_floor"])
    assert float(jax.jit(task.metrics)(best, task)["excess_risk"]) == pytest.approx(floor, rel=1e-4)
    for seed in range(20):
        other = best + 0.1 * jax.random.normal(jax.random.key(seed), best.shape)
        assert float(jax.jit(task.metrics)(other, task)["excess_risk"]) > floor
    assert floor > 0
    local = Additive(jnp.zeros(D), task.evaluation["truth"])
    assert float(jax.jit(task.metrics)(local, task)["excess_risk"]) == 0


def test_the_global_floor_has_the_size_that_the_paper_s_setting_implies():
    """sum over the last five k of delta_std^2 / (100 k), 5.1e-6 for delta_std = 0.1."""
    floor = float(synthetic(0).evaluation["floor"])
    expected = 0.1**2 * sum(1 / k for k in range(96, 101)) / 100
    assert floor == pytest.approx(expected, rel=0.1)


def test_another_recipe_is_other_data():
    """The checksum tells runs on one recipe from runs on another, and not one draw from another."""
    usual = synthetic(0, num_clients=4)
    assert synthetic(1, num_clients=4).checksum == usual.checksum
    for change in ({"label_noise": 0.02}, {"delta_std": 0.2}, {"num_differing": 4}, {"batch_size": 9}):
        assert synthetic(0, num_clients=4, **change).checksum != usual.checksum


@pytest.mark.parametrize("form", ["shared", "additive without local models", "additive"])
def test_the_risk_is_the_formula_averaged_over_users_and_over_the_worst_tenth(form):
    task, plain = (task_of(delta_std=2.0, by_user=by_user) for by_user in (True, False))
    assert task.checksum == plain.checksum
    rng = np.random.default_rng(0)
    w, theta = (rng.standard_normal(shape).astype(np.float32) for shape in (D, (N, D)))
    params = {
        "shared": jnp.asarray(w),
        "additive without local models": Additive(jnp.asarray(w)),
        "additive": Additive(jnp.asarray(w), jnp.asarray(theta)),
    }[form]
    measured = jax.jit(task.metrics)(params, task)
    models = w + (theta if form == "additive" else np.zeros_like(theta))
    risks = np.mean((models - np.asarray(task.evaluation["truth"], float)) ** 2 / np.arange(1, D + 1), axis=1)
    assert measured["excess_risk_worst_tenth"] == pytest.approx(np.mean(np.sort(risks)[-3:]), rel=1e-5)
    assert measured["excess_risk"] == pytest.approx(np.mean(risks), rel=1e-5)
    assert measured.items() >= jax.jit(plain.metrics)(params, plain).items()
