"""The numbers of each figure from runs with known answers, and pictures that show those numbers and nothing else."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from made_up_runs import FLOORS, accuracy, digit_runs, risk, synthetic_runs
from reading import words
from scipy import stats

from bench.analysis.saving import save_picture
from bench.errors import InputError
from figures import FIGURES
from figures.ppsgd import common
from figures.ppsgd.fig1a import FIGURE as fig1a
from figures.ppsgd.fig2_digits import FIGURE as fig2_digits
from figures.ppsgd.rounds import FIGURE_1C as fig1c

INF = math.inf
SHOWN = ["ppsgd_fig1a", "ppsgd_fig1c", "ppsgd_fig2_digits"]  # the others are in modules of their own
ROUNDS = (0, 20, 50, 200, 1000)


def few_runs(name: str, **how) -> pd.DataFrame:
    """Made-up runs of a figure's sweep, few enough to draw quickly."""
    if FIGURES[name].sweeps == ("ppsgd_synthetic",):
        return synthetic_runs(**({"rounds": ROUNDS, "sigmas": (0.0, 1.0, 10.0), "deltas": (0.1,)} | how))
    return digit_runs(**how)


# The numbers.


def test_fig1a_is_the_geometric_mean_at_the_best_step():
    table = fig1a.table(synthetic_runs(rounds=ROUNDS)).set_index(
        ["tuned_on", "delta_std", "noise_multiplier", "personalization", "rounds"]
    )
    for t, step in ((50, 0.1), (200, 0.5)):
        row = table.loc[("risk", 0.1, 10.0, 1.0, t)]
        values = np.log([risk(0.1, 1.0, 10.0, t, seed) for seed in range(3)])
        low, high = stats.t.interval(0.95, 2, loc=values.mean(), scale=stats.sem(values))
        assert row["step_size"] == step
        assert row["excess_risk"] == pytest.approx(np.exp(values.mean()))
        assert (row["low"], row["high"]) == pytest.approx((np.exp(low), np.exp(high)))
        assert row["repetitions"] == 3
        assert row["global_floor"] == pytest.approx(FLOORS[0.1])
    assert 0 not in table.index.get_level_values("rounds")


def test_fig1c_is_the_mean_at_the_step_of_each_way_of_tuning():
    table = fig1c.table(digit_runs()).set_index(["tuned_on", "noise_multiplier", "personalization", "rounds"])
    expected = np.mean([accuracy(1.0, 5.0, seed) for seed in range(3)])
    assert table.loc[("test", 5.0, 1.0, 1000), "test_accuracy"] == pytest.approx(expected)
    assert table.loc[("test", 5.0, 1.0, 1000), "step_size"] == 0.1
    assert table.loc[("validation", 5.0, 1.0, 1000), "test_accuracy"] == pytest.approx(expected - 0.01)
    assert table.loc[("validation", 5.0, 1.0, 1000), "step_size"] == 0.5


def test_local_learning_counts_once_where_it_was_run_at_several_noise_levels():
    """The same run twice is no second repetition: the interval would be too narrow."""
    runs = digit_runs()
    again = runs[runs["personalization"] == 0].assign(noise_multiplier=5.0)
    for figure in (fig1c, fig2_digits):
        pd.testing.assert_frame_equal(figure.table(pd.concat([runs, again])), figure.table(runs))


@pytest.mark.parametrize("name", SHOWN)
def test_only_the_clipping_norm_and_the_method_shown_are_read(name):
    runs = few_runs(name)
    metric = "excess_risk" if "excess_risk" in runs else "test_accuracy"
    better = {metric: runs[metric] * (0.5 if metric == "excess_risk" else 1.5)}
    others = [runs.assign(clip_norm=1.0, **better), runs.assign(algorithm="another method", **better)]
    pd.testing.assert_frame_equal(FIGURES[name].table(pd.concat([runs, *others])), FIGURES[name].table(runs))
    for other in others:
        with pytest.raises(InputError, match=r"no run of .* with algorithm = .*PPSGD.*, clip_norm = 10"):
            FIGURES[name].table(other)


def best_so_far(points: list[tuple[float, float]], local: float) -> list[tuple[float, float]]:
    """The black curve by a plain loop over (epsilon, accuracy)."""
    points = sorted(points)
    kept = [(min(0.1, points[0][0]), local)]
    for epsilon, value in points:
        best = max(value, kept[-1][1])
        if epsilon - kept[-1][0] < 0.01:
            kept.pop()
        kept.append((epsilon, best))
    return kept


@pytest.mark.parametrize("smallest", [0.03, 0.4])
def test_the_black_curve_is_the_best_at_an_epsilon_or_less(smallest):
    """Random accuracies over all alpha > 0, shown or not; near epsilons are one; without noise is no part of it."""
    rng = np.random.default_rng(3)
    curves, sigmas = (0.0, 0.1, 0.3, 1.0, 30.0, INF), (0.0, *range(1, 9))
    values = {(a, s): rng.uniform(0.1, 0.9 if s else 2.0) for a in curves for s in sigmas}
    epsilons = dict(zip(sigmas, [INF, *(smallest + np.array([0, 0.004, 0.008, 0.3, 0.305, 0.32, 2, 90]))], strict=True))
    runs = digit_runs(lambda a, s, seed: values[a, s], curves=curves, sigmas=sigmas, repetitions=2)
    runs["epsilon"] = np.where(runs["personalization"] == 0, 0.0, runs["noise_multiplier"].map(epsilons))
    table = fig2_digits.table(runs)
    for tuning, less in (("test", 0.0), ("validation", 0.01)):
        black = table[(table["curve"] == "best so far") & (table["tuned_on"] == tuning)]
        points = [(epsilons[s], value - less) for (a, s), value in values.items() if a > 0 and s > 0]
        expected = best_so_far(points, values[0.0, 0.0] - less)
        assert black["personalization"].isna().all()
        found = list(zip(black["epsilon"], black["test_accuracy"], strict=True))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert len(found) < len(points)
        assert np.isfinite(found).all()


def test_the_black_curve_passes_over_what_diverged():
    runs = digit_runs()
    runs.loc[runs["noise_multiplier"] == 1.0, "test_accuracy"] = np.nan
    black = fig2_digits.table(runs).query("curve == 'best so far' and tuned_on == 'test'")
    assert black["test_accuracy"].is_monotonic_increasing
    assert black["test_accuracy"].notna().all()


def test_fig2_reads_the_last_round_only():
    runs = digit_runs()
    runs.loc[runs["rounds"] < 1000, "test_accuracy"] = 0.99
    pd.testing.assert_frame_equal(fig2_digits.table(runs), fig2_digits.table(digit_runs()))


# The pictures.


@cache
def shown(name: str):
    """The numbers of a figure and its picture, which is not laid out."""
    table = FIGURES[name].table(few_runs(name))
    return table, FIGURES[name].picture(table)


def drawn_values(figure) -> np.ndarray:
    return np.concatenate([np.asarray(line.get_ydata(), float) for ax in figure.axes for line in ax.lines])


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_shows_the_table_and_says_what_it_is(name, no_layout):
    table, picture = shown(name)
    numbers = table.select_dtypes("number").to_numpy().ravel()
    values = drawn_values(picture)
    assert len(values) > 25
    assert np.isin(values, np.append(numbers, 0)).all()  # every height that is drawn stands in the table
    text = words(picture)
    for said in (
        "Bietti et al. 2022",
        "Scale: laptop",
        "3 repetitions",
        few_runs(name)["source"].iloc[0],
        "(local)",
        "(global)",
    ):
        assert said in text
    assert r"\varepsilon" in text
    assert ("rounds" in text) == (name != "ppsgd_fig2_digits")
    assert ("excess risk" in text) == (name == "ppsgd_fig1a")
    assert ("test accuracy" in text) == (name != "ppsgd_fig1a")


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("mnist_by_writer", "836 writers of MNIST replace 1,000 of EMNIST."),
        ("mnist_by_style", "1,000 pseudo-writers of MNIST"),
        ("emnist_digits", ""),
    ],
)
def test_data_that_stand_in_for_the_papers_are_named(task, said, no_layout):
    table = fig1c.table(digit_runs(task=task))
    assert ("replace" in common.replaced(table)) == bool(said)
    assert said in words(fig1c.picture(table))


def test_a_panel_without_runs_says_so(no_layout):
    for name in ("ppsgd_fig1a", "ppsgd_fig1c"):
        figure, runs = FIGURES[name], few_runs(name)
        assert "no runs" not in words(shown(name)[1])
        without_local = runs[(runs["personalization"] > 0) & (runs["noise_multiplier"] != 1.0)]
        assert words(figure.picture(figure.table(without_local))).count("no runs") == 2  # and no epsilon
    diverged = digit_runs().assign(test_accuracy=np.nan)
    assert words(fig1c.picture(fig1c.table(diverged))).count("all runs diverged") == 3
    assert words(fig2_digits.picture(fig2_digits.table(diverged))).count("all runs diverged") == 1


def test_files_are_the_same_every_time_and_the_csv_is_the_table(tmp_path, no_layout):
    table, picture = shown("ppsgd_fig2_digits")
    files = [save_picture(picture, table, tmp_path / place, "fig2", pdf=True) for place in ("a", "b")]
    assert [path.suffix for path in files[0]] == [".png", ".csv", ".pdf"]
    for one, other in zip(*files, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert b"Date" not in files[0][2].read_bytes()
    pd.testing.assert_frame_equal(pd.read_csv(files[0][1]), table, rtol=1e-5, check_dtype=False)
