"""Columns that take long to compute: for the points that are wanted, once a condition or a run asks for them."""

import pandas as pd
import pytest
from tiny_sweeps import points_of, walks

from bench.data.task import Task
from bench.errors import InputError
from bench.papers import pfl, pfl_cells
from bench.sweeps.points import resolve
from bench.sweeps.spec import Sweep, completed, on_task, select, thin


@pytest.fixture
def computed() -> list[float]:
    """The labels of the points for which the column was computed."""
    return []


@pytest.fixture
def sweep(computed) -> Sweep:
    """Walks whose step size follows, slowly, from a label."""

    def slow(points: pd.DataFrame) -> list[float]:
        computed.extend(points["budget"])
        return [0.1 * value for value in points["budget"]]

    points = pd.DataFrame({"step_size": float("nan"), "budget": [1.0, 2.0, 3.0]})
    made = walks(points=points)
    entries = {name: entry._replace(later={"step_size": slow}) for name, entry in made.entries.items()}
    return made._replace(entries=entries)


def test_a_selection_by_other_columns_computes_nothing_and_its_points_only_themselves(sweep, computed):
    chosen = select(sweep, "budget >= 2")
    assert computed == []
    (entry,) = chosen.entries.values()
    assert completed(entry).points["step_size"].tolist() == [0.2, 3 * 0.1]
    assert computed == [2.0, 3.0]
    assert list(completed(entry).points) == ["step_size", "budget"]


def test_a_condition_on_the_column_computes_it_first(sweep, computed):
    assert points_of(select(sweep, "step_size < 0.25 and budget > 1"))["step_size"].tolist() == [0.2]
    assert computed == [1.0, 2.0, 3.0]
    with pytest.raises(InputError, match="write a condition on step_size, budget, algorithm"):
        select(sweep, "step_sise < 1")
    with pytest.raises(InputError, match="does not parse"):
        select(sweep, "step_size <")


def test_points_have_it_wherever_they_are_compared_or_run(sweep, computed):
    tasks: dict[str, Task] = {name: make(0) for name, make in sweep.tasks.items()}
    (points,) = resolve(sweep, tasks).values()
    assert [point.args["step_size"] for point in points] == [0.1, 0.2, 3 * 0.1]
    computed.clear()
    assert len(points_of(thin(sweep, keep={"budget": [2.0]}))) == 1
    moved = on_task(sweep, "other", next(iter(sweep.tasks.values())))
    assert points_of(moved)["step_size"].tolist() == [0.1, 0.2, 3 * 0.1]


def test_no_sweep_calibrates_by_loss_distributions_before_it_has_to(monkeypatch):
    asked = []
    monkeypatch.setattr(pfl_cells, "_noise", lambda *key: asked.append(key) or 1.0)
    sweeps = [make("laptop") for make in pfl.SWEEPS.values()]
    assert sum(len(points_of(sweep)) for sweep in sweeps) > 300
    assert asked == []
    one = select(sweeps[0], "dataset == 'MNIST' and num_epochs == 1 and target_epsilon == 2.93")
    assert all((completed(entry).points["noise_multiplier"] == 1).all() for entry in one.entries.values())
    assert set(asked) == {(2.93, 6000, 64)}
