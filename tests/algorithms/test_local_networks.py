"""Networks that learn alone: plain SGD with momentum on a client's own examples, whatever the others have."""

import dataclasses

import jax
import numpy as np
import pytest
from grouped_examples import saturated

from bench.algorithms import ALGORITHMS
from bench.algorithms.dpsgd_fedavg import dpsgd_fedavg
from bench.algorithms.local_networks import local_networks
from bench.comparison.problems import problem_named
from bench.data.tasks.images import accuracy
from bench.models.linear import Personal
from bench.privacy.accounting import epsilon

METHOD = ALGORITHMS["local_networks"]
ARGS = {"batch_size": 3, "step_size": 0.7, "momentum": 0.5}  # the last batch of an epoch has one example
EPOCHS = 4


def run(algorithm, epochs=EPOCHS):
    state = algorithm.init(jax.random.key(0))
    for epoch in range(epochs):
        state, _ = jax.jit(algorithm.round)(jax.random.fold_in(jax.random.key(1), epoch), state)
    return state


def theta(task):
    return run(local_networks(task, total_epochs=EPOCHS, **ARGS)).variables[0]


def alone(task, client: int) -> dict:
    """The same in plain NumPy: a softmax layer on one-hot inputs, float64."""
    inputs, labels = (np.asarray(leaf)[np.asarray(task.train[client])] for leaf in task.network.pool)
    model = [np.zeros((inputs.shape[1], 2)), np.zeros(2)]
    velocity = [np.zeros_like(leaf) for leaf in model]
    for _ in range(EPOCHS):
        for batch in (slice(0, 3), slice(3, 4)):
            x, y = inputs[batch].astype(float), np.eye(2)[labels[batch]]
            odds = np.exp(x @ model[0] + model[1])
            slope = (odds / odds.sum(1, keepdims=True) - y) / len(x)
            for at, gradient in enumerate((x.T @ slope, slope.sum(0))):
                velocity[at] = ARGS["momentum"] * velocity[at] + gradient
                model[at] = model[at] - ARGS["step_size"] * velocity[at]
    return {"kernel": model[0], "bias": model[1]}


def test_it_is_plain_sgd_of_every_client():
    task = saturated()
    found = theta(task)["Dense_0"]
    for client in range(task.num_clients):
        for name, expected in alone(task, client).items():
            np.testing.assert_allclose(found[name][client], expected, rtol=1e-4, atol=1e-6)


def test_one_average_at_the_end_without_privacy_averages_these_networks():
    task = saturated()
    plain = {"clip_norm": np.inf, "noise_multiplier": 0.0, "sampler": "in_order"}
    averaged = dpsgd_fedavg(task, total_epochs=EPOCHS, num_epochs=float(EPOCHS), **ARGS, **plain)
    mean = jax.tree.map(lambda leaf: leaf.mean(0), theta(task))
    jax.tree.map(
        lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7),
        averaged.params(run(averaged)),
        mean,
    )


def test_nothing_is_released_and_nothing_is_public():
    task = saturated()
    args = ARGS | {"total_epochs": EPOCHS}
    released = METHOD.readings(task, delta=1e-5, **args)["paper"]
    assert epsilon(released, 100) == 0
    assert released.privacy_unit == "example"
    assert local_networks(task, **args).public(None) == ()


def test_the_score_is_the_mean_over_the_clients_networks():
    task = saturated()
    task = dataclasses.replace(task, evaluation={"test": tuple(leaf[:8] for leaf in task.network.pool)})
    networks = theta(task)
    each = [accuracy(jax.tree.map(lambda leaf, i=i: leaf[i], networks), task) for i in range(task.num_clients)]
    mean = accuracy(Personal(networks, 1.0), task)
    for name, value in mean.items():
        assert value == pytest.approx(np.mean([one[name] for one in each]), rel=1e-6)
    assert len({float(one["test_loss"]) for one in each}) > 1


@pytest.mark.parametrize("name", ["images", "few_images"])
def test_it_is_a_baseline_where_clients_have_images(name):
    variant = problem_named(name).baselines["Local learning"]
    assert variant.method is METHOD
    assert variant.num_rounds(None, {"total_epochs": 20}) == 20
