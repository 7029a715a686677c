"""Known mistakes of accounting: a program that makes one, by the second implementation, is told which it made."""

import dataclasses
import json
import math

import numpy as np
import pytest

from bench import __main__ as command
from bench.conformance.accounting import epsilon, second_epsilon
from bench.conformance.answers import numbers
from bench.conformance.cases import CASES, READINGS
from bench.conformance.check import MOST_SEARCHES, check, text_of
from bench.conformance.mistakes import mistakes
from bench.privacy.accounting import ORDERS
from bench.reference import privacy as second

CASE = {case.name: case for case in CASES}
READING = {reading.name: reading for reading in READINGS}


def spent(case, reading, sigma=None, **changed):
    """The epsilon of a case with other rounds, delta or batch, by the second implementation."""
    at = CASE[case].noise_multiplier if sigma is None else sigma
    return second_epsilon(dataclasses.replace(CASE[case], **changed), READING[reading], at)


def older(case):
    at = CASE[case]
    curve = at.rounds * second.poisson_rdp(at.rate, at.noise_multiplier, ORDERS.tolist())
    return float(np.min(curve - math.log(at.delta) / (ORDERS - 1)))


def stated(name):
    return float(numbers()[name].value)


PLD, RDP = "poisson.add_or_remove.pld", "poisson.add_or_remove.rdp"
FIXED = "fixed_size.replace_one.rdp"
ADDED, REPLACED = "full.add_or_remove.exact", "full.replace_one.exact"
IN_TURN, IN_TURN_REPLACED = "shuffled.add_or_remove.exact", "shuffled.replace_one.exact"

# What is answered, its id, and what the explanation says.
EPSILONS = [
    ("abadi_2016", FIXED, lambda: spent("abadi_2016", RDP), f"this is {RDP}: another sampler"),
    ("half_of_the_units", RDP, lambda: spent("half_of_the_units", FIXED), f"this is {FIXED}: another sampler"),
    ("half_of_the_units", IN_TURN, lambda: spent("half_of_the_units", PLD), f"this is {PLD}: another sampler"),
    ("half_of_the_units", PLD, lambda: spent("half_of_the_units", ADDED), "no amplification by sampling"),
    ("half_of_the_units", FIXED, lambda: spent("half_of_the_units", REPLACED), "no amplification by sampling"),
    ("one_release", ADDED, lambda: spent("one_release", REPLACED), "another neighbouring relation"),
    ("one_release", REPLACED, lambda: spent("one_release", ADDED), "another neighbouring relation"),
    ("much_noise", IN_TURN_REPLACED, lambda: spent("much_noise", IN_TURN), "another neighbouring relation"),
    ("small_federation", PLD, lambda: spent("small_federation", PLD, sigma=0.5), "move by 2 C, as under replace_one"),
    ("small_federation", FIXED, lambda: spent("small_federation", FIXED, sigma=2.0), "by C, as under add_or_remove"),
    pytest.param(
        "mnist_60_epochs",
        RDP,
        lambda: spent("mnist_60_epochs", RDP, rounds=60),
        "number of epochs is taken for",
        marks=pytest.mark.slow,
    ),
    ("small_federation", RDP, lambda: spent("small_federation", RDP, rounds=1000), "taken for a number of epochs"),
    ("half_of_the_units", ADDED, lambda: spent("half_of_the_units", ADDED, rounds=100), "rounds is 2 times that of"),
    ("small_federation", ADDED, lambda: spent("small_federation", ADDED, rounds=1), "only one round is counted"),
    ("small_federation", PLD, lambda: spent("small_federation", PLD, batch=20), "rate is 2 times batch / units"),
    ("small_federation", RDP, lambda: spent("small_federation", RDP, batch=1), "rate is 0.1 times batch / units"),
    ("little_noise", PLD, lambda: spent("little_noise", PLD, sigma=0.5**0.5), "taken for the variance"),
    ("mnist_15_epochs", RDP, lambda: spent("mnist_15_epochs", RDP, sigma=1.3**2), "sigma^2 is taken for sigma"),
    ("one_release", ADDED, lambda: 0.0, "1 - delta is taken for delta"),
    ("one_release", ADDED, lambda: spent("one_release", ADDED, delta=1e-3), "1 / units is taken for delta"),
    pytest.param(
        "tiny_delta",
        PLD,
        lambda: spent("tiny_delta", PLD, delta=1e-5),
        "1e-5 is taken for delta",
        marks=pytest.mark.slow,
    ),
    ("half_of_the_units", ADDED, lambda: 50**0.5 / 5 * 100, None),
    ("half_of_the_units", ADDED, lambda: spent("half_of_the_units", ADDED, sigma=500.0), "sigma * batch is taken for"),
    ("half_of_the_units", RDP, lambda: spent("half_of_the_units", RDP, sigma=0.05), "the noise on the mean: sigma / b"),
    ("mnist_60_epochs", RDP, lambda: older("mnist_60_epochs"), "older conversion"),
    ("mnist_60_epochs", PLD, lambda: stated(f"mnist_60_epochs.{RDP}"), "another accountant"),
    ("one_release", ADDED, lambda: math.sqrt(2 * math.log(1.25e5)), "the classical formula"),
]
NOISES = [
    ("cifar_8", PLD, lambda: stated(f"cifar_8.{PLD}") / 4096, "relative to the mean: it is sigma / batch"),
    ("cifar_8", RDP, lambda: stated(f"cifar_8.{RDP}") * 4096, "the answer is sigma * batch"),
    ("cifar_8", RDP, lambda: stated(f"cifar_8.{RDP}") ** 2, "the answer is the variance"),
    ("cifar_8", FIXED, lambda: stated(f"cifar_8.{FIXED}") ** 0.5, "the answer is the root of sigma"),
    ("strict", FIXED, lambda: stated(f"strict.{RDP}"), f"this is {RDP}: another sampler"),
    ("strict", FIXED, lambda: stated(f"strict.{FIXED}") / 2, "by C, as under add_or_remove"),
    ("hospitals_1", REPLACED, lambda: stated(f"hospitals_1.{ADDED}"), f"this is {ADDED}: another neighbouring"),
    ("hospitals_1", IN_TURN, lambda: stated(f"hospitals_1.{PLD}"), f"this is {PLD}: another sampler"),
    ("loose_16", FIXED, lambda: stated(f"loose_16.{REPLACED}"), "no amplification by sampling"),
    (
        "hospitals_1",
        ADDED,
        lambda: second.noise_for(1.0, lambda s: spent("hospitals_1", ADDED, s, rounds=10)),
        "number of epochs is taken for",
    ),
    pytest.param(
        "text_3",
        RDP,
        lambda: second.noise_for(3.0, lambda s: spent("text_3", RDP, s, batch=2000)),
        "2 times batch / units",
        marks=pytest.mark.slow,
    ),
]


# What Opacus 1.6 (prv, and get_noise_multiplier with it) and dp_accounting 0.6 return by default.
VALID = [
    ("mnist_15_epochs", PLD, 0.8746071229042639, "Opacus' prv accountant, which adds its eps_error of 0.01; valid"),
    pytest.param("many_users", PLD, 0.033240221134051985, "Opacus' prv accountant", marks=pytest.mark.slow),
    ("much_noise", PLD, 0.09026862935961004, "Opacus' prv accountant"),
    ("strict", PLD, 3.359375, "Opacus' prv accountant"),
    ("hospitals_1", PLD, 4.296875, "Opacus' prv accountant"),
    ("strict", RDP, 3.64, "a search that ends at an epsilon at most 0.01 below the target"),
    pytest.param("many_users", PLD, 0.025679814569447457, "dp_accounting's PLD accountant", marks=pytest.mark.slow),
    ("half_of_the_units", FIXED, 16.722279276356936, "dp_accounting's Renyi DP accountant"),
    ("much_noise", RDP, 0.09300592560162627, "dp_accounting's Renyi DP accountant, with orders up to 1024; valid"),
]


@pytest.mark.parametrize(("case", "reading", "answer", "said"), VALID)
def test_the_error_terms_of_other_accountants_are_known_and_safe(case, reading, answer, said):
    checked = check({f"{case}.{reading}": np.asarray(answer)})
    (found,) = checked.differences
    assert not found.unsafe
    assert any(said in text for text in found.mistakes), found.mistakes
    assert "0 agree, 1 differ (1 safe)" in text_of(checked)


@pytest.mark.parametrize(
    ("name", "factor", "status", "said"),
    [
        (f"one_release.{ADDED}", 0.9, 1, "(-10.0%), which is unsafe"),
        (f"one_release.{ADDED}", 1.1, 0, "(+10.0%), which is safe, and loose"),
        (f"cifar_8.{PLD}", 0.9, 1, "(-10.0%), which is unsafe"),
        (f"cifar_8.{PLD}", 1.1, 0, "(+10.0%), which is safe, and loose"),
        (f"half_of_the_units.{RDP}", 0.95, 0, f"but not below half_of_the_units.{PLD}, 3.04136, and so safe"),
        (f"half_of_the_units.{RDP}", 0.85, 1, "(-15.0%), which is unsafe"),
        ("logistic_dp_sgd.round_1.mean.bias", 1.1, 1, "0 agree, 1 differ (1 of golden runs)"),
    ],
)
def test_the_status_tells_what_is_too_small_from_what_is_loose(
    name, factor, status, said, tmp_path, monkeypatch, capsys
):
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"version": 1, "answers": {name: float(numbers()[name].value) * factor}}))
    monkeypatch.setattr("sys.argv", ["bench", "conformance", str(file)])
    assert command.main() == status
    assert said in capsys.readouterr().out


def test_a_factor_in_the_rounds_is_not_taken_for_other_mistakes():
    """Three of these answers were, since half of the rate, another delta, or sigma^2 by pld happen to give them."""
    cases = [case for case in CASES if case.noise_multiplier is not None and case.rounds > 4]
    answers = {f"{case.name}.{RDP}": spent(case.name, RDP, rounds=case.rounds // 4) for case in cases}
    checked = check({name: np.asarray(answer) for name, answer in answers.items()})
    assert len(checked.differences) == len(answers) > 10
    for one in checked.differences:
        assert len(one.mistakes) == 1
        assert "the number of rounds is 0.25 times that of the case" in one.mistakes[0]


@pytest.mark.parametrize("answer", [1e200, 1e-200])
def test_an_answer_of_any_size_is_compared(answer):
    for name in [name for name in numbers() if name.startswith(("cifar_8.", "one_release."))]:
        assert len(text_of(check({name: np.asarray(answer)}))) < 500


@pytest.mark.parametrize(("case", "reading", "answer", "said"), EPSILONS + NOISES)
def test_a_planted_mistake_is_named(case, reading, answer, said):
    name = f"{case}.{reading}"
    checked = check({name: np.asarray(answer())})
    (found,) = checked.differences
    assert found.name == name
    if said is None:
        assert found.mistakes == []
        assert "no known mistake gives it" in text_of(checked)
    else:
        assert any(said in text for text in found.mistakes), found.mistakes


def test_an_epsilon_that_is_not_computed_is_not_taken_for_0():
    """By pld with hardly any noise; it was 0, which is the best epsilon of all."""
    assert math.isnan(epsilon(CASE["cifar_8"], READING[PLD], 5e-4))


def test_correct_numbers_of_the_second_implementation_agree():
    of = {f"{case.name}.{reading.name}": (case, reading) for case in CASES for reading in READINGS}
    answers = {
        name: np.asarray(second_epsilon(*of[name], of[name][0].noise_multiplier))
        for name in numbers()
        if name in of and of[name][0].epsilon is None and of[name][1].accountant == "exact"
    }
    assert len(answers) > 20
    assert check(answers).differences == []


def test_an_answer_just_outside_the_tolerance_differs_and_one_inside_agrees():
    name = f"one_release.{ADDED}"
    number = numbers()[name]
    for share, count in ((0.99, 0), (1.01, 1)):
        for sign in (1, -1):
            assert len(check({name: number.value + sign * share * number.tolerance}).differences) == count


def test_the_same_mistake_everywhere_is_named_everywhere_with_few_searches():
    """Fixed-size samples accounted for as Poisson samples: after the first search the mistake is tried first."""
    answers = {
        name: numbers()[name.replace(FIXED, RDP)].value for name in numbers() if name.endswith(FIXED)
    }  # fmt: skip
    checked = check(answers)
    assert len(checked.differences) == len(answers) > MOST_SEARCHES
    assert all(f"this is {RDP}" in one.mistakes[0] for one in checked.differences)


def test_answers_beyond_the_limit_are_said_not_to_be_searched():
    answers = {name: numbers()[name].value * 1.237 for name in numbers() if name.endswith((IN_TURN, ADDED))}
    checked = check(answers)
    unsearched = [one for one in checked.differences if not one.searched]
    assert len([one for one in checked.differences if not one.mistakes]) - len(unsearched) <= MOST_SEARCHES
    assert ("not searched for a mistake" in text_of(checked)) == bool(unsearched)
    assert unsearched


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_mistake_can_be_computed_in_every_case(case):
    """No mistake raises or warns; its epsilon is a number, or NaN where an accountant gives up."""
    sigma = case.noise_multiplier or stated(f"{case.name}.{RDP}")
    for reading in READINGS:
        texts = []
        for text, found in mistakes(case, reading):
            texts.append(text)
            for noise in (sigma, 1e-9, 1e9):
                spent_there = found(noise)
                assert spent_there >= 0 or math.isnan(spent_there), text
        assert len(set(texts)) == len(texts) > 10
