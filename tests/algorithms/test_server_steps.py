"""DP-FedAvg and its relatives: what they coincide with, and the server's steps a second time in NumPy."""

import numpy as np
import pytest
from rounds import states
from slow_cases import cases

from bench.algorithms import ALGORITHMS
from bench.data.tasks.synthetic import synthetic

COMMON = dict(
    num_sampled=4,
    batch_size=3,
    step_size=0.3,
    clip_norm=2.0,
    noise_multiplier=0.5,
    sampler="fixed",
    num_steps=3,
    server_step_size=0.2,
)
TASK = synthetic(0, num_clients=10, num_features=6, batch_size=3)


def path(name: str, num_rounds: int = 6, **args) -> np.ndarray:
    """w after every round, [1 + round, feature]."""
    algorithm = ALGORITHMS[name].make(TASK, **COMMON | args)
    return np.stack([np.asarray(algorithm.params(state), float) for state in states(algorithm, num_rounds)])


def noisy_means(server_step_size: float = 1.0, **args) -> np.ndarray:
    """Of FedAvg's rounds; they depend on w, so only the first is another method's, too."""
    return -np.diff(path("dp_fedavg", server_step_size=server_step_size, **args), axis=0)


@pytest.mark.parametrize("sampler", cases(["fixed", "poisson"], slow={"fixed"}))
def test_one_local_step_is_ppsgd_without_local_models(sampler):
    args = {key: value for key, value in COMMON.items() if not key.startswith(("num_steps", "server"))}
    ppsgd = ALGORITHMS["ppsgd"].make(TASK, personalization=np.inf, **args | {"sampler": sampler})
    personal = [ppsgd.params(state).w for state in states(ppsgd, 6)]
    found = path("dp_fedavg", sampler=sampler, num_steps=1, server_step_size=COMMON["step_size"])
    np.testing.assert_allclose(found, personal, rtol=1e-5, atol=1e-7)
    assert np.abs(found[-1]).max() > 0.01


def test_momentum_0_is_fedavg():
    np.testing.assert_allclose(path("dp_fedopt", beta1=0.0), path("dp_fedavg"), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "args", cases([{"proximal": 0.0}, {"proximal": 0.7, "num_steps": 1}], slow=[{"proximal": 0.7, "num_steps": 1}])
)
def test_fedprox_without_a_pull_and_with_one_local_step_is_fedavg(args):
    others = {name: value for name, value in args.items() if name == "num_steps"}
    np.testing.assert_allclose(path("dp_fedprox", **args), path("dp_fedavg", **others), rtol=1e-5, atol=1e-7)
    assert not np.allclose(path("dp_fedprox", proximal=0.7), path("dp_fedavg"), rtol=1e-3)


def by_hand(optimiser: str, deltas: np.ndarray, step: float, beta1: float, beta2: float, tau: float) -> np.ndarray:
    """Algorithm 2 of Reddi et al. in its own words, on given means, with w = 0 at the start."""
    w, m, v, out = np.zeros(6), np.zeros(6), np.full(6, tau**2), []
    for delta in deltas:
        if optimiser == "momentum":
            m = beta1 * m + delta
            w = w - step * m
        else:
            m = beta1 * m + (1 - beta1) * delta
            square = delta**2
            v = (
                beta2 * v + (1 - beta2) * square
                if optimiser == "adam"
                else v - (1 - beta2) * square * np.sign(v - square)
            )
            w = w - step * m / (np.sqrt(v) + tau)
        out.append(w)
    return np.stack(out)


@pytest.mark.parametrize("optimiser", cases(["momentum", "adam", "yogi"], slow={"yogi"}))
def test_the_servers_steps_are_those_of_the_paper(optimiser):
    """Where clipping makes noise of everything, rounds do not depend on w, and all see the same noisy means."""
    blind = dict(clip_norm=1e-4, noise_multiplier=1e6)
    deltas = noisy_means(1.0, **blind)
    args = dict(beta1=0.6, beta2=0.9, tau=0.3)
    found = path("dp_fedopt", optimiser=optimiser, server_step_size=0.5, **args, **blind)
    np.testing.assert_allclose(found[1:], by_hand(optimiser, deltas, 0.5, **args), rtol=2e-4, atol=2e-4)
