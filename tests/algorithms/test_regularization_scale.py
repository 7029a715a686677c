"""The factor of the agents' regularisers: the same run as on a task with larger lambda_i, and no effect on privacy."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from tiny_gossip import path
from tiny_peers import MU, logistic_peers, play, squared_peers

from bench.algorithms import ALGORITHMS
from bench.comparison.baselines import LEVELS
from bench.privacy.accounting import epsilon
from bench.sweeps.spec import arguments, parameters

ARGS = {
    "local_models": {"mu": MU},
    "coordinate_descent": {
        "mu": MU,
        "max_updates": 6,
        "num_updates": 6.0,
        "num_ticks": 10,
        "clip_norm": 1.0,
        "noise_multiplier": 0.5,
        "mechanism": "gaussian",
    },
    "dp_dsgd": {"step_size": 0.4, "clip_norm": 0.3, "noise_multiplier": 1.5},
}
FACTOR = 3.0


def with_ridge(task, factor):
    """The task with every lambda_i times a factor, and the curvature of the data unchanged."""
    ridge = np.asarray(task.peers.regularization, float)
    of_data = np.asarray(task.peers.smoothness, float) - 2 * ridge
    return replace(
        task,
        peers=replace(
            task.peers,
            regularization=jnp.asarray(factor * ridge, jnp.float32),
            smoothness=jnp.asarray(of_data + 2 * factor * ridge, jnp.float32),
        ),
    )


def models_of(name, task, scale):
    """The models after every round, [round, agent, feature]."""
    args = ARGS[name] | {"regularization_scale": scale}
    method = ALGORITHMS[name]
    return path(method, task, 5, **args)[0] if name == "dp_dsgd" else play(method, task, 5, **args).models


@pytest.mark.parametrize("name", ARGS)
def test_a_factor_is_another_task(name):
    task = squared_peers() if name == "dp_dsgd" else logistic_peers()
    factor, larger, none = (
        models_of(name, one, scale) for one, scale in ((task, FACTOR), (with_ridge(task, FACTOR), 1.0), (task, 1.0))
    )
    np.testing.assert_allclose(factor, larger, rtol=1e-4, atol=1e-5)
    assert np.abs(factor - none).max() > 1e-2


@pytest.mark.parametrize("name", ARGS)
def test_epsilon_does_not_depend_on_it(name):
    method, spent = ALGORITHMS[name], []
    for scale in (1.0, FACTOR):
        args = arguments(method, ARGS[name] | {"regularization_scale": scale})
        readings = method.readings(logistic_peers(), delta=1e-5, **args)
        spent.append({key: epsilon(release, 3) for key, release in readings.items()})
    assert spent[0] == spent[1]


def test_all_methods_that_have_it_tune_it_alike():
    """Learning alone has the regulariser as its only argument: without it, it would be compared untuned."""
    level = LEVELS["point"]
    assert "regularization_scale" in level.space
    baselines = level.baselines(logistic_peers())
    having = [label for label, one in baselines.items() if "regularization_scale" in parameters(one.method)[0]]
    assert {"Local learning", "DP-D-SGD", "Coordinate descent (1 update)", "Coordinate descent (4 updates)"} <= {
        *having
    }
    assert not any("regularization_scale" in baselines[label].args for label in having)
