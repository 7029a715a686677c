"""Grids of points, and smaller scales that try nothing which the larger ones do not."""

import math

import pytest
from made_sweeps import made
from slow_cases import MANY_POINTS, cases
from tiny_sweeps import WALK, points_of, private_sgd, sweep_of

from bench.algorithms import ppsgd
from bench.errors import InputError
from bench.papers import SWEEPS
from bench.store import SCALES
from bench.sweeps.spec import Entry, grid, parameters, thin


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
        ({"step_size": []}, {}, "nothing is left of sweep tiny"),
    ],
)
def test_thin_refuses_what_the_sweep_does_not_have(keep, changes, said):
    with pytest.raises(InputError, match=said):
        thin(private_sgd(), keep, **changes)


# What the smallest scale runs on in place of data that not everybody has.
WITHOUT_FILES = {"digits": "digits_by_style", "tags": "made_up_tags", "school": "made_up_schools"}


@pytest.mark.parametrize("name", cases(SWEEPS, slow=MANY_POINTS))
def test_smaller_scales_try_nothing_that_the_paper_scale_does_not(name):
    """Column by column, and point by point but for columns that a scale sets to one value (fewer passes)."""
    scales = {scale: made(name, scale) for scale in SCALES}
    for small, large in (("smoke", "laptop"), ("laptop", "paper")):
        for label, entry in scales[small].entries.items():
            table = scales[large].entries[label].points
            if "data_share" in table or name == "scaffold_steps":  # less data, so other noise
                table = table.drop(columns="noise_multiplier")
            set_to_one = [c for c in table if not set(entry.points[c].dropna().unique()) <= set(table[c].unique())]
            assert all(entry.points[column].nunique() == 1 for column in set_to_one), set_to_one
            assert not set(set_to_one) & set(parameters(entry.method)[1]), set_to_one
            columns = [column for column in table if column not in set_to_one]
            merged = entry.points[columns].merge(table[columns].drop_duplicates(), how="left", indicator=True)
            assert (merged["_merge"] == "both").all()
        assert scales[small].seeds <= scales[large].seeds
        names = set(scales[large].tasks)
        assert set(scales[small].tasks) <= names | {WITHOUT_FILES.get(name) for name in names}
        assert len(points_of(scales[small])) <= len(points_of(scales[large]))
    assert len(points_of(scales["smoke"])) < len(points_of(scales["paper"]))
