"""The type of a release: its descriptive words, their known values, and the events of its rounds.

Throughout, a round releases  sum_i clip(v_i, C) + N(0, (sigma C)^2 I),  sigma = `noise_multiplier`. A method
that releases the mean of Q terms adds noise of standard deviation sigma C / Q to the mean: the same sigma.
Between neighbours the sum moves by C under "add-or-remove one", by 2 C under "replace one". The multipliers
INSIDE an event are always relative to that movement, so "replace one" stores sigma / 2.
Laplace sums are the same with the L1 norm and Laplace noise of scale sigma C in each coordinate.

If the noise is calibrated to a bound L0 that the terms can exceed, the multiplier is sigma L0 / L, where L is the
actual bound of the terms. Without any bound L is infinite, the multiplier 0 and epsilon inf.

Arguments that the factories share, each raising InputError outside its range:
    noise_multiplier: sigma, the standard deviation (Laplace: the scale) of the noise on the sum over C;
        finite, 0 or more.
    sampling_rate: share of the units in a round, in (0, 1].
    delta: in (0, 1).
    privacy_unit: a word in PRIVACY_UNITS.
    protects_against: the adversary, in words.
"""

import math
from collections.abc import Callable
from numbers import Real
from typing import NamedTuple

import dp_accounting.dp_event as dp

from bench.errors import InputError, check_name

PRIVACY_UNITS = ("user", "record", "example", "point", "coordinate")  # a further word adds a unit of privacy
ADD_OR_REMOVE = "add-or-remove one"
REPLACE = "replace one"
SENSITIVITY = {ADD_OR_REMOVE: 1.0, REPLACE: 2.0}  # movement of the sum, in units of C
ACCOUNTANTS = ("rdp", "rdp_wide", "pld", "gdp", "bins", "composition", "zcdp_as_published", "moments_as_published")
LEAST_DELTA = 1e-20  # the smallest at which the accountants are tested
EVERYBODY = "everybody who sees the released sums"


class Release(NamedTuple):
    """What was released, to whom, and how it is accounted for; pure data, used by `accounting.epsilon`.

    Attributes:
        event: rounds -> everything released in that many rounds; multipliers as in the module's docstring.
        privacy_unit: what one unit of privacy covers, a word in PRIVACY_UNITS.
        protects_against: who learns little about one unit, in words.
        neighbors: "add-or-remove one" or "replace one".
        sampler: how the participants of a round are drawn, in words: "poisson", "fixed size without replacement",
            "all", "balls in bins", "random allocation", "any schedule"; "nothing released" for a run that reveals
            nothing. No accountant uses it.
        accountant: "rdp" (at Opacus' orders), "rdp_wide" (at larger ones too), "pld", "gdp" (the exact closed form of
            composed Gaussians), "bins" (of balls in bins), "composition" (of pure DP, Kairouz, Oh and Viswanath 2015),
            or one of the closed forms "as published" in `accounting`.
        delta: the delta at which epsilon is stated.
        mechanism: what a round does, in words.
        sound: whether this is proven for what the method does. False where it is only included because a paper or
            program accounts this way, such as independent samples for a schedule that uses up blocks.
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
    """Raise InputError ("name=value: remedy.") unless the value fits. NaN must fail the comparison given."""
    if not fits:
        raise InputError(f"{name}={value}: {remedy}.")


def checked(release: Release) -> Release:
    """Return the release, if its unit of privacy, its neighbouring relation and its accountant are known words.

    Raises:
        InputError: naming the unknown word, and the nearest known one; or the field that is no function or no
        probability.
    """
    if not callable(release.event):
        raise InputError(f"event={release.event!r}: give a function from rounds to what they release.")
    if not isinstance(release.delta, Real):
        raise InputError(f"delta={release.delta!r}: give a probability between 0 and 1.")
    check_name("privacy unit", release.privacy_unit, PRIVACY_UNITS)
    check_name("neighbouring relation", release.neighbors, SENSITIVITY)
    check_name("accountant", release.accountant, ACCOUNTANTS)
    return release


def check_numbers(noise_multiplier: float, delta: float, sampling_rate: float = 1.0) -> None:
    """Raise InputError for a number outside the range that the module's docstring gives."""
    sigma = noise_multiplier
    require("noise_multiplier", sigma, 0 <= sigma < math.inf, "give a finite number, 0 or more")
    require("sampling_rate", sampling_rate, 0 < sampling_rate <= 1, "give a fraction above 0 and at most 1")
    check_delta("delta", delta)


def check_delta(name: str, delta: float) -> None:
    """Raise InputError, with this name, for a delta that no accountant can handle."""
    require(name, delta, LEAST_DELTA <= delta < 1, f"give a probability from {LEAST_DELTA:g} to below 1")


def repeated(
    noise_multiplier: float, neighbors: str, mechanism: Callable[[float], dp.DpEvent]
) -> Callable[[int], dp.DpEvent]:
    """Return rounds -> that many releases of a mechanism: multiplier (relative to the movement) -> event."""
    check_name("neighbouring relation", neighbors, SENSITIVITY)
    if noise_multiplier == 0:
        event: dp.DpEvent = dp.NonPrivateDpEvent()
    else:
        event = mechanism(float(noise_multiplier) / SENSITIVITY[neighbors])
    return lambda rounds: dp.SelfComposedDpEvent(event, rounds)


def unsampled(
    noise: Callable[[float], dp.DpEvent],
    noise_multiplier: float,
    *,
    mechanism: str,
    delta: float,
    neighbors: str,
    accountant: str,
    privacy_unit: str,
    protects_against: str,
) -> Release:
    """Return a noisy sum over all units in every round, for Gaussian or Laplace noise.

    Args:
        noise: multiplier (relative to the movement) -> event of one round.
        mechanism: what a round does, in words.
    """
    check_numbers(noise_multiplier, delta)
    return checked(
        Release(
            event=repeated(noise_multiplier, neighbors, noise),
            privacy_unit=privacy_unit,
            protects_against=protects_against,
            neighbors=neighbors,
            sampler="all",
            accountant=accountant,
            delta=delta,
            mechanism=mechanism,
        )
    )
