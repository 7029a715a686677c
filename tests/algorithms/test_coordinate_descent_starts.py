"""Where private coordinate descent starts: the plain starts, and the warm start by propagation."""

import jax
import numpy as np
from tiny_coordinate_descent import L0, SIGMA, start_of
from tiny_peers import MU, N, P, listed, logistic_peers

from bench.papers.p2p import reference


def test_the_starts():
    task = logistic_peers()
    starts = {
        name: start_of(task, start=name, start_value=0.3, start_step_size=0.05)
        for name in ("zero", "constant", "local", "descent")
    }
    np.testing.assert_array_equal(starts["zero"], 0)
    np.testing.assert_allclose(starts["constant"], 0.3)
    one = listed(task)
    descended = np.zeros((N, P))
    for i in range(N):
        slope = reference.gradient(
            starts["local"][i].astype(float), one.inputs[i], one.targets[i], 1 / len(one.targets[i])
        )
        assert np.abs(slope).max() < 1e-4
        for _ in range(100):
            own = reference.gradient(descended[i], one.inputs[i], one.targets[i], 1 / len(one.targets[i]))
            descended[i] = descended[i] - 0.05 * own
    np.testing.assert_allclose(starts["descent"], descended, atol=1e-5)
    assert np.abs(starts["descent"] - starts["local"]).max() > 0.01


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
