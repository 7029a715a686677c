"""Renyi DP against Opacus, integrals written out here, long arithmetic and dp_accounting."""

import math
from decimal import Decimal, localcontext
from itertools import pairwise

import dp_accounting as dp
import numpy as np
import pytest
from scipy import integrate
from small_events import make, spent

from bench.errors import InputError
from bench.privacy import events
from bench.privacy.accounting import ORDERS, epsilon, noise_multiplier, rdp_floor
from bench.privacy.accounting.rdp import rdp_curve
from bench.privacy.events import ADD_OR_REMOVE, REPLACE

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


def poisson_rdp(sigma, q):
    event = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))
    return dict(zip(ORDERS, rdp_curve(event, ADD_OR_REMOVE), strict=True))


def fixed_size_rdp(sigma, q):
    """`sigma` relative to the replace-one movement."""
    event = dp.SampledWithoutReplacementDpEvent(1000, round(1000 * q), dp.GaussianDpEvent(sigma))
    return dict(zip(ORDERS, rdp_curve(event, REPLACE), strict=True))


def log_moment(log_one, log_other, a, sigma):
    """log E_other[(one / other)^a] on the line, by quadrature in pieces."""
    ends = np.linspace(-2 * a - 12 * sigma, 2 * a + 12 * sigma, 61)

    def integrand(z):
        return math.exp(a * log_one(z) + (1 - a) * log_other(z))

    pieces = (integrate.quad(integrand, *pair, epsabs=0, epsrel=1e-11)[0] for pair in pairwise(ends))
    return math.log(sum(pieces))


def log_normal(z, mean, sigma):
    """The log of a normal density, for numbers: the overhead of `stats.norm.logpdf` is many times as long."""
    return -((z - mean) ** 2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))


def log_mixture(q, sigma, mean):
    without, with_unit = math.log1p(-q), math.log(q)
    return lambda z: np.logaddexp(without + log_normal(z, 0, sigma), with_unit + log_normal(z, mean, sigma))


@pytest.mark.parametrize(("sigma", "q", "rounds", "reference"), OPACUS)
def test_poisson_by_rdp_is_what_opacus_reports(sigma, q, rounds, reference):
    assert spent(sigma, q, rounds, 1e-4) == pytest.approx(reference, rel=0.01)


@pytest.mark.parametrize(("sigma", "q"), [(0.3, 0.001), (0.5, 0.02), (1.0, 0.01), (1.0, 0.5), (5.0, 0.1)])
def test_poisson_rdp_is_the_integral_and_at_integers_the_binomial_sum(sigma, q):
    mine = poisson_rdp(sigma, q)
    for a in (1.1, 1.5, 2.5, 7.3):
        moment = log_moment(log_mixture(q, sigma, 1), lambda z: log_normal(z, 0, sigma), a, sigma)
        assert mine[a] == pytest.approx(moment / (a - 1), rel=1e-7)
    p, s = Decimal(q), Decimal(sigma)
    for a in (2, 3, 8, 20):
        powers = [(k * (k - 1) / (2 * s * s)).exp() for k in range(a + 1)]
        moment = sum(math.comb(a, k) * (1 - p) ** (a - k) * p**k * power for k, power in enumerate(powers))
        assert mine[a] == pytest.approx(float(moment.ln()) / (a - 1), rel=1e-9)


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


def test_a_cost_below_double_precision_is_not_taken_for_none():
    # The total variation distance is about 4e-9: (0, 1e-9)-DP, which an RDP rounded to 0 would claim, is false.
    assert spent(1e6, 0.01, 1, 1e-9) > 0


def test_other_mechanisms_pass_through_the_rdp_of_dp_accounting():
    base = events.full_gaussian(3.0, delta=1e-5, accountant="rdp")
    as_zcdp = base._replace(event=lambda rounds: dp.SelfComposedDpEvent(dp.ZCDpEvent(1 / 18), rounds))
    assert epsilon(as_zcdp, 50) == pytest.approx(epsilon(base, 50), rel=1e-12)


@pytest.mark.parametrize("sampling", ["poisson", "fixed", "none"])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-12])
def test_larger_orders_change_small_epsilons_alone(sampling, delta):
    noises, q = np.geomspace(0.5, 5000, 12), 1.0 if sampling == "none" else 0.01
    found = [[spent(sigma, q, 100, delta, sampling, by) for by in ("rdp", "rdp_wide")] for sigma in noises]
    for opacus, wide in found:
        assert wide <= opacus
        assert wide == opacus or opacus < 3 * rdp_floor(delta)
    assert min(wide / opacus for opacus, wide in found if opacus) < 0.5


@pytest.mark.parametrize(("sigma", "q", "rounds", "delta"), [(40.0, 0.01, 1000, 1e-5), (400.0, 0.1, 500, 1e-12)])
def test_at_larger_orders_it_is_that_of_dp_accounting(sigma, q, rounds, delta):
    orders = [*ORDERS, *range(64, 200), *range(200, 1500, 25)]
    for sampling, event in (
        ("poisson", dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))),
        ("none", dp.GaussianDpEvent(sigma)),
    ):
        library = dp.rdp.RdpAccountant(orders).compose(event, rounds)
        ours = spent(sigma, q if sampling == "poisson" else 1.0, rounds, delta, sampling, "rdp_wide")
        assert ours == pytest.approx(library.get_epsilon(delta), rel=2e-3)


@pytest.mark.parametrize(("by", "target"), [("rdp", 0.1), ("rdp", 0.15), ("rdp_wide", 0.0005)])
def test_a_target_at_the_floor_is_refused(by, target):
    with pytest.raises(InputError, match=r"Renyi DP at orders up to \d+ cannot go below .*; take accountant pld"):
        noise_multiplier(target, lambda sigma: make(sigma, 0.001, 1e-5, accountant=by), 20_000)


def test_the_floor_is_far_lower_at_larger_orders():
    assert rdp_floor(1e-5) == pytest.approx(0.10287, rel=1e-3)
    assert 0 < rdp_floor(1e-5, wide=True) < 0.001
