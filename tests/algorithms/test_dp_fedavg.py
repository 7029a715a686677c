"""Private FedAvg: the special cases that must coincide with something else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rounds import states
from slow_cases import cases

from bench.algorithms.dp_fedavg import METHOD, dp_fedavg
from bench.algorithms.ppsgd import ppsgd
from bench.data.tasks.synthetic import synthetic

COMMON = dict(num_sampled=4, batch_size=3, step_size=0.3, clip_norm=2.0, noise_multiplier=0.5, sampler="fixed")


def models(algorithm, num_rounds=5, seed=0):
    return algorithm.params(states(algorithm, num_rounds, seed)[-1])


@pytest.mark.parametrize("sampler", cases(["fixed", "poisson"], slow={"fixed"}))
def test_one_local_step_is_ppsgd_without_local_models(sampler):
    task = synthetic(0, num_clients=10, num_features=6, batch_size=3)
    common = COMMON | {"sampler": sampler}
    fedavg = models(dp_fedavg(task, server_step_size=common["step_size"], **common))
    personal = models(ppsgd(task, personalization=np.inf, **common))
    np.testing.assert_allclose(fedavg, personal.w, rtol=1e-5)
    assert np.abs(fedavg).max() > 0.01


def test_k_local_steps_of_one_user_without_privacy_are_k_steps_of_sgd():
    task = synthetic(0, num_clients=1, num_features=6, batch_size=3)
    args = COMMON | dict(num_sampled=1, sampler="all", clip_norm=np.inf, noise_multiplier=0.0, num_steps=3)
    algorithm = dp_fedavg(task, server_step_size=COMMON["step_size"], **args)
    key = jax.random.key(3)
    after = algorithm.params(algorithm.round(key, algorithm.init(key))[0])
    x, y = task.sample(jax.random.split(jax.random.split(key)[0])[1], task, None, 3)
    x, y = np.asarray(x[0]), np.asarray(y[0])
    w = np.zeros(6)
    for _ in range(3):
        w = w - COMMON["step_size"] * x.T @ (x @ w - y) / 3
    np.testing.assert_allclose(after, w, rtol=1e-5)


def test_no_update_is_longer_than_the_clipping_norm_allows():
    task = synthetic(0, num_clients=5, num_features=6, batch_size=3)
    args = COMMON | dict(num_sampled=5, sampler="all", clip_norm=1e-3, noise_multiplier=0.0, num_steps=4)
    after = models(dp_fedavg(task, server_step_size=1.0, **args), num_rounds=1)
    assert 0 < np.linalg.norm(after) <= 1e-3 * (1 + 1e-5)


def test_privacy_is_that_of_the_same_noise_in_ppsgd():
    from bench.algorithms import ppsgd as module
    from bench.privacy.accounting import epsilon

    task = synthetic(0, num_clients=10, num_features=6)
    args = dict(num_sampled=4, batch_size=3, sampler="fixed", num_epochs=1, noise_multiplier=2.0)
    ours = METHOD.releases(task, delta=1e-4, **args)
    theirs = module.releases(task, delta=1e-4, personalization=jnp.inf, **args)
    assert {k: epsilon(r, 7) for k, r in ours.items()} == {k: epsilon(r, 7) for k, r in theirs.items()}
    assert epsilon(ours["sampler"], 7) > epsilon(ours["paper"], 7) > 0
