"""Laplace noise: what a release says, its loss distribution, and the mistakes that an accountant must not make."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from bench.errors import InputError
from bench.privacy import events
from bench.privacy.accounting import epsilon, epsilons, noise_multiplier
from bench.privacy.events import ADD_OR_REMOVE, REPLACE

DELTA = math.exp(-5)


def laplace(pure, accountant="pld", delta=DELTA, **said):
    """Of a given pure epsilon a round, under replace-one."""
    return events.laplace(2 / pure, delta=delta, accountant=accountant, **said)


def delta_of_one(eps, pure):
    """delta(eps) of one scalar release, for any real eps: symmetric, so its value below 0 follows from that above."""
    above = -np.expm1(np.minimum(np.abs(eps) - pure, 0) / 2)
    return np.where(eps >= 0, above, -np.expm1(np.minimum(eps, 0)) + np.exp(np.minimum(eps, 0)) * above)


def delta_of_two(eps, a, b, points=20_001):
    """delta(eps) of two releases: the first's curve averaged over the second's loss, by quadrature."""
    loss = np.linspace(-b, b, points)
    density = np.exp(-(b - loss) / 2) / 4
    inside = np.trapezoid(density * delta_of_one(eps - loss, a), loss)
    return delta_of_one(eps - b, a) / 2 + math.exp(-b) / 2 * delta_of_one(eps + b, a) + inside


def drawn_loss(pures, draws=1_000_000, seed=0):
    """The loss of releases, by drawing the noise itself."""
    rng = np.random.default_rng(seed)
    loss = np.zeros(draws)
    for pure in pures:
        noise = rng.laplace(scale=1 / pure, size=draws)
        loss += pure * (np.abs(noise - 1) - np.abs(noise))  # log of one density over the other, moved by 1
    return loss


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


def test_gaussian_noise_on_the_mean_of_m_terms_is_the_full_gaussian_under_replace_one():
    sigma, clip, m, delta = 3.0, 0.4, 7, 1e-5
    released = epsilon(events.full_gaussian(sigma, delta=delta, neighbors=REPLACE), 1)
    std, movement = sigma * clip / m, 2 * clip / m
    half, shift = movement / (2 * std), released * std / movement
    assert stats.norm.cdf(half - shift) - math.exp(released) * stats.norm.cdf(-half - shift) == pytest.approx(delta)


def test_a_bound_that_the_terms_exceed_makes_the_noise_count_less():
    sigma, assumed = 4.0, 1.0
    for exceeds in (1.0, 5.0, 100.0):
        assert epsilon(events.laplace(sigma * assumed / exceeds, delta=DELTA), 1) == pytest.approx(2 * exceeds / sigma)
    assert epsilon(events.laplace(sigma * assumed / math.inf, delta=DELTA), 1) == math.inf


@pytest.mark.parametrize("pure", [0.02, 0.1, 1.0, 5.0, 31.0, 33.0, 125.0, 3000.0])
def test_one_release_by_pld_is_the_closed_form(pure):
    exact = max(0.0, pure + 2 * math.log1p(-DELTA))
    assert exact <= epsilon(laplace(pure), 1) <= exact * 1.0005 + 1e-9


def test_the_closed_form_and_the_loss_of_two_are_the_hockey_stick_divergence_of_the_densities():
    x = np.linspace(-30, 30, 2401)
    for eps, a, b in ((0.3, 1.0, 0.5), (1.2, 1.0, 0.5), (-0.4, 0.7, 2.0)):
        p, q = stats.laplace.pdf(x), stats.laplace.pdf(x, a)
        assert np.trapezoid(np.maximum(p - math.exp(eps) * q, 0), x) == pytest.approx(delta_of_one(eps, a), abs=1e-3)
        p2, q2 = stats.laplace.pdf(x), stats.laplace.pdf(x, b)
        both = np.maximum(np.outer(p, p2) - math.exp(eps) * np.outer(q, q2), 0)
        assert np.trapezoid(np.trapezoid(both, x), x) == pytest.approx(delta_of_two(eps, a, b), abs=1e-3)


def test_a_movement_shared_by_two_coordinates_is_dominated_by_the_same_in_one():
    grid = np.geomspace(0.01, 30, 9)
    for a in grid:
        for b in grid:
            for eps in np.linspace(-1.1 * (a + b), 1.1 * (a + b), 23):
                assert delta_of_two(eps, a, b) <= delta_of_one(eps, a + b) + 1e-6
            # The test can fail: the larger movement alone does not dominate.
            assert delta_of_two(0.0, a, b) > delta_of_one(0.0, max(a, b))


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.3), (1.0, 0.2), (4.0, 3.0), (20.0, 1.0)])
def test_two_releases_by_pld_are_where_their_exact_curve_meets_delta(a, b):
    exact = optimize.brentq(lambda eps: delta_of_two(eps, a, b) - DELTA, 0, a + b)
    found = epsilon(events.preceded_by(laplace(a), laplace(b)), 1)
    assert exact * (1 - 1e-6) <= found <= exact * 1.001


@pytest.mark.parametrize(("start", "pure", "rounds"), [(0.5, 1.0, 8), (2.0, 0.1, 30), (40.0, 6.0, 4)])
def test_a_start_and_its_rounds_by_pld_agree_with_drawn_noise(start, pure, rounds):
    loss = drawn_loss([start] + [pure] * rounds)

    def delta(eps):
        return np.mean(np.maximum(-np.expm1(np.minimum(eps - loss, 0)), 0))

    found = epsilon(events.preceded_by(laplace(pure), laplace(start)), rounds)
    assert delta(found) == pytest.approx(DELTA, rel=0.04)
    # What a mistake would report is not covered: the start left out, the 2 of replace-one left out.
    assert delta(epsilon(laplace(pure), rounds)) > 1.3 * DELTA
    assert delta(epsilon(events.preceded_by(laplace(pure / 2), laplace(start / 2)), rounds)) > 3 * DELTA
    # Nor is a round too many counted.
    assert delta(epsilon(events.preceded_by(laplace(pure), laplace(start)), rounds + 1)) < 0.9 * DELTA


def test_many_releases_of_little_noise_by_pld_are_a_mixture_of_gammas():
    """For e -> infinity the loss is T e minus K exponentials of mean 2, K ~ Bin(T, 1/2)."""
    for rounds in (8, 50):
        s = np.linspace(0, 4 * rounds, 40_001)
        k = np.arange(1, rounds + 1)[:, None]
        density = np.sum(stats.binom.pmf(k, rounds, 0.5) * stats.gamma.pdf(s, k, scale=2), axis=0)

        def delta(z, density=density, s=s, rounds=rounds):
            return -(0.5**rounds) * math.expm1(-z) + np.trapezoid(density * -np.expm1(np.minimum(s - z, 0)), s)

        saved = optimize.brentq(lambda z, delta=delta: delta(z) - DELTA, 1e-9, 4 * rounds)
        for pure in (30.0, 125.0, 3000.0):
            found = rounds * pure - epsilon(laplace(pure), rounds)
            assert saved - 0.03 <= found <= saved * (1 + 1e-6)


def test_a_start_costs_what_it_costs_before_the_first_round():
    for accountant in ("composition", "pld"):
        both = events.preceded_by(laplace(0.5, accountant), laplace(0.05, accountant))
        alone = epsilon(laplace(0.05, accountant), 1)
        assert alone > 0
        assert epsilons(both, [0, 1, 2])[0] == alone
    pure = events.preceded_by(laplace(0.5, "composition"), laplace(0.05, "composition"))
    np.testing.assert_allclose(epsilons(pure, [0, 1, 2]), [0.05, 0.55, 1.05])
    # A start with the same noise is one round more, and no start is no round more.
    same = events.preceded_by(laplace(0.5), laplace(0.5))
    assert [epsilon(same, n) for n in (0, 1, 5)] == [epsilon(laplace(0.5), n) for n in (1, 2, 6)]
    assert epsilon(laplace(0.5), 0) == 0


def test_no_noise_anywhere_costs_everything_from_where_it_is_missing():
    bare, noisy = events.laplace(0.0, delta=DELTA), laplace(1.0)
    assert epsilons(bare, [0, 1]).tolist() == [0, math.inf]
    assert epsilons(events.preceded_by(noisy, bare), [0, 3]).tolist() == [math.inf, math.inf]
    assert epsilon(events.preceded_by(bare, noisy), 0) < math.inf == epsilon(events.preceded_by(bare, noisy), 1)


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ({"privacy_unit": "user"}, "privacy_unit=user: what comes first must protect as what follows, point."),
        ({"neighbors": ADD_OR_REMOVE}, f"neighbors={ADD_OR_REMOVE}: what comes first must protect as what follows"),
        ({"protects_against": "nobody"}, "protects_against=nobody: "),
    ],
)
def test_a_start_that_protects_something_else_is_refused(first, message):
    with pytest.raises(InputError, match=message):
        events.preceded_by(laplace(1.0), laplace(1.0, **first))


@settings(max_examples=40, deadline=None)
@given(st.floats(1e-3, 2e3), st.floats(1e-3, 2e3), st.integers(0, 300), st.floats(1e-8, 0.2))
def test_pld_is_below_composition_is_below_the_sum_and_all_rise_with_what_is_released(start, pure, rounds, delta):
    def spent(accountant, more=1.0, rounds=rounds):
        first, rest = laplace(start, accountant, delta), laplace(more * pure, accountant, delta)
        return epsilon(events.preceded_by(rest, first), rounds)

    assert 0 <= spent("pld") <= spent("composition") * (1 + 1e-9) <= (start + rounds * pure) * (1 + 1e-8)
    slack = 1 + 1e-3
    for accountant in ("pld", "composition"):
        assert spent(accountant, rounds=rounds + 1) * slack >= spent(accountant)
        assert spent(accountant, more=1.1) * slack >= spent(accountant)


def test_little_noise_gives_a_number_at_once():
    release = events.preceded_by(laplace(125.0, delta=1e-6), laplace(50.0, delta=1e-6))
    assert 1049 < epsilon(release, 8) <= 1050
    assert epsilon(laplace(2000.0), 1000) < 2_000_000


def test_laplace_and_gaussian_releases_compose_by_pld():
    gaussian = events.full_gaussian(4.0, delta=DELTA, neighbors=REPLACE, accountant="pld", privacy_unit="point")
    alone = events.full_gaussian(4.0, delta=DELTA, neighbors=REPLACE)
    assert epsilon(gaussian, 9) == pytest.approx(epsilon(alone, 9), rel=2e-3)
    mixed = epsilon(events.preceded_by(gaussian, laplace(0.3)), 9)
    assert epsilon(gaussian, 9) < mixed < epsilon(gaussian, 9) + 0.3
    for accountant in ("composition", "gdp"):
        with pytest.raises(InputError, match=f"accountant {accountant} knows"):
            epsilon(events.preceded_by(gaussian._replace(accountant=accountant), laplace(0.3)), 9)


@pytest.mark.parametrize(("target", "rounds"), [(1.0, 1), (0.5, 4), (1.0, 8), (20.0, 8)])
def test_an_equal_split_gives_every_update_its_share(target, rounds):
    sigma = noise_multiplier(target, lambda s: events.laplace(s, delta=DELTA), rounds)
    assert sigma == pytest.approx(2 * rounds / target, rel=1e-3)
    assert noise_multiplier(target, lambda s: events.laplace(s, delta=DELTA, accountant="pld"), rounds) < sigma


def test_over_many_updates_advanced_composition_needs_less_noise_than_an_equal_share():
    sigma = noise_multiplier(1.0, lambda s: events.laplace(s, delta=DELTA), 400)
    assert sigma < 0.5 * 2 * 400 / 1.0
    assert epsilon(events.laplace(sigma, delta=DELTA), 400) <= 1.0
