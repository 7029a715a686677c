"""The longer game, to which an audit goes on where its first game would not see a lack of noise of a fifth."""

import math

import numpy as np
import pytest
from mistaken_sums import METHOD, releases
from scipy import stats
from tree_noise import method as tree

from bench.audit import audit, bounds, report
from bench.audit.findings import Longer, two_apart
from bench.cli.audit import text_of
from bench.privacy.events import full_gaussian

LONG = 10_000.0  # seconds, so that a slow machine makes all the runs that are wanted
ARGS = {"sampler": "all", "num_sampled": 4}
OPTIONS = {"family": "users", "rounds": 2, "canaries": 0, "power": True}


def gaussians(seed: int, mu: float, runs: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=runs) + mu, rng.normal(size=runs)


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_runs_that_are_needed_are_about_those_that_refute(gaussian):
    """Gaussians that are mu apart, where a fifth less is declared."""
    mu, significance = 1.2, 1e-3
    release = full_gaussian(1.2 / mu, delta=1e-5)
    declared = {delta: bounds.of_mu(mu / 1.2, delta) for delta in (1e-5, 1e-3, 0.03)}
    further = Longer(release, gaussian, declared, significance)
    tests = [bounds.Test(gaussians(0, mu, 3000), gaussians(1, mu, 6000))]
    needed = further.needed(tests, 9000)
    assert 9000 < needed < 1e6

    def refuted(runs: int, seed: int) -> bool:
        choice = further.choice(tests, runs)
        proven = bounds.proven_gaussian if gaussian else bounds.proven
        return proven(choice, gaussians(seed, mu, runs), significance) > declared[choice.delta]

    assert np.mean([refuted(math.ceil(2 * needed), 10 + seed) for seed in range(20)]) > 0.7
    assert np.mean([refuted(math.ceil(needed / 20), 50 + seed) for seed in range(20)]) < 0.3
    assert further.needed([bounds.Test(gaussians(0, 0.5, 3000), gaussians(1, 0.5, 6000))], 9000) == math.inf


def test_two_neighbours_of_a_third_data_set_are_a_group_of_two():
    """Gaussian sums: two data sets that are twice as far apart keep within what is said of them."""
    exact = {delta: bounds.of_mu(0.7, delta) for delta in (1e-6, 1e-4, 1e-2)}
    for delta, epsilon in two_apart(exact).items():
        assert bounds.of_mu(2 * 0.7, delta) <= epsilon
        assert bounds.of_mu(3 * 0.7, delta) > epsilon / 2


@pytest.fixture
def at_most(monkeypatch):
    """Set the most runs of the longer game, which has all the time that it wants."""
    return lambda runs: monkeypatch.setattr(report, "MOST_RUNS", runs)


@pytest.mark.slow
def test_what_the_first_game_misses_the_longer_one_refutes(at_most):
    """Noise that is too small by a quarter."""
    at_most(100_000)
    little = METHOD._replace(releases=lambda task, **args: scaled(1.25, task, **args))
    first = audit(little, args=ARGS, runs=2000, **OPTIONS)
    assert not first.refuted, text_of(first)
    found = audit(little, args=ARGS, runs=2000, seconds=LONG, **OPTIONS)
    assert found.refuted, text_of(found)
    assert found.longest >= 4000
    assert "in a longer game" in text_of(found)


@pytest.mark.slow
def test_a_right_method_passes_with_the_power_that_the_longer_game_has(at_most):
    at_most(100_000)
    few = audit(METHOD, args=ARGS, runs=600, **OPTIONS)
    assert few.findings[0].detected > 1.2
    found = audit(METHOD, args=ARGS, runs=600, seconds=LONG, **OPTIONS)
    assert found.verdict == "passed"
    assert found.findings[0].detected == pytest.approx(2**0.25)
    assert "noise 1.19 times smaller would have been seen" in text_of(found).splitlines()[0]


@pytest.mark.slow
def test_a_tree_with_the_noise_of_a_smaller_one_is_refuted(at_most):
    """Too small by the square root of 2, as for a tree of half the height, after fewer runs than that takes."""
    at_most(200_000)
    args = {"takes_part": "once", "step_size": 1.0}
    found = audit(tree(0.5**0.5), args=args, runs=1500, canaries=0, power=True, seconds=LONG)
    assert found.longest > 1500
    assert found.refuted, text_of(found)


@pytest.mark.slow
def test_both_games_together_refute_a_right_method_no_oftener_than_the_confidence_says(at_most):
    at_most(3000)
    tries, confidence = 30, 0.8
    options = OPTIONS | {"runs": 600, "seconds": LONG, "confidence": confidence}
    found = [audit(METHOD, args=ARGS, seed=100 * seed, **options) for seed in range(tries)]
    assert sum(one.refuted for one in found) <= stats.binom.isf(1e-4, tries, 1 - confidence)
    assert any(one.longest for one in found)


def scaled(worth: float, task, *, noise_multiplier: float, **args):
    return releases(task, noise_multiplier=worth * noise_multiplier, **args)
