"""No number of a method's own can take the place of one that the suite measures or counts."""

import pytest
from tiny_sweeps import WALK, run, sweep_of, walk, walks

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Algorithm, Scalar
from bench.errors import InputError
from bench.sweeps.columns import is_reserved
from bench.sweeps.spec import Entry, grid, parameters


def reporting(name: str):
    """The random walk, whose rounds report -5 under a name."""

    def forger(task, *, step_size: Scalar, noise_multiplier: Scalar = 1.0) -> Algorithm:
        honest = walk(task, step_size=step_size, noise_multiplier=noise_multiplier)

        def one_round(key, state):
            return honest.round(key, state)[0], {name: -5.0 + 0 * step_size}

        return honest._replace(round=one_round)

    return sweep_of({"Forger": Entry(WALK._replace(make=forger), grid(step_size=[0.1]))}, seeds=1)


@pytest.mark.parametrize(
    "name", ["excess_risk", "validation_loss", "epsilon", "epsilon_mine", "seed", "task", "step_size"]
)
def test_a_round_cannot_report_what_is_measured(tmp_path, name):
    """The metrics of the task, epsilon, what names a run, an argument: refused before a round is computed."""
    with pytest.raises(InputError, match=f"`round` of forger reports {name}, as the results have already"):
        run(reporting(name), tmp_path)
    assert not list((tmp_path / "smoke" / "tiny").glob("part-*"))


def test_a_round_can_report_anything_else(tmp_path):
    assert (run(reporting("my_share"), tmp_path)["my_share"].dropna() == -5.0).all()


def test_a_label_is_not_overwritten_by_a_metric(tmp_path):
    points = grid(step_size=[0.1]).assign(excess_risk="mine")
    with pytest.raises(InputError, match="Walk has a label excess_risk, which is also a measured quantity"):
        run(walks(points=points), tmp_path)


def test_an_argument_cannot_be_called_like_a_column_of_all_results(tmp_path):
    def seeded(task, *, step_size: Scalar, noise_multiplier: Scalar = 1.0, seed: int = 2) -> Algorithm:
        return walk(task, step_size=step_size, noise_multiplier=noise_multiplier)

    sweep = sweep_of({"Seeded": Entry(WALK._replace(make=seeded), grid(step_size=[0.1]))}, seeds=1)
    with pytest.raises(InputError, match="seeded has an argument seed, which is a column of all results"):
        run(sweep, tmp_path)


def test_no_method_of_the_suite_has_an_argument_called_like_a_column():
    assert not [(name, one) for name, method in ALGORITHMS.items() for one in parameters(method)[0] if is_reserved(one)]
