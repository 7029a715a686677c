"""Known mistakes of accounting: a program that makes one, by the second implementation, differs from the set."""

import dataclasses
import json
import math

import numpy as np
import pytest

from bench import __main__ as command
from bench.conformance import second
from bench.conformance.accounting import CASES, READINGS, epsilon, second_epsilon
from bench.conformance.answers import numbers
from bench.conformance.check import check, text_of
from bench.privacy.accounting import ORDERS

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

# The case, the id that is answered, the answer of a program with a mistake, and of which other id it is the number.
EPSILONS = [
    ("abadi_2016", FIXED, lambda: spent("abadi_2016", RDP), RDP),
    ("half_of_the_units", IN_TURN, lambda: spent("half_of_the_units", PLD), PLD),
    ("half_of_the_units", PLD, lambda: spent("half_of_the_units", ADDED), ADDED),
    ("one_release", ADDED, lambda: spent("one_release", REPLACED), REPLACED),
    ("much_noise", IN_TURN_REPLACED, lambda: spent("much_noise", IN_TURN), IN_TURN),
    ("small_federation", PLD, lambda: spent("small_federation", PLD, sigma=0.5), None),
    ("small_federation", RDP, lambda: spent("small_federation", RDP, rounds=1000), None),
    ("small_federation", PLD, lambda: spent("small_federation", PLD, batch=20), None),
    ("little_noise", PLD, lambda: spent("little_noise", PLD, sigma=0.5**0.5), None),
    ("one_release", ADDED, lambda: 0.0, None),
    ("one_release", ADDED, lambda: spent("one_release", ADDED, delta=1e-3), None),
    ("half_of_the_units", ADDED, lambda: 50**0.5 / 5 * 100, None),
    ("mnist_60_epochs", RDP, lambda: older("mnist_60_epochs"), None),
    ("mnist_60_epochs", PLD, lambda: stated(f"mnist_60_epochs.{RDP}"), RDP),
    ("one_release", ADDED, lambda: math.sqrt(2 * math.log(1.25e5)), None),
]
NOISES = [
    ("cifar_8", PLD, lambda: stated(f"cifar_8.{PLD}") / 4096, None),
    ("cifar_8", RDP, lambda: stated(f"cifar_8.{RDP}") ** 2, None),
    ("strict", FIXED, lambda: stated(f"strict.{RDP}"), RDP),
    ("hospitals_1", REPLACED, lambda: stated(f"hospitals_1.{ADDED}"), ADDED),
    ("loose_16", FIXED, lambda: stated(f"loose_16.{REPLACED}"), REPLACED),
    (
        "hospitals_1",
        ADDED,
        lambda: second.noise_for(1.0, lambda s: spent("hospitals_1", ADDED, s, rounds=10)),
        None,
    ),
]


# What Opacus 1.6 (prv, and get_noise_multiplier with it) and dp_accounting 0.6 return by default.
VALID = [
    ("mnist_15_epochs", PLD, 0.8746071229042639),
    pytest.param("many_users", PLD, 0.033240221134051985, marks=pytest.mark.slow),
    ("strict", PLD, 3.359375),
    ("hospitals_1", PLD, 4.296875),
    ("much_noise", RDP, 0.09300592560162627),
]


@pytest.mark.parametrize(("case", "reading", "answer"), VALID)
def test_the_error_terms_of_other_accountants_are_safe(case, reading, answer):
    checked = check({f"{case}.{reading}": np.asarray(answer)})
    (found,) = checked.differences
    assert not found.unsafe
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


@pytest.mark.parametrize("answer", [1e200, 1e-200])
def test_an_answer_of_any_size_is_compared(answer):
    for name in [name for name in numbers() if name.startswith(("cifar_8.", "one_release."))]:
        assert len(text_of(check({name: np.asarray(answer)}))) < 500


@pytest.mark.parametrize(("case", "reading", "answer", "other"), EPSILONS + NOISES)
def test_a_planted_mistake_differs_and_the_number_of_another_reading_is_named(case, reading, answer, other):
    checked = check({f"{case}.{reading}": np.asarray(answer())})
    (found,) = checked.differences
    if other:
        assert f"{case}.{other}" in found.others
        assert f"    this is {case}.{other}" in text_of(checked).splitlines()


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
