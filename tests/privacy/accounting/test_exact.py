"""Closed forms: composed Gaussians, and pure DP by its three bounds, which one holds where, and the worst case."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_events import DELTA, spent

from bench.privacy import events
from bench.privacy.accounting import epsilon, noise_multiplier, pure_composition
from bench.privacy.events import laplace

# (epsilons, delta, the three by a pocket calculator, the smallest)
BY_HAND = [
    ([1.0, 1.0], DELTA, (2.0, 5.5543, 5.3964), 0),
    ([0.2] * 100, 1e-6, (20.0, 12.7669, 12.5064), 2),
    ([0.01] * 100, 1e-3, (1.0, 0.3094, 0.3767), 1),
]


def terms(epsilons, delta):
    """The three of the theorem, written out."""
    mean = sum((math.exp(e) - 1) * e / (math.exp(e) + 1) for e in epsilons)
    squares = sum(e * e for e in epsilons)
    return (
        sum(epsilons),
        mean + math.sqrt(2 * squares * math.log(math.e + math.sqrt(squares) / delta)),
        mean + math.sqrt(2 * squares * math.log(1 / delta)),
    )


def smallest(epsilons, delta):
    """Of the three for all, and for all but one kind, which is added."""
    rests = [(e, [other for other in epsilons if other != e]) for e in set(epsilons)]
    apart = [e * epsilons.count(e) + (min(terms(rest, delta)) if rest else 0.0) for e, rest in rests]
    return min(*terms(epsilons, delta), *apart)


def composed(epsilons, delta=DELTA):
    return pure_composition(epsilons, [1] * len(epsilons), delta)


def exact_delta(eps, pure, rounds):
    """Of randomised responses, the worst mechanisms of their pure epsilon: T answers, k of them for."""
    k = np.arange(rounds + 1)
    loss = (2 * k - rounds) * pure
    return float(stats.binom.pmf(k, rounds, 1 / (1 + math.exp(-pure))) @ np.maximum(-np.expm1(eps - loss), 0))


def test_composed_gaussians_in_closed_form_agree_with_a_pld():
    for sigma, rounds in ((10, 50), (30, 200), (100, 300)):
        numeric = dp.pld.PLDAccountant()
        numeric.compose(dp.SelfComposedDpEvent(dp.GaussianDpEvent(sigma), rounds))
        exact = spent(sigma, 1.0, rounds, 1e-4, "none", "pld")
        assert exact == pytest.approx(numeric.get_epsilon(1e-4), rel=1e-3)


@pytest.mark.parametrize(("epsilons", "delta", "by_hand", "place"), BY_HAND)
def test_the_smallest_of_the_three_bounds(epsilons, delta, by_hand, place):
    assert terms(epsilons, delta) == pytest.approx(by_hand, rel=1e-3)
    assert composed(epsilons, delta) == pytest.approx(by_hand[place], rel=1e-3)
    assert int(np.argmin(terms(epsilons, delta))) == place


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(1e-6, 300), min_size=1, max_size=40), st.floats(1e-10, 0.5))
def test_any_list_in_any_order_and_however_counted(epsilons, delta):
    value = composed(epsilons, delta)
    assert value == pytest.approx(smallest(epsilons, delta), rel=1e-9)
    assert composed(sorted(epsilons), delta) == pytest.approx(value, rel=1e-12)
    assert pure_composition(epsilons, [3] * len(epsilons), delta) == pytest.approx(composed(epsilons * 3, delta))
    assert max(epsilons) * (1 - 1e-12) <= value <= sum(epsilons) * (1 + 1e-12)
    assert composed([*epsilons, 0.5], delta) >= value
    assert composed(epsilons, delta / 2) >= value
    assert composed([*epsilons, 0.0], delta) == pytest.approx(value, rel=1e-12)


def test_large_epsilons_do_not_overflow():
    assert composed([5000.0, 3000.0]) == 8000.0


@pytest.mark.parametrize(("pure", "rounds"), [(0.01, 100), (0.1, 100), (0.1, 1000), (1.0, 3), (1.0, 400)])
def test_randomised_response_stays_within_the_bound_and_not_within_what_a_slip_reports(pure, rounds):
    value = composed([pure] * rounds)
    assert exact_delta(value, pure, rounds) <= DELTA
    assert exact_delta(composed([pure / 2] * rounds), pure, rounds) > DELTA  # the 2 of replace-one left out
    assert exact_delta(composed([pure]), pure, rounds) > DELTA  # composition left out


def test_one_root_over_the_sum_and_not_one_for_each_update():
    """As printed in Bellet et al., every update would bring its own root: never better than the plain sum."""
    assert composed([0.1] * 1000) < 0.2 * sum(0.1 for _ in range(1000))


def test_a_start_unlike_the_rounds_is_added_where_that_is_less():
    """(0.1, delta) for the rounds and 0.05 for the start give (0.15, delta), less than all of them under one root."""
    rounds, start = [2 / noise_multiplier(0.1, lambda sigma: laplace(sigma, delta=DELTA), 8)], [0.05]
    apart = pure_composition(start + rounds, [1, 8], DELTA)
    assert apart == pytest.approx(0.05 + pure_composition(rounds, [8], DELTA))
    assert apart <= 0.15
    # One root over all nine of them, as the theorem has it, says more.
    values = np.array(start + rounds * 8)
    mean, variance = values @ np.tanh(values / 2), values @ values
    assert apart < min(values.sum(), mean + math.sqrt(2 * variance * math.log(1 / DELTA)))


@pytest.mark.parametrize(("target", "rounds"), [(1.0, 1), (0.5, 4), (1.0, 8), (20.0, 8)])
def test_an_equal_split_gives_every_update_its_share(target, rounds):
    sigma = noise_multiplier(target, lambda s: events.laplace(s, delta=DELTA), rounds)
    assert sigma == pytest.approx(2 * rounds / target, rel=1e-3)
    assert noise_multiplier(target, lambda s: events.laplace(s, delta=DELTA, accountant="pld"), rounds) < sigma


def test_over_many_updates_advanced_composition_needs_less_noise_than_an_equal_share():
    sigma = noise_multiplier(1.0, lambda s: events.laplace(s, delta=DELTA), 400)
    assert sigma < 0.5 * 2 * 400 / 1.0
    assert epsilon(events.laplace(sigma, delta=DELTA), 400) <= 1.0
