"""Noise calibrations of Gao et al. 2024.

Each gives sigma, the standard deviation of the noise on a silo's sum of clipped gradients over the clipping norm.
"""

import math

from bench.errors import InputError
from bench.papers.isrl.theory.setting import check_budget

EXACT = "take the exact calibration instead (bench.privacy.accounting.noise_multiplier)"


def moments_noise_multiplier(epsilon: float, delta: float, *, rounds: int, rate: float = 1.0) -> float:
    """Return sigma of the theorems, std^2 = 256 L^2 R log(2.5 R K / (delta n)) log(2 / delta) / (n epsilon)^2 on means
    of K.

    R rounds of (e, d)-DP compose to (epsilon, delta) with e = epsilon / (2 sqrt(2 R log(2 / delta))), if epsilon <=
    2 log(2 / delta), and d = delta / (2 R). A sample of K out of n is 2 K / n times as private as the whole, if the
    whole is 1-DP at most. A Gaussian with sensitivity 2 L / K gives (e0, d0) with std = 2 L / K sqrt(2 log(1.25 / d0))
    / e0. With e0 = n e / (2 K) and d0 = n d / K this is the formula, 256 = 2 * 4 * 16 * 2, and e0 <= 1 is the theorems'
    K >= epsilon n / (4 sqrt(2 R log(2 / delta))).

    Args:
        rounds: R, in which a silo answers.
        rate: K / n.

    Raises:
        InputError: outside that range.
    """
    check_budget(epsilon, delta, rounds)
    if epsilon > (largest := 2 * math.log(2 / delta)):
        raise InputError(
            f"epsilon is {epsilon:g}, above 2 log(2 / delta) = {largest:.3g}, where the closed form ends: {EXACT}"
        )
    if rate < (smallest := smallest_rate(epsilon, delta, rounds)) or rate > 1:
        raise InputError(f"K / n is {rate:g}; the closed form needs {smallest:.3g} to 1 in {rounds} rounds: {EXACT}")
    logs = math.log(2.5 * rounds * rate / delta) * math.log(2 / delta)
    return 16 * rate * math.sqrt(rounds * logs) / epsilon


def smallest_rate(epsilon: float, delta: float, rounds: int) -> float:
    """Return epsilon / (4 sqrt(2 R log(2 / delta))), the smallest K / n of the theorems."""
    check_budget(epsilon, delta, rounds)
    return epsilon / (4 * math.sqrt(2 * rounds * math.log(2 / delta)))


def zcdp_noise_multiplier(epsilon: float, delta: float, *, rounds: int) -> float:
    """Return sigma of the authors' programs: std^2 = 8 L^2 R log(1 / delta) / (n epsilon)^2 on the mean of all n
    records.

    That is rho-zCDP with rho = epsilon^2 / (4 log(1 / delta)), which converts to epsilon + rho, not epsilon: the
    programs leave rho out. Their range, "epsilon <= 4 log n" with delta = n^-2, is where rho <= log(1 / delta).

    Args:
        rounds: R, in which a record is used; 1 for one pass.

    Raises:
        InputError: for epsilon above 2 log(1 / delta).
    """
    check_budget(epsilon, delta, rounds)
    if epsilon > (largest := 2 * math.log(1 / delta)):
        raise InputError(
            f"epsilon is {epsilon:g}, above 2 log(1 / delta) = {largest:.3g}, where the zCDP form ends: {EXACT}"
        )
    return math.sqrt(8 * rounds * math.log(1 / delta)) / epsilon


def zcdp_overspending(epsilon: float, delta: float) -> float:
    """Return rho = epsilon^2 / (4 log(1 / delta)), by which the zCDP form's converted epsilon exceeds its target."""
    check_budget(epsilon, delta)
    return epsilon**2 / (4 * math.log(1 / delta))
