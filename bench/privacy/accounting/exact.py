"""Closed forms that are proven: composed Gaussians exactly, and composition of mechanisms that are pure DP.

gdp: composed Gaussians are one Gaussian with 1 / sigma^2 = sum 1 / sigma_t^2 (Balle, Wang 2018).
composition: the pure epsilons of Laplace noise, composed by a formula.
"""

import math
from collections.abc import Sequence

import dp_accounting.dp_event as dp
import numpy as np
from dp_accounting.gaussian_mechanism import get_epsilon_gaussian

from bench.errors import InputError
from bench.privacy.accounting.atoms import Atoms

NO_NOISE = 1e-150  # a multiplier whose square underflows; epsilon is above 1e299 then


def gdp_epsilon(atoms: Atoms, delta: float) -> float:
    """Return the epsilon at delta of composed Gaussians without sampling, exactly."""
    if not all(isinstance(atom, dp.GaussianDpEvent) for atom in atoms):
        raise InputError("accountant gdp knows plain Gaussians only: take rdp or pld for a sampled release.")
    if any(atom.noise_multiplier < NO_NOISE for atom in atoms):
        return math.inf
    precision = sum(times / atom.noise_multiplier**2 for atom, times in atoms.items())
    with np.errstate(divide="ignore"):  # log 0 where the two tails cancel: the delta there is 0
        return float(get_epsilon_gaussian(precision**-0.5, delta))


def composition_epsilon(atoms: Atoms, delta: float) -> float:
    """Return the epsilon at delta of Laplace releases, each (1 / multiplier)-DP by itself."""
    if not all(isinstance(atom, dp.LaplaceDpEvent) for atom in atoms):
        raise InputError("accountant composition knows Laplace noise only: take rdp, pld or gdp for a Gaussian.")
    return pure_composition([1 / atom.noise_multiplier for atom in atoms], list(atoms.values()), delta)


def pure_composition(epsilons: Sequence[float], times: Sequence[int], delta: float) -> float:
    """Return the epsilon at delta of mechanisms that are pure epsilon_l-DP, each `times` times, in any order.

    It is the smallest of (Kairouz, Oh, Viswanath 2015, Theorem 3.5; Bellet et al. 2018, Theorem 1), with sums over l,

        sum e,   M + sqrt(2 V log(exp(1) + sqrt(V) / delta)),   M + sqrt(2 V log(1 / delta)),
        M = sum e (exp(e) - 1) / (exp(e) + 1) = sum e tanh(e / 2),   V = sum e^2,

    for all of them together, or for all but one kind, whose e are added: a sum of a pure part and an (e, delta) part
    is sound too, and smaller where one kind, such as a warm start, differs from the others. The first holds at delta =
    0 already. (Bellet et al. print the roots inside the sum of M; the theorem that they cite has one root.)

    Args:
        epsilons: 0 or more, e.g. one for each update.
        times: the count of each, of the same length.
        delta: in (0, 1).
    """
    e, kind = np.unique(np.asarray(epsilons, dtype=np.float64), return_inverse=True)
    count = np.bincount(kind, weights=times)

    def composed(e, count):
        variance = float(count @ e**2)
        mean = float(count @ (e * np.tanh(e / 2)))
        logs = (math.log(math.e + math.sqrt(variance) / delta), math.log(1 / delta))
        return min(float(count @ e), *(mean + math.sqrt(2 * variance * log) for log in logs))

    apart = (count[l] * e[l] + composed(np.delete(e, l), np.delete(count, l)) for l in range(len(e)))
    return min(composed(e, count), *apart)


def group_of_two(epsilon: float, delta: float) -> tuple[float, float]:
    """Return the (epsilon, delta) of two data sets that are both neighbours of a third, if neighbours have the given
    one: (2 epsilon, (1 + exp(epsilon)) delta), delta at most 1.
    """
    with np.errstate(over="ignore"):
        return 2 * epsilon, float(min((1 + np.exp(epsilon)) * delta, 1.0))
