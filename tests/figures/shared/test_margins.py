"""By how much a claim is met, against chance: differences over repetitions, intervals added, and what decides."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_silos import nonsmooth_runs, odd_even_runs, rounds_runs
from scipy import stats

from figures import PAPERS
from figures.claims import COLUMNS, join, judged, summary
from figures.shared.margins import APART, COUNTED, ONE, PAIRED, Margin, apart, measured, paired, tightest
from figures.shared.verdicts import UNTESTABLE, verdict

VALUES = [1.0, 2.0, 6.0, 7.0, 9.0]


def test_paired_is_the_t_interval_of_the_differences():
    found = paired(pd.Series(VALUES), "points")
    low, high = stats.t.interval(0.95, 4, loc=5, scale=stats.sem(VALUES))
    assert found == Margin(5.0, "points", PAIRED, pytest.approx((high - low) / 2))
    assert found.clear
    assert str(found) == f"+5 ± {(high - low) / 2:.2g} points, beyond chance (paired over repetitions)"


def test_a_difference_within_its_interval_is_said_to_be():
    found = paired([-1.0, 1.5], "points")
    assert found.clear is False
    assert "within chance" in str(found)


def test_what_diverged_misses_and_what_wins_against_it_has_no_bound():
    assert paired([1.0, np.nan], "points").value == -math.inf
    assert paired([1.0, -math.inf, math.inf], "points").value == -math.inf
    assert paired([1.0, math.inf], "points").value == math.inf
    assert measured(np.nan, "points", COUNTED).value == -math.inf
    assert str(paired([math.nan], "points")).startswith("missed without bound (")
    assert str(paired([math.inf], "points")).startswith("met without bound (")


def test_one_repetition_says_nothing_of_chance():
    found = paired([2.0], "points")
    assert (found.basis, found.clear) == (ONE, None)
    assert str(found) == "+2 points (one repetition)"


def test_independent_intervals_add_in_squares_and_hold_for_independent_draws():
    """Over many pairs of independent means the interval covers the true difference, 0, about as often as it says."""
    assert apart(0.5, 3.0, 4.0, "points") == Margin(0.5, "points", APART, 5.0)
    draws = np.random.default_rng(3).normal(size=(2, 400, 30))
    means, halves = draws.mean(-1), stats.t.ppf(0.975, 29) * draws.std(-1, ddof=1) / math.sqrt(30)
    clear = sum(bool(apart(*cell, "").clear) for cell in zip(means[0] - means[1], *halves, strict=True))
    assert clear / 400 < 0.08
    shared = paired(means[0] - (means[0] - 0.1), "")  # what pairs share does not count
    assert shared.clear


def test_the_tightest_is_the_most_clearly_missed_or_the_least_clear():
    missed, doubtful, clear = (Margin(value, "points", PAIRED, 1.0) for value in (-3.0, 0.5, 8.0))
    assert tightest([clear, doubtful, missed]).value == -3.0
    assert tightest([clear, doubtful]).value == 0.5
    # What counts is the value against its own noise, also across units; without noise the value itself.
    assert tightest([Margin(0.9, "points", PAIRED, 0.1), Margin(5.0, "rounds", PAIRED, 2.0)]).unit == "rounds"
    assert tightest([Margin(0.2, "cells", COUNTED), clear]).unit == "cells"
    assert tightest([clear, doubtful, missed]).among == 3
    assert tightest([]) is None
    assert tightest([Margin(np.nan, "points", PAIRED)]) is None


def test_a_verdict_has_the_margin_that_decides():
    assert verdict(True, "said").margin is None
    assert verdict(False, "said", [paired([1.0], "points"), paired([-1.0], "points")]).margin.value == -1.0


# ---- The joint table ----


def test_claims_with_runs_say_where_their_data_are_from_and_their_margin():
    runs = {"isrl_odd_even": odd_even_runs(), "isrl_nonsmooth": nonsmooth_runs(), "isrl_rounds": rounds_runs()}
    table = judged("isrl", runs)
    assert (table[["margin", "source", "scale"]] != "").all(axis=None)
    assert (table["repetitions"].astype(int) > 1).all()
    assert table["margin"].str.contains(r"±|without bound|counted in|read off").all()


def test_every_claim_says_how_in_one_line():
    for paper in PAPERS.values():
        for claim in paper.claims:
            assert claim.how.strip() == claim.how
            assert "\n" not in claim.how
            assert len(claim.how) > 20, claim


def test_the_joint_table_has_every_claim_and_no_empty_cell_but_those_without_runs(tmp_path, capsys):
    tables = [judged(paper, {}) for paper in PAPERS]
    table = join(tables, tmp_path)
    assert list(table) == COLUMNS
    assert list(table["claim"]) == [claim.text for paper in PAPERS.values() for claim in paper.claims]
    assert set(table["verdict"]) == {UNTESTABLE}
    assert (table[["paper", "where", "claim", "how", "verdict", "evidence"]] != "").all(axis=None)
    counts = summary(table)
    assert list(counts["paper"]) == list(PAPERS)
    assert counts.drop(columns="paper").to_numpy().sum() == len(table)
    lines = capsys.readouterr().out.splitlines()
    for paper in PAPERS.values():
        assert f"{paper.name}: holds 0, fails 0, {UNTESTABLE} {len(paper.claims)}" in lines
    written = pd.read_csv(tmp_path / "claims.csv", keep_default_na=False, dtype={"repetitions": str})
    pd.testing.assert_frame_equal(written, table, check_dtype=False)
    rows = (tmp_path / "claims.md").read_text().splitlines()
    assert sum(row.startswith("| ") for row in rows) == len(counts) + len(table) + 4
