"""Epsilon from events, and noise from epsilon: one run (a `Release`) can be accounted for in several ways.

`rdp`: Renyi DP at the orders of Opacus, for sampled and unsampled releases; `rdp_wide`: at larger orders too. `pld`:
privacy loss distributions, tighter. `bins`: balls in bins. `exact`: the closed form "gdp" of composed Gaussians, and
"composition" of pure DP. `published`: closed forms by which a paper calibrates. `atoms`: a composition as a count of
its components. The entry points are here; each accountant's own module describes its epsilon and the releases that it
supports.

Releases on disjoint units cost as much as the most expensive of them, by any accountant.
"""

import math
import operator
from collections.abc import Callable, Sequence

import dp_accounting.dp_event as dp
import numpy as np

from bench.privacy.accounting.atoms import Atoms, disjoint_atoms
from bench.privacy.accounting.bins import bins_epsilon
from bench.privacy.accounting.disk import stored_or_found
from bench.privacy.accounting.exact import composition_epsilon, gdp_epsilon, group_of_two, pure_composition
from bench.privacy.accounting.pld import PLD_LIMIT, knows, pld_epsilon, smallest_delta
from bench.privacy.accounting.published import moments_as_published, zcdp_as_published
from bench.privacy.accounting.rdp import ORDERS, rdp_curve, rdp_epsilon, rdp_floor, wide_rdp_epsilon
from bench.privacy.accounting.search import central_limit, smallest
from bench.privacy.events import Release, checked, require

__all__ = [
    "CONVERSIONS",
    "ORDERS",
    "PLD_LIMIT",
    "epsilon",
    "epsilons",
    "group_of_two",
    "noise_multiplier",
    "pld_knows",
    "pure_composition",
    "rdp_curves",
    "rdp_floor",
    "safe",
    "smallest_delta",
]

# Calibrated noise is larger by this share than what the accountant asks for. That is more than float32 rounds off where
# noise is drawn (6e-8 for the multiplier and as much for its product with a norm), and than the last digits in which
# libraries and processors differ.
MARGIN = 2e-7

MOST_ROUNDS = 10**6  # of a run whose accountant is chosen before its rounds are known
NEAR = 1.5  # times the floor of Renyi DP, below which its noise is more than a tenth too large

CONVERSIONS = {
    "rdp": "RDP at Opacus' orders, converted by Canonne, Kamath and Steinke 2020, Proposition 12",
    "rdp_wide": "RDP at orders up to 4096, converted by Canonne, Kamath and Steinke 2020, Proposition 12",
    "pld": "privacy loss distribution, an upper bound, at sampling rates from 0.001 on within about 0.2 %",
    "gdp": "exact closed form of composed Gaussians, Balle and Wang 2018",
    "bins": "the mean of a log-normal for every bin, an upper bound, within about 0.1 % for whole turns of one draw",
    "composition": "composition of pure DP, Kairouz, Oh and Viswanath 2015, Theorem 3.5",
    "zcdp_as_published": "zero-concentrated DP without its term rho, as in the programs of Gao et al.: too small",
    "moments_as_published": "closed form of Gao et al. 2024, advanced composition of amplified Gaussians: too large",
}
CLOSED_FORMS: dict[str, Callable[[Atoms, float], float]] = {
    "gdp": gdp_epsilon,
    "composition": composition_epsilon,
    "zcdp_as_published": zcdp_as_published,
    "moments_as_published": moments_as_published,
}
BY_RENYI = ("rdp", "rdp_wide")
BY_RELATION: dict[str, Callable[[Atoms, str, float], float]] = {
    "rdp": rdp_epsilon,
    "rdp_wide": wide_rdp_epsilon,
    "pld": pld_epsilon,
    "bins": bins_epsilon,
}


def epsilon(release: Release, rounds: int) -> float:
    """Return the epsilon that a release has spent after `rounds` rounds, at its own delta.

    Args:
        release: what was released (`events`), with its unit, relation, sampler and accountant.
        rounds: 0 or more.

    Returns:
        0 for nothing released; inf without noise; NaN ("not computed") where accountant is "pld" and the
        RDP value of the Gaussians in the release exceeds PLD_LIMIT; else epsilon.

    Raises:
        InputError: for negative rounds, an unknown word in the release, or an event that its accountant does not know.
    """
    rounds = operator.index(rounds)
    require("rounds", rounds, rounds >= 0, "give 0 or more")
    components = disjoint_atoms(checked(release), rounds)  # also for 0 rounds, since a run may begin with a release
    return max((_spent(atoms, release) for atoms in components), key=lambda spent: (math.isnan(spent), spent))


def _spent(atoms: Atoms, release: Release) -> float:
    """Return the epsilon of releases that may all concern the same unit."""
    if not atoms:
        return 0.0
    if any(isinstance(atom, dp.NonPrivateDpEvent) for atom in atoms):
        return math.inf
    if release.accountant in CLOSED_FORMS:
        return CLOSED_FORMS[release.accountant](atoms, release.delta)
    return BY_RELATION[release.accountant](atoms, release.neighbors, release.delta)


def pld_knows(release: Release) -> bool:
    """Return whether accountant "pld" gives a bound for a release, so that it can replace the release's own."""
    if release.delta < smallest_delta(MOST_ROUNDS):
        return False
    atoms = {atom for component in disjoint_atoms(checked(release), 1) for atom in component}
    return all(isinstance(atom, dp.NonPrivateDpEvent) or knows(atom, release.neighbors) for atom in atoms)


def epsilons(release: Release, rounds: Sequence[int]) -> np.ndarray:
    """Return `epsilon` at each of many round counts; the cost of one round is computed once and reused.

    Args:
        release: what was released.
        rounds: counts, in any order.

    Returns:
        Float64 array of the same length.

    Raises:
        InputError: as `epsilon`.
    """
    return np.array([epsilon(release, count) for count in rounds], dtype=np.float64)


def rdp_curves(release: Release, rounds: int) -> list[np.ndarray]:
    """Return the Renyi DP at ORDERS that a release has spent after `rounds` rounds, whatever its accountant.

    Returns:
        [order] for each set of disjoint units.

    Raises:
        InputError: for a mechanism that Renyi DP does not know under the relation of the release.
    """
    nothing = np.zeros(len(ORDERS))
    return [
        sum((times * rdp_curve(atom, release.neighbors) for atom, times in atoms.items()), nothing)
        for atoms in disjoint_atoms(checked(release), rounds)
    ]


def noise_multiplier(target: float, release: Callable[[float], Release], rounds: int) -> float:
    """Return the smallest noise multiplier that keeps a release within a target epsilon, the end of a bisection.

    The result keeps within the target, even when a share of MARGIN of it is lost; 0.9995 times the result does not, or
    (with "pld" and hardly any noise) is not computed. It is kept on disk (`disk`), checked by one evaluation when it is
    read there, and otherwise found with few evaluations (`search`).

    Args:
        target: epsilon, above 0 and finite; for accountant "pld" at most PLD_LIMIT.
        release: noise multiplier -> release; more noise must not cost more.
        rounds: 1 or more.

    Raises:
        InputError: for a value outside its range, or a target that no noise attains.
    """
    require("epsilon", target, 0 < target < math.inf, "give a finite number above 0")
    require("rounds", rounds, rounds >= 1, "give 1 or more")
    if release(1.0).accountant == "pld":
        require("epsilon", target, target <= PLD_LIMIT, f"pld is for at most {PLD_LIMIT:g}; take accountant rdp")
    if (by := release(1.0).accountant) in BY_RENYI:
        orders, choices = ("4096", "pld") if by == "rdp_wide" else ("63", "pld or rdp_wide")
        floor = rdp_floor(release(1.0).delta, wide=by == "rdp_wide")
        below = f"Renyi DP at orders up to {orders} cannot go below {floor:.3g} and asks for far too much noise near it"
        require("epsilon", target, target >= NEAR * floor, f"{below}; take accountant {choices}, or a larger delta")

    def spent(sigma: float) -> float:
        return epsilon(release(sigma), rounds)

    def model(sigma: float) -> float:
        trial = release(sigma)
        return max(central_limit(atoms, trial.delta) for atoms in disjoint_atoms(trial, rounds))

    sufficient = stored_or_found(
        target, release, rounds, lambda: smallest(target, spent, model), lambda noise: spent(safe(noise))
    )
    return safe(sufficient)


def safe(noise: float) -> float:
    """Return a noise multiplier from a formula or a search, increased by the share MARGIN."""
    return noise * (1 + MARGIN)
