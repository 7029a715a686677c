"""The spread over seeds of cells of Bhaskar et al., pooled over cells of a kind, and the margins of differences."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_points import finish
from scipy import stats

from figures.pfl.cells import KEYS, Cells, Spread, kind, of_runs
from figures.shared.margins import ONE, PAIRED

LOW, HIGH, LAST = (1.2, 1, 10, "SN+Lin"), (2.93, 2, 10, "SN+Lin"), (1.2, 20, 10, "SN+Lin")
ALONE = (1.2, 20, 10, "CNN+TS")


def cells(collapsing=(), **runs):
    """Of accuracies in percent by name of a cell, [seed]; None is a seed that was not run, NaN one that diverged."""
    names = {"low": LOW, "high": HIGH, "last": LAST, "alone": ALONE}
    found = [(*names[name], *own) for name, values in runs.items() for own in enumerate(values) if own[1] is not None]
    rows = pd.DataFrame(found, columns=[*KEYS, "seed", "test_accuracy"])
    rows["test_accuracy"] /= 100
    rows["sampler"] = np.where(np.isfinite(rows["target_epsilon"]), "poisson", "in_order")
    known = {"dataset": "MNIST", "task": "mnist", "rounds": 1, "num_rounds": 1, "total_epochs": 20}
    return of_runs(finish(rows, "pfl_splits", **known), "MNIST", collapsing)


def test_cells_of_a_kind_share_model_privacy_clients_and_about_the_local_epochs():
    assert kind(LOW) == kind(HIGH) == kind((1.2, 2, 100, "SN+Lin"))
    others = [LAST, (math.inf, 1, 10, "SN+Lin"), (1.2, 1, 1, "SN+Lin"), (1.2, 1, 10, "SN+CNN")]
    others += [(1.2, epochs, 10, "SN+Lin") for epochs in (5, 10)]
    assert len({kind(key) for key in (LOW, *others)}) == 7
    assert kind((1.2, 4, 10, "SN+Lin")) == kind((1.2, 5, 10, "SN+Lin"))


def test_the_spread_is_pooled_by_degrees_of_freedom_over_cells_of_a_kind():
    found = cells(low=[90, 92], high=[95, 96, 97], last=[80]).spreads
    assert found == {kind(LOW): Spread(pytest.approx(math.sqrt((2 + 2) / 3)), 3, 2)}


def test_runs_that_collapsed_are_left_out_of_the_models_that_are_named():
    runs = {"alone": [97, 11, math.nan, 95, 93, 48], "low": [90, 10, 92]}
    left = cells(collapsing=[ALONE[3]], **runs)
    assert left.values[ALONE].tolist() == pytest.approx([97, 95, 93, 48])  # the median with 0 for NaN is 70.5
    assert len(left.values[LOW]) == 3
    assert left.spreads[kind(ALONE)].freedom == 3
    assert cells(**runs).values[ALONE].mean() == pytest.approx(344 / 6)


def test_a_single_run_and_a_cell_in_which_most_collapse_are_not_left_out():
    left = cells(collapsing=[ALONE[3], LOW[3]], alone=[11, 97, 9.7, 9.8], low=[10])
    assert len(left.values[ALONE]) == 4
    assert len(left.values[LOW]) == 1


def test_three_shared_seeds_are_compared_run_by_run():
    found = cells(low=[90, 91, 95], high=[91, 93, 96]).difference({HIGH: 1, LOW: -1}, -0.5)
    low, high = stats.t.interval(0.95, 2, loc=11 / 6, scale=stats.sem([1.5, 2.5, 1.5]))
    assert (found.value, found.half) == pytest.approx((11 / 6, (high - low) / 2))
    assert (found.basis, found.repetitions) == (PAIRED, 3)


@pytest.mark.parametrize(
    "runs",
    [{"low": [90, 92], "high": [95, 96]}, {"low": [90, 92, 91], "high": [None, 95, 96]}],
    ids=["two seeds", "other seeds"],
)
def test_others_are_compared_by_the_pooled_spread(runs):
    """Of one kind: Student's test with pooled variance, by SciPy."""
    there = {name: [value for value in values if value is not None] for name, values in runs.items()}
    found = cells(**runs).difference({HIGH: 1, LOW: -1})
    expected = stats.ttest_ind(there["high"], there["low"], alternative="greater")
    assert found.p_holds == pytest.approx(expected.pvalue)
    assert found.p_fails == pytest.approx(1 - expected.pvalue)
    assert found.basis == "spread pooled over 2 cells"
    assert found.repetitions == 2


def test_two_kinds_are_compared_by_welch():
    low, last = [90.0, 92.0, 91.5], [80.0, 86.0]
    found = cells(low=low, last=last).difference({LOW: 1, LAST: -1})
    assert found.p_holds == pytest.approx(stats.ttest_ind(low, last, equal_var=False, alternative="greater").pvalue)
    assert found.deviation == pytest.approx(math.sqrt(np.var(low, ddof=1) + np.var(last, ddof=1)))


def test_a_single_run_has_the_spread_of_cells_like_it_or_none():
    known = cells(low=[90, 92, 91], high=[95], last=[70], alone=[20])
    found = known.difference({HIGH: 1, LOW: -1})
    assert found.half == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(1 + 1 / 3))
    alone = known.difference({LAST: 1, ALONE: -1})
    assert (alone.value, alone.basis, alone.p_holds, alone.p_fails) == (pytest.approx(50), ONE, 1.0, 1.0)
    assert math.isnan(alone.half)


def test_what_was_not_run_has_no_margin_and_is_remembered():
    found = cells(low=[90, 92])
    assert math.isnan(found.difference({LOW: 1, HIGH: -1}).value)
    assert found.asked - found.values.keys() == {HIGH}


def test_what_diverged_counts_as_nothing_right():
    found = cells(low=[90, math.nan], high=[95, math.inf])
    assert (found.values[LOW].mean(), found.values[HIGH].mean()) == (45.0, 47.5)


def test_the_pooled_error_covers_as_often_as_it_says():
    """Normal draws with a known spread, a cell of one run beside four of two: the interval misses in about 5 %."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(400):
        spread = math.sqrt(rng.normal(size=(4, 2)).var(axis=1, ddof=1).mean())
        value = rng.normal() - rng.normal() / math.sqrt(2)
        made = {LOW: pd.Series([value]), HIGH: pd.Series([0.0, 0.0])}
        found = Cells("MNIST", made, {kind(LOW): Spread(spread, 4, 4)}).difference({LOW: 1, HIGH: -1})
        missed += abs(value) > found.half
    assert 0.02 < missed / 400 < 0.08
