"""The golden runs: the kernels, plain NumPy and differences of the stated losses agree, and no mistake passes."""

import json

import mistaken_programs as programs
import numpy as np
import pytest

from bench.conformance import FOLDER, GOLDEN_RUNS, QUANTITIES, make
from bench.conformance.answers import golden_id, numbers
from bench.conformance.check import check
from bench.conformance.kernels import RUNS

FILE = json.loads((FOLDER / GOLDEN_RUNS).read_text())
BY_NAME = {run["name"]: run for run in FILE["runs"]}


def flat(rounds):
    return np.concatenate(
        [np.ravel(entry[quantity][leaf]) for entry in rounds for quantity in QUANTITIES for leaf in entry[quantity]]
    )


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_plain_numpy_gives_the_numbers_of_the_kernels(run):
    rounds = programs.RIGHT.rounds(run)
    for entry, committed in zip(rounds, BY_NAME[run.name]["rounds"], strict=True):
        for quantity in QUANTITIES:
            assert entry[quantity].keys() == committed[quantity].keys()
            for leaf, values in entry[quantity].items():
                assert values == pytest.approx(np.array(committed[quantity][leaf]), abs=1e-11)


def test_the_committed_file_is_what_the_kernels_make():
    made = make.golden_file(FILE)
    assert flat([one for run in made["runs"] for one in run["rounds"]]) == pytest.approx(
        flat([one for run in FILE["runs"] for one in run["rounds"]]), abs=1e-11
    )
    assert make.text_of(FILE) == (FOLDER / GOLDEN_RUNS).read_text()


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_runs_have_what_mistakes_need(run):
    """Vectors above and below C, a round with more and one with fewer participants than expected."""
    model = {name: np.asarray(leaf, float) for name, leaf in run.initial_model.items()}
    models = [model, *(entry["model"] for entry in programs.RIGHT.rounds(run)[:-1])]
    norms = [
        programs.norm(programs.vector(run, at, unit))
        for at, who in zip(models, run.participants, strict=True)
        for unit in who
    ]
    assert min(norms) < run.clip_norm < max(norms)
    counts = [len(who) for who in run.participants]
    assert max(counts) > run.expected
    assert run.expected in counts or min(counts) < run.expected


def answers_of(run, program):
    return {
        golden_id(run.name, index, quantity, leaf): np.asarray(values)
        for index, entry in enumerate(program.rounds(run))
        for quantity in QUANTITIES
        for leaf, values in entry[quantity].items()
    }


MADE = [(run, text) for run in RUNS for text in programs.mistakes(run)]
SAME_THERE = [
    ("logistic_dp_sgd", "every layer is clipped by itself, to C / sqrt(number of layers)"),  # one layer
    ("linear_dp_fedavg", "every layer is clipped by itself, to C / sqrt(number of layers)"),
]


@pytest.mark.parametrize(("run", "text"), MADE, ids=[f"{run.name}: {text[:60]}" for run, text in MADE])
def test_every_mistake_is_found(run, text):
    answers = answers_of(run, programs.mistakes(run)[text])
    checked = check(answers)
    if (run.name, text) in SAME_THERE:
        assert checked.differences == []
        return
    assert any(np.max(np.abs(one.given - one.number.value)) > 100 * one.number.tolerance for one in checked.differences)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_single_precision_agrees(run):
    def vector(run, model, unit):
        rounded = {name: leaf.astype(np.float32) for name, leaf in model.items()}
        return {name: np.float32(leaf) for name, leaf in programs.vector(run, rounded, unit).items()}

    answers = answers_of(run, programs.Program(vector=vector))
    assert check({name: np.float32(value).astype(np.float64) for name, value in answers.items()}).differences == []
    assert set(answers) <= set(numbers())
