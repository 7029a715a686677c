"""Gaussian sums in public schedules: noise that is correlated over rounds, and several sums in one round."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dp_accounting.dp_event as dp

from bench.errors import check_name
from bench.privacy.events.gaussian_sums import (
    bounded_participation_gaussian,
    full_gaussian,
    in_any_schedule,
    noise_in_words,
    poisson_gaussian,
)
from bench.privacy.events.release import (
    ADD_OR_REMOVE,
    EVERYBODY,
    REPLACE,
    SENSITIVITY,
    Release,
    check_numbers,
    checked,
    repeated,
    require,
)

EXACTLY = {"paper": "rdp", "tight": "gdp"}  # accountants where nothing is left to chance
MOST_BINS = 100_000  # of balls in bins; their epsilon takes seconds there


def correlated_gaussian(
    noise_multiplier: float,
    *,
    sensitivity: Callable[[int], float],
    delta: float,
    neighbors: str = REPLACE,
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Return Gaussian sums whose noise is correlated over rounds: the rows of sigma C S^-1 Z, with a strategy S (matrix
    factorisation).

    A run is one Gaussian mechanism on S X, and the schedule bounds how far a unit can move S X.

    Args:
        sensitivity: rounds -> L2 norm by which a unit whose contributions have norm at most 1 moves S X in that many
            rounds, above 0 for 1 round or more. The schedule must be public.
        neighbors: as for `bounded_participation_gaussian`.
    """
    check_numbers(noise_multiplier, delta)
    check_name("neighbouring relation", neighbors, SENSITIVITY)

    def event(rounds: int) -> dp.DpEvent:
        moved = sensitivity(rounds) if rounds else 1.0
        require("sensitivity", moved, 0 < moved < math.inf, "give a finite number above 0")
        one_gaussian = repeated(noise_multiplier / moved, neighbors, dp.GaussianDpEvent)
        return one_gaussian(1 if rounds else 0)

    return in_any_schedule(
        event,
        mechanism=f"Gaussian noise of multiplier {noise_multiplier:g}, correlated over rounds, on sums",
        delta=delta,
        neighbors=neighbors,
        privacy_unit=privacy_unit,
        protects_against=protects_against,
    )


def sums_in_one_round(*noise_multipliers: float) -> float:
    """Return the noise multiplier of one Gaussian that costs as much as several noisy sums of one round together.

    z = (sum_i z_i^-2)^(-1/2): stacked, each in units of the noise on it, they are one sum with noise 1, which a unit
    moves by the root of the sum of z_i^-2. So for any sampler the round counts as one release of multiplier z.

    Args:
        noise_multipliers: z_i, the standard deviation of the noise on each sum over the largest contribution of a unit
            to it; 0 has no noise, and then the round has none.
    """
    require("noise_multipliers", len(noise_multipliers), len(noise_multipliers) > 0, "give one for each sum")
    for z in noise_multipliers:
        require("noise_multiplier", z, z >= 0, "give a number, 0 or more")
    return 0.0 if 0 in noise_multipliers else sum(z**-2 for z in noise_multipliers) ** -0.5


def cyclic_readings(
    *,
    noise_multiplier: float,
    max_participations: Callable[[int], int],
    sensitivity: Callable[[int], float] | None,
    **statement: Any,
) -> dict[str, Release]:
    """Return ways of accounting for noisy sums over the units of a public schedule; all of them are proven.

    paper, worst_case: one unit's data replaced.
    removed: one unit removed, whose place in the schedule stays, empty.

    Args:
        max_participations: rounds -> k, of a unit.
        sensitivity: as for `correlated_gaussian`; None for independent noise, or for noise that costs as much.
        statement: delta, privacy_unit, protects_against.
    """
    if sensitivity is None:
        release = partial(bounded_participation_gaussian, noise_multiplier, max_participations=max_participations)
    else:
        release = partial(correlated_gaussian, noise_multiplier, sensitivity=sensitivity)
    replaced, removed = (release(neighbors=relation, **statement) for relation in (REPLACE, ADD_OR_REMOVE))
    return {"paper": replaced, "worst_case": replaced, "removed": removed}


def cyclic_poisson_readings(
    *, noise_multiplier: float, sampling_rate: float, num_groups: int, **statement: Any
) -> dict[str, Release]:
    """Return ways of accounting for noisy sums over units in G groups that take turns, in each of which a unit takes
    part by chance; all of them are proven.

    A unit takes part in at most every G-th round, with probability q in each of the k = ceil(T / G) rounds of its
    group. With independent noise, and with noise whose strategy has at most G bands and columns of norm at most 1,
    what T rounds reveal of it is what k Poisson-sampled Gaussians of the same multiplier reveal (Choquette-Choo et al.,
    NeurIPS 2023, Theorem 4).

    paper, tight: one unit added or removed, whose place in the groups stays, by RDP and by PLD.
    worst_case: no amplification, one unit replaced.

    Args:
        sampling_rate: q, of a unit when it is the turn of its group, in (0, 1].
        num_groups: G.
        statement: delta, privacy_unit, protects_against.
    """
    require("num_groups", num_groups, num_groups >= 1, "give an integer, 1 or more")

    turns = partial(_turns, num_groups)

    def in_turn(release: Release) -> Release:
        words = f"{release.mechanism}, in every {num_groups}th round at most"
        return release._replace(event=lambda rounds: release.event(turns(rounds)), mechanism=words)

    if sampling_rate == 1:
        sampled = {name: full_gaussian(noise_multiplier, accountant=by, **statement) for name, by in EXACTLY.items()}
    else:
        sampled = {
            name: poisson_gaussian(noise_multiplier, sampling_rate=sampling_rate, accountant=by, **statement)
            for name, by in (("paper", "rdp"), ("tight", "pld"))
        }
    worst = bounded_participation_gaussian(noise_multiplier, max_participations=turns, **statement)
    return {**{name: in_turn(release) for name, release in sampled.items()}, "worst_case": worst}


@dataclass(frozen=True)
class BallsInBinsDpEvent(dp.DpEvent):
    """Gaussian sums in which a unit takes part in the rounds of one bin, drawn uniformly and not released.

    num_bins: G, 1 or more.
    noise_multiplier: of all rounds of a bin together, relative to the movement by the unit.
    afresh: whether a further such release would draw another bin.
    """

    num_bins: int
    noise_multiplier: float
    afresh: bool = False


def balls_in_bins_gaussian(
    noise_multiplier: float,
    *,
    num_bins: int,
    delta: float,
    afresh: bool = False,
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Return Gaussian sums over the units of bins that come up in turn: each unit draws one of G bins, uniformly and
    independently of all others, and takes part in every round of this bin.

    It protects one unit added or removed. A run that ends within a turn is counted as if it went on to its end.

    Args:
        num_bins: G, the rounds of a turn.
        afresh: whether units draw a bin anew for each turn (random allocation), not one for the whole run.
    """
    check_numbers(noise_multiplier, delta)
    in_range = 1 <= num_bins <= MOST_BINS
    require("num_bins", num_bins, in_range, f"give a whole number from 1 to {MOST_BINS:,}")

    def event(rounds: int) -> dp.DpEvent:
        turns = _turns(num_bins, rounds)
        of_a_bin = noise_multiplier if afresh else noise_multiplier / math.sqrt(max(turns, 1))
        draws = turns if afresh else min(turns, 1)
        return repeated(of_a_bin, ADD_OR_REMOVE, partial(BallsInBinsDpEvent, num_bins, afresh=afresh))(draws)

    return checked(
        Release(
            event=event,
            privacy_unit=privacy_unit,
            protects_against=protects_against,
            neighbors=ADD_OR_REMOVE,
            sampler="random allocation" if afresh else "balls in bins",
            accountant="bins",
            delta=delta,
            mechanism=f"{noise_in_words(noise_multiplier)}, every unit in one of {num_bins} bins that come up in turn"
            + (", drawn anew for each turn" if afresh else ""),
        )
    )


def balls_in_bins_readings(
    *, noise_multiplier: float, num_bins: int, afresh: bool = False, **statement: Any
) -> dict[str, Release]:
    """Return ways of accounting for noisy sums over the units of bins that come up in turn; all of them are proven.

    paper, tight: one unit added or removed; see `balls_in_bins_gaussian`.
    worst_case: no amplification, one unit replaced.

    Args:
        num_bins, afresh: as for `balls_in_bins_gaussian`.
        statement: delta, privacy_unit, protects_against.
    """
    amplified = balls_in_bins_gaussian(noise_multiplier, num_bins=num_bins, afresh=afresh, **statement)
    turns = partial(_turns, num_bins)
    worst = bounded_participation_gaussian(noise_multiplier, max_participations=turns, **statement)
    return {"paper": amplified, "tight": amplified, "worst_case": worst}


def _turns(num_groups: int, rounds: int) -> int:
    """Return the number of turns of a group in so many rounds, at most."""
    return -(-rounds // num_groups)
