"""Columns that take long to compute: for the points that are wanted, once a condition or a run asks for them."""

import pandas as pd
import pytest
from tiny_sweeps import WALK, points_of, sweep_of

from bench.data.task import Task
from bench.papers.pfl import cells
from bench.papers.pfl import sweeps as pfl
from bench.sweeps.grids import with_grid
from bench.sweeps.points import resolve
from bench.sweeps.spec import Entry, Later, Sweep, grid, on_task, select, thin, with_computed


@pytest.fixture
def computed() -> list[float]:
    """The labels of the points for which the column was computed."""
    return []


@pytest.fixture
def sweep(computed) -> Sweep:
    """Walks whose step size follows, slowly, from a label."""

    def slow(budget: float) -> float:
        computed.append(budget)
        return 0.1 * budget

    def complete(points: pd.DataFrame) -> pd.DataFrame:
        return points.assign(step_size=[Later(slow, (budget,)) for budget in points["budget"]])

    return sweep_of({"Walk": Entry(WALK, grid(budget=[1.0, 2.0, 3.0]), complete=complete, computed=("step_size",))})


def test_a_selection_by_other_columns_computes_nothing_and_its_points_only_themselves(sweep, computed):
    (entry,) = select(sweep, "budget >= 2").entries.values()
    assert computed == []
    assert with_computed(entry.points)["step_size"].tolist() == [0.2, 3 * 0.1]
    assert computed == [2.0, 3.0]


def test_own_values_and_smaller_scales_compute_nothing(sweep, computed):
    own = with_grid(sweep, {"budget": [4.0, 5.0]})
    assert points_of(own)["budget"].tolist() == [4.0, 5.0]
    assert points_of(thin(sweep, keep={"budget": [2.0]}))["budget"].tolist() == [2.0]
    assert computed == []
    assert with_computed(points_of(own))["step_size"].tolist() == [0.4, 0.5]


def test_a_condition_on_the_column_computes_it_first(sweep, computed):
    assert points_of(select(sweep, "step_size < 0.25 and budget > 1"))["budget"].tolist() == [2.0]
    assert computed == [1.0, 2.0, 3.0]


def test_points_have_it_wherever_they_are_compared_or_run(sweep, computed):
    tasks: dict[str, Task] = {name: make(0) for name, make in sweep.tasks.items()}
    (points,) = resolve(sweep, tasks).values()
    assert [point.args["step_size"] for point in points] == [0.1, 0.2, 3 * 0.1]
    moved = on_task(sweep, "other", next(iter(sweep.tasks.values())))
    assert points_of(moved)["step_size"].tolist() == [0.1, 0.2, 3 * 0.1]


def test_no_sweep_calibrates_by_loss_distributions_before_it_has_to(monkeypatch):
    asked = []
    monkeypatch.setattr(cells, "_noise", lambda *key: asked.append(key) or 1.0)
    sweeps = [make("laptop") for make in pfl.SWEEPS.values()]
    assert sum(len(points_of(sweep)) for sweep in sweeps) > 300
    assert asked == []
    one = select(sweeps[0], "dataset == 'MNIST' and num_epochs == 1 and target_epsilon == 2.93")
    assert all((with_computed(entry.points)["noise_multiplier"] == 1).all() for entry in one.entries.values())
    assert set(asked) == {(2.93, "mnist", 10, 1.0, 64)}
