"""Features of very different frequency, from one true model."""

import jax.numpy as jnp
import numpy as np
import pytest

from bench.data.tasks.rare_features import metrics, rare_features


def test_the_kth_feature_is_in_one_of_two_k_examples_and_the_last_in_all():
    task = rare_features(0)
    inputs = np.asarray(task.train[0]).reshape(10_000, 101)
    assert set(np.unique(inputs)) == {0, 1}
    expected = np.append(0.5 / np.arange(1, 101), 1.0)
    assert np.abs(inputs.mean(0) - expected).max() < 5 * np.sqrt(0.25 / 10_000)
    assert (np.asarray(rare_features(1).train[0]) != np.asarray(task.train[0])).any()


def test_metrics_are_those_of_a_plain_loop():
    task = rare_features(0)
    w = np.random.default_rng(0).standard_normal(101)
    found = metrics(jnp.asarray(w, jnp.float32), task)
    for name, (inputs, labels) in (("train", task.train), ("test", task.evaluation)):
        margins = np.asarray(labels, float) * (np.asarray(inputs, float) @ w)
        assert float(found[f"{name}_loss"]) == pytest.approx(np.log1p(np.exp(-margins)).mean(), rel=1e-5)
    assert float(found["test_accuracy"]) == pytest.approx((margins > 0).mean(), rel=1e-6)
