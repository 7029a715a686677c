"""Epsilon against published values, integrals written out here and special cases; noise against epsilon."""

import math
from decimal import Decimal, localcontext
from itertools import pairwise

import dp_accounting as dp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bench.errors import InputError
from bench.privacy import accounting, events
from bench.privacy.accounting import ORDERS, epsilon, epsilons, noise_multiplier
from bench.privacy.events import ADD_OR_REMOVE, REPLACE

NAMES = [("poisson", "rdp"), ("poisson", "pld"), ("fixed", "rdp"), ("none", "rdp"), ("none", "pld")]


def make(sigma, q, delta, sampling="poisson", accountant="rdp"):
    rate = 1.0 if sampling == "none" else q
    return events.gaussian(sigma, sampling=sampling, sampling_rate=rate, accountant=accountant, delta=delta)


def spent(sigma, q, rounds, delta, sampling="poisson", accountant="rdp"):
    return epsilon(make(sigma, q, delta, sampling, accountant), rounds)


def poisson_rdp(sigma, q):
    event = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))
    return dict(zip(ORDERS, accounting._rdp(event, ADD_OR_REMOVE), strict=True))


def fixed_size_rdp(sigma, q):
    """`sigma` relative to the replace-one movement."""
    event = dp.SampledWithoutReplacementDpEvent(1000, round(1000 * q), dp.GaussianDpEvent(sigma))
    return dict(zip(ORDERS, accounting._rdp(event, REPLACE), strict=True))


def log_moment(log_one, log_other, a, sigma):
    """log E_other[(one / other)^a] on the line, by quadrature in pieces."""
    ends = np.linspace(-2 * a - 12 * sigma, 2 * a + 12 * sigma, 61)

    def integrand(z):
        return math.exp(a * log_one(z) + (1 - a) * log_other(z))

    pieces = (integrate.quad(integrand, *pair, epsabs=0, epsrel=1e-11)[0] for pair in pairwise(ends))
    return math.log(sum(pieces))


def log_mixture(q, sigma, mean):
    normal = stats.norm.logpdf
    return lambda z: np.logaddexp(math.log1p(-q) + normal(z, 0, sigma), math.log(q) + normal(z, mean, sigma))


# Opacus 1.5.3, RDPAccountant at its default orders, delta = 1e-4: (sigma, q, rounds, epsilon).
OPACUS = [
    *((1, 1.0, 50, 53.6), (1, 1.0, 200, 158.4), (1, 1.0, 300, 223.3)),
    *((3, 1.0, 50, 11.87), (3, 1.0, 200, 29.88), (3, 1.0, 300, 39.85)),
    *((10, 1.0, 50, 2.792), (10, 1.0, 200, 6.307), (10, 1.0, 300, 8.074)),
    *((30, 1.0, 50, 0.809), (30, 1.0, 200, 1.759), (30, 1.0, 300, 2.214)),
    *((100, 1.0, 50, 0.213), (100, 1.0, 200, 0.459), (100, 1.0, 300, 0.575)),
    *((1000, 1.0, 50, 0.067), (1000, 1.0, 200, 0.072), (1000, 1.0, 300, 0.075)),  # the conversion's floor
    *((1, 0.01, 20000, 8.942), (2, 0.01, 20000, 3.027), (3, 0.01, 20000, 1.824)),
    *((5, 0.01, 20000, 1.006), (10, 0.01, 20000, 0.461), (100, 0.01, 20000, 0.072)),
    *((0.5, 0.02, 2000, 34.8), (1, 0.02, 2000, 5.389), (2, 0.02, 2000, 1.823)),
    *((5, 0.02, 2000, 0.607), (10, 0.02, 2000, 0.278), (100, 0.02, 2000, 0.068)),
]


@pytest.mark.parametrize(("sigma", "q", "rounds", "reference"), OPACUS)
def test_poisson_by_rdp_is_what_opacus_reports(sigma, q, rounds, reference):
    assert spent(sigma, q, rounds, 1e-4) == pytest.approx(reference, rel=0.01)


# Opacus 1.5.3, make_private_with_epsilon, 20 epochs, delta = 1e-5: (1 / q, epsilon, sigma by PRV, by RDP).
CALIBRATED = [
    *((94, 2.93, 0.9595, 1.008), (94, 1.2, 1.660, 1.777), (94, 2.7, 0.9985, 1.050)),
    *((79, 7.53, 0.6854, 0.7156), (79, 3.0, 0.9973, 1.049)),
    *((938, 2.93, 0.612, 0.655), (938, 2.7, 0.624, 0.672), (782, 7.53, 0.496, 0.517)),
]


@pytest.mark.parametrize(("steps", "target", "by_prv", "by_rdp"), CALIBRATED)
def test_dp_sgd_of_twenty_epochs_costs_what_opacus_calibrated_it_for(steps, target, by_prv, by_rdp):
    assert spent(by_rdp, 1 / steps, 20 * steps, 1e-5) == pytest.approx(target, rel=0.01)
    assert spent(by_prv, 1 / steps, 20 * steps, 1e-5, accountant="pld") == pytest.approx(target, rel=0.02)


@pytest.mark.parametrize(("sigma", "q"), [(0.3, 0.001), (0.5, 0.02), (1.0, 0.01), (1.0, 0.5), (5.0, 0.1)])
def test_poisson_rdp_is_the_integral_and_at_integers_the_binomial_sum(sigma, q):
    mine = poisson_rdp(sigma, q)
    for a in (1.1, 1.5, 2.5, 7.3):
        moment = log_moment(log_mixture(q, sigma, 1), lambda z: stats.norm.logpdf(z, 0, sigma), a, sigma)
        assert mine[a] == pytest.approx(moment / (a - 1), rel=1e-7)
    p, s = Decimal(q), Decimal(sigma)
    for a in (2, 3, 8, 20):
        powers = [(k * (k - 1) / (2 * s * s)).exp() for k in range(a + 1)]
        moment = sum(math.comb(a, k) * (1 - p) ** (a - k) * p**k * power for k, power in enumerate(powers))
        assert mine[a] == pytest.approx(float(moment.ln()) / (a - 1), rel=1e-9)


@pytest.mark.parametrize(("sigma", "q"), [(0.5, 0.02), (1.0, 0.1), (3.0, 0.3)])
def test_one_poisson_round_by_pld_is_where_the_hockey_stick_divergence_meets_delta(sigma, q):
    value = spent(sigma, q, 1, 1e-4, accountant="pld")
    z = np.linspace(-12 * sigma, 1 + 12 * sigma, 100_001)
    without = stats.norm.pdf(z, 0, sigma)
    with_unit = (1 - q) * without + q * stats.norm.pdf(z, 1, sigma)
    pairs = ((with_unit, without), (without, with_unit))  # removed, added
    deltas = [np.trapezoid(np.maximum(one - math.exp(value) * other, 0), z) for one, other in pairs]
    assert max(deltas) == pytest.approx(1e-4, rel=0.01)


@pytest.mark.parametrize(("sigma", "q"), [(0.5, 0.01), (2.0, 0.1), (20.0, 0.5), (100.0, 0.01)])
def test_fixed_size_rdp_is_theorem_27_in_long_arithmetic(sigma, q):
    mine = fixed_size_rdp(sigma, q)
    with localcontext(prec=300):
        v, p = Decimal(sigma) ** 2, Decimal(round(1000 * q)) / 1000
        power = [(i * (i - 1) / (2 * v)).exp() for i in map(Decimal, range(66))]
        b = {l: sum((-1) ** i * math.comb(l, i) * power[i] for i in range(l + 1)) for l in range(2, 66, 2)}
        for a in (2, 3, 10, 31, 63):
            total = 1 + p**2 * math.comb(a, 2) * min(4 * (power[2] - 1), 2 * power[2])
            for j in range(3, a + 1):
                geometric = 4 * (b[j // 2 * 2] * b[(j + 1) // 2 * 2]).sqrt()
                total += p**j * math.comb(a, j) * min(geometric, 2 * power[j])
            bound = min(float(total.ln()) / (a - 1), a / (2 * sigma**2))
            assert mine[a] == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(("sigma", "q"), [(0.5, 0.01), (1.0, 0.05), (2.0, 0.3), (5.0, 0.01)])
def test_fixed_size_rdp_is_the_one_of_dp_accounting(sigma, q):
    library = dp.rdp.RdpAccountant(ORDERS, dp.NeighboringRelation.REPLACE_ONE)
    library.compose(dp.SampledWithoutReplacementDpEvent(1000, round(1000 * q), dp.GaussianDpEvent(sigma)))
    np.testing.assert_allclose(
        list(fixed_size_rdp(sigma, q).values()), np.minimum(library.rdp, ORDERS / (2 * sigma**2)), rtol=1e-8
    )


@pytest.mark.parametrize(("sigma", "q"), [(0.5, 0.1), (1.0, 0.01), (2.0, 0.3)])
def test_fixed_size_rdp_covers_a_unit_at_C_replaced_by_one_at_minus_C(sigma, q):
    covered = fixed_size_rdp(sigma / 2, q)  # sigma over C is sigma / 2 over the movement of 2 C
    for a in (1.5, 2, 4, 10.5):
        exact = log_moment(log_mixture(q, sigma, 1), log_mixture(q, sigma, -1), a, sigma) / (a - 1)
        assert 0 < exact <= covered[a]


@pytest.mark.parametrize(("sigma", "q", "rounds"), [(0.5, 0.02, 200), (1, 0.01, 2000), (10, 0.01, 999), (4, 0.5, 50)])
def test_the_interval_of_the_pld_costs_less_than_a_fifth_of_a_percent(sigma, q, rounds):
    fine = dp.pld.PLDAccountant(value_discretization_interval=min(1e-4, q / sigma / 100))
    fine.compose(dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma)), rounds))
    reference = fine.get_epsilon(1e-5)
    assert reference * (1 - 1e-4) <= spent(sigma, q, rounds, 1e-5, accountant="pld") <= reference * 1.002


def test_composed_gaussians_in_closed_form_agree_with_a_pld():
    for sigma, rounds in ((10, 50), (30, 200), (100, 300)):
        numeric = dp.pld.PLDAccountant()
        numeric.compose(dp.SelfComposedDpEvent(dp.GaussianDpEvent(sigma), rounds))
        exact = spent(sigma, 1.0, rounds, 1e-4, "none", "pld")
        assert exact == pytest.approx(numeric.get_epsilon(1e-4), rel=1e-3)


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_sampling_everybody_is_no_sampling(accountant):
    plain = spent(3.0, 1.0, 40, 1e-5, "none", accountant)
    assert spent(3.0, 1.0, 40, 1e-5, "poisson", accountant) == pytest.approx(plain, rel=1e-3)
    if accountant == "rdp":
        assert spent(6.0, 1.0, 40, 1e-5, "fixed") == plain  # replace-one: twice the noise for the same cost


SIGMA = st.floats(0.3, 200)
RATE = st.floats(1e-4, 1)
ROUNDS = st.integers(1, 30_000)


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


def test_a_cost_below_double_precision_is_not_taken_for_none():
    # The total variation distance is about 4e-9: (0, 1e-9)-DP, which an RDP rounded to 0 would claim, is false.
    assert spent(1e6, 0.01, 1, 1e-9) > 0


def test_pld_is_left_out_where_it_would_explode_and_nowhere_near_use():
    assert math.isnan(spent(0.01, 0.1, 2000, 1e-4, accountant="pld"))
    assert spent(0.5, 0.02, 2000, 1e-4, accountant="pld") == pytest.approx(30.966, rel=2e-3)


@pytest.mark.parametrize(("sampling", "accountant"), NAMES)
@pytest.mark.parametrize("target", [0.3, 3.0, 60.0])
def test_the_noise_suffices_and_a_thousandth_less_does_not(sampling, accountant, target):
    def release(sigma):
        return make(sigma, 0.02, 1e-5, sampling, accountant)

    sigma = noise_multiplier(target, release, 500)
    assert epsilon(release(sigma), 500) <= target < epsilon(release(0.999 * sigma), 500)


@pytest.mark.parametrize(
    ("target", "rounds", "accountant", "message"),
    [
        (0.0, 10, "rdp", "epsilon=0.0: give a finite number above 0."),
        (math.nan, 10, "rdp", "epsilon=nan: give a finite number above 0."),
        (math.inf, 10, "rdp", "epsilon=inf: give a finite number above 0."),
        (1.0, 0, "rdp", "rounds=0: give 1 or more."),
        (101.0, 10, "pld", "epsilon=101.0: pld is for at most 100; take accountant rdp."),
    ],
)
def test_a_target_that_cannot_be_used_is_refused(target, rounds, accountant, message):
    with pytest.raises(InputError) as error:
        noise_multiplier(target, lambda s: make(s, 0.1, 1e-5, accountant=accountant), rounds)
    assert str(error.value) == message


def test_other_mechanisms_pass_through_the_rdp_of_dp_accounting():
    base = events.full_gaussian(3.0, delta=1e-5, accountant="rdp")
    as_zcdp = base._replace(event=lambda rounds: dp.SelfComposedDpEvent(dp.ZCDpEvent(1 / 18), rounds))
    assert epsilon(as_zcdp, 50) == pytest.approx(epsilon(base, 50), rel=1e-12)


@pytest.mark.parametrize(
    "release",
    [
        events.poisson_gaussian(1.0, sampling_rate=0.1, delta=1e-5, accountant="gdp"),
        events.poisson_gaussian(1.0, sampling_rate=0.1, delta=1e-5)._replace(neighbors=REPLACE),
        events.fixed_size_gaussian(1.0, sampling_rate=0.1, delta=1e-5)._replace(neighbors=ADD_OR_REMOVE),
        events.fixed_size_gaussian(1.0, sampling_rate=0.1, delta=1e-5)._replace(accountant="pld"),
        events.poisson_gaussian(1.0, sampling_rate=0.1, delta=1e-5, accountant="pld")._replace(neighbors=REPLACE),
        events.full_gaussian(1.0, delta=1e-5, accountant="prv"),
        events.full_gaussian(1.0, delta=1e-5)._replace(neighbors="replace"),
    ],
)
def test_a_release_that_the_accountant_does_not_know_is_refused(release):
    with pytest.raises(InputError):
        epsilon(release, 3)


def test_negative_rounds_are_refused():
    with pytest.raises(InputError, match=r"rounds=-1: give 0 or more"):
        epsilon(make(1.0, 0.1, 1e-5), -1)
