"""The epsilon of the best of a random number of runs: closed forms, dp_accounting, and what it cannot say."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.dp_event import RepeatAndSelectDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy.optimize import minimize_scalar

from bench.errors import InputError
from bench.privacy.accounting import ORDERS, epsilon
from bench.privacy.events import (
    ADD_OR_REMOVE,
    REPLACE,
    fixed_size_gaussian,
    full_gaussian,
    in_parallel,
    laplace,
    nothing_released,
    poisson_gaussian,
)
from bench.privacy.selection import GEOMETRIC, POISSON, epsilon_of_best

DELTA = 1e-5


def gaussian(sigma: float = 2.0, accountant: str = "rdp"):
    return full_gaussian(sigma, delta=DELTA, accountant=accountant)


def sampled(sigma: float = 1.0):
    return poisson_gaussian(sigma, sampling_rate=0.05, delta=DELTA, accountant="pld")


def converted(rdp, delta: float) -> float:
    """The least epsilon over all real orders, by the conversion of Canonne, Kamath and Steinke 2020."""

    def at(log_excess: float) -> float:
        a = 1 + math.exp(log_excess)
        return rdp(a) + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1)

    return minimize_scalar(at, bounds=(-3, 4.1), method="bounded").fun


@pytest.mark.parametrize("mean", [2.0, 10.0, 64.0])
@pytest.mark.parametrize("count", [1, 20])
def test_a_geometric_number_of_runs_by_hand(mean, count):
    """Of Gaussians, whose RDP is a rho: min over b of (b - 1) rho + log(m) / b is 2 sqrt(rho log m) - rho."""
    rho = count / (2 * 4.0**2)
    worst = 2 * (2 * math.sqrt(rho * math.log(mean)) - rho)
    by_hand = converted(lambda a: a * rho + worst + math.log(mean) / (a - 1), DELTA)
    assert 1 / math.sqrt(rho / math.log(mean)) > 1  # the b of the minimum is an order
    assert by_hand <= epsilon_of_best(gaussian(4.0), count, mean, shape=GEOMETRIC) <= 1.01 * by_hand + 1e-3


@pytest.mark.parametrize("shape", [0.5, GEOMETRIC, 3.0, POISSON])
@pytest.mark.parametrize("mean", [1.5, 8.0, 200.0])
def test_dp_accounting_says_the_same(shape, mean):
    accountant = RdpAccountant(ORDERS.tolist())
    runs = dp.SelfComposedDpEvent(dp.GaussianDpEvent(2.0), 7)
    theirs = accountant.compose(RepeatAndSelectDpEvent(runs, mean, shape)).get_epsilon(DELTA)
    assert epsilon_of_best(gaussian(), 7, mean, shape=shape) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("shape", [0.5, GEOMETRIC, POISSON])
@pytest.mark.parametrize("release", [gaussian(), gaussian(accountant="gdp"), sampled(), laplace(20.0, delta=DELTA)])
def test_it_rises_with_the_runs_and_is_never_below_one_run(shape, release):
    means = [1.0, 1.5, 3.0, 10.0, 100.0, 1000.0]
    spent = [epsilon_of_best(release, 30, mean, shape=shape) for mean in means]
    assert np.all(np.diff(spent) > 0)
    one_run = min(epsilon(release, 30), epsilon(release._replace(accountant="rdp"), 30))
    assert spent[0] >= one_run - 1e-9
    assert epsilon_of_best(release, 60, 10.0, shape=shape) > spent[3]
    assert epsilon_of_best(release, 30, 10.0, 1e-7, shape=shape) > spent[3]


def test_the_best_run_costs_less_than_all_runs_together():
    together = epsilon(sampled(), 64 * 200)
    assert epsilon(sampled(), 200) < epsilon_of_best(sampled(), 200, 64.0) < 0.5 * together


def test_disjoint_units_cost_what_the_dearest_of_them_costs():
    parts = [(gaussian(2.0), 3), (gaussian(4.0), 3)]
    assert epsilon_of_best(in_parallel(parts), 6, 10.0) == epsilon_of_best(gaussian(2.0), 3, 10.0)


def test_runs_without_a_release_and_runs_without_noise():
    silent = nothing_released(delta=DELTA, privacy_unit="user", protects_against="everybody")
    assert epsilon_of_best(silent, 10, 64.0) == 0
    assert epsilon_of_best(gaussian(0.0), 10, 64.0) == math.inf


def test_what_renyi_dp_does_not_say_is_nan():
    fixed = fixed_size_gaussian(1.0, sampling_rate=0.1, delta=DELTA)
    assert fixed.neighbors == REPLACE
    assert math.isfinite(epsilon_of_best(fixed, 10, 8.0))
    assert math.isnan(epsilon_of_best(fixed._replace(neighbors=ADD_OR_REMOVE), 10, 8.0))
    assert math.isnan(epsilon_of_best(sampled()._replace(neighbors=REPLACE), 10, 8.0))
    assert math.isnan(epsilon_of_best(gaussian()._replace(accountant="zcdp_as_published"), 10, 8.0))


@pytest.mark.parametrize(
    ("mean", "delta", "shape", "words"),
    [
        (0.5, None, POISSON, "mean_runs=0.5"),
        (math.inf, None, POISSON, "mean_runs=inf"),
        (math.nan, None, POISSON, "mean_runs=nan"),
        (2.0, 0.0, POISSON, "delta=0.0"),
        (2.0, None, -1.0, "shape=-1.0"),
    ],
)
def test_numbers_out_of_range_are_refused(mean, delta, shape, words):
    with pytest.raises(InputError, match=words):
        epsilon_of_best(gaussian(), 3, mean, delta, shape=shape)
