"""Noise calibrations of Gao et al. 2024: their derivations, exact accounting, and their ranges."""

import math

import numpy as np
import pytest
from isrl_setting import DELTA, EPSILONS, n

from bench.errors import InputError
from bench.papers.isrl import theory as isrl
from bench.privacy import accounting
from bench.privacy.events import REPLACE, fixed_size_gaussian, full_gaussian


def exact(sigma, rounds, delta=DELTA):
    return accounting.epsilon(full_gaussian(sigma, neighbors=REPLACE, delta=delta), rounds)


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
        (lambda: isrl.moments_noise_multiplier(31, DELTA, rounds=5), "where the closed form ends"),
        (lambda: isrl.moments_noise_multiplier(3, DELTA, rounds=5, rate=0.01), "needs 0.0614 to 1 in 5 rounds"),
        (lambda: isrl.moments_noise_multiplier(3, DELTA, rounds=5, rate=1.5), "K / n is 1.5"),
        (lambda: isrl.zcdp_noise_multiplier(29, DELTA, rounds=5), "where the zCDP form ends"),
    ],
)
def test_closed_forms_are_refused_outside_their_range(call, said):
    with pytest.raises(InputError, match="take the exact calibration instead") as error:
        call()
    assert said in str(error.value)
    assert "\n" not in str(error.value)
