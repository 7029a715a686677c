"""What a Laplace release says, and that its multiplier is that of a sum of terms."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from scipy import stats

from bench.privacy import events
from bench.privacy.accounting import epsilon
from bench.privacy.events import ADD_OR_REMOVE, REPLACE

DELTA = math.exp(-5)


def test_a_round_holds_half_the_multiplier_under_replace_one_and_says_what_it_protects():
    release = events.laplace(3.0, delta=DELTA)
    assert release.event(7) == dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1.5), 7)
    assert (release.privacy_unit, release.neighbors, release.accountant) == ("point", REPLACE, "composition")
    assert events.laplace(3.0, delta=DELTA, neighbors=ADD_OR_REMOVE).event(1).event == dp.LaplaceDpEvent(3.0)
    assert epsilon(release, 1) == pytest.approx(2 / 3)
    assert epsilon(events.laplace(3.0, delta=DELTA, neighbors=ADD_OR_REMOVE), 1) == pytest.approx(1 / 3)


def test_the_multiplier_is_that_of_terms_at_the_bound_replaced_by_their_opposite():
    """The density of the noisy mean of m terms, one at C replaced by one at -C, by brute force."""
    sigma, clip, m = 2.5, 0.4, 7
    scale = sigma * clip / m
    x = np.linspace(-3, 3, 100_001)
    ratio = stats.laplace.logpdf(x, clip / m, scale) - stats.laplace.logpdf(x, -clip / m, scale)
    assert np.max(ratio) == pytest.approx(epsilon(events.laplace(sigma, delta=DELTA), 1))


def test_a_bound_that_the_terms_exceed_makes_the_noise_count_less():
    sigma, assumed = 4.0, 1.0
    for exceeds in (1.0, 5.0, 100.0):
        assert epsilon(events.laplace(sigma * assumed / exceeds, delta=DELTA), 1) == pytest.approx(2 * exceeds / sigma)
    assert epsilon(events.laplace(sigma * assumed / math.inf, delta=DELTA), 1) == math.inf
