"""By how much a claim is met, against chance: tests of one comparison, of several, and what would decide."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_silos import heterogeneous_runs, nonsmooth_runs, odd_even_runs, risk, rounds_runs
from scipy import stats

from figures import PAPERS
from figures.claims import COLUMNS, join, judged, summary
from figures.shared.margins import LEVEL, ONE, NotTestable, apart, computed, every, of_mean, paired, some, within
from figures.shared.verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, verdict

VALUES = [1.0, 2.0, 6.0, 7.0, 9.0]


def half_of(values):
    low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values))
    return (high - low) / 2


# ---- One comparison ----


def test_paired_is_the_t_test_of_the_differences():
    margin = paired(pd.Series(VALUES), "points")
    assert (margin.value, margin.half) == (5.0, pytest.approx(half_of(VALUES)))
    assert margin.p_holds == pytest.approx(stats.ttest_1samp(VALUES, 0, alternative="greater").pvalue)
    assert margin.p_fails == pytest.approx(stats.ttest_1samp(VALUES, 0, alternative="less").pvalue)
    assert str(margin) == f"+5 ± {half_of(VALUES):.2g} points (paired over repetitions, 5)"
    assert margin.to_decide == ""


@pytest.mark.parametrize("shift", [-6.0, -4.0, -1.0, 0.0, 2.0])
def test_it_is_decided_just_where_the_interval_is_on_one_side_of_zero(shift):
    values = np.array(VALUES) + shift
    outcome = verdict(paired(values, "points"), "").outcome
    low, high = values.mean() - half_of(values), values.mean() + half_of(values)
    assert outcome == (HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED)


def test_verdicts_on_no_difference_are_wrong_as_rarely_as_said():
    draws = np.random.default_rng(4).normal(size=(2000, 5))
    outcomes = pd.Series([verdict(paired(draw, ""), "").outcome for draw in draws]).value_counts(normalize=True)
    assert outcomes[HOLDS] < 0.035
    assert outcomes[FAILS] < 0.035


def test_the_repetitions_that_would_decide():
    """With so many, of this mean and spread, the interval just leaves 0."""
    values = np.array([-1.0, 1.5])
    needed = paired(values, "points").needed
    for count, outside in ((needed, True), (needed - 1, False)):
        half = stats.t.ppf(1 - LEVEL, count - 1) * values.std(ddof=1) / math.sqrt(count)
        assert (half < 0.25) == outside
    assert paired(values, "points").to_decide == f"about {needed:.0f} repetitions"
    assert paired([-1.0, 1.0], "points").to_decide == "more than 10,000 repetitions"


def test_what_diverged_misses_and_what_wins_against_it_has_no_bound():
    assert paired([1.0, np.nan], "points").value == -math.inf
    assert paired([1.0, -math.inf, math.inf], "points").value == -math.inf
    assert paired([math.inf, math.inf], "points").value == math.inf
    assert computed(np.nan, "points").value == -math.inf
    assert verdict(paired([math.nan], "points"), "").outcome == FAILS
    assert verdict(paired([math.inf, math.inf], "points"), "").outcome == HOLDS
    assert str(paired([math.nan], "points")).startswith("missed without bound (")
    assert str(paired([math.inf, math.inf], "points")).startswith("met without bound (")


def test_one_diverged_competitor_decides_nothing():
    """The other repetitions decide whether the claim holds, and nothing decides that it fails."""
    assert verdict(paired([math.inf], "points"), "").outcome == UNDECIDED
    assert verdict(paired([math.inf, 1.0], "points"), "").outcome == UNDECIDED
    clearly, missed = paired([1.0, math.inf, 1.1, 1.2], "points"), paired([-1.0, math.inf, -1.1, -1.2], "points")
    assert verdict(clearly, "").outcome == HOLDS
    assert (clearly.value, clearly.p_holds) == (pytest.approx(1.1), paired([1.0, 1.1, 1.2], "points").p_holds)
    assert "without 1 of 4 in which the other diverged, 3)" in str(clearly)
    assert verdict(missed, "").outcome == UNDECIDED
    rng = np.random.default_rng(3)
    draws = np.where(rng.random((2000, 5)) < 0.1, math.inf, rng.normal(size=(2000, 5)))
    assert np.isinf(draws).any(axis=1).mean() > 0.3
    assert np.mean([paired(draw, "").p_holds < LEVEL for draw in draws]) < 0.035


def test_equal_rounded_scores_are_not_certain():
    """Two differences whose true mean is 0 are often the same after rounding, and not 0: the grid is their spread."""
    assert verdict(paired([0.1, 0.1], "points", grid=0.1), "").outcome == UNDECIDED
    assert paired([0.1, 0.1], "points", grid=0.1).to_decide != ""
    assert paired(VALUES, "points", grid=0.1) == paired(VALUES, "points")
    draws = np.random.default_rng(5).normal(size=(2000, 2)).round()
    assert (draws[:, 0] == draws[:, 1])[draws.any(axis=1)].mean() > 0.1
    outcomes = [verdict(paired(draw, "", grid=1.0), "").outcome for draw in draws]
    assert outcomes.count(HOLDS) / 2000 < 0.035
    assert outcomes.count(FAILS) / 2000 < 0.035


def test_one_repetition_decides_nothing():
    for margin in (
        paired([2.0], "points"),
        of_mean(2.0, math.nan, 1, "points"),
        apart(2.0, (1.0, 5), (0, 1), "points"),
    ):
        assert (margin.basis, margin.to_decide) == (ONE, "further repetitions")
        assert verdict(margin, "").outcome == UNDECIDED
    assert str(paired([2.0], "points")) == "+2 points (one repetition)"


def test_two_independent_means_are_tested_by_welch():
    first, second = np.random.default_rng(1).normal(size=6), 1 + 3 * np.random.default_rng(2).normal(size=9)
    margin = apart(first.mean() - second.mean(), (half_of(first), 6), (half_of(second), 9), "points")
    tested = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    assert margin.p_holds == pytest.approx(tested.pvalue)
    # What pairs share does not count.
    assert paired(first - (first - 0.1), "").p_holds < 1e-9


def test_being_alike_is_shown_not_assumed():
    """A difference of 0 with a wide interval is undecided, with a narrow one alike, and a clear one is not."""
    assert verdict(within(0.0, 5.0, 5, 1.0, "points"), "").outcome == UNDECIDED
    assert verdict(within(-0.2, 0.5, 5, 1.0, "points"), "").outcome == HOLDS
    assert verdict(within(-3.0, 0.5, 5, 1.0, "points"), "").outcome == FAILS
    assert within(-0.2, 0.5, 5, 1.0, "points").value == pytest.approx(0.8)


# ---- Several ----


def clear(value, half=0.5):
    return of_mean(value, half, 5, "points")


def test_every_holds_where_all_hold_and_fails_where_one_fails():
    assert verdict(every([clear(1), clear(3)]), "").outcome == HOLDS
    assert verdict(every([clear(0.3), clear(3)]), "").outcome == UNDECIDED
    assert verdict(every([clear(-3), clear(3)]), "").outcome == FAILS
    assert every([clear(1), clear(3)]).value == 1
    assert every([clear(-3), clear(3)]).value == -3
    assert every([clear(1), clear(3)]).among == 2


def test_every_corrects_what_is_missed_for_the_number_of_comparisons():
    missed = clear(-0.6)
    assert verdict(missed, "").outcome == FAILS
    many = every([missed, *(clear(3) for _ in range(19))])
    assert many.p_fails == pytest.approx(20 * missed.p_fails)
    assert verdict(many, "").outcome == UNDECIDED
    assert many.needed > missed.needed


def test_some_is_the_mirror_image_of_every():
    margins = [clear(value) for value in (-2.0, -0.4, 0.7)]
    mirrored = [clear(-margin.value) for margin in margins]
    found, image = some(margins), every(mirrored)
    assert (found.p_holds, found.p_fails) == (pytest.approx(image.p_fails), pytest.approx(image.p_holds))
    assert (found.value, found.needed) == (-image.value, image.needed)


def test_the_best_of_many_that_are_alike_is_no_proof():
    """Of 40 comparisons without any difference, the best alone would hold in two thirds of all cases."""
    rng, outcomes = np.random.default_rng(8), []
    for _ in range(200):
        outcomes.append(verdict(some(paired(rng.normal(size=5), "") for _ in range(40)), "").outcome)
    assert outcomes.count(HOLDS) / 200 < 0.06


def test_several_nest():
    margin = every([some([clear(-3), clear(2)]), some([clear(1), clear(-1)])])
    assert verdict(margin, "").outcome == HOLDS
    assert margin.among == 4


def test_nothing_to_compare_is_said():
    with pytest.raises(NotTestable, match="no repetition has everything that is compared"):
        every([paired([], "points")])


def test_edges_go_with_what_rests_on_them():
    first, second = clear(1).on("a: s = 1, the smallest tried"), clear(3).on("b: s = 1, the smallest tried", "")
    assert every([first, second]).rests_on == "s = 1, the smallest tried (a, b)"
    assert some([first, second]).rests_on == "s = 1, the smallest tried (b)"  # the other is not needed
    assert clear(1).rests_on == ""


def test_the_deciding_one_is_named_by_all_that_it_is_part_of():
    both = every([clear(3).named("SN+Lin", ""), clear(-2).named("CNN+RL")]).named("MNIST")
    assert both.comparison == "MNIST, CNN+RL"
    assert "(the deciding one of 2: MNIST, CNN+RL; " in str(both)
    assert some([clear(3).named("first"), clear(-2).named("second")]).comparison == "first"
    assert "made up" not in str(clear(1).named("made up"))  # a single comparison is what the claim says
    assert "(the deciding one of 2; " in str(every([clear(1), clear(2)]))


# ---- The joint table ----


def test_claims_with_runs_say_where_their_data_are_from_and_their_margin():
    runs = {"isrl_odd_even": odd_even_runs(), "isrl_nonsmooth": nonsmooth_runs(), "isrl_rounds": rounds_runs()}
    runs["isrl_heterogeneity"] = heterogeneous_runs(lambda name, spread, *rest: risk(name, 512, *rest))
    table = judged("isrl", runs)
    assert (table[["margin", "source", "scale"]] != "").all(axis=None)
    assert (table["repetitions"].astype(int) > 1).all()
    assert table["margin"].str.contains("repetitions, |mean, |without bound").all()
    assert not table["margin"].str.contains(r"the deciding one of \d+;").any()  # which is it?


def test_every_claim_says_how_in_one_line():
    for paper in PAPERS.values():
        for claim in paper.claims:
            assert claim.how.strip() == claim.how
            assert "\n" not in claim.how
            assert len(claim.how) > 20, claim


def test_the_joint_table_has_every_claim_and_no_empty_cell_but_those_without_runs(tmp_path, capsys):
    tables = {paper: judged(paper, {}) for paper in PAPERS}
    table = join(tables, tmp_path)
    assert list(table) == COLUMNS
    assert list(table["claim"]) == [claim.text for paper in PAPERS.values() for claim in paper.claims]
    assert set(table["verdict"]) <= {NOT_RUN, "settings not given"}
    assert (table[["paper", "claim", "how", "verdict", "evidence"]] != "").all(axis=None)
    counts = summary(table)
    assert list(counts["paper"]) == list(PAPERS)
    lines = capsys.readouterr().out.splitlines()
    assert not any("earlier" in line for line in lines)
    for paper in PAPERS.values():
        assert any(line.startswith(f"{paper.name}: ") for line in lines)
    written = pd.read_csv(tmp_path / "claims.csv", keep_default_na=False, dtype={"repetitions": str})
    pd.testing.assert_frame_equal(written, table, check_dtype=False)
    rows = (tmp_path / "claims.md").read_text().splitlines()
    assert sum(row.startswith("| ") for row in rows) == len(counts) + len(table) + 4
