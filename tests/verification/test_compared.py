"""What counts as the same run: equal, rounded, chaotic or different."""

import numpy as np
import pandas as pd
import pytest

from bench.verification.compared import CHAOTIC, DIFFERENT, EQUAL, ROUNDED, compared

ROUNDS = [0, 10, 20]


def rows(**columns) -> pd.DataFrame:
    own = {"rounds": ROUNDS, "test_loss": [1.0, 0.5, 0.4], "test_accuracy": [0.1, 0.5, 0.7], "epsilon": [0.0, 1.0, 2.0]}
    return pd.DataFrame(own | {"privacy_unit": "user", "commit": "abc", "wall_s": 1.0} | columns)


def never():
    raise AssertionError("a run that is equal up to rounding needs no further run")


def of(there, here, computed=None, moved=never, repetitions=never):
    return compared(there, here, computed or {}, moved, repetitions)


def test_the_same_rows_are_equal_whenever_they_were_made():
    assert of(rows(), rows(commit="def", wall_s=7.0)).outcome == EQUAL
    diverged = rows(test_loss=[1.0, np.nan, np.inf])
    assert of(diverged, diverged.copy()).outcome == EQUAL


def test_the_last_digits_are_rounding_and_the_largest_is_named():
    found = of(rows(), rows(test_loss=[1.0, 0.50002, 0.40001], test_accuracy=[0.1, 0.501, 0.7]))
    assert found.outcome == ROUNDED
    assert found.largest.column == "test_accuracy"
    assert found.largest.rounds == 10


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("epsilon", [0.0, 1.0, 2.0 * (1 + 1e-5)]),
        ("privacy_unit", "record"),
        ("test_loss", [1.0, 0.5, np.nan]),
        ("test_loss", [1.0, np.inf, 0.4]),
    ],
)
def test_what_no_rounding_explains_is_different(column, values):
    found = of(rows(), rows(**{column: values}))
    assert found.outcome == DIFFERENT
    assert found.largest.column == column


def test_a_column_that_is_gone_and_other_rounds_are_different():
    assert of(rows(), rows().drop(columns="test_loss")).outcome == DIFFERENT
    assert of(rows(), rows().head(2)).outcome == DIFFERENT


def test_a_computed_number_is_compared_with_what_is_computed_here():
    there = rows(noise_multiplier=1.5)
    assert of(there, there.copy(), {"noise_multiplier": 1.5 + 1e-9}).outcome == ROUNDED
    assert of(there, there.copy(), {"noise_multiplier": 1.4999}).outcome == DIFFERENT


def repetitions(spread: float) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.concat([rows(test_loss=np.array([1.0, 0.5, 0.4]) + spread * rng.normal(size=3)) for _ in range(8)])


@pytest.mark.parametrize(
    ("moved_by", "spread", "outcome"),
    [
        (0.02, 0.05, CHAOTIC),  # the last digits matter as much, and repetitions differ by more
        (1e-7, 0.05, DIFFERENT),  # the last digits do not matter, so something else does
        (0.02, 0.002, DIFFERENT),  # beyond all repetitions
    ],
)
def test_a_chaotic_run_is_judged_by_its_repetitions(moved_by, spread, outcome):
    here = rows(test_loss=[1.0, 0.52, 0.42])
    moved = rows(test_loss=np.array([1.0, 0.52, 0.42]) + moved_by)
    assert of(rows(), here, moved=lambda: moved, repetitions=lambda: repetitions(spread)).outcome == outcome


def test_a_score_that_is_reported_from_the_first_round_on_is_judged_from_there():
    there, here, moved = (rows(clipped=[np.nan, 0.45 + by, 0.4 + by]) for by in (0.0, 0.02, 0.03))
    rng = np.random.default_rng(0)
    others = pd.concat([rows(clipped=[np.nan, *(np.array([0.45, 0.4]) + 0.05 * rng.normal(size=2))]) for _ in range(8)])
    assert of(there, here, moved=lambda: moved, repetitions=lambda: others).outcome == CHAOTIC
    assert of(there, here, moved=lambda: here, repetitions=lambda: others).outcome == DIFFERENT


def test_where_all_repetitions_agree_rounding_is_no_difference():
    """As before the first round, whose loss is that of the model that all start from."""
    here, moved = (rows(test_loss=[1.0 + 1e-6, 0.5 + by, 0.4 + by]) for by in (0.02, 0.03))
    alike = repetitions(0.05).assign(test_loss=lambda table: table["test_loss"].where(table["rounds"] > 0, 1.0))
    assert of(rows(), here, moved=lambda: moved, repetitions=lambda: alike).outcome == CHAOTIC
    beyond = rows(test_loss=[1.001, 0.52, 0.42])
    assert of(rows(), beyond, moved=lambda: moved, repetitions=lambda: alike).outcome == DIFFERENT


@pytest.mark.parametrize(("moved_by", "outcome"), [(0.006, CHAOTIC), (0.004, DIFFERENT), (1e-7, DIFFERENT)])
def test_without_repetitions_the_last_digits_decide_alone(moved_by, outcome):
    """More strictly: the difference, .02, is within four times of what they do, and not within thirty times."""
    here = rows(test_loss=[1.0, 0.52, 0.42])
    moved = rows(test_loss=np.array([1.0, 0.52, 0.42]) + moved_by)
    assert of(rows(), here, moved=lambda: moved, repetitions=rows).outcome == outcome
