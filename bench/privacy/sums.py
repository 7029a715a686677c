"""The epsilon of Gaussian noise on sums of clipped vectors, and the noise for an epsilon, by a sampling scheme.

Epsilon 8.18096 is that of 20,000 sums with noise multiplier 1, a sampling rate of 0.01 and delta 1e-4; 2.56141 is the
noise multiplier for epsilon 2.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from bench.errors import InputError, check_name

if TYPE_CHECKING:
    from bench.privacy.events import Release

Steps = Annotated[int, "Number of noisy sums that are released."]
Delta = Annotated[float, "Delta of (epsilon, delta)-DP."]
Rate = Annotated[float | None, "Fraction of the units in a round; 1/G for G bins; leave it out without sampling."]
Sampling = Annotated[
    str,
    "poisson (each unit independently; add-or-remove), fixed (a fixed number without replacement; replace one, which "
    "changes the sum by up to 2 C), balls_in_bins (each unit draws one of G bins for the whole run, and bins take "
    "turns; add-or-remove), random_allocation (each unit draws a bin anew for each turn, or k of k G steps; "
    "add-or-remove), none (every unit; add-or-remove).",
]
Accountant = Annotated[
    str | None,
    "pld (privacy loss distributions; exact without sampling), or rdp (Renyi DP: the number of Opacus, or less where "
    "its orders end). Left out: the smaller of the two where both are proven. Bins have their own.",
]
RENYI = "rdp_wide"
ACCOUNTANTS = {"pld": "pld", "rdp": RENYI}  # option -> accountant of a release
LONG = 100_000  # steps from which finding the noise by privacy loss distributions takes more than some seconds
MOST_STEPS = {RENYI: 10**12, "pld": 10**7, "bins": 10**7}  # with more steps, a privacy loss distribution takes minutes
MOST_COUNTS = 1000  # of steps at which epsilon is given
MOST_PHASES = 100
NOISE = (1e-6, 1e6)  # multipliers that the accountants can compute with; also 0


def epsilon(
    *,
    noise_multiplier: Annotated[
        float | None, "Standard deviation of the noise on the sum, divided by the clip norm C."
    ] = None,
    steps: Annotated[int | None, "Number of noisy sums that are released."] = None,
    delta: Delta,
    sampling_rate: Rate = None,
    phases: Annotated[
        Sequence[str] | None,
        "NOISE:RATE:STEPS of each phase, one after the other, such as 1:0.01:900,0.8:0.02:100; in place of the noise "
        "multiplier, sampling rate and steps.",
    ] = None,
    sampling: Sampling = "poisson",
    accountant: Accountant = None,
    group: Annotated[int, "The most units of one person, all of which are protected together."] = 1,
    best_of: Annotated[
        float | None,
        "Mean number of runs of which the best alone is published, where their number is drawn at random.",
    ] = None,
    every: Annotated[int | None, "Also the epsilon after so many steps each."] = None,
    target: Annotated[
        float | None, "An epsilon; says how many steps of the last phase are left until it, as far as is computed."
    ] = None,
) -> dict[str, Any]:
    """Find the epsilon of a number of noisy sums, with one line that explains it.

    Returns:
        epsilon, what it was computed for, and "meaning", which says so in words; "by_step", pairs of steps and epsilon,
        with `every`; "steps_left" with `target`.

    Raises:
        InputError: for a value that cannot be used.
    """
    from bench.privacy import accounting, events
    from bench.privacy.selection import epsilon_of_best

    runs = _phases(noise_multiplier, sampling_rate, steps, phases)
    total = sum(length for *_, length in runs)
    for name, value, most in (
        ("group", group, events.MOST_IN_GROUP),
        ("every", every, None),
        ("best_of", best_of, None),
    ):
        remedy = f"give a number from 1 {f'to {most:,}' if most else 'on'}"
        events.require(name, value or 0, value is None or 1 <= value <= (most or sys.float_info.max), remedy)
    if target is not None:
        events.require("target", target, 0 < target < math.inf, "give a finite number above 0")
    if sampling == "balls_in_bins" and len(runs) > 1:
        raise InputError(f"sampling {sampling} has one phase, since a unit keeps its bin: give one, or use poisson.")
    accountants = _accountants(sampling, total, delta, accountant, group)
    if best_of is not None and (accountants := accountants[-1:]) != (RENYI,):
        culprit = f"accountant {accountant}" if accountant else "a group" if group > 1 else f"sampling {sampling}"
        raise InputError(f"best_of is by Renyi DP, and the epsilon of {culprit} is not: leave one out.")
    parts = {by: [] for by in accountants}
    for number, (sigma, rate, length) in enumerate(runs):
        try:
            events.require("steps", length, length >= 1, "give 1 or more")
            usable = sigma == 0 or NOISE[0] <= sigma <= NOISE[1]
            remedy = f"give 0, or a number from {NOISE[0]:g} to {NOISE[1]:g}"
            events.require("noise_multiplier", sigma, usable, remedy)
            for by in accountants:
                parts[by].append((_release(sigma, sampling, rate, by, delta, group), length))
        except InputError as error:
            raise InputError(f"phases={phases[number]}: {error}") if phases else error from None
    releases = [one[0][0] if len(one) == 1 else events.in_sequence(one) for one in parts.values()]

    def spent(count: int) -> tuple[float, events.Release]:
        if best_of is None:
            results = [(accounting.epsilon(one, count), one) for one in releases]
        else:
            results = [(epsilon_of_best(one, count, best_of), one) for one in releases]
        return min(results, key=lambda result: (math.isnan(result[0]), result[0]))

    value, smallest = spent(total)
    if math.isnan(value):
        raise InputError(
            f"accountant {accountant or accountants[0]} finds no bound for so little noise, or so small a sampling "
            "rate: use rdp, or more noise"
        )
    words = _meaning(smallest, total, value, accountants, num_phases=len(runs), group=group, best_of=best_of)
    meaning = f"epsilon at delta {delta:g} of {words}"
    facts = {"epsilon": value} | _facts(smallest, total, [rate or 1.0 for _, rate, _ in runs], meaning)
    if every is not None:
        events.require("every", every, total <= MOST_COUNTS * every, f"give at least {-(-total // MOST_COUNTS):,}")
        counts = [*range(every, total, every), total]
        facts["by_step"] = [[count, spent(count)[0]] for count in counts]
    if target is not None:
        most = MOST_STEPS[accountants[0]] - total
        facts["steps_left"] = _most(lambda more: spent(total + more)[0] <= target, most)
    return facts


def _phases(
    noise_multiplier: float | None, sampling_rate: float | None, steps: int | None, phases: Sequence[str] | None
) -> list[tuple[float, float | None, int]]:
    """Return (noise multiplier, sampling rate, steps) of each phase.

    Raises:
        InputError: where both or neither of the two ways of giving them are used, or a text is no phase.
    """
    given = {"noise_multiplier": noise_multiplier, "steps": steps}
    if not phases:
        for name, value in given.items():
            if value is None:
                raise InputError(f"{name} is missing: give it, or phases.")
        return [(noise_multiplier, sampling_rate, steps)]  # pyright: ignore[reportReturnType]
    for name, value in (given | {"sampling_rate": sampling_rate}).items():
        if value is not None:
            raise InputError(f"{name} is given beside phases, which have their own: leave it out.")
    if len(phases) > MOST_PHASES:
        raise InputError(f"phases are {len(phases)}: give at most {MOST_PHASES}.")
    found = []
    for text in phases:
        try:
            sigma, rate, length = text.split(":")
            found.append((float(sigma), float(rate) if rate else None, int(length)))
        except ValueError:
            raise InputError(f"phases={text}: give NOISE:RATE:STEPS of each, such as 1:0.01:900.") from None
    return found


def _most(fits: Callable[[int], bool], limit: int) -> int | None:
    """Return the largest number up to the limit that fits, where smaller ones do too; None where not even 0 does."""
    if not fits(0):
        return None
    low, high = 0, 1
    while high < limit and fits(high):
        low, high = high, 2 * high
    if high >= limit and fits(limit):
        return limit
    high = min(high, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


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

    def release(sigma: float, by: str) -> events.Release:
        return _release(sigma, sampling, sampling_rate, by, delta)

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
    return {"noise_multiplier": sigma} | _facts(release(sigma, by), steps, [sampling_rate or 1.0], meaning)


def _accountants(sampling: str, steps: int, delta: float, named: str | None, group: int = 1) -> tuple[str, ...]:
    """Return the accountants from which the smallest bound is taken, those for the most steps last; all are proven.

    Raises:
        InputError: for an unknown name, an accountant that cannot be used, and too many steps.
    """
    from bench.privacy import events
    from bench.privacy.accounting import smallest_delta

    check_name("sampling", sampling, events.SAMPLINGS)
    known = tuple(by for by in events.SAMPLINGS[sampling].accountants if by in MOST_STEPS)
    if named is not None:
        check_name("accountant", named, ACCOUNTANTS)
        if ACCOUNTANTS[named] not in known:
            raise InputError(f"accountant {named} does not know sampling {sampling}: leave it out.")
        known = (ACCOUNTANTS[named],)
    elif sampling == "poisson" and group > 1:
        known = known[:1]  # the only one that knows it
    if sampling == "poisson" and known[0] == "pld" and delta < (smallest := smallest_delta(steps)):
        if len(known) == 1:
            raise InputError(f"accountant pld is not exact below delta {smallest:g} here: leave it out, or use rdp.")
        known = known[1:]
    events.require("steps", steps, 1 <= steps <= MOST_STEPS[known[-1]], f"give 1 to {MOST_STEPS[known[-1]]:,}")
    return tuple(by for by in known if steps <= MOST_STEPS[by])


def _release(
    sigma: float, sampling: str, sampling_rate: float | None, accountant: str, delta: float, group: int = 1
) -> "Release":
    """Return the release of these options.

    Raises:
        InputError: for a value that cannot be used.
    """
    from bench.privacy import events

    if sampling_rate is None:
        if sampling != "none":
            raise InputError("sampling_rate is missing: give the fraction of the units in a round, or sampling none.")
        sampling_rate = 1.0
    return events.gaussian(
        sigma, sampling=sampling, sampling_rate=sampling_rate, accountant=accountant, delta=delta, group=group
    )


def _meaning(
    release: "Release",
    steps: int,
    value: float,
    accountants: tuple[str, ...],
    *,
    num_phases: int = 1,
    group: int = 1,
    best_of: float | None = None,
) -> str:
    """Describe what is protected, against whom, under which relation and sampler, and how it was computed, with which
    of the accountants that were tried.
    """
    from bench.privacy import accounting, events

    unit = "one unit (whatever is clipped and sampled: a user, an example)"
    best = "" if best_of is None else f"the best of {best_of:g} runs in the mean, whose number is drawn, each of "
    text = (
        f"{best}{steps} step{'s' if steps > 1 else ''}{', each' if num_phases == 1 else ':'} {release.mechanism}; "
        f"protects {unit if group == 1 else f'all units of one person, at most {group},'} under {release.neighbors}, "
        f"against {release.protects_against}; "
        f"{accounting.CONVERSIONS['rdp' if best_of else release.accountant]}"
    )
    if best_of is not None:
        text += ", and Papernot and Steinke 2022: Poisson or geometric, whichever gives less"
        return f"{text}; with exactly so many runs, count all their steps."
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


def _facts(release: "Release", steps: int, rates: list[float], meaning: str) -> dict[str, Any]:
    from bench.privacy import events

    return {
        "delta": release.delta,
        "steps": steps,
        "sampling_rate": rates[0] if len(rates) == 1 else rates,
        "sampler": release.sampler,
        "neighbors": release.neighbors,
        "sensitivity_in_clip_norms": events.SENSITIVITY[release.neighbors],
        "accountant": release.accountant,
        "meaning": meaning,
    }
