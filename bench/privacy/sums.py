"""The epsilon of Gaussian noise on sums of clipped vectors, and the noise for an epsilon, by a sampling scheme.

Epsilon 8.18096 is that of 20,000 sums with noise multiplier 1, a sampling rate of 0.01 and delta 1e-4; 2.56141 is the
noise multiplier for epsilon 2.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from bench.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bench.privacy.events import Release

Steps = Annotated[int, "Number of noisy sums that are released."]
Delta = Annotated[float, "Delta of (epsilon, delta)-DP."]
Rate = Annotated[float | None, "Fraction of the units in a round; 1/G for G bins; leave it out without sampling."]
Sampling = Annotated[
    str,
    "poisson (each unit independently; add-or-remove), fixed (a fixed number without replacement; replace one, which "
    "changes the sum by up to 2 C), balls_in_bins (each unit draws one of G bins for the whole run, and bins take "
    "turns; add-or-remove), none (every unit; add-or-remove).",
]
Accountant = Annotated[
    str | None,
    "pld (privacy loss distributions; exact without sampling), or rdp (Renyi DP: the number of Opacus, or less where "
    "its orders end). Left out: the smaller of the two where both are proven. Balls in bins have their own.",
]
ACCOUNTANTS = {"pld": "pld", "rdp": "rdp_wide"}  # option -> accountant of a release
LONG = 100_000  # steps from which finding the noise by privacy loss distributions takes more than some seconds
MOST_STEPS = {"rdp": 10**12, "pld": 10**7}  # with more steps, a privacy loss distribution takes minutes
BINS = "balls_in_bins"
NOISE = (1e-6, 1e6)  # multipliers that the accountants can compute with; also 0


def epsilon(
    *,
    noise_multiplier: Annotated[float, "Standard deviation of the noise on the sum, divided by the clip norm C."],
    steps: Steps,
    delta: Delta,
    sampling_rate: Rate = None,
    sampling: Sampling = "poisson",
    accountant: Accountant = None,
) -> dict[str, Any]:
    """Find the epsilon of a number of noisy sums, with one line that explains it.

    Returns:
        epsilon, what it was computed for, and "meaning", which says so in words.

    Raises:
        InputError: for a value that cannot be used.
    """
    from bench.privacy import accounting, events

    sigma = noise_multiplier
    usable = sigma == 0 or NOISE[0] <= sigma <= NOISE[1]
    events.require("noise_multiplier", sigma, usable, f"give 0, or a number from {NOISE[0]:g} to {NOISE[1]:g}")
    accountants = _accountants(sampling, steps, delta, accountant)
    rate = _checked(steps, delta, sampling_rate, sampling, accountants[0])
    releases = [_release(sigma, sampling, rate, by, delta) for by in accountants]
    results = [(accounting.epsilon(release, steps), release) for release in releases]
    bounds = [bound for bound in results if not math.isnan(bound[0])]
    if not bounds:
        raise InputError(
            f"accountant {accountant} finds no bound for so little noise, or so small a sampling rate: use "
            "rdp, or more noise"
        )
    value, release = min(bounds, key=lambda bound: bound[0])
    meaning = f"epsilon at delta {delta:g} of {_meaning(release, steps, value, accountants)}"
    return {"epsilon": value} | _facts(release, steps, rate, meaning)


def noise(
    *,
    epsilon: Annotated[float, "The largest epsilon allowed."],
    steps: Steps,
    delta: Delta,
    sampling_rate: Rate = None,
    sampling: Sampling = "poisson",
    accountant: Accountant = None,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Find the smallest noise multiplier that keeps within an epsilon, with one line that explains it.

    Args:
        say: receives a line before what can take minutes.

    Returns:
        noise_multiplier, what it was computed for, and "meaning", which says so in words.

    Raises:
        InputError: for a value that cannot be used.
    """
    from bench.privacy import accounting, events

    events.require("epsilon", epsilon, 0 < epsilon < math.inf, "give a finite number above 0")
    accountants = _accountants(sampling, steps, delta, accountant)
    rate = _checked(steps, delta, sampling_rate, sampling, accountants[0])

    def release(sigma: float, by: str) -> events.Release:
        return _release(sigma, sampling, rate, by, delta)

    def smallest(by: str) -> float:
        sigma = accounting.noise_multiplier(epsilon, lambda sigma: release(sigma, by), steps)
        digits = 5 - math.floor(math.log10(sigma))
        # Six digits, rounded up, so that the printed value suffices; the grid of a distribution changes with the noise.
        sigma = math.ceil(sigma * 10.0**digits) / 10.0**digits
        while accounting.epsilon(release(sigma, by), steps) > epsilon:
            sigma = round(sigma + 10.0**-digits, max(digits, 0))
        return sigma

    if release(1.0, accountants[0]).accountant == "pld" and steps >= LONG:
        say(f"computing privacy loss distributions of {steps:,} steps, which can take minutes")
    results, refused = [], None
    for by in accountants:
        try:
            results.append((smallest(by), by))
        except InputError as error:  # a target that this accountant cannot attain, or only with far too much noise
            refused = error if refused is None or epsilon > accounting.PLD_LIMIT else refused
    if not results:
        assert refused is not None
        raise refused
    sigma, by = min(results)
    meaning = f"smallest noise multiplier for epsilon {epsilon:g} at delta {delta:g}: "
    meaning += _meaning(release(sigma, by), steps, epsilon, accountants)
    if epsilon > accounting.PLD_LIMIT / 2 and math.isnan(accounting.epsilon(release(0.999 * sigma, by), steps)):
        meaning = f"{meaning[:-1]}; with less noise it is not computed."
    return {"noise_multiplier": sigma} | _facts(release(sigma, by), steps, rate, meaning)


def _accountants(sampling: str, steps: int, delta: float, named: str | None) -> tuple[str, ...]:
    """Return the accountants from which the smallest bound is taken; all of them are proven."""
    from bench.privacy.accounting import smallest_delta

    if named is not None:
        return (named,)
    if sampling == "none":
        return ("pld",)
    fits = sampling == "poisson" and steps <= MOST_STEPS["pld"] and delta >= smallest_delta(steps)
    return ("pld", "rdp") if fits else ("rdp",)


def _checked(steps: int, delta: float, sampling_rate: float | None, sampling: str, accountant: str) -> float:
    """Return the sampling rate to account with; raises an InputError that names the option for an unusable value."""
    from bench.privacy import accounting, events
    from bench.privacy.events import schedules

    samplings = (*events.SAMPLINGS, BINS)
    if sampling not in samplings:
        raise unknown_name("sampling", sampling, samplings)
    if accountant not in ACCOUNTANTS:
        raise unknown_name("accountant", accountant, ACCOUNTANTS)
    if (sampling, accountant) == ("fixed", "pld"):
        raise InputError("accountant pld does not support sampling fixed: use accountant rdp.")
    if (sampling, accountant) == (BINS, "pld"):
        raise InputError(f"sampling {BINS} has an accountant of its own: leave out accountant.")
    smallest = accounting.smallest_delta(steps)
    if (sampling, accountant) == ("poisson", "pld") and delta < smallest:
        raise InputError(f"accountant pld is not exact below delta {smallest:g} here: leave it out, or use rdp.")
    largest = MOST_STEPS[accountant]
    events.require("steps", steps, 1 <= steps <= largest, f"give 1 to {largest:,} with accountant {accountant}")
    events.check_delta("delta", delta)
    if sampling_rate is None:
        if sampling != "none":
            raise InputError("sampling_rate is missing: give the fraction of the units in a round, or sampling none.")
        return 1.0
    events.require("sampling_rate", sampling_rate, 0 < sampling_rate <= 1, "give a fraction above 0 and at most 1")
    if sampling == "none":
        events.require("sampling_rate", sampling_rate, sampling_rate == 1, "leave it out with sampling none")
    if sampling == BINS:
        bins = round(min(1 / sampling_rate, 1e300))  # the inverse of the smallest rates is infinite
        most = schedules.MOST_BINS
        is_inverse = 1 < bins <= most and math.isclose(sampling_rate * bins, 1, rel_tol=1e-6)
        remedy = f"with sampling {BINS} it is 1/G, for G bins of 2 to {most:,}: give 0.5, 0.01 or the like"
        events.require("sampling_rate", sampling_rate, is_inverse, remedy)
    return sampling_rate


def _release(sigma: float, sampling: str, sampling_rate: float, accountant: str, delta: float) -> "Release":
    """Return the release of a noise multiplier, by options as `_checked` checks them."""
    from bench.privacy import events

    if sampling == BINS:
        bins = round(1 / sampling_rate)
        return events.balls_in_bins_gaussian(sigma, num_bins=bins, delta=delta)
    by = ACCOUNTANTS[accountant]
    return events.gaussian(sigma, sampling=sampling, sampling_rate=sampling_rate, accountant=by, delta=delta)


def _meaning(release: "Release", steps: int, value: float, accountants: tuple[str, ...]) -> str:
    """Describe what is protected, against whom, under which relation and sampler, and how it was computed, with which
    of the accountants that were tried.
    """
    from bench.privacy import accounting, events

    text = (
        f"{steps} step{'s' if steps > 1 else ''}, each {release.mechanism}; protects one unit (whatever is"
        f" clipped and sampled: a user, an example) under {release.neighbors}, against"
        f" {release.protects_against}; {accounting.CONVERSIONS[release.accountant]}"
    )
    if release.neighbors == events.REPLACE:
        text += "; replacing one unit changes the sum by up to 2 C, so the effective noise multiplier is half"
    if release.accountant == "rdp_wide":
        floor = accounting.rdp_floor(release.delta, wide=True)
        text += f"; close to {floor:.2g}, below which this conversion cannot go" if value < 1.5 * floor else ""
        pld_applies = release.neighbors != events.REPLACE and release.delta >= accounting.smallest_delta(steps)
        if "pld" in accountants:
            text += "; privacy loss distributions give nothing smaller here"
        elif pld_applies and steps <= MOST_STEPS["pld"]:
            text += "; without --accountant the smaller of this and privacy loss distributions is given"
    return text + "."


def _facts(release: "Release", steps: int, rate: float, meaning: str) -> dict[str, Any]:
    from bench.privacy import events

    return {
        "delta": release.delta,
        "steps": steps,
        "sampling_rate": rate,
        "sampler": release.sampler,
        "neighbors": release.neighbors,
        "sensitivity_in_clip_norms": events.SENSITIVITY[release.neighbors],
        "accountant": release.accountant,
        "meaning": meaning,
    }
