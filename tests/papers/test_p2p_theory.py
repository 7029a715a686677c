"""The bounds against the exact expected gap of a small quadratic problem, and the allocations against a minimiser."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize
from slow_cases import cases

from bench.papers.p2p import theory as p2p


class Problem(NamedTuple):
    """Quadratic L_i(theta) = 1/2 (theta - b_i)' H_i (theta - b_i); all that the bounds ask for."""

    mu: float
    degrees: np.ndarray
    confidence: np.ndarray
    local_strong_convexity: np.ndarray
    local_smoothness: np.ndarray
    hessian: np.ndarray  # of Q
    optimum: np.ndarray
    dimension: int

    @property
    def smoothness(self):
        return p2p.block_smoothness(self.mu, self.degrees, self.confidence, self.local_smoothness)

    @property
    def sigma(self):
        return p2p.strong_convexity(self.mu, self.degrees, self.confidence, self.local_strong_convexity)

    @property
    def rate(self):
        return p2p.rate(self.sigma, self.smoothness)

    def added(self, noise_std):
        return p2p.added_by_noise(
            self.mu, self.degrees, self.confidence, self.smoothness, noise_std, dimension=self.dimension
        )

    def gaps(self, start, noise_std, shares=None):
        """E[Q(Theta(t))] - Q* for t = 0 ... T, exactly: the second moment of Theta(t) - Theta* obeys a recursion.

        Args:
            noise_std: [tick, agent].
            shares: of the step 1 / L_i that a tick takes, [tick]; None takes whole steps.
        """
        shares = np.ones(len(noise_std)) if shares is None else shares
        n, p = len(self.degrees), self.dimension
        moment = np.outer(start - self.optimum, start - self.optimum)
        gaps = [0.5 * np.sum(self.hessian * moment)]
        for std, share in zip(noise_std, shares, strict=True):
            after = np.zeros_like(moment)
            for i, step in enumerate(share / self.smoothness):
                block = slice(i * p, (i + 1) * p)
                move = np.eye(n * p)
                move[block] -= step * self.hessian[block]
                here = move @ moment @ move.T
                here[block, block] += (step * self.mu * self.degrees[i] * self.confidence[i] * std[i]) ** 2 * np.eye(p)
                after += here / n
            moment = after
            gaps.append(0.5 * np.sum(self.hessian * moment))
        return np.array(gaps)


def problem(seed, mu=0.5, dimension=3, alike=False, spectrum=None):
    """Four agents on a ring with weights.

    Args:
        alike: equal agents with round objectives, for which bounds are tight.
        spectrum: curvatures of every agent's objective along the coordinates, [dimension]; Q is not strongly convex
            where one is 0.
    """
    rng = np.random.default_rng(seed)
    n, p = 4, dimension
    weights = np.zeros((n, n))
    for i in range(n):
        j = (i + 1) % n
        weights[i, j] = weights[j, i] = 1.0 if alike else rng.uniform(0.2, 2.0)
    degrees = weights.sum(1)
    confidence = np.ones(n) if alike else rng.uniform(0.2, 1.0, n)
    hessian = np.kron(np.diag(degrees) - weights, np.eye(p))
    right = np.zeros(n * p)
    smallest, largest = [], []
    for i in range(n):
        factor = rng.normal(size=(p, p))
        own = np.eye(p) if alike else factor @ factor.T / p + 0.1 * np.eye(p)
        own = own if spectrum is None else np.diag(spectrum)
        values = np.linalg.eigvalsh(own)
        smallest.append(values[0])
        largest.append(values[-1])
        block = slice(i * p, (i + 1) * p)
        own = mu * degrees[i] * confidence[i] * own
        hessian[block, block] += own
        right[block] = own @ rng.normal(size=p)
    optimum = np.linalg.lstsq(hessian, right)[0]  # one of many where Q is flat in a direction
    return Problem(mu, degrees, confidence, np.array(smallest), np.array(largest), hessian, optimum, p)


def constant(value, ticks, agents=4):
    return np.full((ticks, agents), value)


@pytest.mark.parametrize("seed", range(5))
def test_the_constants_bound_the_curvature_of_the_objective(seed):
    one = problem(seed)
    assert 0 < one.sigma <= np.linalg.eigvalsh(one.hessian)[0]
    for i, bound in enumerate(one.smoothness):
        block = slice(i * one.dimension, (i + 1) * one.dimension)
        assert np.linalg.eigvalsh(one.hessian[block, block])[-1] == pytest.approx(bound)
    assert 0 < one.rate < 1


@pytest.mark.parametrize("seed", range(5))
def test_without_noise_the_gap_shrinks_at_least_by_proposition_1(seed):
    one = problem(seed)
    gaps = one.gaps(np.zeros(12), constant(0.0, 60))
    ticks = np.arange(61)
    assert np.all(gaps <= p2p.gap_without_noise(gaps[0], one.rate, ticks) * (1 + 1e-12))
    # Without the n, or with the smallest constant for the largest, it is no bound.
    tight = problem(seed, mu=20.0, alike=True)
    gaps = tight.gaps(np.zeros(12), constant(0.0, 60))
    assert np.all(gaps <= p2p.gap_without_noise(gaps[0], tight.rate, ticks) * (1 + 1e-12))
    assert gaps[1] > gaps[0] * (1 - 4 * (1 - tight.rate))


@pytest.mark.parametrize("seed", cases(range(3), slow=range(1, 3)))
def test_without_strong_convexity_the_gap_shrinks_as_one_over_t(seed):
    """Remark 1. With curvatures of every size down to 1e-4, some direction is always just being learnt, so that the gap
    falls no faster than 1/t until the end; beside them is a direction in which all objectives are flat."""
    curvatures = np.append(np.logspace(0, -4, 5), 0.0)
    one = problem(seed, mu=1.0, dimension=6, spectrum=curvatures)
    assert one.sigma == 0  # Proposition 1 promises nothing
    assert one.rate == 1
    start = one.optimum + np.tile(curvatures > 0, 4)
    distance = np.sqrt(5 * np.sum(one.smoothness))
    ticks = np.arange(4001)
    noise = constant(0.0, 4000)
    gaps = one.gaps(start, noise)
    bound = p2p.gap_without_strong_convexity(gaps[0], distance, 4, ticks)
    assert np.all(gaps <= bound)
    assert 0.5 < (gaps * ticks)[4000] / (gaps * ticks)[100] < 2  # 1/t over a factor of 40; 1/sqrt(t) would give 6
    slow = one.gaps(start, noise, shares=(1 + ticks[:-1]) ** -0.5)  # as steps that shrink give
    assert slow[4000] * 4000 > 3 * slow[100] * 100
    assert slow[4000] > bound[4000]
    assert np.any(one.gaps(start, noise, shares=np.full(4000, 1 / 30)) > bound)  # the rate, with a worse constant


@pytest.mark.parametrize("seed", range(5))
def test_with_noise_the_gap_stays_below_theorem_2(seed):
    one = problem(seed)
    std = np.random.default_rng(seed).uniform(0, 2, (60, 4))
    gaps, added = one.gaps(np.zeros(12), std), one.added(std)
    for ticks in range(61):
        assert gaps[ticks] <= p2p.gap_with_noise(gaps[0], one.rate, added[:ticks]) * (1 + 1e-12)


def test_one_tick_from_the_optimum_meets_the_bound_and_every_slip_falls_short_of_it():
    one = problem(0, mu=20.0, dimension=6, alike=True)
    std = constant(0.7, 1)
    gap = one.gaps(one.optimum, std)[1]
    assert gap == pytest.approx(p2p.gap_with_noise(0.0, one.rate, one.added(std)))
    said = (one.mu, one.degrees, one.confidence, one.smoothness)
    assert gap > 5 * p2p.gap_with_noise(0.0, one.rate, p2p.added_by_noise(*said, std, dimension=1))  # as printed
    laplace_scale = std / np.sqrt(2)
    assert gap > 1.9 * p2p.gap_with_noise(0.0, one.rate, one.added(laplace_scale))  # the scale for the deviation


def test_a_noise_sum_that_is_forgotten_is_no_bound():
    one = problem(1)
    gaps = one.gaps(np.zeros(12), constant(2.0, 300))
    assert gaps[-1] > p2p.gap_without_noise(gaps[0], one.rate, 300)


def test_late_noise_breaks_the_published_order_of_the_weights_and_not_the_unrolled_one():
    one = problem(0, mu=20.0, alike=True)
    std = constant(0.0, 40)
    std[-1] = 1.0
    gaps, added = one.gaps(one.optimum, std), one.added(std)
    assert gaps[-1] <= p2p.gap_with_noise(0.0, one.rate, added, "unrolled") * (1 + 1e-12)
    assert gaps[-1] > 100 * p2p.gap_with_noise(0.0, one.rate, added, "published")


@pytest.mark.parametrize("ticks", [0, 1, 7, 100])
def test_under_constant_noise_both_orders_are_the_closed_form_of_appendix_b(ticks):
    closed = p2p.gap_with_constant_noise(3.0, 0.97, 0.2, ticks)
    for weights in p2p.WEIGHTS:
        assert p2p.gap_with_noise(3.0, 0.97, np.full(ticks, 0.2), weights) == pytest.approx(closed)
    assert p2p.gap_with_constant_noise(3.0, 0.97, 0.2, 10**6) == pytest.approx(0.2 / 0.03)
    assert p2p.gap_with_constant_noise(3.0, 0.97, 0.0, ticks) == p2p.gap_without_noise(3.0, 0.97, ticks)


@pytest.mark.parametrize("ticks", [np.arange(8), np.array([0, 3, 4, 11, 30, 31])])
@pytest.mark.parametrize("weights", p2p.WEIGHTS)
def test_an_allocation_is_the_minimiser_of_its_own_bound(weights, ticks):
    rate, budget, num_ticks = 0.9, 1.5, 40

    def bound(epsilons):
        added = np.zeros(num_ticks)
        added[ticks] = 1 / epsilons**2
        return p2p.gap_with_noise(0.0, rate, added, weights)

    def shares(free):
        one = np.exp(np.append(free, 0.0))
        return budget * one / one.sum()

    found = optimize.minimize(lambda free: np.log(bound(shares(free))), np.zeros(len(ticks) - 1), tol=1e-12)
    mine = p2p.allocation(budget, ticks, rate, weights)
    assert mine.sum() == pytest.approx(budget, rel=1e-12)
    np.testing.assert_allclose(mine, shares(found.x), rtol=1e-4)
    other = p2p.allocation(budget, ticks, rate, *(set(p2p.WEIGHTS) - {weights}))
    equal = np.full(len(ticks), budget / len(ticks))
    assert bound(mine) < bound(equal) < bound(other)


def test_published_is_the_formula_of_proposition_2():
    rate, budget, ticks, num_ticks = 0.93, 0.5, np.array([2, 5, 17]), 20
    root = np.cbrt(rate)
    lemma = (root - 1) / (np.cbrt(rate**num_ticks) - 1) * np.cbrt(rate**ticks)
    np.testing.assert_allclose(p2p.allocation(budget, ticks, rate, "published"), lemma * budget / lemma.sum())
    everything = p2p.allocation(budget, np.arange(num_ticks), rate, "published")
    np.testing.assert_allclose(everything[ticks], lemma * budget)  # Lemma 3: its lambda is 1


def test_in_truth_as_in_the_bound_noise_should_shrink_with_time():
    one = problem(3, mu=20.0, alike=True)
    ticks = np.arange(60)
    gap = {}
    for name in ("unrolled", "equal", "published"):
        even = np.full(60, 1 / 60)
        epsilons = even if name == "equal" else p2p.allocation(1.0, ticks, one.rate, name)
        std = np.repeat((0.01 / epsilons)[:, None], 4, axis=1)
        gap[name] = one.gaps(np.zeros(12), std)[-1]
    assert gap["unrolled"] < 0.8 * gap["equal"] < 0.5 * gap["published"]


def test_a_long_schedule_does_not_underflow():
    mine = p2p.allocation(1.0, np.array([0, 10**6]), 0.5, "published")
    assert mine.tolist() == [1.0, 0.0]
    assert p2p.allocation(1.0, np.array([0, 10**6]), 0.5, "unrolled").tolist() == [0.0, 1.0]
