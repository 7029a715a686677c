"""What a run released: inert descriptions that the accountants of `accounting` turn into an epsilon.

One run can be described several ways (another sampler, another neighbouring relation, another accountant),
and each description says what is protected, against whom and under which relation, so that a number never
stands without its meaning.

Throughout, a round releases  sum_i clip(v_i, C) + N(0, (sigma C)^2 I),  sigma = `noise_multiplier`. A method
that releases the mean of Q terms adds noise of standard deviation sigma C / Q to the mean: the same sigma.
Between neighbours the sum moves by C under "add-or-remove one", by 2 C under "replace one". The multipliers
INSIDE an event are always relative to that movement, so "replace one" stores sigma / 2.

`laplace` is the same with the L1 norm and Laplace noise of scale sigma C in each coordinate.

A noise calibrated to a bound L0 that the terms can exceed has the multiplier sigma L0 / L, L being the bound
that they do obey; without any bound L is infinite, the multiplier 0 and epsilon inf.

Arguments that the factories share, each raising InputError outside its range:
    noise_multiplier: sigma, the standard deviation (Laplace: the scale) of the noise on the sum over C;
        finite, 0 or more.
    sampling_rate: share of the units in a round, in (0, 1].
    delta: in (0, 1).
    privacy_unit, protects_against: words for the fields of `Release`.
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import dp_accounting as dp

from bench.errors import InputError, unknown_name

ADD_OR_REMOVE = "add-or-remove one"
REPLACE = "replace one"
SENSITIVITY = {ADD_OR_REMOVE: 1.0, REPLACE: 2.0}  # movement of the sum, in units of C
PRIVACY_UNITS = ("user", "record", "example", "point")
SAMPLINGS = ("poisson", "fixed", "none")
ACCOUNTANTS = ("rdp", "pld")
EVERYBODY = "everybody who sees the released sums"


class Release(NamedTuple):
    """What was released, to whom, and how it is accounted. Inert: `accounting.epsilon` reads it.

    Attributes:
        event: rounds -> everything released in that many rounds; multipliers as in the module's docstring.
        privacy_unit: what one unit of privacy covers: "user", "record", "example", "point".
        protects_against: who learns little about one unit, in words.
        neighbors: "add-or-remove one" or "replace one".
        sampler: "poisson", "fixed size without replacement", "all", "any schedule", "nothing released".
        accountant: "rdp", "pld", "gdp" (the exact closed form of composed Gaussians), or "composition" (of
            pure DP, Kairouz, Oh and Viswanath 2015), or one of the closed forms "as published" in `accounting`.
        delta: the delta at which epsilon is wanted.
        mechanism: what a round does, in words.
        sound: whether this is proven for what the method does. False where it is kept because a paper or a program
            counts so, such as independent samples for a schedule that deals out blocks.
    """

    event: Callable[[int], dp.DpEvent]
    privacy_unit: str
    protects_against: str
    neighbors: str
    sampler: str
    accountant: str
    delta: float
    mechanism: str
    sound: bool = True


def require(name: str, value: float, fits: bool, remedy: str) -> None:
    """Raises InputError ("name=value: remedy.") unless the value fits. NaN must fail the comparison given."""
    if not fits:
        raise InputError(f"{name}={value}: {remedy}.")


def poisson_gaussian(
    noise_multiplier: float,
    *,
    sampling_rate: float,
    delta: float,
    accountant: str = "rdp",
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Gaussian on a Poisson-sampled sum: each unit takes part in a round with probability q, independently.

    Protects one unit added or removed. `accountant` is "rdp" or "pld"."""
    _check(noise_multiplier, delta, sampling_rate)

    def sampled(sigma: float) -> dp.DpEvent:
        return dp.PoissonSampledDpEvent(sampling_rate, dp.GaussianDpEvent(sigma))

    return Release(
        event=_rounds(noise_multiplier, ADD_OR_REMOVE, sampled),
        privacy_unit=privacy_unit,
        protects_against=protects_against,
        neighbors=ADD_OR_REMOVE,
        sampler="poisson",
        accountant=accountant,
        delta=delta,
        mechanism=f"{_noise(noise_multiplier)}, Poisson sampling at rate {sampling_rate:g}",
    )


def fixed_size_gaussian(
    noise_multiplier: float,
    *,
    sampling_rate: float,
    delta: float,
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Gaussian on a sum over a fixed number of units, drawn afresh each round, uniformly without replacement.

    Protects one unit replaced by another: the number of units is public, the sum moves by 2 C, and so the
    event holds sigma / 2. Only RDP is available (Wang, Balle, Kasiviswanathan 2019, Theorem 27).

    Args:
        sampling_rate: units in the sample / units in all, in (0, 1]; nothing else of the two enters.
    """
    _check(noise_multiplier, delta, sampling_rate)
    size = Fraction(repr(float(sampling_rate)))  # the event wants two integers; only their ratio counts

    def sampled(sigma: float) -> dp.DpEvent:
        return dp.SampledWithoutReplacementDpEvent(size.denominator, size.numerator, dp.GaussianDpEvent(sigma))

    return Release(
        event=_rounds(noise_multiplier, REPLACE, sampled),
        privacy_unit=privacy_unit,
        protects_against=protects_against,
        neighbors=REPLACE,
        sampler="fixed size without replacement",
        accountant="rdp",
        delta=delta,
        mechanism=f"{_noise(noise_multiplier)}, a fixed share {sampling_rate:g} without replacement",
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
    """Gaussian on the sum over everybody: no sampling, no amplification.

    Protects one unit, under either relation. `accountant` is "gdp" (exact) or "rdp"."""
    _check(noise_multiplier, delta)
    if neighbors not in SENSITIVITY:
        raise unknown_name("neighbouring relation", neighbors, SENSITIVITY)
    return Release(
        event=_rounds(noise_multiplier, neighbors, dp.GaussianDpEvent),
        privacy_unit=privacy_unit,
        protects_against=protects_against,
        neighbors=neighbors,
        sampler="all",
        accountant=accountant,
        delta=delta,
        mechanism=f"{_noise(noise_multiplier)}, everybody in every round",
    )


def bounded_participation_gaussian(
    noise_multiplier: float,
    *,
    max_participations: int | Callable[[int], int],
    delta: float,
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """Gaussian sums in which each unit appears at most k times: sound whatever the (public) schedule.

    No amplification is claimed: replacing one unit moves at most k of the sums, each by at most 2 C, and k
    Gaussians with multiplier sigma / 2 are one with sigma / (2 sqrt(k)), accounted exactly.

    Args:
        max_participations: k, or rounds -> k; never counted as more than the number of rounds.
            A negative k raises InputError when the event is asked for.
    """
    _check(noise_multiplier, delta)
    k_gaussians = _rounds(noise_multiplier, REPLACE, dp.GaussianDpEvent)

    def event(rounds: int) -> dp.DpEvent:
        k = operator.index(max_participations(rounds) if callable(max_participations) else max_participations)
        require("max_participations", k, k >= 0, "give an integer, 0 or more")
        return k_gaussians(min(k, rounds))

    return Release(
        event=event,
        privacy_unit=privacy_unit,
        protects_against=protects_against,
        neighbors=REPLACE,
        sampler="any schedule",
        accountant="gdp",
        delta=delta,
        mechanism=f"{_noise(noise_multiplier)}, each {privacy_unit} in a bounded number of rounds",
    )


def laplace(
    noise_multiplier: float,
    *,
    delta: float,
    neighbors: str = REPLACE,
    accountant: str = "composition",
    privacy_unit: str = "point",
    protects_against: str = EVERYBODY,
) -> Release:
    """Laplace on the sum over all of a client's vectors of L1 norm <= C: no sampling, no amplification.

    Each coordinate of the sum gets noise of scale sigma C (of the mean of m: sigma C / m). Replacing one term
    moves the sum by 2 C in L1, and so a round is (2 / sigma)-DP by itself; under "add-or-remove one",
    (1 / sigma)-DP. Where clients take turns, `rounds` counts the releases of one client.

    Args:
        accountant: "composition" or "pld" (tighter).
    """
    _check(noise_multiplier, delta)
    if neighbors not in SENSITIVITY:
        raise unknown_name("neighbouring relation", neighbors, SENSITIVITY)
    return Release(
        event=_rounds(noise_multiplier, neighbors, dp.LaplaceDpEvent),
        privacy_unit=privacy_unit,
        protects_against=protects_against,
        neighbors=neighbors,
        sampler="all",
        accountant=accountant,
        delta=delta,
        mechanism=f"Laplace noise of scale {noise_multiplier:g} C on each coordinate of a sum of vectors of L1"
        f" norm <= C, every {privacy_unit} in every round",
    )


def preceded_by(release: Release, first: Release) -> Release:
    """One round of `first`, then the rounds of `release`: a run that starts from something private.

    After 0 rounds the start has been released already, and costs what it costs. Delta and accountant are those
    of `release`.

    Raises:
        InputError: where the two do not protect the same unit, under the same relation, against the same.
    """
    for field in ("privacy_unit", "neighbors", "protects_against"):
        own, other = getattr(release, field), getattr(first, field)
        require(field, other, own == other, f"what comes first must protect as what follows, {own}")
    return release._replace(
        event=lambda rounds: dp.ComposedDpEvent((first.event(1), release.event(rounds))),
        mechanism=f"once: {first.mechanism}; then {release.mechanism}",
        sound=release.sound and first.sound,
    )


def nothing_released(
    *, delta: float, privacy_unit: str = "user", protects_against: str = EVERYBODY, neighbors: str = REPLACE
) -> Release:
    """Nothing about the data leaves a unit (local learning): epsilon is 0 after any number of rounds."""
    _check(0.0, delta)
    return Release(
        event=lambda rounds: dp.NoOpDpEvent(),
        privacy_unit=privacy_unit,
        protects_against=protects_against,
        neighbors=neighbors,
        sampler="nothing released",
        accountant="gdp",
        delta=delta,
        mechanism="nothing is released",
    )


def gaussian_claims(
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
    """Four readings of one run that releases noisy sums over `num_sampled` of `num_clients` units a round.

    Sound are worst_case and, of the others, what describes the sampler that was used.

    paper: RDP, Poisson at rate Q / N, add-or-remove (what an Opacus accountant reports).
    sampler: RDP, fixed size without replacement, replace-one: sound for uniform samples drawn afresh each
        round. A schedule that deals out each unit's data until it is used up is not that; see worst_case.
    tight: the mechanism of `paper` by PLD; if Q = N, exactly (composed Gaussians).
    worst_case: no amplification, each unit in at most k rounds, replace-one, exact: sound for any public
        schedule.

    Args:
        num_clients: N.
        num_sampled: Q, from 1 to N.
        sampler: how the units of a round were found: "poisson", "fixed", "all", or another word for a schedule.
        max_participations: k, or rounds -> k.
    """
    require("num_sampled", num_sampled, 1 <= num_sampled <= num_clients, f"give 1 to {num_clients} clients")
    said: dict = {"delta": delta, "privacy_unit": privacy_unit, "protects_against": protects_against}
    rate = num_sampled / num_clients
    everybody = num_sampled == num_clients
    poisson, fixed = (everybody or sampler == name for name in ("poisson", "fixed"))
    tight = (
        full_gaussian(noise_multiplier, **said)
        if everybody
        else poisson_gaussian(noise_multiplier, sampling_rate=rate, accountant="pld", **said)
    )
    return {
        "paper": poisson_gaussian(noise_multiplier, sampling_rate=rate, **said)._replace(sound=poisson),
        "sampler": fixed_size_gaussian(noise_multiplier, sampling_rate=rate, **said)._replace(sound=fixed),
        "tight": tight._replace(sound=poisson),
        "worst_case": bounded_participation_gaussian(noise_multiplier, max_participations=max_participations, **said),
    }


def gaussian(
    noise_multiplier: float,
    *,
    sampling: str,
    sampling_rate: float = 1.0,
    accountant: str = "rdp",
    delta: float,
    privacy_unit: str = "user",
    protects_against: str = EVERYBODY,
) -> Release:
    """The Gaussian release of a sampling and an accountant given by name, as a table or a person names them.

    poisson: add-or-remove, rdp or pld. fixed: replace-one, rdp. none: add-or-remove, rdp, or pld, which for
    composed Gaussians is the exact closed form; `sampling_rate` must then be 1. InputError for another name
    or pair.

    Args:
        sampling, accountant: of SAMPLINGS and ACCOUNTANTS.
    """
    if sampling not in SAMPLINGS:
        raise unknown_name("sampling", sampling, SAMPLINGS)
    if accountant not in ACCOUNTANTS:
        raise unknown_name("accountant", accountant, ACCOUNTANTS)
    said: dict = {"delta": delta, "privacy_unit": privacy_unit, "protects_against": protects_against}
    if sampling == "none":
        require("sampling_rate", sampling_rate, sampling_rate == 1, "without sampling leave it out")
        return full_gaussian(noise_multiplier, accountant="gdp" if accountant == "pld" else "rdp", **said)
    if sampling == "poisson":
        return poisson_gaussian(noise_multiplier, sampling_rate=sampling_rate, accountant=accountant, **said)
    if accountant == "pld":
        raise InputError("accountant pld does not know fixed-size samples: take rdp, or sampling poisson.")
    return fixed_size_gaussian(noise_multiplier, sampling_rate=sampling_rate, **said)


@dataclass(frozen=True)
class ParallelDpEvent(dp.DpEvent):
    """Releases on disjoint sets of units: each unit is in one part, so the whole costs what the dearest part does."""

    events: tuple[dp.DpEvent, ...]


def in_parallel(parts: Sequence[tuple[Release, int]]) -> Release:
    """Phases one after the other, each on units of its own (McSherry 2009, parallel composition).

    A later phase may depend on what an earlier one released: for a unit in the later phase, that is public.

    Args:
        parts: (release, rounds) of each phase, in order; all with the same relation, accountant, unit and delta.

    Raises:
        InputError: where two of them differ in one of these.
    """
    first, _ = parts[0]
    for field in ("privacy_unit", "neighbors", "protects_against", "accountant", "delta"):
        for other, _ in parts:
            own, its = getattr(first, field), getattr(other, field)
            require(field, its, own == its, f"phases must be accounted alike, the first has {own}")

    def event(rounds: int) -> dp.DpEvent:
        done, begin = [], 0
        for release, length in parts:
            done.append(release.event(min(max(rounds - begin, 0), length)))
            begin += length
        distinct = tuple(dict.fromkeys(done))
        return distinct[0] if len(distinct) == 1 else ParallelDpEvent(distinct)

    if len(parts) == 1:
        return first._replace(event=event)
    mechanisms = "; then ".join(dict.fromkeys(release.mechanism for release, _ in parts))
    return first._replace(
        event=event,
        mechanism=f"{len(parts)} phases on disjoint {first.privacy_unit}s: {mechanisms}",
        sound=all(release.sound for release, _ in parts),
    )


def _check(noise_multiplier: float, delta: float, sampling_rate: float = 1.0) -> None:
    sigma = noise_multiplier
    require("noise_multiplier", sigma, 0 <= sigma < math.inf, "give a finite number, 0 or more")
    require("sampling_rate", sampling_rate, 0 < sampling_rate <= 1, "give a share above 0 and at most 1")
    require("delta", delta, 0 < delta < 1, "give a probability between 0 and 1")


def _rounds(
    noise_multiplier: float, neighbors: str, mechanism: Callable[[float], dp.DpEvent]
) -> Callable[[int], dp.DpEvent]:
    """rounds -> that many releases of one mechanism, given as multiplier -> event."""
    if noise_multiplier == 0:
        one: dp.DpEvent = dp.NonPrivateDpEvent()
    else:
        one = mechanism(float(noise_multiplier) / SENSITIVITY[neighbors])
    return lambda rounds: dp.SelfComposedDpEvent(one, rounds)


def _noise(noise_multiplier: float) -> str:
    return f"Gaussian noise of standard deviation {noise_multiplier:g} C on a sum of vectors of norm <= C"
