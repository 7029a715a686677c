"""The numbers of a case of accounting: by the suite's accountants, and by those of `bench.conformance.second`."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.conformance import ACCOUNTING, content, second
from bench.privacy import accounting, events

NEIGHBORS = {"add_or_remove": events.ADD_OR_REMOVE, "replace_one": events.REPLACE}
OWN = {"exact": "gdp", "pld": "pld", "rdp": "rdp"}  # the suite's word for an accountant
# A share of the number. Other grids and error bounds of privacy loss distributions move it by half a percent, and so
# does a search for noise that ends at the first epsilon within 0.01 of the target.
TOLERANCE = {"exact": 0.005, "pld": 0.01, "rdp": 0.01}
MOST = 100  # a larger epsilon is left out
EXACT, UPPER = "exact", "upper bound"


class Reading(NamedTuple):
    """One proven way of accounting for a case, in words that accounting.json explains.

    bound: whether the number is exact, or an upper bound (of epsilon, and so of the noise that is needed).
    """

    sampler: str
    relation: str
    accountant: str
    bound: str

    @property
    def name(self) -> str:
        """The part of an id behind the case."""
        return f"{self.sampler}.{self.relation}.{self.accountant}"


READINGS = (
    Reading("poisson", "add_or_remove", "pld", UPPER),
    Reading("poisson", "add_or_remove", "rdp", UPPER),
    Reading("fixed_size", "replace_one", "rdp", UPPER),
    Reading("full", "add_or_remove", "exact", EXACT),
    Reading("full", "add_or_remove", "rdp", UPPER),
    Reading("full", "replace_one", "exact", EXACT),
    Reading("full", "replace_one", "rdp", UPPER),
    # Exact where the order is public, and an upper bound where it is secret: it claims no amplification.
    Reading("shuffled", "add_or_remove", "exact", UPPER),
    Reading("shuffled", "replace_one", "exact", UPPER),
)


@dataclass(frozen=True)
class Case:
    """A training run, with the fields of accounting.json, which says what they mean."""

    name: str
    about: str
    units: int
    batch: int
    rounds: int
    delta: float
    participations: int
    asked: str
    numbers: list[dict[str, Any]]
    noise_multiplier: float | None = None
    epsilon: float | None = None
    published: dict[str, Any] | None = None

    @property
    def rate(self) -> float:
        """The share of the units in a round."""
        return self.batch / self.units


CASES = [Case(**entry) for entry in content(ACCOUNTING)["cases"]]


def release(case: Case, reading: Reading, sigma: float) -> events.Release:
    """Return what a run with this noise multiplier releases, in the suite's words."""
    if reading.sampler == "poisson":
        return events.poisson_gaussian(
            sigma, sampling_rate=case.rate, delta=case.delta, accountant=OWN[reading.accountant]
        )
    if reading.sampler == "fixed_size":
        return events.fixed_size_gaussian(sigma, sampling_rate=case.rate, delta=case.delta)
    neighbors = NEIGHBORS[reading.relation]
    if reading.sampler == "full":
        accountant = OWN[reading.accountant]
        return events.full_gaussian(sigma, delta=case.delta, neighbors=neighbors, accountant=accountant)
    return events.bounded_participation_gaussian(
        sigma, max_participations=case.participations, delta=case.delta, neighbors=neighbors
    )


def epsilon(case: Case, reading: Reading, sigma: float) -> float:
    """Return the epsilon of a case with this noise multiplier, by the suite; NaN where it is not computed."""
    return max(accounting.epsilon(release(case, reading, sigma), case.rounds), 0.0)  # in this order NaN stays NaN


def value(case: Case, reading: Reading) -> float:
    """Return what is asked for, by the suite."""
    if case.epsilon is None:
        return epsilon(case, reading, float(case.noise_multiplier or 0.0))
    return accounting.noise_multiplier(case.epsilon, lambda sigma: release(case, reading, sigma), case.rounds)


def second_value(case: Case, reading: Reading) -> float:
    """Return what is asked for, by the second implementation."""
    if case.epsilon is None:
        return second_epsilon(case, reading, float(case.noise_multiplier or 0.0))
    return second.noise_for(case.epsilon, lambda sigma: second_epsilon(case, reading, sigma))


def second_epsilon(case: Case, reading: Reading, sigma: float) -> float:
    """Return the epsilon of a case with this noise multiplier, by the second implementation."""
    moved = sigma / (2 if reading.relation == "replace_one" else 1)
    orders = accounting.ORDERS.tolist()
    if reading.accountant == "pld":
        return second.poisson_epsilon(case.rate, moved, case.rounds, case.delta)
    if reading.accountant == "exact":
        times = case.participations if reading.sampler == "shuffled" else case.rounds
        return second.gaussian_epsilon(moved / times**0.5, case.delta)
    if reading.sampler == "poisson":
        curve = second.poisson_rdp(case.rate, moved, orders)
    elif reading.sampler == "fixed_size":
        curve = second.fixed_size_rdp(case.rate, moved, orders)
    else:
        curve = accounting.ORDERS / (2 * moved**2)
    return second.epsilon_of_rdp(orders, case.rounds * curve, case.delta)


def number(case: Case, reading: Reading) -> dict | None:
    """Return the entry of a reading in accounting.json; None for an epsilon above MOST, which is left out."""
    found = value(case, reading)
    if case.asked == "epsilon" and not found <= MOST:
        return None
    return {
        "id": f"{case.name}.{reading.name}",
        "sampler": reading.sampler,
        "relation": reading.relation,
        "accountant": reading.accountant,
        "bound": reading.bound,
        "value": found,
        "second_value": second_value(case, reading),
        "tolerance": float(f"{TOLERANCE[reading.accountant] * found:.3g}"),
    }
