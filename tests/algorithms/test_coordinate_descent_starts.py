"""Where private coordinate descent and ADMM start: the plain starts, and the warm start by propagation."""

import jax
import numpy as np
import pytest
from tiny_coordinate_descent import L0, SIGMA, start_of
from tiny_peers import MU, N, P, listed, logistic_peers

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts import peers
from bench.papers.p2p import reference


@pytest.mark.parametrize(("name", "args"), [("coordinate_descent", {}), ("admm", {"penalty": 0.1})])
@pytest.mark.parametrize("start", ["zero", "local", "descent"])
def test_the_starts(name, args, start):
    """Minimisers and descents themselves are checked in test_local_models."""
    task = logistic_peers()
    models = {"zero": 0.0, "local": peers.local_minimizers(task), "descent": peers.local_descent(task, 0.05, 100)}
    found = start_of(task, method=ALGORITHMS[name], start=start, start_step_size=0.05, **args)
    np.testing.assert_allclose(found, np.broadcast_to(models[start], (N, P)), atol=1e-6)
    assert np.abs(models["descent"] - models["local"]).max() > 0.01


def test_a_start_at_a_constant_is_that_constant():
    np.testing.assert_allclose(start_of(logistic_peers(), start="constant", start_value=0.3), 0.3)


def test_the_warm_start_is_one_noisy_step_and_exact_smoothing():
    task = logistic_peers()
    args = {"start": "propagation", "start_noise_multiplier": SIGMA, "lipschitz": L0, "start_step_size": 0.2}
    found = start_of(task, seed=3, **args)
    noise = np.asarray(jax.random.laplace(jax.random.split(jax.random.key(3))[0], (N, P)), float)
    one, sizes = listed(task), np.asarray(task.num_examples)
    gradients = [
        reference.gradient(np.zeros(P), x, y, 1 / len(y)) for x, y in zip(one.inputs, one.targets, strict=True)
    ]
    local = -0.2 * (np.stack(gradients) + (SIGMA * L0 / sizes)[:, None] * noise)
    degrees = one.weights.sum(1)
    pull = degrees * MU * sizes / sizes.max()
    smooth = np.linalg.solve(np.diag(degrees + pull) - one.weights, pull[:, None] * local)
    np.testing.assert_allclose(found, smooth, rtol=1e-3, atol=1e-5)
    assert np.abs(local - smooth).max() > 0.05
