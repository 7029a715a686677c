"""Balls in bins: the bound against closed forms, simulations, and another program's samples of the same pair."""

import itertools
import math

import dp_accounting.dp_event as dp
import numpy as np
import pytest
import scipy.fft
from scipy.special import ndtr
from slow_cases import cases

from bench.errors import InputError
from bench.privacy.accounting import bins, epsilon, noise_multiplier
from bench.privacy.accounting.bins import bins_delta, bins_epsilon
from bench.privacy.events import (
    ADD_OR_REMOVE,
    REPLACE,
    BallsInBinsDpEvent,
    balls_in_bins_gaussian,
    full_gaussian,
    in_sequence,
    poisson_gaussian,
)

DELTA = 1e-5


def spent(sigma: float, num_bins: int, rounds: int, delta: float = DELTA) -> float:
    return epsilon(balls_in_bins_gaussian(sigma, num_bins=num_bins, delta=delta), rounds)


def of_a_gaussian(epsilon: float, shift: float) -> float:
    below, above = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
    return float(ndtr(below) - math.exp(epsilon) * ndtr(above))


# ---- One bin, and one round ----


@pytest.mark.parametrize(("at", "shift"), [(0.0, 0.2), (0.5, 0.5), (3.0, 1.0), (8.0, 2.0)])
def test_one_bin_is_the_gaussian_mechanism(at, shift):
    found, exact = bins_delta(at, shift, 1), of_a_gaussian(at, shift)
    assert exact <= found <= exact * (1 + 1e-3) + 1e-12


def test_in_one_bin_nothing_is_left_to_chance():
    assert spent(1.7, 1, 9) == pytest.approx(epsilon(full_gaussian(1.7, delta=DELTA), 9), rel=1e-9)


# ---- Simulations ----


def simulated(at: float, shift: float, num_bins: int, runs: int = 200_000) -> tuple[float, float, float]:
    """The deltas of a unit that is removed and of one that is added, and the standard error of the first."""
    rng = np.random.default_rng(3)
    present = rng.standard_normal((runs, num_bins))
    absent = rng.standard_normal((runs, num_bins))
    present[np.arange(runs), rng.integers(num_bins, size=runs)] += shift
    of_present, of_absent = (np.exp(shift * z - shift**2 / 2).mean(axis=1) for z in (present, absent))
    removed = np.maximum(1 - math.exp(at) / of_present, 0)
    added = np.maximum(1 - math.exp(at) * of_absent, 0)
    return float(removed.mean()), float(added.mean()), float(removed.std() / math.sqrt(runs))


@pytest.mark.parametrize(("at", "shift", "num_bins"), [(0.3, 1, 20), (1, 1, 5), (1, 2, 50), (0.05, 0.5, 7)])
def test_delta_is_that_of_simulations(at, shift, num_bins):
    removed, added, error = simulated(at, shift, num_bins)
    assert bins_delta(at, shift, num_bins) == pytest.approx(max(removed, added), abs=4 * error)


def test_the_law_of_an_addition_is_the_other_side():
    """A removed unit costs more here, so the bound's second side is compared by itself."""
    at, shift, num_bins = 0.5, 1.5, 10
    _, added, error = simulated(at, shift, num_bins)
    strike = math.exp(at)
    assert strike * bins._below(1 / strike, shift, num_bins, 2**14) == pytest.approx(added, abs=4 * error)


def test_messages_that_depend_on_earlier_outputs_change_nothing_and_shorter_ones_cost_less():
    """Two rounds for each of three bins. The second message is chosen by what the first round of the bin released."""
    sigma, at, num_bins, runs = 1.0, 0.7, 3, 400_000
    rng = np.random.default_rng(4)

    def delta(second):
        mine = rng.integers(num_bins, size=runs)
        there = mine[:, None] == np.arange(num_bins)
        first = sigma * rng.standard_normal((runs, num_bins)) + there
        length = second(first)
        later = sigma * rng.standard_normal((runs, num_bins)) + there * length
        log = (first - 0.5) / sigma**2 + (later * length - length**2 / 2) / sigma**2
        return float(np.maximum(1 - math.exp(at) / np.exp(log).mean(axis=1), 0).mean())

    bound = bins_delta(at, math.sqrt(2) / sigma, num_bins)
    assert delta(lambda first: np.where(first > 0.5, -1.0, 1.0)) == pytest.approx(bound, abs=3e-3)
    assert delta(lambda first: np.where(first > 0.5, 0.2, 1.0)) < bound - 0.01


@pytest.mark.slow
def test_delta_is_that_of_samples_of_jax_privacy():
    sampling = pytest.importorskip("jax_privacy.experimental.monte_carlo.sample_generation")
    selection = pytest.importorskip("jax_privacy.batch_selection")
    sigma, num_bins, rounds, at, runs = 1.2, 4, 12, 1.5, 40_000
    strategy = selection.BallsInBinsSampling(iterations=rounds, cycle_length=num_bins)
    sample = sampling.generate_sample(strategy, sigma, np.ones(1), 0, True, runs)  # [round, run]
    of_bin = sample.reshape(rounds // num_bins, num_bins, runs).sum(axis=0)
    ratio = np.exp((of_bin - rounds / num_bins / 2) / sigma**2).mean(axis=0)
    loss = np.maximum(1 - math.exp(at) / ratio, 0)
    bound = bins_delta(at, math.sqrt(rounds / num_bins) / sigma, num_bins)
    assert bound == pytest.approx(loss.mean(), abs=4 * loss.std() / math.sqrt(runs))


# ---- An upper bound, and a tight one ----


def direct(strike: float, shift: float, num_bins: int, points: int) -> float:
    """`_below` in extended precision, but for the normal law."""
    step = num_bins * strike / points
    edges = step * np.arange(points + 1)
    with np.errstate(divide="ignore"):
        z = (np.log(edges) + shift**2 / 2) / shift
    mass, mean = np.diff(ndtr(z)), np.diff(ndtr(z - shift))
    up = np.clip((mean - edges[:-1] * mass) / step, 0, mass)
    law = (mass - up).astype(np.longdouble)
    law[1:] += up[:-1]

    def product(one, other):
        spectra = scipy.fft.rfft(one, 2 * points) * scipy.fft.rfft(other, 2 * points)
        return scipy.fft.irfft(spectra, 2 * points)[:points]

    total, square, times = None, law, num_bins
    while times:
        if times % 2:
            total = square if total is None else product(total, square)
        square, times = product(square, square), times // 2
    return float(total @ (strike - edges[:-1] / num_bins))


@pytest.mark.parametrize("at", cases([-3.0, 0.5, 4.0, 10.0], slow={-3.0, 4.0}))
@pytest.mark.parametrize(
    ("shift", "num_bins"), [(0.3, 3), (1.0, 20), (3.0, 8), (0.5, 1023), (2.0, 4095), (1.0, 10_000)]
)
def test_rounding_is_within_what_is_added_for_it(at, shift, num_bins):
    strike = math.exp(at)
    added, points = bins._rounding(strike, num_bins), 2**15
    found = bins._below(strike, shift, num_bins, points) - added
    assert found == pytest.approx(direct(strike, shift, num_bins, points), abs=added / 2, rel=0)


@pytest.mark.parametrize(("at", "shift", "num_bins"), [(0.5, 0.5, 20), (3, 2, 10), (8, 2.5, 100)])
def test_a_coarser_grid_gives_no_less(at, shift, num_bins):
    strike = math.exp(at)
    bounds = [1 - strike + bins._below(strike, shift, num_bins, 2**power) for power in (8, 10, 12, 15)]
    assert all(coarse >= fine - 1e-13 * strike for coarse, fine in itertools.pairwise(bounds))


@pytest.mark.parametrize(("sigma", "num_bins", "turns"), [(1.0, 100, 1), (1.0, 100, 10), (2.0, 20, 5), (0.8, 3, 1)])
def test_epsilon_is_between_a_guess_of_the_bin_and_a_bin_that_is_known(sigma, num_bins, turns):
    """Whoever guesses the bin is right once in G times, so delta is at least that of a known bin over G."""
    found = spent(sigma, num_bins, num_bins * turns)
    known = epsilon(full_gaussian(sigma, delta=DELTA), turns)
    assert found < known
    at_least = of_a_gaussian(found + math.log(num_bins), math.sqrt(turns) / sigma) / num_bins
    assert at_least < DELTA * 1.01


def test_in_one_turn_it_costs_less_than_poisson_samples_and_in_many_turns_more():
    """A bin is drawn once, and Poisson samples are drawn afresh."""
    poisson = poisson_gaussian(1.0, sampling_rate=0.01, accountant="pld", delta=DELTA)
    found = [spent(1.0, 100, rounds) for rounds in (100, 1000)], [epsilon(poisson, rounds) for rounds in (100, 1000)]
    np.testing.assert_allclose(found, [[0.62, 13.3], [0.72, 1.83]], rtol=0.004)


def test_a_turn_that_has_begun_counts_in_full():
    whole = [spent(1.1, 10, 10 * turns) for turns in (1, 2)]
    assert [spent(1.1, 10, rounds) for rounds in (0, 1, 9, 10, 11, 20)] == [0, *[whole[0]] * 3, *[whole[1]] * 2]


@pytest.mark.parametrize(
    ("target", "num_bins", "rounds"),
    [pytest.param(0.5, 100, 100, marks=pytest.mark.slow), (3.0, 20, 60), (8.0, 50, 500)],
)
def test_calibrated_noise_is_the_least_that_suffices(target, num_bins, rounds):
    sigma = noise_multiplier(target, lambda s: balls_in_bins_gaussian(s, num_bins=num_bins, delta=DELTA), rounds)
    assert spent(sigma, num_bins, rounds) <= target < spent(0.998 * sigma, num_bins, rounds)


@pytest.mark.parametrize("sigma", cases([1e-200, 1e-149, 1e-3, 0.05, 1e4, 1e6], slow={1e4}))
@pytest.mark.parametrize("delta", [1e-12, 1e-5])
def test_hardly_any_noise_and_very_much(sigma, delta):
    found = spent(sigma, 10, 20, delta)
    assert 0 <= found <= epsilon(full_gaussian(sigma, delta=delta), 2) * (1 + 1e-6)


def test_no_noise_is_no_privacy():
    assert spent(0.0, 10, 1) == math.inf


@pytest.mark.parametrize(
    ("atoms", "neighbors"),
    [
        ({BallsInBinsDpEvent(5, 1.0): 1}, REPLACE),
        ({BallsInBinsDpEvent(5, 1.0): 2}, ADD_OR_REMOVE),
        ({BallsInBinsDpEvent(5, 1.0): 1, dp.GaussianDpEvent(1.0): 1}, ADD_OR_REMOVE),
        ({dp.GaussianDpEvent(1.0): 1}, ADD_OR_REMOVE),
    ],
)
def test_anything_else_is_refused(atoms, neighbors):
    with pytest.raises(InputError, match="accountant bins knows one run in bins under 'add-or-remove one'"):
        bins_epsilon(atoms, neighbors, DELTA)


def test_what_would_take_hours_is_refused_or_bounded():
    with pytest.raises(InputError, match=r"num_bins=1000000000: give a whole number from 1 to 100,000"):
        spent(1.0, 10**9, 10)
    sigma = noise_multiplier(1e-6, lambda sigma: balls_in_bins_gaussian(sigma, num_bins=10, delta=DELTA), 100)
    assert spent(sigma, 10, 100) <= 1e-6 < spent(sigma / 1.01, 10, 100)
    assert math.isnan(epsilon(poisson_gaussian(1.0, sampling_rate=1e-300, delta=DELTA, accountant="pld"), 10))


# ---- Bins that are drawn anew for each turn ----


def afresh(sigma: float, num_bins: int, rounds: int, delta: float = DELTA) -> float:
    return epsilon(balls_in_bins_gaussian(sigma, num_bins=num_bins, delta=delta, afresh=True), rounds)


@pytest.mark.parametrize(("sigma", "num_bins"), [(1.0, 3), (0.8, 20), (3.0, 100)])
def test_one_turn_is_the_same_whichever_way(sigma, num_bins):
    """The law of the ratio on one grid, composed once, and the bound that is made for each epsilon."""
    assert afresh(sigma, num_bins, num_bins) == spent(sigma, num_bins, num_bins)
    law = bins._composed_epsilon(frozenset({(BallsInBinsDpEvent(num_bins, sigma), 1)}), DELTA)
    assert law == pytest.approx(spent(sigma, num_bins, num_bins), rel=3e-3)


def test_one_bin_drawn_anew_is_the_gaussian_mechanism():
    assert afresh(1.7, 1, 9) == pytest.approx(epsilon(full_gaussian(1.7, delta=DELTA), 9), rel=1e-9)


@pytest.mark.parametrize(("sigma", "num_bins", "turns"), [(1.0, 4, 3), (0.7, 10, 2), (2.0, 5, 12)])
def test_turns_lose_what_simulations_do(sigma, num_bins, turns):
    """Their losses add up; the deltas of both directions at the epsilon that is found."""
    delta, runs, rng = 1e-2, 400_000, np.random.default_rng(5)
    at, losses = afresh(sigma, num_bins, num_bins * turns, delta), [np.zeros(runs), np.zeros(runs)]
    for _ in range(turns):
        for sign, total in zip((1, -1), losses, strict=True):  # with the unit, and without it
            z = rng.standard_normal((runs, num_bins))
            if sign > 0:
                z[np.arange(runs), rng.integers(num_bins, size=runs)] += 1 / sigma
            total += sign * np.log(np.exp(z / sigma - sigma**-2 / 2).mean(axis=1))
    lost = [np.maximum(1 - np.exp(at - loss), 0) for loss in losses]
    found, error = max((float(one.mean()), float(one.std() / runs**0.5)) for one in lost)
    assert 0.97 * delta - 4 * error <= found <= delta + 4 * error


def test_a_turn_that_has_begun_counts_whole_and_phases_compose():
    assert afresh(1.0, 10, 21) == afresh(1.0, 10, 30) > afresh(1.0, 10, 20)
    kinds = [balls_in_bins_gaussian(sigma, num_bins=10, delta=DELTA, afresh=True) for sigma in (1.0, 1.0, 2.0)]
    assert epsilon(in_sequence([(kinds[0], 20), (kinds[1], 10)]), 30) == afresh(1.0, 10, 30)
    assert afresh(2.0, 10, 30) < epsilon(in_sequence([(kinds[0], 10), (kinds[2], 20)]), 30) < afresh(1.0, 10, 30)


@pytest.mark.parametrize(
    ("sigma", "num_bins", "turns"),
    [(1.0, 100, 10), (0.5, 100, 20), (10.0, 5, 500), (0.3, 5, 4), (0.25, 2, 150), (0.03, 2, 9)],
)
def test_drawn_anew_lies_between_nothing_and_one_bin_for_the_run(sigma, num_bins, turns):
    """It costs about what Poisson samples do, and never more than where the bins are known."""
    found = afresh(sigma, num_bins, num_bins * turns)
    assert found <= spent(sigma, num_bins, num_bins * turns) * (1 + 1e-4)
    sampled = poisson_gaussian(sigma, sampling_rate=1 / num_bins, delta=DELTA, accountant="pld")
    if sigma >= 0.5:
        assert 0.8 < found / epsilon(sampled, num_bins * turns) < 1.01


def test_the_noise_for_bins_drawn_anew_suffices():
    def release(sigma):
        return balls_in_bins_gaussian(sigma, num_bins=50, delta=DELTA, afresh=True)

    sigma = noise_multiplier(1.0, release, 500)
    assert epsilon(release(sigma), 500) <= 1 < epsilon(release(0.999 * sigma), 500)
