"""Tables of runs: grids, smaller scales, conditions that can only choose, arguments that are checked."""

import math

import numpy as np
import pandas as pd
import pytest
from tiny_sweeps import TASK, WALK, private_sgd, sweep_of, walks

from bench.algorithms import ppsgd
from bench.algorithms.base import Method, Scalar
from bench.errors import InputError
from bench.sweeps import SCALES, SWEEPS
from bench.sweeps.points import resolve
from bench.sweeps.spec import Entry, arguments, grid, on_task, parameters, select, thin

POINT = dict(step_size=0.1, personalization=1.0, clip_norm=1.0, noise_multiplier=1.0, num_sampled=4, batch_size=3)


def points_of(sweep):
    return pd.concat([entry.points for entry in sweep.entries.values()], ignore_index=True)


def test_grid_has_every_combination_once():
    table = grid(step_size=[0.1, 0.2], personalization=(0.0, 1.0, math.inf), sampler="fixed", num_sampled=4)
    assert len(table) == len(table.drop_duplicates()) == 6
    assert list(table) == ["step_size", "personalization", "sampler", "num_sampled"]
    assert (table["sampler"] == "fixed").all()


def test_thin_keeps_what_there_is_and_leaves_the_larger_one_alone():
    sweep = private_sgd()
    small = thin(sweep, keep={"personalization": [0.0, math.inf]}, seeds=1, num_rounds=5, num_sampled=3)
    assert (small.seeds, small.num_rounds, sweep.seeds, sweep.num_rounds) == (1, 5, 2, 20)
    assert set(points_of(small)["personalization"]) == {0.0, math.inf}
    assert (len(points_of(small)), len(points_of(sweep))) == (8, 12)
    assert set(points_of(small)["num_sampled"]) == {3}
    assert set(points_of(sweep)["num_sampled"]) == {4}


def test_thin_merges_points_that_became_the_same():
    assert len(points_of(thin(private_sgd(), step_size=0.1))) == 6


def test_thin_keeps_entries_without_the_column_and_drops_those_without_the_value():
    points = points_of(private_sgd())
    silent = points[points["noise_multiplier"] == 0].reset_index(drop=True)
    entries = {"PPSGD": Entry(ppsgd.METHOD, points), "no noise": Entry(ppsgd.METHOD, silent)}
    sweep = sweep_of(entries | {"walk": Entry(WALK, grid(step_size=[0.1, 0.2]))})
    small = thin(sweep, keep={"noise_multiplier": [1.0]})
    assert {name: len(entry.points) for name, entry in small.entries.items()} == {"PPSGD": 6, "walk": 2}


@pytest.mark.parametrize(
    ("keep", "changes", "said"),
    [
        ({"step_size": [0.05, 0.3]}, {}, "has no step_size = 0.3"),
        ({"step_sise": [0.05]}, {}, "did you mean step_size"),
        ({}, {"num_round": 5}, "no column of sweep tiny is called 'num_round'"),
        ({"step_size": []}, {}, "nothing of sweep tiny is left"),
    ],
)
def test_thin_refuses_what_the_sweep_does_not_have(keep, changes, said):
    with pytest.raises(InputError, match=said):
        thin(private_sgd(), keep, **changes)


@pytest.mark.parametrize("name", SWEEPS)
def test_smaller_scales_try_nothing_that_the_paper_scale_does_not(name):
    """Column by column, and point by point but for columns that a scale sets to one value (fewer passes)."""
    scales = {scale: SWEEPS[name](scale) for scale in SCALES}
    for small, large in (("smoke", "laptop"), ("laptop", "paper")):
        for label, entry in scales[small].entries.items():
            table = scales[large].entries[label].points
            if "data_share" in table:  # less data, so other noise for the same epsilon
                table = table.drop(columns="noise_multiplier")
            set_to_one = [c for c in table if not set(entry.points[c].dropna()) <= set(table[c])]
            assert all(entry.points[column].nunique() == 1 for column in set_to_one), set_to_one
            assert not set(set_to_one) & set(parameters(entry.method)[1]), set_to_one
            columns = [column for column in table if column not in set_to_one]
            merged = entry.points[columns].merge(table[columns].drop_duplicates(), how="left", indicator=True)
            assert (merged["_merge"] == "both").all()
        assert scales[small].seeds <= scales[large].seeds
        assert set(scales[small].tasks) <= set(scales[large].tasks)
        assert len(points_of(scales[small])) <= len(points_of(scales[large]))
    assert len(points_of(scales["smoke"])) < len(points_of(scales["paper"]))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("step_size == 0.05", lambda t: t[t.step_size == 0.05]),
        ("personalization in (1, inf)", lambda t: t[t.personalization.isin([1, np.inf])]),
        ("personalization not in [0.0]", lambda t: t[t.personalization != 0]),
        (
            "0.04 < step_size <= 0.1 and noise_multiplier != 0",
            lambda t: t[(t.step_size < 0.1) & (t.noise_multiplier > 0)],
        ),
        (
            "not (step_size > 0.1) or personalization == inf",
            lambda t: t[(t.step_size < 0.1) | np.isinf(t.personalization)],
        ),
        ("~(step_size > 0.1) & (noise_multiplier < 1)", lambda t: t[(t.step_size < 0.1) & (t.noise_multiplier < 1)]),
        ("sampler == 'fixed' and num_sampled >= -4", lambda t: t),
        ("algorithm == 'PPSGD' and 1 == noise_multiplier", lambda t: t[t.noise_multiplier == 1]),
    ],
)
def test_select_chooses_the_points_that_pandas_would(where, expected):
    pd.testing.assert_frame_equal(
        points_of(select(private_sgd(), where)), expected(points_of(private_sgd())).reset_index(drop=True)
    )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("step_sise < 1", "did you mean step_size"),
        ("step_size <", "does not parse"),
        ("", "does not parse"),
        ("step_size > 7", "selects none"),
        ("step_size == nan", "selects none"),
        ("sampler < 3", "compares text with a number"),
        ("step_size", "no comparison"),
        ("1 == 1", "compared with no column"),
        ("step_size == [0.05]", "after `in` only"),
        ("step_size in 0.05", "a list after it"),
        ("step_size == 1 & batch_size == 3", "neither a column nor a value"),
        ("not " * 3000 + "step_size == 1", "does not parse"),
    ],
)
def test_a_bad_condition_is_one_line_with_the_columns(where, said):
    with pytest.raises(InputError, match=said) as caught:
        select(private_sgd(), where)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "where",
    [
        "__import__('os').system('touch {file}')",
        "@pd.io.common.os.system('touch {file}') == 0",
        "[open('{file}', 'w') for x in (1,)] == step_size",
        "(lambda: open('{file}', 'w'))() == step_size",
        "step_size.to_csv('{file}') == 1",
        "step_size == step_size.__class__",
        "step_size[0] == 0.05",
        "step_size == 9**9**9",
        "(step_size := 1) == 1",
        "f'{{open(0)}}' == sampler",
        "step_size if open('{file}', 'w') else 1",
    ],
)
def test_a_condition_can_do_nothing_but_choose(where, tmp_path):
    made = tmp_path / "made"
    with pytest.raises(InputError):
        select(private_sgd(), where.format(file=made))
    assert not made.exists()


def test_a_condition_on_a_column_of_one_method_selects_none_of_the_others():
    sweep = sweep_of(private_sgd().entries | walks().entries)
    assert set(select(sweep, "clip_norm == 10").entries) == {"PPSGD"}
    assert set(select(sweep, "algorithm == 'Walk'").entries) == {"Walk"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0: it must be at least 0"),
        ({"noise_multiplier": math.inf}, "noise_multiplier is inf"),
        ({"clip_norm": 0.0}, "clip_norm is 0.0: it must be positive"),
        ({"clip_norm": -math.inf}, "clip_norm is -inf"),
        ({"personalization": -0.1}, "personalization is -0.1"),
        ({"step_size": math.inf}, "step_size is inf: it must be positive and finite"),
        ({"step_size": 0}, "step_size is 0"),
        ({"step_size": math.nan}, "step_size is nan"),
        ({"step_size": "0.1"}, "step_size is 0.1: it must be a number"),
        ({"num_sampled": 2.5}, "num_sampled is 2.5: it must be a whole number"),
        ({"num_sampled": math.inf}, "num_sampled is inf: it must be a whole number"),
        ({"num_sampled": 0}, "num_sampled is 0: it must be at least 1"),
        ({"batch_size": None}, "batch_size is None: it must be a number"),
    ],
)
def test_a_value_out_of_range_is_refused(changes, said):
    assert arguments(ppsgd.METHOD, POINT)["step_size"] == 0.1
    with pytest.raises(InputError, match=said):
        arguments(ppsgd.METHOD, POINT | changes)


def test_arguments_are_plain_values_with_the_defaults_filled_in():
    given = arguments(ppsgd.METHOD, {"label": 3} | {name: np.float64(value) for name, value in POINT.items()})
    assert given["sampler"] == "fixed"
    assert "label" not in given
    assert (type(given["num_sampled"]), given["num_sampled"]) == (int, 4)
    assert (type(given["step_size"]), given["step_size"]) == (float, 0.1)


def test_a_missing_argument_is_named():
    with pytest.raises(InputError, match="the points of ppsgd have no column clip_norm"):
        arguments(ppsgd.METHOD, {name: value for name, value in POINT.items() if name != "clip_norm"})


def as_text(task, *, step_size: "Scalar", num_steps: "int" = 1):
    """As with `from __future__ import annotations`, where every annotation is a string."""


def nothing_traced(task, *, step_size: float):
    """A method that forgot `Scalar`."""


def test_which_arguments_are_traced_follows_from_the_annotations():
    assert parameters(Method(as_text, None, 1))[1] == {"step_size"}
    assert parameters(WALK)[1] == {"step_size", "noise_multiplier"}
    with pytest.raises(InputError, match="no argument of nothing_traced is annotated Scalar"):
        parameters(Method(nothing_traced, None, 1))


def resolved(sweep):
    return resolve(sweep, {name: make(0) for name, make in sweep.tasks.items()})


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
    other = one._replace(points=points.iloc[::-1].assign(task="b"), seeds=2)
    more = one._replace(points=grid(step_size=0.3, task="b"))
    moved = on_task(sweep._replace(entries={"One": one, "Other": other, "More": more}), "new", TASK)
    assert list(moved.entries) == ["walk", "More"]
    assert moved.entries["walk"].seeds is None  # as many as the sweep has, which is more than 2
    assert sorted(moved.entries["walk"].points["step_size"]) == [0.1, 0.2]


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (grid(step_size=[0.1, 0.1]), "the same point twice, Walk with .*'step_size': 0.1"),
        (grid(step_size=[0.1], task=["synthetc"]), "did you mean synthetic"),
        (grid(step_size=[0.1], seed=[1, 2]), "have a column seed"),
        (grid(step_size=[0.1], epsilon=[1.0, 2.0]), "have a column epsilon"),
    ],
)
def test_points_that_cannot_be_told_apart_or_placed_are_refused(points, said):
    with pytest.raises(InputError, match=said):
        resolved(walks(points=points))


def test_two_names_for_one_task_do_not_hide_a_point_given_twice():
    points = grid(step_size=[0.1], task=["a", "b"])
    with pytest.raises(InputError, match="the same point twice"):
        resolved(walks(points=points, tasks={"a": TASK, "b": TASK}))


def test_more_clients_than_there_are_cannot_be_sampled():
    points = points_of(private_sgd()).assign(num_sampled=13)
    with pytest.raises(InputError, match=r"num_sampled is 13\b.*12 clients"):
        resolved(private_sgd(points=points))


def test_rounds_must_be_a_multiple_of_the_evaluations():
    with pytest.raises(InputError, match="21 rounds of tiny are no positive multiple of eval_every = 5"):
        resolved(walks(num_rounds=21))


def test_a_points_identity_follows_from_everything_that_changes_its_rows():
    """Each change gives all points another id; what is not part of a point (seeds, notes) gives the same."""

    def ids(sweep):
        return {point.id for points in resolved(sweep).values() for point in points}

    base = ids(walks())
    assert base == ids(walks(seeds=9, notes="x"))
    assert base < ids(walks(steps=(0.1, 0.2, 0.3, 0.4, 0.5)))
    raised = WALK._replace(version=2)
    renamed = {"Other": Entry(WALK, grid(step_size=[0.1, 0.2, 0.3, 0.4]))}
    changed = [
        walks(num_rounds=25),
        walks(eval_every=10),
        walks(delta=1e-5),
        walks(tasks={"synthetic": lambda trial: TASK(trial, num_clients=13)}),
        walks(tasks={"synthetic": lambda trial: TASK(trial, delta_std=0.2)}),
        walks()._replace(entries={"Walk": Entry(raised, walks().entries["Walk"].points)}),
        walks()._replace(entries=renamed),
        walks(points=grid(step_size=[0.1, 0.2, 0.3, 0.4], panel="left")),
        walks(points=grid(step_size=[0.1, 0.2, 0.3, 0.4], noise_multiplier=2.0)),
    ]
    for sweep in changed:
        assert not base & ids(sweep)
