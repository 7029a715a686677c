"""Gaussian noise on sums of clipped vectors, by the names of a sampling and of an accountant."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from bench.errors import InputError, check_name
from bench.privacy.events.gaussian_sums import fixed_size_gaussian, full_gaussian, poisson_gaussian
from bench.privacy.events.release import EVERYBODY, Release, require
from bench.privacy.events.schedules import MOST_BINS, balls_in_bins_gaussian


class Sampling(NamedTuple):
    """How the units of each sum are drawn.

    release: (noise_multiplier, sampling_rate, accountant, group, statement) -> the release of such sums.
    accountants: those that know it, all of them proven.
    """

    release: Callable[[float, float, str, int, dict[str, Any]], Release]
    accountants: tuple[str, ...]


def gaussian(
    noise_multiplier: float,
    *,
    sampling: str,
    sampling_rate: float = 1.0,
    accountant: str = "rdp",
    delta: float,
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
    group: int = 1,
) -> Release:
    """Return the Gaussian release of a sampling and an accountant given by name.

    "fixed" protects one unit that is replaced, all others one that is added or removed. With "none", "pld" is the exact
    closed form of composed Gaussians.

    Args:
        sampling: a name in SAMPLINGS.
        sampling_rate: the share of the units in a sum: 1 without sampling, 1/G for G bins.
        accountant: a name in its `accountants`.
        group: the most units that are added or removed together; more than 1 for poisson by pld, and without sampling.

    Raises:
        InputError: for another name or pair, and for a group whose epsilon is not known.
    """
    check_name("sampling", sampling, SAMPLINGS)
    kind = SAMPLINGS[sampling]
    if accountant not in kind.accountants:
        known = " or ".join(kind.accountants)
        raise InputError(f"accountant {accountant} does not know sampling {sampling}: use {known}.")
    if group != 1 and sampling not in ("poisson", "none"):
        raise InputError(f"no epsilon of a group is known with sampling {sampling}: use poisson or none.")
    statement = {"delta": delta, "privacy_unit": privacy_unit, "protects_against": protects_against}
    return kind.release(noise_multiplier, sampling_rate, accountant, group, statement)


def _poisson(sigma: float, rate: float, accountant: str, group: int, statement: dict[str, Any]) -> Release:
    if group != 1 and accountant != "pld":
        raise InputError("Renyi DP does not know Poisson samples of a group: use accountant pld.")
    return poisson_gaussian(sigma, sampling_rate=rate, accountant=accountant, group=group, **statement)


def _fixed(sigma: float, rate: float, accountant: str, group: int, statement: dict[str, Any]) -> Release:
    return fixed_size_gaussian(sigma, sampling_rate=rate, accountant=accountant, **statement)


def _everybody(sigma: float, rate: float, accountant: str, group: int, statement: dict[str, Any]) -> Release:
    require("sampling_rate", rate, rate == 1, "leave it out with sampling none")
    by = "gdp" if accountant == "pld" else accountant
    release = full_gaussian(sigma / group, accountant=by, **statement)  # all of a group move a sum by as many C
    if group == 1:
        return release
    words = full_gaussian(sigma, **statement).mechanism
    return release._replace(mechanism=f"{words}, of which {group} are added or removed together")


def _in_bins(
    sigma: float, rate: float, accountant: str, group: int, statement: dict[str, Any], *, afresh: bool
) -> Release:
    num_bins = round(min(1 / rate, 1e300)) if rate > 0 else 0  # the inverse of the smallest rates is infinite
    is_inverse = 1 < num_bins <= MOST_BINS and math.isclose(rate * num_bins, 1, rel_tol=1e-6)
    remedy = f"for bins it is 1/G, of G = 2 to {MOST_BINS:,}: give 0.5, 0.01 or the like"
    require("sampling_rate", rate, is_inverse, remedy)
    return balls_in_bins_gaussian(sigma, num_bins=num_bins, afresh=afresh, **statement)


SAMPLINGS = {
    "poisson": Sampling(_poisson, ("pld", "rdp_wide", "rdp")),
    "fixed": Sampling(_fixed, ("rdp_wide", "rdp")),
    "balls_in_bins": Sampling(partial(_in_bins, afresh=False), ("bins",)),
    "random_allocation": Sampling(partial(_in_bins, afresh=True), ("bins",)),
    "none": Sampling(_everybody, ("pld", "rdp_wide", "rdp")),
}
