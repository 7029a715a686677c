"""The table and the picture of a comparison, and the files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tiny_comparison import SMALL, runs_of
from tiny_comparison import table_of_scores as table_of

from bench.analysis import significance
from bench.api import comparisons
from bench.comparison.report.page import page
from bench.comparison.report.table import brief, costs, in_a_line, latex, printed, privacy

SCORES = {"new": [0.5, 0.7, 0.9], "old": [0.4, 0.5, 0.6], "older": [0.1, 0.2, 0.3], "local": [0.25, 0.25, 0.25]}


FIVE = {"new": [0.5, 0.6, 0.7, 0.8, 0.9], "old": [0.38, 0.55, 0.6, 0.65, 0.82]}  # old is behind by 0.1 on average
FIVE |= {"older": [0.1, 0.2, 0.31, 0.4, 0.5], "local": [0.6, 0.1, 0.9, 0.2, 0.3]}


def heading(table):
    """The sentences above the table."""
    return page(table, pd.DataFrame(), []).splitlines()[0]


def test_gains_are_paired_and_ranks_count_everybody():
    table = table_of(runs_of(SCORES)).set_index("algorithm")
    assert table["best_baseline"].unique().tolist() == ["old"]
    # new - old is 0.1, 0.2, 0.3 on the three splits: mean 0.2, standard deviation 0.1, t(0.975, 2) = 4.3027.
    assert table.loc["new", "gain"] == pytest.approx(0.2)
    assert table.loc["new", "gain_high"] - table.loc["new", "gain"] == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)
    assert table["rank"].to_dict() == {"new": 1, "old": 2, "local": 3, "older": 4}


def test_the_gain_over_a_single_baseline_has_the_p_value_of_the_plain_test():
    table = table_of(runs_of(SCORES), baselines=("older",)).set_index("algorithm")
    assert set(table["best_baseline"]) == {"older"}
    # new - older is 0.4, 0.5, 0.6; old - older is 0.3 on every split.
    assert table.loc["new", "gain"] == pytest.approx(0.5)
    assert table.loc["old", "gain"] == pytest.approx(0.3)
    assert table.loc["older", "gain"] == 0
    # Nothing was chosen, so p is that of the plain test: 0.5 with an error of 0.1 / sqrt(3), on two degrees of freedom.
    assert table.loc["new", "gain_p"] == pytest.approx(stats.ttest_1samp([0.4, 0.5, 0.6], 0).pvalue)
    assert np.isnan(table.loc["older", "gain_p"])
    cells = printed(table.reset_index()).set_index("method")["ε = 1"]
    assert cells["older"].endswith("best baseline")


def test_a_method_that_protects_against_another_adversary_is_named():
    whole = table_of(runs_of(SCORES), weaker={"old": "outsiders"})
    assert privacy(whole) == (
        "Privacy: one user (add-or-remove one), against everybody, at delta = 0.0001. old: against outsiders."
    )
    assert privacy(whole) in heading(whole)
    assert privacy(table_of(runs_of(SCORES))).endswith("against everybody, at delta = 0.0001.")


def test_the_p_value_allows_for_the_choice_of_the_best_baseline():
    """new is compared with the best of three, so that a loss would count three times, but its gain does not; older is
    behind the best of the two others, so that its p is twice the one-sided one. The best itself is no difference."""
    table = table_of(runs_of(FIVE)).set_index("algorithm")
    one, two = (np.subtract(FIVE[name], FIVE["old"]) for name in ("new", "older"))
    assert table.loc["new", "gain_p"] == pytest.approx(stats.ttest_1samp(one, 0).pvalue)
    assert table.loc["older", "gain_p"] == pytest.approx(2 * stats.ttest_1samp(two, 0, alternative="less").pvalue)
    assert table.loc["old", "gain_p"] == 1
    behind = table_of(runs_of(FIVE | {"new": [score - 0.2 for score in FIVE["new"]]})).set_index("algorithm")
    assert behind.loc["new", "gain"] < 0
    assert behind.loc["new", "gain_p"] == pytest.approx(3 * stats.ttest_1samp(one - 0.2, 0).pvalue)


def test_a_difference_is_marked_where_it_is_beyond_chance_among_all_of_the_table():
    table = table_of(runs_of(FIVE)).set_index("algorithm")
    assert table["decided"].to_dict() == {"new": True, "old": False, "older": True, "local": False}
    assert "gain +0.1 [" in printed(table.reset_index()).to_string()
    assert printed(table.reset_index()).to_string().count("*") == 2
    # Among nine more methods, at three epsilons, a p of 0.004 is no longer small enough.
    more = {f"like {number}": FIVE["local"] for number in range(9)} | {name: FIVE[name] for name in ("new", "old")}
    many = pd.concat([runs_of(more, target=target) for target in (1.0, 2.0, 4.0)])
    assert not table_of(many).set_index("algorithm").loc["new", "decided"].any()


def test_fewer_than_five_splits_mark_nothing():
    few = {name: scores[:4] for name, scores in FIVE.items()}
    assert significance.FEWEST_SPLITS == 5
    table = table_of(runs_of(few))
    assert np.nanmin(significance.holm(table["gain_p"].to_numpy())) < significance.LEVEL
    assert not table["decided"].any()
    assert "fewer than 5 splits" in heading(table)
    assert "fewer than" not in heading(table_of(runs_of(FIVE)))


def test_splits_of_one_data_set_have_wider_intervals():
    """With a fifth of the data for the test the variance of a mean over five splits is 1/5 + 1/4, not 1/5."""
    apart, same = (table_of(runs_of(FIVE), test_ratio=ratio).set_index("algorithm") for ratio in (0.0, 0.25))
    half = (apart["gain_high"] - apart["gain_low"]).loc["new"] / 2
    assert half == pytest.approx(2.776445 * np.std(np.subtract(FIVE["new"], FIVE["old"]), ddof=1) / 5**0.5)
    assert (same["gain_high"] - same["gain_low"]).loc["new"] / 2 == pytest.approx(1.5 * half)
    assert same.loc["new", "gain_p"] > apart.loc["new", "gain_p"]
    assert same["gain"].equals(apart["gain"])
    words = heading(same.reset_index())
    assert "allows for splits that share their data (Nadeau and Bengio 2003)" in words
    assert "Nadeau" not in heading(apart.reset_index())


def test_what_reveals_nothing_has_a_tuned_epsilon_only_without_a_choice():
    """Also where the runs of an earlier version state 0; the printed costs are empty there."""
    runs = runs_of(FIVE)
    runs["tuned_epsilon"] = np.where(runs["target_epsilon"] == 0, 0.0, 7.0)
    chosen = table_of(runs)
    assert chosen.set_index("algorithm")["tuned_epsilon"].to_dict() == pytest.approx(
        {"new": 7.0, "old": 7.0, "older": 7.0, "local": np.nan}, nan_ok=True
    )
    printed_costs = costs(chosen).set_index("method")["tuned, ε = 1"]
    assert printed_costs.to_dict() == {"new": "7", "old": "7", "older": "7", "local": ""}
    assert table_of(runs, tried=1).set_index("algorithm").loc["local", "tuned_epsilon"] == 0


def test_where_less_is_better_a_gain_is_still_positive():
    table = table_of(runs_of(SCORES), best="min").set_index("algorithm")
    assert table["best_baseline"].unique().tolist() == ["older"]
    assert table.loc["new", "gain"] < 0
    assert table.loc["new", "rank"] == 4


def test_what_reveals_nothing_takes_part_at_every_epsilon():
    several = pd.concat([runs_of(SCORES, 1.0), runs_of({"new": SCORES["new"], "old": SCORES["old"]}, 4.0)])
    table = table_of(several)
    assert sorted(table.loc[table["algorithm"] == "local", "target_epsilon"]) == [1.0, 4.0]
    assert table.loc[table["algorithm"] == "local", "reveals_nothing"].all()


def test_a_diverged_run_is_not_averaged_away():
    table = table_of(runs_of(SCORES | {"new": [0.5, np.nan, 0.9]})).set_index("algorithm")
    assert np.isnan(table.loc["new", ["score", "rank", "gain"]].astype(float)).all()
    assert table.loc["old", "rank"] == 1


def test_from_python_there_is_a_table_a_picture_and_a_way_back(out):
    few = SMALL | {"num_settings": 1, "epsilons": [1.0], "baselines": ["Local learning"], "width": 3.25}
    table = comparisons.compare("ppsgd", **few, fixed={"personalization": 1.0}, name="files", out=out)
    folder = Path(table.attrs["folder"])
    for name in (
        "comparison.png",
        "comparison.pdf",
        "comparison.csv",
        "comparison.md",
        "comparison.tex",
        "tuning.csv",
        "comparison_3.25in.pdf",
    ):
        assert (folder / name).stat().st_size > 0
    text = (folder / "comparison.md").read_text()
    assert text.startswith("excess_risk on the test data of tiny (synthetic_0.1), smaller is better: mean and 95 %")
    assert (
        "one user (add-or-remove one), against everybody who sees the shared model, at delta = " in text.splitlines()[0]
    )
    assert "| ε = " in text.splitlines()[2]
    assert "<br>" not in text
    assert "Fixed for every method that has the argument, the baselines too: personalization=1.0" in text
    again = comparisons.compare("ppsgd", **few | {"width": 6.75}, fixed={"personalization": 1.0}, name="files", out=out)
    assert not table.attrs["replaced"]
    assert not again.attrs["replaced"]
    assert (folder / "comparison_3.25in.pdf").exists()
    other = comparisons.compare("ppsgd", **few | {"width": None}, fixed={"personalization": 2.0}, name="files", out=out)
    assert other.attrs["replaced"]
    assert not [*folder.glob("*in.pdf")]  # which showed the table before
    comparisons.compare("ppsgd", **few, fixed={"personalization": 1.0}, name="files", out=out)
    back = pd.read_csv(folder / "comparison.csv")
    np.testing.assert_allclose(back["excess_risk"], table["excess_risk"], rtol=1e-5)


def test_a_method_is_judged_in_a_line_and_stands_first():
    table = table_of(runs_of(FIVE))
    new = table.set_index("algorithm").loc["new"]
    assert in_a_line(table, "new") == (
        "new: rank 1 of 4 at ε = 1. At ε = 1 it is ahead of old by "
        f"0.1 [{new['gain_low']:.3g}, {new['gain_high']:.3g}], which is significant"
    )
    behind = table_of(runs_of(FIVE | {"new": [score - 0.2 for score in FIVE["new"]]}))
    new = behind.set_index("algorithm").loc["new"]
    assert f"behind old by 0.1 [{-new['gain_high']:.3g}, {-new['gain_low']:.3g}]" in in_a_line(behind, "new")
    assert brief(table)["method"].tolist() == ["> new", "local", "old", "older"]
    assert in_a_line(table_of(runs_of(FIVE | {"new": [np.nan] * 5})), "new") == "new diverged everywhere"


def test_the_table_for_a_paper_fits_its_width_and_has_the_best_in_bold():
    table = table_of(pd.concat([*(runs_of(FIVE | {"local": []}, at) for at in (2.0, 4.0, 8.0)), runs_of(FIVE)]))
    caption, *lines = latex(table, 6.75).splitlines()
    assert caption.startswith("% ")
    assert "against everybody" in caption
    assert lines[0] == r"\begin{tabular}{lrrrr}"
    assert lines[4].startswith(r"$\star$ new & $\mathbf{0.7")
    assert [r"\mathbf" in line for line in lines].count(True) == 1
    assert latex(table, 3.25).count(r"\begin{tabular}") > 1
    small = {name: [score / 1e6 for score in scores] for name, scores in FIVE.items()}
    assert r"7e-07" not in latex(table_of(runs_of(small)), 6.75)
