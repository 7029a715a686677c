"""Parameters of the localized algorithms of Gao et al. 2024 against what their derivations ask of them."""

import math

import numpy as np
import pytest
from isrl_setting import DELTA, SETTING, M, N, d, n

from bench.errors import InputError
from bench.papers.isrl import theory as isrl


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
    with pytest.raises(InputError, match="no reading of p is called 'derive'"):
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
        ({"delta": 1.0}, "delta is 1.0"),
        ({"diameter": 0.0}, "diameter is 0.0"),
        ({"smoothness": math.inf}, "smoothness is inf"),
    ],
)
def test_sizes_that_no_theorem_allows_are_refused(change, said):
    for function in (isrl.regularization, isrl.subgradient_rounds, isrl.convolution_radius, isrl.table_1, isrl.table_2):
        with pytest.raises(InputError) as error:
            function(SETTING._replace(**change))
        assert said in str(error.value)
