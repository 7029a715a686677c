"""A sweep moved to another task: the columns and entries that stay."""

from dataclasses import replace

import pandas as pd
from tiny_sweeps import TASK, points_of, private_sgd, resolved, walks

from bench.sweeps.spec import grid, on_task


def test_on_task_keeps_arguments_and_drops_what_differed_in_the_task_alone():
    points = pd.concat(
        [points_of(private_sgd()).assign(task=name, delta_std=std) for name, std in (("a", 1), ("b", 2))]
    )
    sweep = private_sgd(points=points.reset_index(drop=True), tasks={"a": TASK, "b": TASK})
    moved = on_task(sweep, "other", TASK)
    assert (moved.name, list(moved.tasks)) == ("tiny_on_other", ["other"])
    pd.testing.assert_frame_equal(points_of(moved), points_of(private_sgd())[list(points_of(moved))])
    assert len(resolved(moved)["other"]) == 12


def test_on_task_keeps_labels_that_say_something_of_the_arguments():
    points = grid(step_size=[0.1, 0.2], task=["one", "two"])
    points = points.assign(size=points["task"].map(len) + (points["task"] == "two"), kind=points["step_size"].map(str))
    sweep = walks(points=points)._replace(tasks={"one": TASK, "two": TASK})
    moved = on_task(sweep, "other", TASK).entries["Walk"].points
    assert moved.to_dict("records") == [{"step_size": 0.1, "kind": "0.1"}, {"step_size": 0.2, "kind": "0.2"}]


def test_on_task_drops_labels_that_are_true_on_the_sweep_s_own_tasks_alone():
    points = grid(step_size=[0.1, 0.2]).assign(target_epsilon=[1.0, 2.0], kind=["a", "b"])
    sweep = walks(points=points)._replace(task_labels=("target_epsilon",))
    assert list(on_task(sweep, "other", TASK).entries["Walk"].points) == ["step_size", "kind"]
    assert "target_epsilon" in on_task(walks(points=points), "other", TASK).entries["Walk"].points


def test_on_task_makes_one_entry_of_those_that_differed_in_the_task_alone():
    points = grid(step_size=[0.1, 0.2])
    sweep = walks(points=points.assign(task="a"))._replace(tasks={"a": TASK, "b": TASK})
    one = sweep.entries["Walk"]
    other = replace(one, free=points.iloc[::-1].assign(task="b"), seeds=2)
    more = replace(one, free=grid(step_size=0.3, task="b"))
    moved = on_task(sweep._replace(entries={"One": one, "Other": other, "More": more}), "new", TASK)
    assert list(moved.entries) == ["walk", "More"]
    assert moved.entries["walk"].seeds is None  # as many as the sweep has, which is more than 2
    assert sorted(moved.entries["walk"].points["step_size"]) == [0.1, 0.2]
