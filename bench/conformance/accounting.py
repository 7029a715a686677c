"""The numbers of a case: by the suite's accountants, and by those of `bench.conformance.second`."""

from bench.conformance import second
from bench.conformance.cases import MOST, Case, Reading
from bench.privacy import accounting, events

NEIGHBORS = {"add_or_remove": events.ADD_OR_REMOVE, "replace_one": events.REPLACE}
ACCOUNTANT_NAMES = {"exact": "gdp", "pld": "pld", "rdp": "rdp"}  # the suite's word for an accountant
SECOND = {
    "exact": "the same closed form, by another program",
    "pld": "a privacy loss distribution without bias, composed by one Fourier transform: an estimate within 0.05 %",
    "rdp": "Renyi DP at the same orders from binomial sums and quadrature, by another program",
}
# A share of the number. Other grids and error bounds of privacy loss distributions move it by half a percent, and so
# does a search for noise that ends at the first epsilon within 0.01 of the target.
TOLERANCE = {"exact": 0.005, "pld": 0.01, "rdp": 0.01}


def release(case: Case, reading: Reading, sigma: float) -> events.Release:
    """Return what a run with this noise multiplier releases, in the suite's words."""
    if reading.sampler == "poisson":
        return events.poisson_gaussian(
            sigma, sampling_rate=case.rate, delta=case.delta, accountant=ACCOUNTANT_NAMES[reading.accountant]
        )
    if reading.sampler == "fixed_size":
        return events.fixed_size_gaussian(sigma, sampling_rate=case.rate, delta=case.delta)
    neighbors = NEIGHBORS[reading.relation]
    if reading.sampler == "full":
        accountant = ACCOUNTANT_NAMES[reading.accountant]
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
    scale = sigma / (2 if reading.relation == "replace_one" else 1)
    orders = accounting.ORDERS.tolist()
    if reading.accountant == "pld":
        return second.poisson_epsilon(case.rate, scale, case.rounds, case.delta)
    if reading.accountant == "exact":
        times = case.participations if reading.sampler == "shuffled" else case.rounds
        return second.gaussian_epsilon(scale / times**0.5, case.delta)
    if reading.sampler == "poisson":
        curve = second.poisson_rdp(case.rate, scale, orders)
    elif reading.sampler == "fixed_size":
        curve = second.fixed_size_rdp(case.rate, scale, orders)
    else:
        curve = accounting.ORDERS / (2 * scale**2)
    return second.epsilon_of_rdp(orders, case.rounds * curve, case.delta)


def number(case: Case, reading: Reading) -> dict | None:
    """Return the entry of a reading in accounting.json; None for an epsilon above MOST, which is left out."""
    amount = value(case, reading)
    if case.asked == "epsilon" and not amount <= MOST:
        return None
    return {
        "id": f"{case.name}.{reading.name}",
        "sampler": reading.sampler,
        "relation": reading.relation,
        "accountant": reading.accountant,
        "bound": reading.bound,
        "value": amount,
        "second_value": second_value(case, reading),
        "tolerance": float(f"{TOLERANCE[reading.accountant] * amount:.3g}"),
    }
