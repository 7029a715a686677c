"""Gaussian noise on a sum of clipped vectors: one release for each way of sampling, and the ways of accounting for such
a run.
"""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import dp_accounting.dp_event as dp

from bench.privacy.events.release import (
    ADD_OR_REMOVE,
    EVERYBODY,
    REPLACE,
    Release,
    check_numbers,
    checked,
    repeated,
    require,
    unsampled,
)

MOST_IN_GROUP = 1000  # of units that are added or removed together


def poisson_gaussian(
    noise_multiplier: float,
    *,
    sampling_rate: float,
    delta: float,
    accountant: str = "rdp",
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
    group: int = 1,
) -> Release:
    """Return a Gaussian on a Poisson-sampled sum: each unit takes part in a round with probability q, independently.

    It protects one unit added or removed. `accountant` is "rdp", "rdp_wide" or "pld".

    Args:
        group: K, with which up to K units are added or removed together, such as all examples of a user. As many of
            them take part as a binomial number with K draws, so a round is a mixture of Gaussians (Ganesh 2024, arXiv
            2401.10294). Only "pld" knows it.
    """
    check_numbers(noise_multiplier, delta, sampling_rate)
    require("group", group, 1 <= group <= MOST_IN_GROUP, f"give a whole number from 1 to {MOST_IN_GROUP:,}")

    def sampled(sigma: float) -> dp.DpEvent:
        if group == 1:
            return dp.PoissonSampledDpEvent(sampling_rate, dp.GaussianDpEvent(sigma))
        q = sampling_rate
        chances = tuple(math.comb(group, k) * q**k * (1 - q) ** (group - k) for k in range(group + 1))
        return dp.MixtureOfGaussiansDpEvent(sigma, tuple(range(group + 1)), chances)

    of_units = "" if group == 1 else f", of which {group} are added or removed together"

    return checked(
        Release(
            event=repeated(noise_multiplier, ADD_OR_REMOVE, sampled),
            privacy_unit=privacy_unit,
            protects_against=protects_against,
            neighbors=ADD_OR_REMOVE,
            sampler="poisson",
            accountant=accountant,
            delta=delta,
            mechanism=f"{noise_in_words(noise_multiplier)}, Poisson sampling at rate {sampling_rate:g}{of_units}",
        )
    )


def fixed_size_gaussian(
    noise_multiplier: float,
    *,
    sampling_rate: float,
    delta: float,
    accountant: str = "rdp",
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Return a Gaussian on a sum over a fixed number of units, drawn afresh each round, uniformly without replacement.

    It protects one unit replaced by another: the number of units is public, the sum moves by 2 C, and so the
    event holds sigma / 2. Only RDP is available, "rdp" or "rdp_wide" (Wang, Balle, Kasiviswanathan 2019, Theorem 27).

    Args:
        sampling_rate: units in the sample / units in all, in (0, 1]; only this ratio matters.
    """
    check_numbers(noise_multiplier, delta, sampling_rate)
    size = Fraction(repr(float(sampling_rate)))  # the event needs two integers; only their ratio counts

    def sampled(sigma: float) -> dp.DpEvent:
        return dp.SampledWithoutReplacementDpEvent(size.denominator, size.numerator, dp.GaussianDpEvent(sigma))

    return checked(
        Release(
            event=repeated(noise_multiplier, REPLACE, sampled),
            privacy_unit=privacy_unit,
            protects_against=protects_against,
            neighbors=REPLACE,
            sampler="fixed size without replacement",
            accountant=accountant,
            delta=delta,
            mechanism=f"{noise_in_words(noise_multiplier)}, a fixed share {sampling_rate:g} without replacement",
        )
    )


def full_gaussian(
    noise_multiplier: float,
    *,
    delta: float,
    neighbors: str = ADD_OR_REMOVE,
    accountant: str = "gdp",
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Return a Gaussian on the sum over all units, without sampling and without amplification.

    It protects one unit, under either relation. `accountant` is "gdp" (exact), "rdp" or "rdp_wide".
    """
    return unsampled(
        dp.GaussianDpEvent,
        noise_multiplier,
        mechanism=f"{noise_in_words(noise_multiplier)}, everybody in every round",
        delta=delta,
        neighbors=neighbors,
        accountant=accountant,
        privacy_unit=privacy_unit,
        protects_against=protects_against,
    )


def bounded_participation_gaussian(
    noise_multiplier: float,
    *,
    max_participations: int | Callable[[int], int],
    delta: float,
    neighbors: str = REPLACE,
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Return Gaussian sums in which each unit appears at most k times; sound for any public schedule.

    No amplification is claimed: replacing one unit moves at most k of the sums, each by at most 2 C, and k
    Gaussians with multiplier sigma / 2 are one with sigma / (2 sqrt(k)), accounted exactly.

    Args:
        max_participations: k, or rounds -> k; never counted as more than the number of rounds.
            A negative k raises InputError when the event is computed.
        neighbors: under "add-or-remove one" the place of a removed unit stays in the schedule, empty.
    """
    check_numbers(noise_multiplier, delta)
    k_gaussians = repeated(noise_multiplier, neighbors, dp.GaussianDpEvent)

    def event(rounds: int) -> dp.DpEvent:
        k = operator.index(max_participations(rounds) if callable(max_participations) else max_participations)
        require("max_participations", k, k >= 0, "give an integer, 0 or more")
        return k_gaussians(min(k, rounds))

    return in_any_schedule(
        event,
        mechanism=f"{noise_in_words(noise_multiplier)}, each {privacy_unit} in a bounded number of rounds",
        delta=delta,
        neighbors=neighbors,
        privacy_unit=privacy_unit,
        protects_against=protects_against,
    )


def in_any_schedule(
    event: Callable[[int], dp.DpEvent],
    *,
    mechanism: str,
    delta: float,
    neighbors: str,
    privacy_unit: str,
    protects_against: str,
) -> Release:
    """Return composed Gaussians of a public schedule, accounted for exactly."""
    return checked(
        Release(
            event=event,
            privacy_unit=privacy_unit,
            protects_against=protects_against,
            neighbors=neighbors,
            sampler="any schedule",
            accountant="gdp",
            delta=delta,
            mechanism=mechanism,
        )
    )


def gaussian_readings(
    *,
    noise_multiplier: float,
    num_clients: int,
    num_sampled: int,
    sampler: str,
    delta: float,
    max_participations: int | Callable[[int], int],
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> dict[str, Release]:
    """Return four ways of accounting for a run with noisy sums over `num_sampled` of `num_clients` units a round.

    worst_case is sound, and so are those of the others that describe the sampler that was used.

    paper: RDP, Poisson at rate Q / N, add-or-remove (what an Opacus accountant reports).
    sampler: RDP, fixed size without replacement, replace-one: sound for uniform samples drawn afresh each round. A
        schedule that deals out each unit's data until they are used up draws no such samples; see worst_case.
    tight: the mechanism of `paper` by PLD; if Q = N, exactly (composed Gaussians).
    worst_case: no amplification, each unit in at most k rounds, replace-one, exact: sound for any public
        schedule.

    Args:
        num_clients: N.
        num_sampled: Q, from 1 to N.
        sampler: how the units of a round were drawn: "poisson", "fixed", "all", or another word for a schedule.
        max_participations: k, or rounds -> k.
    """
    require("num_sampled", num_sampled, 1 <= num_sampled <= num_clients, f"give 1 to {num_clients} clients")
    statement: dict[str, Any] = {"delta": delta, "privacy_unit": privacy_unit, "protects_against": protects_against}
    rate = num_sampled / num_clients
    everybody = num_sampled == num_clients
    poisson, fixed = (everybody or sampler == name for name in ("poisson", "fixed"))
    tight = (
        full_gaussian(noise_multiplier, **statement)
        if everybody
        else poisson_gaussian(noise_multiplier, sampling_rate=rate, accountant="pld", **statement)
    )
    worst_case = bounded_participation_gaussian(noise_multiplier, max_participations=max_participations, **statement)
    return {
        "paper": poisson_gaussian(noise_multiplier, sampling_rate=rate, **statement)._replace(sound=poisson),
        "sampler": fixed_size_gaussian(noise_multiplier, sampling_rate=rate, **statement)._replace(sound=fixed),
        "tight": tight._replace(sound=poisson),
        "worst_case": worst_case,
    }


def noise_in_words(noise_multiplier: float) -> str:
    return f"Gaussian noise of standard deviation {noise_multiplier:g} C on a sum of vectors of norm <= C"
