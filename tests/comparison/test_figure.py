"""The table and the picture of a comparison, and the files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_comparison import SMALL, runs_of

from bench import comparing, load
from bench.analysis import style, tables
from bench.comparison import figure
from bench.comparison.looks import method_looks
from bench.comparison.table import heading, holm, printed, privacy
from bench.comparison.table import table as make_table

SCORES = {"new": [0.5, 0.7, 0.9], "old": [0.4, 0.5, 0.6], "older": [0.1, 0.2, 0.3], "local": [0.25, 0.25, 0.25]}


def table_of(runs, best="max", baselines=("old", "older", "local"), reference=None, weaker=()):
    num_settings = dict.fromkeys(runs["algorithm"], 3)
    return make_table(
        runs,
        problem="made up",
        title="made up: of tests",
        metric="score",
        best=best,
        baselines=baselines,
        num_settings=num_settings,
        against=dict.fromkeys(runs["algorithm"], "everybody") | dict(weaker),
        reference=reference,
    )


def test_gains_are_paired_and_ranks_count_everybody():
    table = table_of(runs_of(SCORES)).set_index("algorithm")
    assert table["best_baseline"].unique().tolist() == ["old"]
    # new - old is 0.1, 0.2, 0.3 on the three splits: mean 0.2, standard deviation 0.1, t(0.975, 2) = 4.3027.
    assert table.loc["new", "gain"] == pytest.approx(0.2)
    assert table.loc["new", "gain_high"] - table.loc["new", "gain"] == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)
    assert table["rank"].to_dict() == {"new": 1, "old": 2, "local": 3, "older": 4}


def test_gains_can_be_over_any_method_that_is_named():
    runs = runs_of(SCORES)
    over_best, over_older = (table_of(runs, reference=name).set_index("algorithm") for name in (None, "older"))
    assert set(over_older["best_baseline"]) == {"older"}
    # new - older is 0.4, 0.5, 0.6; old - older is 0.3 on every split, which is beyond chance.
    assert over_older.loc["new", "gain"] == pytest.approx(0.5)
    assert over_older.loc["old", "gain"] == pytest.approx(0.3)
    assert over_older.loc["older", "gain"] == 0
    assert over_older.loc["old", "decided"]
    assert (over_older["rank"] == over_best["rank"]).all()
    assert (over_older["is_baseline"] == over_best["is_baseline"]).all()
    words = heading(over_older.reset_index())
    assert "gain over older, paired" in words
    cells = printed(over_older.reset_index()).set_index("method")["ε = 1"]
    assert cells["older"].endswith("reference")
    assert "gain over the best baseline, paired" in heading(over_best.reset_index())


def test_a_method_that_protects_against_another_adversary_is_named():
    both = pd.concat([runs_of({k: SCORES[k] for k in SCORES}), runs_of({"silo": [0.9] * 3}, unit="record")])
    whole = table_of(both, weaker={"old": "outsiders", "silo": "the server"})
    assert privacy(whole) == (
        "Privacy: one record (add-or-remove one), against the server; one user (add-or-remove one), against everybody, "
        "at delta = 0.0001. old: against outsiders."
    )
    assert privacy(whole) in heading(whole)
    assert privacy(table_of(runs_of(SCORES))).endswith("against everybody, at delta = 0.0001.")


def test_a_reference_that_was_not_run_at_an_epsilon_gives_no_gain_there():
    runs = pd.concat([runs_of(SCORES), runs_of({"new": SCORES["new"], "old": SCORES["old"]}, target=4.0)])
    table = table_of(runs, reference="older").set_index(["target_epsilon", "algorithm"])
    assert np.isfinite(table.loc[(1.0, "new"), "gain"])
    assert np.isnan(table.loc[(4.0, "new"), "gain"])
    assert table.loc[(4.0, "new"), "best_baseline"] == ""


def test_a_difference_is_marked_where_it_is_beyond_chance_among_all_of_the_table():
    """p of 0.2 with a standard error of 0.1 / sqrt(3) is 0.0742 on two degrees of freedom; of others against them 0."""
    table = table_of(runs_of(SCORES)).set_index("algorithm")
    assert table.loc["new", "gain_p"] == pytest.approx(0.0742, abs=1e-4)
    assert np.isnan(table.loc["old", "gain_p"])
    assert not table.loc["new", "decided"]
    sure = table_of(runs_of(SCORES | {"new": [0.5, 0.601, 0.702]})).set_index("algorithm")
    assert sure.loc["new", "decided"]
    assert sure["decided"].sum() < len(sure)
    assert "+0.101" in printed(sure.reset_index()).to_string()
    assert "*" in printed(sure.reset_index()).to_string()


def test_holm_is_that_of_its_paper():
    """Ordered p-values times 4, 3, 2, 1, never falling, at most 1; what is missing does not count."""
    adjusted = holm(pd.Series([0.01, 0.04, np.nan, 0.03, 0.9]))
    assert adjusted.tolist() == pytest.approx([0.04, 0.09, np.nan, 0.09, 0.9], nan_ok=True)


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


def test_what_is_compared_with_baselines_is_drawn_thick():
    names = ("new", "old")

    def widths(baselines):
        table = table_of(runs_of({name: SCORES[name] for name in names}), baselines=baselines)
        looks = method_looks(table)
        (ax,) = figure.draw(table, "made-up data").axes
        drawn = {line.get_color(): line.get_linewidth() for line in ax.lines}
        return [drawn[looks[name]["color"]] for name in names]

    new, old = widths(["old"])
    assert new > 1.5 * old
    assert len(set(widths([]))) == len(set(widths(names))) == 1  # nothing to tell apart


def test_a_figure_says_what_the_data_are_and_what_the_settings_were_tuned_on():
    picture = figure.draw(table_of(runs_of(SCORES)), "a tenth of the examples", "Local learning takes 9 steps.")
    assert picture.get_suptitle() == "Methods on made up: of tests"
    footer = " ".join(picture.texts[-1].get_text().split())
    assert "among 3 settings per method, tuned on a tenth of the examples, then rerun" in footer
    assert footer.count("Local learning takes 9 steps.") == 1


def test_different_statements_never_share_a_panel():
    both = pd.concat(
        [runs_of({k: SCORES[k] for k in ("new", "old")}), runs_of({"silo": [0.9, 0.9, 0.9]}, unit="record")]
    )
    table = table_of(both)
    assert table.groupby("privacy_unit_compared")["rank"].min().tolist() == [1, 1]
    picture = figure.draw(table, "made-up data")
    assert [ax.get_title() for ax in picture.axes] == ["one record, add-or-remove one", "one user, add-or-remove one"]
    assert "one record" in printed(table)["method"].str.cat()


def test_from_python_there_is_a_table_a_picture_and_a_way_back(out):
    table = comparing.compare("ppsgd", **SMALL, fixed={"personalization": 1.0}, name="files", out=out)
    folder = Path(table.attrs["folder"])
    for name in ("comparison.png", "comparison.pdf", "comparison.csv", "comparison.md", "comparison.tex", "tuning.csv"):
        assert (folder / name).stat().st_size > 0
    text = (folder / "comparison.md").read_text()
    assert text.startswith("excess_risk on the test data of tiny (synthetic_0.1), smaller is better: mean and 95 %")
    assert (
        "one user (add-or-remove one), against everybody who sees the shared model, at delta = " in text.splitlines()[0]
    )
    assert "| ε = " in text.splitlines()[2]
    assert "<br>" not in text
    back = load("compare/files", results=out)
    np.testing.assert_allclose(back["excess_risk"], table["excess_risk"], rtol=1e-5)


def test_names_are_no_markup_and_no_formula(tmp_path):
    """The names of a task and of its data may be those of a file, whatever it is called."""
    named = runs_of(SCORES).assign(task="a$b_{$<script>|.npz", source="c$d_{$")
    named["algorithm"] = named["algorithm"].replace("new", "n$e_{$<b>w")
    table = table_of(named)
    with style.applied():
        figure.draw(table, "held $out_{$").savefig(tmp_path / "x.png", dpi=30)
    written = heading(table) + tables.markdown(printed(table))
    assert r"a$b_{$\<script>|.npz" in written
    assert r"n$e_{$\<b>w" in written
