"""Private coordinate descent's objective falls as its theory says, with noise and without."""

import numpy as np
import pytest
from tiny_coordinate_descent import L0, SIGMA
from tiny_peers import ALIKE, STRONG, P, constants, logistic_peers, minimizer, play_many, value, with_peers

from bench.algorithms.coordinate_descent import METHOD
from bench.papers.p2p import theory


def gaps(task, **args):
    """Mean over 100 seeds of Q - Q* after each of 200 ticks, from models far off."""
    models, _ = play_many(METHOD, task, 200, 100, mu=STRONG, start="constant", start_value=2.0, **args)
    return np.mean(value(task, models, STRONG), axis=0) - value(task, minimizer(task, STRONG), STRONG)


@pytest.mark.parametrize("args", [{}, ALIKE], ids=["unequal", "alike"])
def test_the_objective_falls_at_least_by_proposition_1(args):
    task = logistic_peers(**args)
    *_, rate = constants(task)
    gap = gaps(task)
    bound = theory.gap_without_noise(gap[0], rate, np.arange(201))
    assert (gap <= bound + 1e-5 * gap[0]).all()
    if args:
        assert bound[-1] < 0.1 * bound[0]
        slow = gaps(with_peers(task, smoothness=30 * task.peers.smoothness))  # steps thirty times too short
        assert (slow > bound + 1e-5 * gap[0]).any()


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_with_noise_the_gap_stays_below_theorem_2_and_more_noise_than_declared_does_not(mechanism):
    task = logistic_peers(**ALIKE)
    degrees, trust, smoothness, rate = constants(task)
    std = SIGMA * L0 / np.asarray(task.num_examples) * (np.sqrt(2) if mechanism == "laplace" else 1)
    added = theory.added_by_noise(STRONG, degrees, trust, smoothness, std, dimension=P)
    args = {"lipschitz": L0, "mechanism": mechanism}
    gap = gaps(task, noise_multiplier=SIGMA, **args)
    bound = theory.gap_with_constant_noise(gap[0], rate, added, np.arange(201))
    assert (gap <= bound * (1 + 1e-5)).all()
    assert gap[-1] > 10 * theory.gap_without_noise(gap[0], rate, 200) or gap[-1] > 0.01 * bound[-1]
    assert gaps(task, noise_multiplier=10 * SIGMA, **args)[-1] > bound[-1]
