"""The spread over seeds of cells of Bhaskar et al., pooled over cells of a kind, and the margins of differences."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from figures.pfl.cells import KEYS, Cell, Cells, Spread, kind, near, of_runs, of_tables, pooled
from figures.shared.margins import ONE, PAIRED

LOW, HIGH, LAST = (1.2, 1, 10, "SN+Lin"), (2.93, 2, 10, "SN+Lin"), (1.2, 20, 10, "SN+Lin")
ALONE = (1.2, 20, 10, "CNN+TS")


def cells(collapsing=(), **runs):
    """Of accuracies in percent by name of a cell, [seed]; None is a seed that was not run, NaN one that diverged."""
    names = {"low": LOW, "high": HIGH, "last": LAST, "alone": ALONE}
    rows = [
        dict(zip(KEYS, names[name], strict=True)) | {"trial": seed, "seed": seed, "test_accuracy": value / 100}
        for name, values in runs.items()
        for seed, value in enumerate(values)
        if value is not None
    ]
    return of_runs(pd.DataFrame(rows).assign(dataset="MNIST"), "MNIST", collapsing)


def test_cells_of_a_kind_share_model_privacy_clients_and_about_the_local_epochs():
    assert kind(LOW) == kind(HIGH) == kind((1.2, 2, 100, "SN+Lin"))
    others = [LAST, (math.inf, 1, 10, "SN+Lin"), (1.2, 1, 1, "SN+Lin"), (1.2, 1, 10, "SN+CNN")]
    others += [(1.2, epochs, 10, "SN+Lin") for epochs in (5, 10)]
    assert len({kind(key) for key in (LOW, *others)}) == 7
    assert kind((1.2, 4, 10, "SN+Lin")) == kind((1.2, 5, 10, "SN+Lin"))


def test_the_spread_is_pooled_by_degrees_of_freedom_over_cells_of_a_kind():
    found = cells(low=[90, 92], high=[95, 96, 97], last=[80]).spreads
    assert found == {kind(LOW): Spread(pytest.approx(math.sqrt((2 + 2) / 3)), 3, 2)}


def test_runs_that_collapsed_are_left_out_of_the_models_that_are_named_and_counted():
    runs = {"alone": [97, 11, math.nan, 95, 93, 48], "low": [90, 10, 92]}
    left = cells(collapsing=[ALONE[3]], **runs)
    assert left.values[ALONE].runs.tolist() == pytest.approx([97, 95, 93, 48])  # the median with 0 for NaN is 70.5
    assert left.values[LOW].count == 3
    assert left.spreads[kind(ALONE)].freedom == 3
    assert (left.collapsed, left.diverged) == (0, 0)
    left.difference({ALONE: 1, LOW: -1})
    assert (left.collapsed, left.diverged) == (2, 0)
    kept = cells(**runs)
    kept.difference({ALONE: 1, LOW: -1})
    assert kept.values[ALONE].mean == pytest.approx(344 / 6)
    assert (kept.collapsed, kept.diverged) == (0, 1)


@pytest.mark.parametrize("alone", [[math.nan], [math.nan, math.nan, 97]])
def test_runs_that_diverged_and_are_not_left_out_count_as_diverged(alone):
    left = cells(collapsing=[ALONE[3]], alone=alone, low=[90])
    left.difference({ALONE: 1, LOW: -1})
    assert left.values[ALONE].count == len(alone)
    assert (left.collapsed, left.diverged) == (0, np.isnan(alone).sum())


def test_a_single_run_and_a_cell_in_which_most_collapse_are_not_left_out():
    left = cells(collapsing=[ALONE[3], LOW[3]], alone=[11, 97, 9.7, 9.8], low=[10])
    assert left.values[ALONE].count == 4
    assert left.values[LOW].count == 1


def test_three_shared_seeds_are_compared_run_by_run():
    found = cells(low=[90, 91, 95], high=[91, 93, 96]).difference({HIGH: 1, LOW: -1}, 0.5)
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
    assert alone.to_decide == "further repetitions"


def test_what_was_not_run_has_no_margin_and_is_remembered():
    found = cells(low=[90, 92])
    assert found.difference({LOW: 1, HIGH: -1}) is None
    assert found.missing() == [HIGH]


def test_what_diverged_counts_as_nothing_right():
    found = cells(low=[90, math.nan], high=[95, math.inf])
    assert (found.values[LOW].mean, found.values[HIGH].mean) == (45.0, 47.5)


def test_runs_that_diverged_are_counted_in_the_cells_that_were_asked_for():
    found = cells(low=[90, math.nan], high=[95, math.inf])
    assert found.diverged == 0
    found.difference({LOW: 1})
    assert found.diverged == 1
    found.difference({LOW: 1, HIGH: -1})
    assert found.diverged == 2


def test_published_cells_are_means_of_ten_runs_that_no_run_here_makes_more():
    spreads = {kind(LOW): Spread(0.5, 4, 2)}
    theirs = of_tables("MNIST", ["pfl_table2"], spreads)
    assert theirs.values[LOW].mean == pytest.approx(96.42)
    ours = Cells("MNIST", {LOW: Cell(95.42, 2, pd.Series([95.0, 95.84]))}, spreads)
    found = near(ours, theirs, LOW, 2.0)
    rounding = 0.01**2 / 12
    assert found.value == pytest.approx(1.0)
    error = math.sqrt(0.25 * (1 / 2 + 1 / 10) + rounding)
    assert found.half == pytest.approx(stats.t.ppf(0.975, 4) * error)
    assert found.p_holds == pytest.approx(stats.t.sf(1 / error, 4))
    assert (found.deviation, found.fixed) == pytest.approx((0.5, math.sqrt(0.025 + rounding)))
    fewest = next(n for n in range(2, 99) if stats.t.ppf(0.975, n - 1) * math.sqrt(0.25 / n + found.fixed**2) < 1)
    assert found.needed == fewest
    far = near(Cells("MNIST", {LOW: Cell(93.0, 2, pd.Series([93.0, 93.0]))}, spreads), theirs, LOW, 2.0)
    assert far.value < 0
    assert far.p_fails < 0.1 < far.p_holds


def test_the_pooled_error_covers_as_often_as_it_says():
    """Normal draws with a known spread, a cell of one run beside four of two: the interval misses in about 5 %."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(400):
        spread = math.sqrt(rng.normal(size=(4, 2)).var(axis=1, ddof=1).mean())
        parts = [(LOW, 1.0, Cell(0.0, 1, pd.Series([0.0]))), (HIGH, -1.0, Cell(0.0, 2, pd.Series([0.0, 0.0])))]
        value = rng.normal() - rng.normal() / math.sqrt(2)
        found = pooled(value, parts, {kind(LOW): Spread(spread, 4, 4)})
        missed += abs(value) > found.half
    assert 0.02 < missed / 400 < 0.08
