"""Gao et al. 2024: parameters of the theorems, calibrations against exact accounting, the tables' formulas."""

import math

import numpy as np
import pytest

from bench.data.problems import odd_even
from bench.errors import InputError
from bench.privacy import accounting
from bench.privacy.events import REPLACE, fixed_size_gaussian, full_gaussian
from bench.theory import isrl

N, M, n, d, DELTA = 25, 18, 1238, 50, 1238**-2
SETTING = isrl.Setting(N, M, n, d, epsilon=3.0, delta=DELTA, lipschitz=2.0, diameter=5.0, smoothness=0.7)
EPSILONS = [0.75, 1.5, 3.0, 6.0, 12.0, 18.0]


def exact(sigma, rounds, delta=DELTA):
    return accounting.epsilon(full_gaussian(sigma, neighbors=REPLACE, delta=delta), rounds)


# Noise.


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rounds", [1, 5, 35])
def test_the_form_with_256_follows_from_its_parts(epsilon, rounds):
    """Advanced composition, amplification by sampling, and the Gaussian mechanism, one after the other."""
    K = 900
    e = epsilon / (2 * math.sqrt(2 * rounds * math.log(2 / DELTA)))  # of a round
    slack = DELTA / (2 * rounds)
    e0, slack0 = n * e / (2 * K), n * slack / K  # of the Gaussian itself
    assert (e0 <= 1) == (K / n >= isrl.smallest_rate(epsilon, DELTA, rounds))
    std = 2 / K * math.sqrt(2 * math.log(1.25 / slack0)) / e0  # L = 1
    if e0 <= 1:
        np.testing.assert_allclose(
            isrl.moments_noise_multiplier(epsilon, DELTA, rounds=rounds, rate=K / n), std * K, rtol=1e-12
        )
    published = 256 * rounds * math.log(2.5 * rounds * K / (DELTA * n)) * math.log(2 / DELTA) / (n * epsilon) ** 2
    np.testing.assert_allclose(std**2, published, rtol=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("rounds", [5, 35])
@pytest.mark.parametrize("rate", [0.6, 1.0])
def test_the_form_with_256_is_private(epsilon, rounds, rate):
    """In its range it spends no more than it says, by an accountant that knows nothing of its proof."""
    sigma = isrl.moments_noise_multiplier(epsilon, DELTA, rounds=rounds, rate=rate)
    release = fixed_size_gaussian(sigma, sampling_rate=rate, delta=DELTA)
    assert accounting.epsilon(release, rounds) <= epsilon
    assert exact(sigma / 60, rounds) > epsilon  # a sixtieth of the noise is not


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_zcdp_form_spends_what_its_theory_says(epsilon):
    """rho + 2 sqrt(rho log(1 / delta)) = rho + epsilon bounds what it spends: 18 becomes 23.7 by that, 21.4 exactly."""
    for rounds in (1, 35):
        sigma = isrl.zcdp_noise_multiplier(epsilon, DELTA, rounds=rounds)
        rho = rounds * 2 / sigma**2
        np.testing.assert_allclose(rho, isrl.zcdp_overspending(epsilon, DELTA))
        np.testing.assert_allclose(2 * math.sqrt(rho * math.log(1 / DELTA)), epsilon)
        assert exact(sigma, rounds) <= epsilon + rho


def test_the_zcdp_form_overspends_where_epsilon_is_large():
    spent = {epsilon: exact(isrl.zcdp_noise_multiplier(epsilon, DELTA, rounds=1), 1) for epsilon in EPSILONS}
    assert [epsilon for epsilon in EPSILONS if spent[epsilon] > epsilon] == [12.0, 18.0]
    np.testing.assert_allclose([spent[18.0], 18 + isrl.zcdp_overspending(18, DELTA)], [21.4, 23.7], atol=0.1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: isrl.moments_noise_multiplier(31, DELTA, rounds=5), "where the form with 256 ends"),
        (lambda: isrl.moments_noise_multiplier(3, DELTA, rounds=5, rate=0.01), "wants 0.0614 to 1 in 5 rounds"),
        (lambda: isrl.moments_noise_multiplier(3, DELTA, rounds=5, rate=1.5), "K / n is 1.5"),
        (lambda: isrl.zcdp_noise_multiplier(29, DELTA, rounds=5), "where the zCDP form ends"),
    ],
)
def test_closed_forms_are_refused_outside_their_range(call, said):
    with pytest.raises(InputError, match="take the exact calibration instead") as error:
        call()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("delta", [0.0, 1.0, 2.0, math.nan])
@pytest.mark.parametrize("form", [isrl.moments_noise_multiplier, isrl.zcdp_noise_multiplier])
def test_a_delta_that_is_no_probability_is_refused(form, delta):
    with pytest.raises(InputError, match="delta is"):
        form(1.0, delta, rounds=5)
    with pytest.raises(InputError, match="epsilon is"):
        form(0.0, DELTA, rounds=5)
    with pytest.raises(InputError, match="rounds is 0"):
        form(1.0, DELTA, rounds=0)


def test_p_needs_two_records():
    for answering, records in ((25, 1), (0, 10)):
        with pytest.raises(InputError, match="two of its records"):
            isrl.growth(answering, records)


# Parameters of the theorems.


def test_phases_halve_and_fit():
    sizes = isrl.phase_records(n)
    assert sizes[:3] == [619, 309, 154]
    assert len(sizes) == isrl.num_phases(n) == 10
    assert sizes[-1] == 1
    assert sum(sizes) < n
    assert isrl.phase_records(1024) == [512, 256, 128, 64, 32, 16, 8, 4, 2, 1]
    with pytest.raises(InputError, match="phases need at least 2"):
        isrl.num_phases(1)


def test_lambda_balances_what_the_regulariser_and_the_noise_cost():
    """lambda D^2 and L^2 / (lambda M) (1 / n + privacy^2) are the same up to 2, and both of the size of the risk."""
    for epsilon in (0.1, 3.0, 1e6):
        s = SETTING._replace(epsilon=epsilon)
        strength = isrl.regularization(s)
        bias = strength * s.diameter**2
        noise = s.lipschitz**2 / (strength * M) * (1 / n + isrl.privacy_term(s) ** 2)
        assert 1 <= noise / bias <= 2
        risk = s.lipschitz * s.diameter / math.sqrt(M) * (n**-0.5 + isrl.privacy_term(s))
        assert 0.5 <= bias / risk <= 1


def test_two_readings_of_p_are_3_here_and_differ_where_silos_are_many():
    for reading in ("recollected", "derived"):
        assert isrl.growth(M, n, reading=reading) == 3.0
    many = 10**12
    assert np.isclose(isrl.growth(many, 100, reading="derived") - isrl.growth(many, 100), 0.5)
    # The proof: the last phase's error n^(1 - p) is below 1 / sqrt(n M).
    p = isrl.growth(many, 100, reading="derived")
    assert 100 ** (1 - p) <= (100 * many) ** -0.5 * (1 + 1e-9)
    assert 100 ** (1 - isrl.growth(many, 100)) > (100 * many) ** -0.5  # the recollected constant is not enough
    with pytest.raises(InputError, match="no reading of p is called 'derive': did you mean derived"):
        isrl.growth(M, n, reading="derive")


def test_the_minimiser_of_a_phase_lies_within_its_radius():
    """min |w - t| L + lambda / 2 w^2: for any t, |w^| <= L / lambda, half of D_i."""
    strengths, radii = isrl.regularizations(SETTING, 3.0), isrl.radii(SETTING, 3.0)
    np.testing.assert_allclose(np.divide(strengths[1:], strengths[:-1]), 8)
    for strength, radius in zip(strengths, radii, strict=True):
        grid = np.linspace(-2 * radius, 2 * radius, 40_001)
        for t in (0.3 * radius, 10 * radius):
            best = grid[np.argmin(SETTING.lipschitz * np.abs(grid - t) + strength / 2 * grid**2)]
            assert abs(best) <= radius
            assert abs(best) >= min(t, radius / 2) * 0.99


def test_rounds():
    rounds = isrl.accelerated_rounds(SETTING, 3.0)
    assert len(rounds) == 10
    assert min(rounds) >= 1
    # With smoothness they grow as its root in the first phase, where everybody answers in full batches.
    rough = isrl.accelerated_rounds(SETTING._replace(smoothness=70.0, answering=N), 3.0)[0]
    smooth = isrl.accelerated_rounds(SETTING._replace(smoothness=0.7, answering=N), 3.0)[0]
    assert 8 < rough / smooth < 11
    # Where silos are missing, sampling noise adds the third term.
    fewer = isrl.accelerated_rounds(SETTING._replace(epsilon=100.0), 3.0)
    everybody = isrl.accelerated_rounds(SETTING._replace(epsilon=100.0, answering=N), 3.0)
    assert fewer[0] > everybody[0]
    np.testing.assert_allclose(fewer[0], (100 * 619) ** 2 / (619 * d * math.log(2 / DELTA)), rtol=1e-3)
    sub = isrl.subgradient_rounds(SETTING)
    assert sub[0] == M * 619 + 1
    assert isrl.subgradient_rounds(SETTING._replace(epsilon=0.01))[0] == math.ceil(M * 6.19**2 / d) + 1


def test_smoothings_cost_as_much_as_the_risk():
    """L s of the convolution and L^2 / (2 beta) of the envelope are of the size of L D times the optimal risk."""
    for epsilon in (0.1, 100.0):
        s = SETTING._replace(epsilon=epsilon, answering=N)
        risk = s.lipschitz * s.diameter * isrl.optimal_risk(s)
        np.testing.assert_allclose(s.lipschitz * isrl.convolution_radius(s), risk)
        assert 0.25 <= s.lipschitz**2 / (2 * isrl.moreau_smoothness(s)) / risk <= 0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answering": 26}, "answering is 26: of 25 silos, 1 to 25 can answer"),
        ({"answering": 0}, "answering is 0"),
        ({"records": 0}, "records is 0"),
        ({"delta": 1.0}, "delta is 1.0"),
        ({"epsilon": -1.0}, "epsilon is -1.0"),
        ({"diameter": 0.0}, "diameter is 0.0"),
        ({"lipschitz": -1.0}, "lipschitz is -1.0"),
        ({"smoothness": math.inf}, "smoothness is inf"),
    ],
)
def test_sizes_that_no_theorem_allows_are_refused(change, said):
    for function in (isrl.regularization, isrl.subgradient_rounds, isrl.convolution_radius, isrl.table_1, isrl.table_2):
        with pytest.raises(InputError) as error:
            function(SETTING._replace(**change))
        assert said in str(error.value)


# Tables.


def test_the_experiment_of_the_tables_is_the_one_that_runs():
    assert isrl.EXPERIMENT["records"] == odd_even.NUM_RECORDS == n
    assert isrl.EXPERIMENT["silos"] == len(odd_even.PAIRS) == N
    assert isrl.EXPERIMENT["features"] == odd_even.NUM_FEATURES == d


def test_the_tables_say_who_is_better():
    """The new risk is the optimal one, below that of before; rounds shrink, and as the roots that the paper names."""
    for epsilon in EPSILONS:
        s = isrl.Setting(epsilon=epsilon, **isrl.EXPERIMENT)
        one, two = isrl.table_1(s), isrl.table_2(s)
        assert one[-1].risk == one[0].risk < one[1].risk
        assert one[-1].rounds < two[2].rounds < one[0].rounds
        np.testing.assert_allclose(two[2].rounds, one[-1].rounds ** 2)  # smooth losses take the root
        np.testing.assert_allclose(one[0].rounds, two[2].rounds ** 2)
    more = isrl.Setting(epsilon=100.0, **(isrl.EXPERIMENT | {"records": 4 * n}))
    less = isrl.Setting(epsilon=100.0, **isrl.EXPERIMENT)
    np.testing.assert_allclose(isrl.table_1(more)[-1].rounds / isrl.table_1(less)[-1].rounds, 4**0.25, rtol=1e-3)
