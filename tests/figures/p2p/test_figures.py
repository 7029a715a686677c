"""Figures and table of Bellet et al.: numbers from runs with known answers, and pictures that show those alone."""

import contextlib
import itertools
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from made_up_p2p import BEST_UPDATES, MAKE, TARGETS, accuracy, objective
from made_up_runs import at, changed, digit_runs, write
from scipy import stats

from bench.analysis import style, tables
from bench.errors import InputError
from figures import FIGURES
from figures import __main__ as command
from figures.p2p import common, fig1, fig2c, fig3, fig4, table1
from figures.shared.published import published

NAMES = [name for name in FIGURES if name.startswith("p2p")]
RUNS = {name: make() for name, make in MAKE.items()}


@pytest.fixture(autouse=True)
def small_pictures():
    with plt.rc_context({"savefig.dpi": 40}):
        yield
    plt.close("all")


@pytest.fixture
def no_layout(monkeypatch):
    """For tests that read what is written: laying it out is most of the time."""
    monkeypatch.setattr(plt.Figure, "tight_layout", lambda *_, **__: None)


def runs_of(name: str) -> pd.DataFrame:
    return RUNS[FIGURES[name].SWEEP]


def words(figure) -> str:
    """Everything that is written on a figure."""
    texts = [text.get_text() for ax in figure.axes for text in (ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts)]
    cells = [cell.get_text().get_text() for ax in figure.axes for one in ax.tables for cell in one.get_celld().values()]
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return " ".join("\n".join([*texts, *cells, *legends, *(text.get_text() for text in figure.texts)]).split())


# Published points.


def test_published_points_are_all_there():
    counts = {name: len(published(name)) for name in ("p2p_fig1", "p2p_fig2a", "p2p_fig2b", "p2p_fig2c")}
    assert counts == {"p2p_fig1": 248, "p2p_fig2a": 168, "p2p_fig2b": 168, "p2p_fig2c": 35}
    assert (len(published("p2p_fig3")), len(published("p2p_fig4")), len(published("p2p_table1"))) == (45, 28, 5)
    ends = published("p2p_fig1").query("x_name == 'iterations' and y_name == 'objective'").groupby("series")["y"].last()
    assert ends.to_dict() == {"ADMM": pytest.approx(1.535, abs=1e-3), "CD": pytest.approx(0.733, abs=1e-3)}
    assert published("p2p_table1").set_index("series")["y"]["non-private"] == 0.9502
    assert set(published("p2p_fig3")["x"]) == set(range(10, 100, 10))


@pytest.mark.parametrize("name", ["p2p_fig5", "nonsense"])
def test_a_figure_without_published_numbers_is_said(name):
    with pytest.raises(InputError, match="no figure with published numbers is called"):
        published(name)


# The numbers.


def test_fig1_is_the_mean_of_cd_and_of_admm_at_its_best_penalty():
    table = common.here(fig1.table(RUNS["p2p_convergence"]), x_name="iterations")
    table = table.set_index(["series", "variant", "y_name", "x"])
    row = table.loc[("ADMM", "short descent", "objective", 500)]
    values = [objective("ADMM", "descent", 500, 0.05) + 0.0002 * (seed - 1) for seed in range(3)]
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (row["y"], row["low"], row["high"]) == pytest.approx((np.mean(values), low, high))
    assert (row["penalty"], row["repetitions"]) == (0.05, 3)
    assert table.loc[("CD", "exact minimisers", "test_accuracy", 1500), "y"] == pytest.approx(accuracy("CD", 1500, 0))
    other = changed(RUNS["p2p_convergence"], at(penalty=0.1, rounds=30, start="local"), objective=0.5)
    chosen = fig1.chosen(other).query("series == 'ADMM'").groupby("variant")["penalty"].unique()
    assert {name: list(values) for name, values in chosen.items()} == {
        "exact minimisers": [0.1],
        "short descent": [0.05],
    }


def test_vectors_are_summed_over_the_rounds_between_evaluations():
    """A row has the mean of the rounds since the last evaluation, here 1, 2 and 4 rounds apart."""
    runs = pd.DataFrame({"point": "a", "trial": 0, "seed": 0, "rounds": [0, 1, 3, 7], "num_ticks": 50})
    runs["vectors_sent"] = [np.nan, 10.0, 20.0, 5.0]
    shuffled = pd.concat([runs, runs.assign(seed=1, vectors_sent=1.0)]).sample(frac=1, random_state=0)
    found = common.with_vectors(shuffled)
    assert found.loc[found["seed"] == 0, "vectors_sent"].tolist() == [0, 10, 50, 70]
    assert found.loc[found["seed"] == 1, "vectors_sent"].tolist() == [0, 1, 3, 7]
    assert found["iterations"].tolist() == [0, 50, 150, 350] * 2


def test_equal_numbers_of_vectors_are_on_straight_lines():
    runs = pd.DataFrame({"point": ["a"] * 3 + ["b"] * 3, "trial": 0, "seed": 0, "rounds": [0, 1, 2] * 2})
    runs["vectors_sent"] = [0.0, 10, 20, 0, 30, 40]
    runs["objective"] = 3 * runs["vectors_sent"] + 1
    found = common.by_vectors(runs, ["objective"])
    assert found["vectors_sent"].tolist() == [0, 10, 20] * 2
    assert found["objective"].tolist() == [1, 31, 61] * 2
    lost = common.by_vectors(changed(runs, at(point="b", rounds=1), objective=lambda r: np.nan), ["objective"])
    assert lost.loc[lost["point"] == "b", "objective"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize("name", ["p2p_fig2a", "p2p_fig2b"])
def test_private_curves_by_calibration_and_split(name):
    table = FIGURES[name].table(RUNS["p2p_private"])
    ours = common.here(table)
    assert set(ours["target_epsilon"]) == ({0.5} if name == "p2p_fig2a" else {0.5, 1.0})
    assert ours.groupby("target_epsilon")["variant"].nunique().eq(1).all()
    splits = {"equal", "published", "unrolled"} if name == "p2p_fig2b" else {"equal"}
    assert set(ours["allocation"]) == splits
    assert set(ours["calibration"]) == {"published", "clipped"}
    shown = "calibration == 'published' and allocation == 'equal' and target_epsilon == 0.5"
    last = ours.query(f"{shown} and y_name == 'objective'")
    last = last.sort_values("x").groupby("series").last()
    theirs = table[table["origin"] == "published"].query("y_name == 'objective'").groupby("series")["y"].last()
    assert (last["y"] - theirs).abs().max() < 1e-9
    assert last["x"].to_dict() == {f"T/n = {k}": 100 * k for k in (1, 2, 4, 8)}
    assert (last["epsilon_true"] == 500).all()


def test_settings_are_chosen_by_validation_instances_alone():
    runs = RUNS["p2p_dimensions"]
    table = common.here(fig2c.table(runs), calibration="published")
    chosen = table.groupby("series")["num_updates"].unique()
    assert {name: list(values) for name, values in chosen.items()} == {
        f"epsilon {target + 0.05:g}": [BEST_UPDATES[target]] for target in TARGETS
    }
    assert set(table["mu"]) == {0.04}
    best = common.here(fig2c.table(runs), series="epsilon 0.55").set_index("x")["y"]
    assert best[25] == pytest.approx(published("p2p_fig2c").set_index(["series", "x"])["y"]["epsilon 0.55", 25])
    tempting = changed(runs, lambda r: (r["instances"] == "test") & (r["num_updates"] == 8), test_accuracy=1.5)
    again = common.here(fig2c.table(tempting), calibration="published").groupby("series")["num_updates"].unique()
    pd.testing.assert_series_equal(again, chosen)
    elsewhere = changed(runs, at(instances="validation", num_updates=1.0, num_features=25.0), test_accuracy=1.5)
    moved = common.here(fig2c.table(elsewhere), calibration="published")
    assert set(moved.loc[moved["x"] == 25, "num_updates"]) == {1}
    assert set(moved.loc[moved["x"] != 25, "num_updates"]) == {8, 2, 1}


def test_mu_is_one_for_all_numbers_of_features_and_of_the_run_without_privacy():
    """0.02 is better at one p by less than it is worse at the six others; private runs do not count."""
    runs = RUNS["p2p_dimensions"]
    one = changed(runs, at(algorithm="CD", mu=0.02, num_features=2), test_accuracy=lambda r: r["test_accuracy"] + 0.05)
    assert common.tuned_mu(one) == 0.04
    more = changed(runs, at(algorithm="CD", mu=0.02, num_features=2), test_accuracy=lambda r: r["test_accuracy"] + 0.08)
    assert common.tuned_mu(more) == 0.02
    private = changed(runs, at(algorithm="private CD", mu=0.02), test_accuracy=1.5)
    assert common.tuned_mu(private) == 0.04
    assert common.tuned_private(private, "published", 0.04)["mu"].unique().tolist() == [0.04]
    assert common.tuned_private(private, "clipped")["mu"].unique().tolist() == [0.02]


def test_without_validation_runs_nothing_is_tuned():
    runs = RUNS["p2p_dimensions"]
    for name in ("p2p_fig2c", "p2p_fig3", "p2p_calibration"):
        with pytest.raises(InputError, match="instances = validation: run the whole sweep, no --where"):
            FIGURES[name].table(runs[runs["instances"] == "test"])


def test_fig3_is_by_size_at_100_features_or_at_the_most_there_are():
    runs = RUNS["p2p_dimensions"]
    table = fig3.table(runs)
    row = common.here(table, series="epsilon 0.55").set_index("x")
    assert row["y"][30] == pytest.approx(0.5 + 0.03 + 0.15 * (1 - 30 / 200))
    assert (table["origin"] == "published").sum() == 45
    fewer = fig3.table(runs[runs["num_features"] < 100])
    assert set(fewer["num_features"]) == {75}
    assert set(fewer["origin"]) == {"here"}  # the published are of other runs


def test_fig4_says_that_it_protects_a_coordinate_without_labels(no_layout):
    text = words(fig4.draw(fig4.table(RUNS["p2p_dimensions"])))
    assert "one coordinate of one input of one agent" in text
    assert "with its label epsilon is inf" in text


def test_calibration_shows_what_each_noise_spends(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(calibration="published"), epsilon_true=1000.0)
    figure = FIGURES["p2p_calibration"]
    table = figure.table(runs)
    table["ratio"] = table["epsilon_true"] / table["epsilon"]
    private = table[table["series"].str.startswith("eps")]
    assert private.groupby(["calibration", "variant"])["ratio"].mean().to_dict() == pytest.approx(
        {("published", ""): 900, ("clipped", ""): 0.9, ("gaussian", ""): 0.9}
        | {(calibration, "one release, smoothed"): 0.8 for calibration in ("clipped", "gaussian")}
    )
    picture = figure.draw(table)
    drawn = np.concatenate([line.get_ydata() for line in picture.axes[3].lines])
    assert {945.0, 0.945, 0.84, 1.05} <= set(np.round(drawn, 6))


def test_one_release_is_tuned_by_validation_instances_and_its_lines_are_its_own(no_layout):
    figure, runs = FIGURES["p2p_calibration"], RUNS["p2p_dimensions"]
    tempting = changed(runs, at(algorithm="one release", instances="test", clip_norm=10.0), test_accuracy=1.5)
    table = figure.table(tempting)
    once = table[table["variant"] == common.ONCE]
    assert len(once) == 2 * 3 * 7
    assert (once["clip_norm"].unique(), once["mu"].unique(), once["num_updates"].unique()) == (1, 0.04, 0)
    row = once[(once["series"] == "epsilon 0.15") & (once["x"] == 25) & (once["calibration"] == "gaussian")]
    printed = published("p2p_fig2c").set_index(["series", "x"])["y"]
    assert row["y"].item() == pytest.approx(printed["epsilon 0.15", 25] + 0.001)
    mean = changed(runs, at(algorithm="one release", instances="validation", clip_norm=10.0), test_accuracy=1.5)
    assert set(figure.table(mean).query("variant == @p2p_runs.ONCE and calibration == 'clipped'")["clip_norm"]) == {10}
    picture = figure.draw(table)
    dotted = [line for line in picture.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert [line.get_color() for line in dotted] == [figure.STYLES[name]["color"] for name in ("clipped", "gaussian")]
    assert "one release, smoothed" in words(picture)
    old = figure.draw(figure.table(runs[runs["algorithm"] != "one release"]))
    assert len(picture.axes[0].lines) - len(old.axes[0].lines) == 2
    assert "one release" not in words(old)


def test_table1_has_a_row_a_variant_tuned_on_validation_ratings():
    runs = RUNS["p2p_movielens"]
    table = table1.table(runs).set_index(["series", "variant"])
    row = table.loc[("epsilon 1", "Laplace, C = 10, warm start within the budget")]
    assert (row["test_rmse"], row["published"], row["num_updates"]) == (pytest.approx(0.9527), 0.9527, 1)
    assert row["difference"] == pytest.approx(0, abs=1e-12)
    assert len(table) == 3 + 3 * 9
    assert len(table1.table(runs[runs["algorithm"] != "one release"])) == 3 + 3 * 6
    once = table.xs("Laplace, C = 10, one release, smoothed", level="variant")
    assert once["difference"].tolist() == pytest.approx([-0.0005] * 3)
    assert set(once["start_step_size"]) == {0.3}
    assert set(once["num_updates"]) == {0}
    assert set(table.xs("Laplace, C tuned, one release, smoothed", level="variant")["clip_norm"]) == {5}
    longer = changed(runs, at(algorithm="one release", instances="validation", step_size=1.0), test_rmse=0.9)
    moved = table1.table(longer)
    assert set(moved.loc[moved["variant"].str.contains("one release"), "start_step_size"]) == {1}
    assert table.loc[("user mean", "not in the paper"), "test_rmse"] == pytest.approx(1.03)
    assert np.isnan(table.loc[("user mean", "not in the paper"), "published"])
    tempting = changed(runs, at(instances="test", num_updates=8.0), test_rmse=0.5)
    assert (table1.table(tempting).set_index(["series", "variant"])["num_updates"].dropna() <= 1).all()
    loose = changed(runs, at(instances="validation", clip_norm=5.0), test_rmse=0.9)
    again = table1.table(loose).set_index(["series", "variant"])["clip_norm"]
    assert again["epsilon 1", "Laplace, C tuned, from user means"] == 5
    assert again["epsilon 1", "Laplace, C = 10, from user means"] == 10


@pytest.mark.parametrize("name", NAMES)
def test_every_part_of_the_algorithms_is_drawn_or_says_what_is_missing(name, no_layout):
    runs, figure = runs_of(name), FIGURES[name]
    there = list(runs["algorithm"].unique())
    for count in range(1, len(there)):
        for chosen in itertools.combinations(there, count):
            part = runs[runs["algorithm"].isin(chosen)].dropna(axis="columns", how="all")
            with contextlib.suppress(InputError):
                figure.draw(figure.table(part))
            plt.close("all")


# The pictures.


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_shows_the_table_and_says_what_it_is(name, no_layout):
    figure, runs = FIGURES[name], runs_of(name)
    table = figure.table(runs)
    picture = figure.draw(table)
    numbers = table.select_dtypes("number").to_numpy().ravel()
    heights = [np.asarray(line.get_ydata(), float) for ax in picture.axes for line in ax.lines]
    if name != "p2p_table1":
        assert len(np.concatenate(heights)) > 20
        budgets = [1.05, 0.55, 0.15, 0, 1]
        assert np.isin(np.concatenate(heights), [*numbers, *budgets]).all()  # what is drawn stands in the table
    text = words(picture)
    for said in ("Bellet et al. 2018", "Scale: laptop", "3 repetitions", "95 % intervals", "Data: made up"):
        assert said in text, said
    assert ("No privacy." in text) == (name == "p2p_fig1")
    assert ("Privacy: one" in text) == (name != "p2p_fig1")
    assert ("delta = 0.006738" in text) == (name not in ("p2p_fig1", "p2p_fig4"))
    shows_published = name not in ("p2p_allocation", "p2p_calibration", "p2p_table1")
    assert ("read off the paper's vector graphics" in text) == shows_published
    greys = [line for ax in picture.axes for line in ax.lines if line.get_color() == "#b4b4b4"]
    assert bool(greys) == shows_published
    if shows_published:
        theirs = table.loc[table["origin"] == "published", "y"]
        assert np.isin(np.concatenate([line.get_ydata() for line in greys]), theirs).all()
        assert sum(len(line.get_ydata()) for line in greys) == len(theirs)


def test_the_published_setting_is_labelled_as_what_it_spends(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(calibration="published"), epsilon_true=300.0)
    for name in ("p2p_fig2c", "p2p_fig3"):
        assert "what it spends is up to 270 times its epsilon" in words(FIGURES[name].draw(FIGURES[name].table(runs)))
    text = words(FIGURES["p2p_fig2a"].draw(FIGURES["p2p_fig2a"].table(RUNS["p2p_private"])))
    assert "up to 1,000 times its epsilon" in text


@pytest.mark.parametrize("name", NAMES)
def test_half_of_the_runs_can_be_drawn_or_say_what_is_missing(name, no_layout):
    """A sweep that still runs."""
    runs, figure = runs_of(name), FIGURES[name]
    for share in (0.1, 0.5, 0.9):
        points = runs["point"].drop_duplicates().sample(frac=share, random_state=1)
        part = runs[runs["point"].isin(points)]
        with contextlib.suppress(InputError):
            figure.draw(figure.table(part))
        plt.close("all")


def greys(picture) -> list:
    return [line for ax in picture.axes for line in ax.lines if line.get_color() == "#b4b4b4"]


def test_published_curves_are_kept_to_the_numbers_of_features_that_are_there(no_layout):
    runs = RUNS["p2p_dimensions"]
    some = runs[runs["num_features"].isin([5, 10, 50])]
    for figure in (fig2c, fig4):
        lines = greys(figure.draw(figure.table(some)))
        assert lines
        assert {tuple(line.get_xdata()) for line in lines} == {(5, 10, 25, 50)}
    others = runs[runs["num_features"] == 10].assign(num_features=7)
    for figure in (fig2c, fig3, fig4):
        picture = figure.draw(figure.table(others))
        assert greys(picture) == []
        assert not {"published", "Grey:"} & set(words(picture).replace("The published noise", "").split())


def test_intervals_stretch_the_axes_where_they_are_the_point(no_layout):
    last = at(seed=0, rounds=40, start="propagation")
    runs = changed(RUNS["p2p_private"], last, test_accuracy=lambda r: r["test_accuracy"] - 0.3)
    table = FIGURES["p2p_allocation"].table(runs)
    ax = FIGURES["p2p_allocation"].draw(table).axes[1]
    rows = table[table["y_name"] == "test_accuracy"]
    assert rows["low"].min() < rows["y"].min() - 0.1
    low, high = ax.get_ylim()
    assert low < rows["low"].min() < rows["high"].max() < high


@pytest.mark.parametrize(
    ("updates", "said"),
    [
        ([4, 4, 2], "4 to p = 5, then 2"),
        ([4, 2, 1], "4 at p = 2, 2 at p = 5, then 1"),
        ([1, 1, 1], "always 1"),
        ([4, 1, 4], "4 at p = 2, 1 at p = 5, then 4"),
    ],
)
def test_updates_by_number_of_features_in_words(updates, said):
    line = pd.DataFrame({"x": [2.0, 5.0, 10.0], "num_updates": updates}).sample(frac=1, random_state=1)
    assert common.by_features(line) == said


def test_the_footer_names_the_largest_budget_first_and_tasks_in_their_order(no_layout):
    text = words(fig2c.draw(fig2c.table(RUNS["p2p_dimensions"])))
    assert "updates an agent at ε 1.05: always 8; ε 0.55: always 2; ε 0.15: always 1." in text
    assert "linear_p2p_2, linear_p2p_5, linear_p2p_10, linear_p2p_25, linear_p2p_50, linear_p2p_75, linear_p" in text


def test_diverged_runs_leave_a_gap_and_no_mean(no_layout):
    runs = changed(RUNS["p2p_dimensions"], at(algorithm="CD", num_features=25, seed=1), test_accuracy=lambda r: np.nan)
    row = common.here(fig2c.table(runs), series="non-private").set_index("x")
    assert row["y"].isna().to_dict() == {p: p == 25 for p in row.index}
    fig2c.draw(fig2c.table(runs))


@pytest.mark.parametrize("name", ["p2p_fig1", "p2p_table1"])
def test_files_are_the_same_every_time_and_the_csv_is_the_table(name, tmp_path):
    figure = FIGURES[name]
    table = figure.table(runs_of(name))
    files = [style.save(figure.draw(table), table, tmp_path / place, name) for place in ("a", "b")]
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()
    again = pd.read_csv(files[0][2])
    numbers = table.select_dtypes("number").columns
    pd.testing.assert_frame_equal(again[numbers], table[numbers], rtol=1e-5, check_dtype=False)
    assert list(again) == list(table)


# Tables as text.


def test_a_table_as_markdown_and_latex():
    cells = pd.DataFrame({"": ["a_1 | 50 %", r"b\c"], "RMSE & more": ["1.0", ""]})
    assert tables.markdown(cells) == "|  | RMSE & more |\n| --- | ---: |\n| a_1 \\| 50 % | 1.0 |\n| b\\c |  |\n"
    text = tables.latex(cells)
    assert r"a\_1 | 50 \% & 1.0 \\" in text
    assert r"RMSE \& more" in text
    formula = tables.latex(pd.DataFrame({r"50 % of $\varepsilon_1$": ["1 $ only"]}))
    assert r"50 \% of $\varepsilon_1$" in formula
    assert r"1 \$ only" in formula
    assert r"b\textbackslash{}c" in text
    assert text.startswith("\\begin{tabular}{lr}\n\\toprule\n")
    assert text.endswith("\\bottomrule\n\\end{tabular}\n")


def test_cells_of_numbers():
    assert tables.with_interval(0.95021, 0.94, 0.96) == "0.9502 [0.9400, 0.9600]"
    assert tables.with_interval(0.95021, np.nan, np.nan) == "0.9502"
    assert tables.with_interval(np.nan, np.nan, np.nan) == "diverged"
    assert tables.number(np.nan) == ""
    assert tables.number(-0.5, "+.2f") == "-0.50"


def test_the_picture_of_a_table_has_its_cells(no_layout):
    table = table1.table(RUNS["p2p_movielens"])
    text = words(table1.draw(table))
    for cell in table1.printed(table).to_numpy().ravel():
        assert " ".join(cell.split()) in text
    assert "0.9502 [0.9497, 0.9507] 0.9502 +0.0000" in text


# The command line.


@pytest.fixture
def figures(monkeypatch, capsys, tmp_path):
    """Runs a command line on made-up results of scale smoke: status, lines of output, lines of error."""

    def call(*words):
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["figures", "--results", str(tmp_path / "results"), *words])
        status = command.run()
        out, err = capsys.readouterr()
        return status, out.splitlines(), err.splitlines()

    return call


def test_the_command_writes_a_table_as_text_too_and_knows_of_one_way_of_tuning(figures, tmp_path):
    write(RUNS["p2p_movielens"], tmp_path / "results")
    assert figures("p2p_table1", "--tune", "paper")[0] == 0
    folder = tmp_path / "results" / "smoke" / "figures"
    kinds = ("png", "pdf", "csv", "md", "tex")
    assert {path.name for path in folder.iterdir()} == {"drawn.json", *(f"p2p_table1.{kind}" for kind in kinds)}
    cells = table1.printed(pd.read_csv(folder / "p2p_table1.csv").fillna({"variant": ""}))
    assert (folder / "p2p_table1.md").read_text() == tables.markdown(cells)


def test_a_figure_that_partial_results_cannot_make_is_left_out_and_says_the_command(figures, tmp_path, monkeypatch):
    monkeypatch.setattr("figures.FIGURES", {"p2p_fig4": fig4, "p2p_table1": table1})
    dimensions, movielens = RUNS["p2p_dimensions"], RUNS["p2p_movielens"]
    local = movielens[movielens["algorithm"] == "local"].dropna(axis="columns", how="all")
    for part in (dimensions, local):
        write(part, tmp_path / "results", "laptop")
    status, out, err = figures()
    assert (status, len(out)) == (0, 1)
    assert out[0].endswith("p2p_fig4.png")
    said = "no run of p2p_movielens with algorithm = CD: run the whole sweep, no --where (`python -m bench run "
    (line,) = err
    assert line.startswith(f"p2p_table1 is left out: {said}")
    assert line.endswith(f"p2p_movielens --scale laptop --out {tmp_path / 'results'}`)")
    status, out, err = figures("p2p_fig4", "p2p_table1", "--scale", "laptop")
    assert (status, len(out)) == (2, 1)
    assert err == [line.replace("p2p_table1 is left out", "error")]
    status, out, err = figures("claims", "p2p")
    assert (status, err) == (0, [])
    assert any(words.startswith("- p2p_table1 is left out: no run of p2p_movielens") for words in out)


def test_a_paper_without_results_does_not_keep_the_claims_of_others_back(figures, tmp_path):
    write(digit_runs(), tmp_path / "results")
    status, out, err = figures("claims")
    assert status == 0
    assert sum("no results of ppsgd_synthetic" in line for line in out) == 5
    assert any(line.startswith("the claims of p2p are left out: no results of p2p_convergence") for line in err)
    assert all(" are left out: no results of " in line for line in err)
    status, out, err = figures("claims", "p2p")
    assert (status, out) == (2, [])
    assert "python -m bench run p2p_convergence" in err[0]
