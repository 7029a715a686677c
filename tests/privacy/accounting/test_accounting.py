"""Epsilon by every accountant against the others and special cases; noise against epsilon; what is refused."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_cases import rows
from small_events import make, spent

from bench.errors import InputError
from bench.privacy import accounting, events
from bench.privacy.accounting import epsilon, epsilons, noise_multiplier
from bench.privacy.events import ADD_OR_REMOVE, REPLACE

NAMES = [("poisson", "rdp"), ("poisson", "pld"), ("fixed", "rdp"), ("none", "rdp"), ("none", "pld")]
# Opacus 1.5.3, make_private_with_epsilon, 20 epochs, delta = 1e-5: (1 / q, epsilon, sigma by PRV, by RDP).
CALIBRATED = [
    *((94, 2.93, 0.9595, 1.008), (94, 1.2, 1.660, 1.777), (94, 2.7, 0.9985, 1.050)),
    *((79, 7.53, 0.6854, 0.7156), (79, 3.0, 0.9973, 1.049)),
    *((938, 2.93, 0.612, 0.655), (938, 2.7, 0.624, 0.672), (782, 7.53, 0.496, 0.517)),
]
SIGMA = st.floats(0.3, 200)
RATE = st.floats(1e-4, 1)
ROUNDS = st.integers(1, 30_000)


@pytest.mark.parametrize(("steps", "target", "by_prv", "by_rdp"), CALIBRATED)
def test_dp_sgd_of_twenty_epochs_costs_what_opacus_calibrated_it_for(steps, target, by_prv, by_rdp):
    assert spent(by_rdp, 1 / steps, 20 * steps, 1e-5) == pytest.approx(target, rel=0.01)
    assert spent(by_prv, 1 / steps, 20 * steps, 1e-5, accountant="pld") == pytest.approx(target, rel=0.02)


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_sampling_everybody_is_no_sampling(accountant):
    plain = spent(3.0, 1.0, 40, 1e-5, "none", accountant)
    assert spent(3.0, 1.0, 40, 1e-5, "poisson", accountant) == pytest.approx(plain, rel=1e-3)
    if accountant == "rdp":
        assert spent(6.0, 1.0, 40, 1e-5, "fixed") == plain  # replace-one: twice the noise for the same cost


@settings(max_examples=60, deadline=None)
@given(SIGMA, RATE, ROUNDS, st.floats(1e-8, 1e-3))
def test_more_noise_fewer_rounds_and_smaller_samples_never_cost_more(sigma, q, rounds, delta):
    for sampling in ("poisson", "fixed"):
        value = spent(sigma, q, rounds, delta, sampling)
        assert spent(1.1 * sigma, q, rounds, delta, sampling) <= value
        assert spent(sigma, q, rounds + 7, delta, sampling) >= value
        assert spent(sigma, 0.9 * q, rounds, delta, sampling) <= value * (1 + 1e-9)
        assert spent(sigma, q, rounds, 2 * delta, sampling) <= value
    assert spent(sigma, q, rounds, delta) <= spent(sigma, 1.0, rounds, delta, "none")
    assert spent(sigma, q, rounds, delta, "fixed") <= spent(sigma / 2, 1.0, rounds, delta, "none")
    assert spent(sigma, q, rounds, delta, "fixed") >= spent(sigma, q, rounds, delta)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.5, 100), st.floats(1e-3, 0.9), st.integers(1, 3000))
def test_pld_is_never_above_rdp_and_falls_with_the_noise(sigma, q, rounds):
    by_rdp = spent(sigma, q, rounds, 1e-5)
    by_pld = spent(sigma, q, rounds, 1e-5, accountant="pld")
    if math.isnan(by_pld):
        assert by_rdp > accounting.PLD_LIMIT
    else:
        assert by_pld <= by_rdp or by_rdp == 0
        assert spent(1.1 * sigma, q, rounds, 1e-5, accountant="pld") <= by_pld
        assert by_pld <= spent(sigma, 1.0, rounds, 1e-5, "none", "pld") * 1.002


@pytest.mark.parametrize(("sampling", "accountant"), NAMES)
def test_a_schedule_in_two_pieces_costs_what_it_costs_in_one(sampling, accountant):
    one = make(2.0, 0.05, 1e-5, sampling, accountant)
    parts = one._replace(event=lambda rounds: dp.ComposedDpEvent([one.event(rounds - 9), one.event(9)]))
    assert epsilon(parts, 100) == epsilon(one, 100)
    nested = one._replace(event=lambda rounds: dp.SelfComposedDpEvent(one.event(rounds // 4), 4))
    assert epsilon(nested, 100) == epsilon(one, 100)
    # Another rate or noise in the second piece is another cost, between those of the two.
    noisier = make(4.0, 0.05, 1e-5, sampling, accountant)
    mixed = one._replace(event=lambda rounds: dp.ComposedDpEvent([one.event(rounds - 50), noisier.event(50)]))
    assert epsilon(noisier, 100) < epsilon(mixed, 100) < epsilon(one, 100)


@pytest.mark.parametrize(("sampling", "accountant"), NAMES)
def test_many_round_counts_at_once_are_the_single_ones(sampling, accountant):
    release = make(2.0, 0.05, 1e-5, sampling, accountant)
    many = epsilons(release, np.array([300, 0, 1, 20]))
    assert many.dtype == np.float64
    assert many.tolist() == [epsilon(release, rounds) for rounds in (300, 0, 1, 20)]
    assert many[1] == 0


@pytest.mark.parametrize(("sampling", "accountant"), NAMES)
def test_no_noise_costs_everything_and_no_rounds_nothing(sampling, accountant):
    release = make(0.0, 0.05, 1e-5, sampling, accountant)
    assert epsilons(release, [0, 1, 100]).tolist() == [0, math.inf, math.inf]


@pytest.mark.parametrize(
    ("sampling", "accountant", "target"),
    rows([(*name, target) for target in (0.3, 3.0, 60.0) for name in NAMES], slow={("poisson", "pld", 60.0)}),
)
def test_the_noise_suffices_and_a_thousandth_less_does_not(sampling, accountant, target):
    def release(sigma):
        return make(sigma, 0.02, 1e-5, sampling, accountant)

    sigma = noise_multiplier(target, release, 500)
    assert epsilon(release(sigma), 500) <= target < epsilon(release(0.999 * sigma), 500)


@pytest.mark.parametrize(
    ("target", "rounds", "accountant", "message"),
    [
        (0.0, 10, "rdp", "epsilon=0.0: give a finite number above 0."),
        (1.0, 0, "rdp", "rounds=0: give 1 or more."),
        (201.0, 10, "pld", "epsilon=201.0: pld is for at most 200; take accountant rdp."),
    ],
)
def test_a_target_that_cannot_be_used_is_refused(target, rounds, accountant, message):
    with pytest.raises(InputError) as error:
        noise_multiplier(target, lambda s: make(s, 0.1, 1e-5, accountant=accountant), rounds)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "release",
    [
        events.poisson_gaussian(1.0, sampling_rate=0.1, delta=1e-5, accountant="gdp"),
        events.poisson_gaussian(1.0, sampling_rate=0.1, delta=1e-5)._replace(neighbors=REPLACE),
        events.fixed_size_gaussian(1.0, sampling_rate=0.1, delta=1e-5)._replace(neighbors=ADD_OR_REMOVE),
        events.fixed_size_gaussian(1.0, sampling_rate=0.1, delta=1e-5)._replace(accountant="pld"),
        events.poisson_gaussian(1.0, sampling_rate=0.1, delta=1e-5, accountant="pld")._replace(neighbors=REPLACE),
        events.full_gaussian(1.0, delta=1e-5)._replace(accountant="prv"),
        events.full_gaussian(1.0, delta=1e-5)._replace(neighbors="replace"),
        events.full_gaussian(1.0, delta=1e-5)._replace(privacy_unit="usr"),
    ],
)
def test_a_release_that_the_accountant_does_not_know_is_refused(release):
    with pytest.raises(InputError):
        epsilon(release, 3)


def test_every_accountant_that_a_release_may_name_is_explained_and_computes():
    assert set(events.ACCOUNTANTS) == set(accounting.CONVERSIONS)
    for accountant in events.ACCOUNTANTS:
        if accountant == "bins":
            release = events.balls_in_bins_gaussian(10.0, num_bins=2, delta=1e-5)
        else:
            factory = events.laplace if accountant == "composition" else events.full_gaussian
            release = factory(10.0, delta=1e-5, accountant=accountant)
        assert release.accountant == accountant
        assert 0 < epsilon(release, 3) < math.inf
