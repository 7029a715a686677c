"""Privacy loss distributions at small deltas: against closed forms, and where the plain transform is exact."""

import math
from itertools import pairwise

import dp_accounting.dp_event as dp
import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr

from bench.privacy import events
from bench.privacy.accounting import epsilon, pld
from bench.privacy.accounting.exact import gdp_epsilon

DELTAS = (1e-9, 1e-12, 1e-15, 1e-20)


def poisson(sigma, rate, rounds, delta):
    release = events.poisson_gaussian(sigma, sampling_rate=rate, delta=delta, accountant="pld")
    return epsilon(release, rounds)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("sigma", "rounds"), [(30.0, 1), (3.0, 20), (1.0, 1), (0.5, 4), (200.0, 10_000)])
def test_gaussians_without_sampling_have_their_closed_form(sigma, rounds, delta):
    event = dp.GaussianDpEvent(sigma)
    exact = gdp_epsilon({event: rounds}, delta)
    assert exact <= pld.pld_epsilon({event: rounds}, events.REPLACE, delta) <= exact * 1.001


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (0.7, 0.2), (5.0, 0.5)])
def test_one_round_on_a_poisson_sample_has_its_closed_form(sigma, rate, delta):
    """For a removed unit, who costs more: the loss is above eps where z is above a threshold."""

    def excess(eps):
        z = sigma**2 * math.log((math.expm1(eps) + rate) / rate) + 0.5
        with_unit, without = (math.exp(log_ndtr((mean - z) / sigma)) for mean in (1.0, 0.0))
        return rate * with_unit - (math.expm1(eps) + rate) * without - delta

    exact = brentq(excess, 1e-12, 60.0, xtol=1e-12)
    assert exact * (1 - 1e-9) <= poisson(sigma, rate, 1, delta) <= exact * 1.002


@pytest.mark.parametrize(
    ("sigma", "rate", "rounds", "delta", "low", "high"),
    [
        (1.0, 0.01, 1000, 1e-10, 3.18, 3.40),
        (1.0, 0.01, 1000, 1e-14, 4.43, 4.65),
        (1.0, 0.01, 1000, 1e-15, 4.75, 4.96),
        (4.0, 0.00033, 10_000, 1.1e-18, 0.065, 0.069),
    ],
)
def test_many_rounds_are_between_the_bounds_of_another_program(sigma, rate, rounds, delta, low, high):
    """A grid with masses rounded up and down, which gives an upper and a lower end."""
    assert low <= poisson(sigma, rate, rounds, delta) <= high


@pytest.mark.parametrize(("sigma", "rate", "rounds"), [(0.8, 0.001, 5000), (1.0, 0.01, 20_000), (10.0, 0.2, 1000)])
def test_epsilon_goes_on_below_what_the_plain_transform_resolves_as_above_it(sigma, rate, rounds, monkeypatch):
    """The steps between powers of 10 change smoothly. The plain transform's epsilon is too small at 1e-12 here."""
    found = {power: poisson(sigma, rate, rounds, 10.0**-power) for power in range(7, 20)}
    steps = [found[power + 1] - found[power] for power in range(7, 19)]
    assert all(0.9 * before < after < 1.15 * before for before, after in pairwise(steps))
    pld._composed_epsilon.cache_clear()
    monkeypatch.setattr(pld, "SMALL_DELTA", 0.0)
    assert poisson(sigma, rate, rounds, 1e-12) < found[12] * (1 - 3e-4)
    pld._composed_epsilon.cache_clear()


@pytest.mark.parametrize(("sigma", "rate", "rounds"), [(1.0, 0.01, 1000), (0.5, 0.02, 200), (50.0, 0.5, 10_000)])
def test_both_ways_agree_where_both_are_exact(sigma, rate, rounds, monkeypatch):
    plain = poisson(sigma, rate, rounds, 1e-5)
    pld._composed_epsilon.cache_clear()
    monkeypatch.setattr(pld, "SMALL_DELTA", 1.0)
    assert poisson(sigma, rate, rounds, 1e-5) == pytest.approx(plain, rel=1e-7)
    pld._composed_epsilon.cache_clear()


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("pure", [0.01, 0.5, 7.0])
def test_one_laplace_release_has_its_closed_form(pure, delta):
    exact = pure + 2 * math.log1p(-delta)
    found = epsilon(events.laplace(2 / pure, delta=delta, accountant="pld"), 1)
    assert exact * (1 - 1e-12) <= found <= exact * 1.0005


@pytest.mark.parametrize("delta", DELTAS)
def test_many_laplace_releases_cost_less_than_their_composition_and_grow_with_their_number(delta):
    def spent(rounds, accountant="pld"):
        return epsilon(events.laplace(20.0, delta=delta, accountant=accountant), rounds)

    assert spent(80) < spent(100) < min(spent(100, "composition"), spent(100, "rdp"))


def test_releases_of_several_kinds_are_composed():
    """A Gaussian beside Laplace noise that hides nearly everything costs hardly more than it does alone."""
    gaussian, laplace = dp.GaussianDpEvent(2.0), dp.LaplaceDpEvent(1e4)
    alone = gdp_epsilon({gaussian: 3}, 1e-12)
    assert alone <= pld.pld_epsilon({gaussian: 3, laplace: 1}, events.REPLACE, 1e-12) <= alone * 1.005 + 1e-4
    twice = gdp_epsilon({gaussian: 3, dp.GaussianDpEvent(1.0): 2}, 1e-12)
    found = pld.pld_epsilon({gaussian: 3, dp.GaussianDpEvent(1.0): 2}, events.REPLACE, 1e-12)
    assert twice <= found <= twice * 1.001
