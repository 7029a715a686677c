"""Known mistakes of accounting: each is the epsilon that a program with this mistake would compute.

An answer is explained by a mistake if the mistaken program gives this answer. Where epsilon is asked for, its epsilon
is compared with the answer. Where noise is asked for, its epsilon with the noise of the answer is compared with the
target, which is the same comparison and needs no search.
"""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from bench.conformance.accounting import epsilon, release
from bench.conformance.cases import READINGS, Case, Reading
from bench.privacy import accounting
from bench.privacy.accounting.atoms import atoms_of
from bench.privacy.accounting.search import central_limit

Spent = Callable[[float], float]  # noise multiplier -> epsilon
NEAR = 0.005  # share of an answer by which a mistaken number may differ from it
SMALLEST = 5e-4  # difference that is always allowed
STEEP = 8.0  # the most by which log epsilon changes with log noise; for a first look
USABLE = (1e-6, 1e7)  # noise multipliers that accountants can compute with
MOST_ROUNDS = 10_000_000
LONG = 200_000  # rounds from which a privacy loss distribution takes seconds


def mistakes(case: Case, reading: Reading) -> Iterator[tuple[str, Spent]]:
    """Yield mistakes with their epsilons: those of the right accountant first, then mistakes by the sampler's other."""
    for other in sorted(READINGS, key=lambda other: _distance(reading, other)):
        if other != reading:
            yield _confused(reading, other), _by(case, other)
    same = [known for known in READINGS if (known.sampler, known.relation) == (reading.sampler, reading.relation)]
    for known in sorted(same, key=lambda known: known != reading):
        how = "" if known == reading else f", by {known.accountant}"
        for text, spent in (*_of_case(case, known), *_of_noise(case, known)):
            yield text + how, spent
    yield from _of_formula(case, reading)


def explained(case: Case, reading: Reading, answer: float, text: str, spent: Spent) -> str | None:
    """Return the mistake and its number, where the number is the answer."""
    if case.epsilon is None:
        found = spent(float(case.noise_multiplier or 0.0))
        return f"{text} (gives {found:.4g})" if abs(found - answer) <= max(NEAR * abs(answer), SMALLEST) else None
    if answer <= 0:
        return None
    first = spent(answer)
    if not first > 0 or not abs(math.log(first / case.epsilon)) <= STEEP * NEAR:
        return None
    if not spent(answer * (1 + NEAR)) <= case.epsilon <= spent(answer * (1 - NEAR)):
        return None
    return f"{text} (gives epsilon {first:.4g} at this noise)"


def _by(case: Case, reading: Reading, noise: Callable[[float], float] = lambda sigma: sigma) -> Spent:
    @functools.cache
    def spent(sigma: float) -> float:
        return epsilon(case, reading, noise(sigma)) if USABLE[0] <= noise(sigma) <= USABLE[1] else math.nan

    return spent


def _distance(reading: Reading, other: Reading) -> int:
    return sum(one != another for one, another in zip(reading[:3], other[:3], strict=True))


def _confused(reading: Reading, other: Reading) -> str:
    """Describe that a run is accounted for by another reading."""
    text = f"this is {other.name}"
    what = []
    if other.sampler != reading.sampler:
        unamplified = other.sampler == "full" and reading.sampler != "shuffled"
        what.append("no amplification by sampling" if unamplified else "another sampler")
    if other.relation != reading.relation:
        what.append("another neighbouring relation")
    if other.accountant != reading.accountant:
        what.append("another accountant")
    return f"{text}: {', '.join(what)}"


def _of_case(case: Case, reading: Reading) -> Iterator[tuple[str, Spent]]:
    """Yield mistakes in the rounds, delta and the sampling rate."""

    def changed(**fields) -> Spent:
        return _by(replace(case, **fields), reading)

    epochs = max(1, round(case.rounds * case.rate))
    if epochs < case.rounds:
        yield "the number of epochs is taken for the number of rounds", changed(rounds=epochs)
    more = round(case.rounds / case.rate)
    if case.rounds < more <= (LONG if reading.accountant == "pld" else MOST_ROUNDS):
        yield "the number of rounds is taken for a number of epochs", changed(rounds=more)
    if case.rounds > 1:
        yield "only one round is counted", changed(rounds=1)
    yield "1 - delta is taken for delta", changed(delta=1 - case.delta)
    for delta, what in ((1 / case.units, "1 / units"), (1e-5, "1e-5")):
        if not math.isclose(delta, case.delta, rel_tol=1e-3):
            yield f"{what} is taken for delta", changed(delta=delta)
    if reading.sampler in ("poisson", "fixed_size"):
        for factor in (2, 0.5, 10, 0.1):
            if case.rate * factor < 1:
                yield f"the sampling rate is {factor:g} times batch / units", changed(batch=case.batch * factor)


def _of_noise(case: Case, reading: Reading) -> Iterator[tuple[str, Spent]]:
    """Yield mistakes in what the noise multiplier is relative to."""
    asked = case.asked == "noise_multiplier"
    changes = [
        (
            lambda sigma: sigma * case.batch,
            "the answer is relative to the mean: it is sigma / batch" if asked else "sigma * batch is taken for sigma",
        ),
        (
            lambda sigma: sigma / case.batch,
            "the answer is sigma * batch" if asked else "sigma is taken for the noise on the mean: sigma / batch",
        ),
        (
            lambda sigma: math.sqrt(max(sigma, 0.0)),
            "the answer is the variance, sigma^2" if asked else "sigma is taken for the variance: its root is used",
        ),
        (
            lambda sigma: sigma**2,
            "the answer is the root of sigma" if asked else "sigma^2 is taken for sigma",
        ),
    ]
    if reading.sampler in ("poisson", "fixed_size"):  # without sampling this is the other relation
        far = reading.relation == "replace_one"
        changes.append(
            (
                lambda sigma: sigma * 2 if far else sigma / 2,
                "the sum is taken to move by C, as under add_or_remove"
                if far
                else "the sum is taken to move by 2 C, as under replace_one",
            )
        )
        changes.append(
            (
                lambda sigma: sigma / 2 if far else sigma * 2,
                "the sum is taken to move by 4 C" if far else "the sum is taken to move by C / 2",
            )
        )
    for noise, text in changes:
        yield text, _by(case, reading, noise)


def _of_formula(case: Case, reading: Reading) -> Iterator[tuple[str, Spent]]:
    """Yield other formulas: older ones, and those that are no bounds."""

    def older(sigma: float) -> float:
        (curve,) = accounting.rdp_curves(release(case, reading, sigma), case.rounds)
        return float(np.min(curve - math.log(case.delta) / (accounting.ORDERS - 1)))

    def limit(sigma: float) -> float:
        return central_limit(atoms_of(release(case, reading, sigma).event(case.rounds)), case.delta)

    moves = 2 if reading.relation == "replace_one" else 1

    def classical(sigma: float) -> float:
        return moves * math.sqrt(2 * math.log(1.25 / case.delta)) / sigma

    yield (
        "Renyi DP with the older conversion, rdp(a) + log(1 / delta) / (a - 1), which is valid and larger than need be",
        older,
    )
    if reading.sampler in ("poisson", "fixed_size"):
        yield "the central limit of composition, which is no bound", limit
    yield "the classical formula sqrt(2 log(1.25 / delta)) / sigma, for one release", classical
    yield (
        "the classical formula sqrt(2 log(1.25 / delta)) / sigma, times rounds",
        lambda sigma: case.rounds * classical(sigma),
    )
