"""The timed grids of Bietti et al. 2022 are PPSGD's published points, whatever else their sweeps have."""

import pytest
from stand_in_tasks import stand_in

from bench.papers import SWEEPS
from bench.perf import ppsgd


@pytest.mark.parametrize(("name", "clip_norm"), [("ppsgd_digits", 10), ("ppsgd_tags_made_up", 0.01)])
def test_only_published_points_are_timed(name, clip_norm, monkeypatch):
    sweep = SWEEPS[name]("paper")
    assert len(sweep.entries) > 1
    made = {task: stand_in(make, monkeypatch) for task, make in sweep.tasks.items()}
    sweep = sweep._replace(tasks={task: lambda trial, task=task, **_: made[task] for task in made})
    task, points = ppsgd.published(sweep, clip_norm)
    assert task is made[next(iter(made))]
    assert len(points) > 100
    assert {point.algorithm for point in points} == {"PPSGD"}
    assert {point.args["clip_norm"] for point in points} == {clip_norm}
