"""The numbers of accounting: two accountants agree, published ones are met, and the committed file is what is made."""

import json
import math

import numpy as np
import pytest
from dp_accounting import dp_event as dp
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from scipy.stats import norm

from bench.conformance import ACCOUNTING, FOLDER, GOLDEN_RUNS, make, second
from bench.conformance.accounting import CASES, READINGS, UPPER
from bench.privacy.accounting import ORDERS

FILE = json.loads((FOLDER / ACCOUNTING).read_text())
ENTRIES = [(case, entry) for case in FILE["cases"] for entry in case["numbers"]]
QUICK = ("one_release", "half_of_the_units", "much_noise")
NODE = 6e-4  # two neighbouring results of the search for noise


def test_there_are_twenty_cases_with_distinct_ids_and_all_words_are_described():
    assert len(FILE["cases"]) == 20
    ids = [entry["id"] for _, entry in ENTRIES]
    assert len(set(ids)) == len(ids) >= 140
    for case, entry in ENTRIES:
        assert entry["id"] == f"{case['name']}.{entry['sampler']}.{entry['relation']}.{entry['accountant']}"
    for name in ("sampler", "relation", "accountant"):
        assert {entry[name] for _, entry in ENTRIES} == set(FILE[f"{name}s"])
    stated = {(entry["sampler"], entry["relation"], entry["accountant"], entry["bound"]) for _, entry in ENTRIES}
    assert stated == {tuple(reading) for reading in READINGS}
    for case in FILE["cases"]:
        assert (case["asked"] in case, {"epsilon": "noise_multiplier"}.get(case["asked"], "epsilon") in case) == (0, 1)


@pytest.mark.parametrize(("case", "entry"), ENTRIES, ids=[entry["id"] for _, entry in ENTRIES])
def test_the_two_accountants_agree_much_closer_than_the_tolerance(case, entry):
    ratio = entry["value"] / entry["second_value"]
    search = NODE if case["asked"] == "noise_multiplier" else 0.0
    if entry["accountant"] == "pld":  # an upper bound, beside an estimate that is within 0.05 %
        assert 1 - 5e-4 <= ratio <= 1 + 2e-3 + search
    else:
        assert 1 - 1e-6 <= ratio <= 1 + 1e-6 + search
    assert abs(entry["value"] - entry["second_value"]) < entry["tolerance"] / 3
    assert entry["bound"] == UPPER or entry["accountant"] == "exact"


def test_bounds_are_ordered_as_they_must_be():
    """Renyi DP is above the privacy loss distribution and the closed form, and replacing costs more than removing."""
    of = {entry["id"]: entry["value"] for _, entry in ENTRIES}
    compared = 0
    for name, value in of.items():
        for smaller, larger in ((".pld", ".rdp"), (".exact", ".rdp"), ("add_or_remove", "replace_one")):
            if smaller in name and (other := of.get(name.replace(smaller, larger))):
                assert value < other, name
                compared += 1
    assert compared > 60


@pytest.mark.parametrize("case", [case for case in CASES if case.published], ids=lambda case: case.name)
def test_published_numbers_are_met(case):
    """With the conversion of their time, from the second implementation of Renyi DP."""
    curve = case.rounds * second.poisson_rdp(case.rate, case.noise_multiplier, ORDERS.tolist())
    assert round(float(np.min(curve - math.log(case.delta) / (ORDERS - 1))), 2) == case.published["epsilon"]
    (stated,) = (entry["value"] for _, entry in ENTRIES if entry["id"] == f"{case.name}.poisson.add_or_remove.rdp")
    assert stated < case.published["epsilon"]


def _same(made, committed):
    """Compare contents: words exactly, numbers but for their last digits, noise but for the nodes of its search."""
    if isinstance(made, dict):
        assert made.keys() == committed.keys()
        for name in made:
            _same(made[name], committed[name])
    elif isinstance(made, list):
        assert len(made) == len(committed)
        for one, other in zip(made, committed, strict=True):
            _same(one, other)
    elif isinstance(made, float):
        assert made == pytest.approx(committed, rel=NODE)
    else:
        assert made == committed


def test_the_committed_file_is_what_is_made():
    quick = FILE | {"cases": [case for case in FILE["cases"] if case["name"] in QUICK]}
    made = make.accounting_file(quick)
    _same(made, quick)
    for case in made["cases"]:
        for entry in case["numbers"]:
            (committed,) = (other["value"] for _, other in ENTRIES if other["id"] == entry["id"])
            assert entry["value"] == pytest.approx(committed, rel=1e-8)


@pytest.mark.slow
def test_the_whole_committed_file_is_what_is_made():
    _same(make.accounting_file(FILE), FILE)


@pytest.mark.parametrize("removed", [True, False])
def test_one_poisson_sampled_round_has_its_closed_form(removed):
    """delta = P(L > eps) - e^eps Q(L > eps), by the normal distribution alone."""
    rate, sigma, delta = 0.2, 0.7, 1e-4
    epsilon = second._composed_epsilon(rate, sigma, 1, delta, removed)
    loss = epsilon if removed else -epsilon
    x = sigma**2 * math.log((math.exp(loss) - 1 + rate) / rate) + 0.5
    mixed = (1 - rate) * norm.sf(x / sigma) + rate * norm.sf((x - 1) / sigma)
    plain = norm.sf(x / sigma)
    exact = mixed - math.exp(epsilon) * plain if removed else (1 - plain) - math.exp(epsilon) * (1 - mixed)
    assert exact == pytest.approx(delta, rel=2e-2)  # two percent of delta are a tenth of a percent of epsilon


def test_without_sampling_the_fourier_transform_gives_the_closed_form():
    almost = 1 - 1e-9
    for sigma, rounds in ((2.0, 7), (10.0, 300)):
        exact = second.gaussian_epsilon(sigma / math.sqrt(rounds), 1e-5)
        assert second.poisson_epsilon(almost, sigma, rounds, 1e-5) == pytest.approx(exact, rel=5e-4)


def test_the_closed_form_solves_its_equation():
    epsilon = second.gaussian_epsilon(0.8, 1e-6)
    delta = norm.cdf(0.5 / 0.8 - epsilon * 0.8) - math.exp(epsilon) * norm.cdf(-0.5 / 0.8 - epsilon * 0.8)
    assert delta == pytest.approx(1e-6, rel=1e-9)
    assert second.gaussian_epsilon(100.0, 0.9) == 0.0


def test_the_fixed_size_bound_is_that_of_dp_accounting_at_integer_orders():
    orders = [2, 3, 5, 8, 17]
    accountant = RdpAccountant(orders, NeighboringRelation.REPLACE_ONE)
    event = dp.SampledWithoutReplacementDpEvent(50, 4, dp.GaussianDpEvent(1.3))
    expected = accountant.compose(event).rdp
    assert second.fixed_size_rdp(4 / 50, 1.3, orders) == pytest.approx(expected, rel=1e-6)


def test_between_integer_orders_the_quadrature_meets_the_binomial_sums():
    for rate, sigma in ((0.01, 0.6), (0.3, 2.0)):
        exact = second.poisson_rdp(rate, sigma, [2.0, 7.0, 40.0])
        beside = second.poisson_rdp(rate, sigma, [2.0 + 1e-7, 7.0 + 1e-7, 40.0 + 1e-7])
        assert beside == pytest.approx(exact, rel=1e-5)


def test_a_unit_takes_part_at_most_once_in_every_epoch():
    for case in CASES:
        assert case.participations == math.ceil(case.rounds / math.ceil(case.units / case.batch))


@pytest.mark.parametrize("case", [case for case in CASES if case.units <= 10_000], ids=lambda case: case.name)
def test_participations_are_those_of_a_shuffled_schedule(case):
    rng, counts, order = np.random.default_rng(0), np.zeros(case.units, int), []
    for _ in range(case.rounds):
        if not len(order):
            order = rng.permutation(case.units)
        counts[order[: case.batch]] += 1
        order = order[case.batch :]
    assert counts.max() == case.participations


@pytest.mark.parametrize("name", [ACCOUNTING, GOLDEN_RUNS])
def test_every_field_is_described_and_every_description_is_of_a_field(name):
    content = json.loads((FOLDER / name).read_text())
    tables = ("fields", "samplers", "relations", "accountants", "second_accountants")  # words, and their meanings
    tables += ("definition", "initial_model", "clipped_sum", "mean", "model")

    def walk(part, path):
        for one in part if isinstance(part, list) else [part]:
            if isinstance(one, dict):
                for name, inner in one.items():
                    found.add(".".join((*path, name)))
                    if name not in tables:
                        walk(inner, (*path, name))

    found: set[str] = set()
    walk(content, ())
    assert found == set(content["fields"])
    assert all(content["fields"].values())
