"""Known mistakes of accounting: each is the epsilon that a program with this mistake would compute.

An answer is explained by a mistake if the mistaken program gives this answer. Where epsilon is asked for, its epsilon
is compared with the answer. Where noise is asked for, its epsilon with the noise of the answer is compared with the
target, which is the same comparison and needs no search.
"""

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import dp_accounting as dp
import numpy as np
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

from bench.conformance.accounting import epsilon, release
from bench.conformance.cases import MOST, READINGS, Case, Reading
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
ROUNDS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 2, 4, 8, 16)  # times the rounds: batches that are made of micro-batches
# Of other accountants, by default: what Opacus 1.6 adds to prv, where its search for noise ends, and the orders of
# dp_accounting 0.6 that Opacus has not.
EPS_ERROR, EPSILON_TOLERANCE, HIGH_ORDERS = 0.01, 0.01, (128, 256, 512, 1024)
RELATIONS = {
    "add_or_remove": dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace_one": dp.NeighboringRelation.REPLACE_ONE,
}


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
    yield from _of_errors(case, reading)


def explained(case: Case, reading: Reading, answer: float, text: str, spent: Spent) -> str | None:
    """Return the mistake and its number, where the number is the answer."""
    if case.epsilon is None:
        found = spent(float(case.noise_multiplier or 0.0))
        return f"{text} (gives {found:.4g})" if abs(found - answer) <= max(NEAR * abs(answer), SMALLEST) else None
    if not USABLE[0] <= answer <= USABLE[1]:
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
    for factor in ROUNDS:
        rounds = round(case.rounds * factor)
        if 1 < rounds <= (LONG if reading.accountant == "pld" else MOST_ROUNDS):
            yield (
                f"the number of rounds is {factor:g} times that of the case, as where micro-batches are counted",
                changed(rounds=rounds),
            )
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


def _of_errors(case: Case, reading: Reading) -> Iterator[tuple[str, Spent]]:
    """Yield what is no mistake: other accountants' answers, which differ by error terms of their own and are valid."""
    right = _by(case, reading)

    def searched(spent: Spent) -> Spent:
        """Return the target for all that a search which ends a little below the target may return."""

        def within(sigma: float) -> float:
            found = spent(sigma)
            target = case.epsilon or math.nan
            return target if target - EPSILON_TOLERANCE <= found <= target else found

        return within

    def composed(accountant: Callable[[], dp.PrivacyAccountant], sigma: float) -> float:
        if not right(sigma) <= MOST:  # with so little noise others run out of memory, or divide by 0
            return math.nan
        event = release(case, reading, sigma).event(case.rounds)
        return float(accountant().compose(event).get_epsilon(case.delta))

    relation = RELATIONS[reading.relation]
    if reading.accountant == "pld":
        yield (
            f"Opacus' prv accountant, which adds its eps_error of {EPS_ERROR:g}; valid",
            searched(lambda sigma: right(sigma) + EPS_ERROR),
        )
        yield (
            "dp_accounting's PLD accountant, which rounds privacy losses up to multiples of 1e-4; valid",
            lambda sigma: composed(lambda: PLDAccountant(relation), sigma),
        )
    if reading.accountant == "rdp":
        # Its series at fractional orders of Poisson samples are not those of the suite, and are of no use here.
        orders = None if reading.sampler == "fixed_size" else HIGH_ORDERS
        least = math.inf if orders is None else 0.0
        yield (
            f"dp_accounting's Renyi DP accountant, with orders up to {max(HIGH_ORDERS)}; valid",
            lambda sigma: min(right(sigma) + least, composed(lambda: RdpAccountant(orders, relation), sigma)),
        )
    if case.epsilon is not None:
        yield (
            f"a search that ends at an epsilon at most {EPSILON_TOLERANCE:g} below the target, as Opacus' does; valid",
            searched(right),
        )
