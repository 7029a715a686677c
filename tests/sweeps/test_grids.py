"""Other values in a sweep: what follows from them is computed again, and what would become false is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from tiny_sweeps import private_sgd, sweep_of, walks

from bench.algorithms import ppsgd
from bench.errors import InputError
from bench.papers import SWEEPS, isrl, isrl_noise, p2p_noise, ppsgd_grid
from bench.privacy import accounting, events
from bench.store import SCALES
from bench.sweeps.grids import keeping_rounds, listed, tied, with_grid, with_rounds
from bench.sweeps.spec import Entry, grid

CALIBRATED_FAST = [name for name in SWEEPS if not name.startswith("pfl_")] + ["pfl_alone", "pfl_averaging"]


def rows(points: pd.DataFrame, columns=None) -> pd.DataFrame:
    columns = sorted(points) if columns is None else columns
    return points[columns].sort_values(columns, ignore_index=True)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", CALIBRATED_FAST)
def test_what_is_computed_from_the_rest_of_a_sweep_is_what_the_sweep_has(name, scale):
    """To the last bit, so that the two say the same."""
    for label, entry in SWEEPS[name](scale).entries.items():
        if entry.derived is None or entry.derived.fixed:
            continue
        again = entry.derived.remake(entry.points.drop(columns=list(entry.derived.made)))
        pd.testing.assert_frame_equal(rows(again), rows(entry.points), check_exact=True, obj=f"{name} {label}")


@pytest.mark.parametrize("name", CALIBRATED_FAST)
def test_a_column_given_its_own_values_loses_no_point(name):
    """Where a column may be replaced at all, every point that the sweep had is there again."""
    sweep, replaced = SWEEPS[name]("smoke"), 0
    for column in {column for entry in sweep.entries.values() for column in entry.points}:
        there = [entry.points[column].unique().tolist() for entry in sweep.entries.values() if column in entry.points]
        try:
            new = with_grid(sweep, {column: list(dict.fromkeys(value for values in there for value in values))})
        except InputError:
            continue
        replaced += 1
        for label, entry in sweep.entries.items():
            both = new.entries[label].points.merge(entry.points, on=list(entry.points), how="inner")
            assert len(both.drop_duplicates()) == len(entry.points), (column, label)
    assert replaced >= 2 or name in ("ppsgd_theory", "ppsgd_sampled_theory")


def test_values_replace_those_of_every_entry_that_has_the_column():
    points = grid(step_size=[0.1, 0.2], noise_multiplier=[1.0, 2.0])
    sweep = walks(points=points)
    new = with_grid(sweep, {"step_size": [0.5, 0.6, 0.7]}).entries["Walk"].points
    assert sorted(map(tuple, new[["step_size", "noise_multiplier"]].to_numpy())) == [
        (step, noise) for step in (0.5, 0.6, 0.7) for noise in (1.0, 2.0)
    ]
    assert sweep.entries["Walk"].points.equals(points)


def test_local_learning_stays_once_and_silent():
    new = with_grid(SWEEPS["ppsgd_synthetic"]("smoke"), {"noise_multiplier": [7, 8], "personalization": "0,0.5,inf"})
    points = new.entries["PPSGD"].points
    local = points[points["personalization"] == 0]
    assert set(local["noise_multiplier"]) == {0.0}
    assert len(local) == 2 * 5  # values of delta_std, step sizes
    shared = points[points["personalization"] > 0]
    assert set(shared["noise_multiplier"]) == {7.0, 8.0}
    assert len(shared) == 2 * 2 * 2 * 5


def test_local_learning_has_the_smallest_clipping_norm_where_its_own_is_gone():
    points = grid(personalization=[0.0, 1.0], clip_norm=[2.0, 5.0], noise_multiplier=[0.0, 1.0])
    local = ppsgd_grid.once_for_local(points, clip_norm=10.0).query("personalization == 0")
    assert local[["clip_norm", "noise_multiplier"]].to_numpy().tolist() == [[2.0, 0.0]]


def test_noise_is_found_for_another_budget_and_number_of_rounds():
    new = with_grid(SWEEPS["isrl_odd_even"]("smoke"), {"target_epsilon": [2, math.inf], "phase_rounds": [4, 9]})
    for label, once in (("One-pass MB-SGD", True), ("Multi-pass MB-SGD", False), ("Localized MB-SGD", False)):
        points = new.entries[label].points
        assert set(points["target_epsilon"]) == {2.0, math.inf}
        for row in points.drop_duplicates(["target_epsilon", "calibration", "phase_rounds"]).itertuples():
            uses = 1 if once else row.phase_rounds
            assert row.noise_multiplier == isrl_noise.noise(row.target_epsilon, row.calibration, uses, isrl.DELTA)
        assert (points["target_epsilon"].eq(math.inf) == points["calibration"].eq("no noise")).all()


def test_noise_of_the_peers_costs_the_budget_that_the_label_says():
    new = with_grid(SWEEPS["p2p_private"]("smoke"), {"target_epsilon": [0.7], "max_updates": [3], "clip_norm": [2.0]})
    points = new.entries["private CD"].points
    assert set(points["num_updates"]) == {3}
    clipped = points[points["calibration"] == "clipped"]
    assert (clipped[["clip_norm", "lipschitz"]] == 2.0).all(axis=None)
    published = points[points["calibration"] == "published"]
    assert (published[["clip_norm", "lipschitz"]] == [math.inf, 1.0]).all(axis=None)
    for sigma in points["noise_multiplier"].unique():
        spent = accounting.epsilon(events.laplace(sigma, delta=p2p_noise.DELTA), 3)
        assert spent == pytest.approx(0.7, rel=1e-3)


def test_shares_of_a_budget_leave_runs_without_a_warm_start_alone():
    new = with_grid(SWEEPS["p2p_movielens"]("smoke"), {"start_share": [0.5], "budget": [2.0], "num_updates": [1]})
    points = new.entries["private CD"].points
    cold = points["start"] == "zero"
    assert set(points.loc[cold, "start_share"]) == {0.0}
    assert set(points.loc[~cold, "target_epsilon"]) == {1.0}
    assert set(points.loc[cold, "target_epsilon"]) == {2.0}


def test_the_ratio_of_a_network_follows_from_that_of_the_legend():
    new = with_grid(SWEEPS["ppsgd_cnn"]("smoke"), {"legend_personalization": [5], "legend_step_size": [0.5]})
    points = new.entries["PPSGD"].points
    np.testing.assert_allclose(points["personalization"], 0.5)
    np.testing.assert_allclose(points["step_size"], np.maximum(0.5, 10 * 0.5 / 5))


REFUSED = [
    ("ppsgd_synthetic", {"noise_multipler": [1]}, "did you mean noise_multiplier"),
    ("ppsgd_synthetic", {"delta_std": [0.5]}, "not an argument of its method"),
    ("ppsgd_synthetic", {"task": ["digits"]}, "by --task"),
    ("ppsgd_synthetic", {"noise_multiplier": [-1]}, "at least 0 and finite"),
    ("ppsgd_synthetic", {"noise_multiplier": [math.inf]}, "at least 0 and finite"),
    ("ppsgd_synthetic", {"noise_multiplier": [math.nan]}, "give numbers"),
    ("ppsgd_synthetic", {"noise_multiplier": []}, "has no value"),
    ("ppsgd_synthetic", {"noise_multiplier": ["much"]}, "must be a number"),
    ("ppsgd_synthetic", {"noise_multiplier": [True]}, "must be a number"),
    ("ppsgd_synthetic", {"noise_multiplier": [None]}, "give numbers"),
    ("ppsgd_synthetic", {"noise_multiplier": "1,1.0"}, "twice"),
    ("ppsgd_synthetic", {"num_sampled": [2.5]}, "must be a whole number"),
    ("ppsgd_synthetic", {"sampler": [3]}, "must be a word such as all"),
    ("ppsgd_synthetic", {"step_size": np.geomspace(0.1, 1, 10**6)}, "at most 10,000"),
    ("ppsgd_synthetic", {"step_size": list(range(1, 9001)), "num_sampled": list(range(1, 1000))}, "at most 1,000,000"),
    ("ppsgd_theory", {"noise_multiplier": [1.0]}, "computes its points with all others in view"),
    ("ppsgd_theory", {"clip_norm": [1.0]}, "computes its points with all others in view"),
    ("ppsgd_cnn", {"personalization": [1.0]}, "give legend_personalization"),
    ("isrl_odd_even", {"noise_multiplier": [1.0]}, "give target_epsilon"),
    ("isrl_odd_even", {"target_epsilon": [0.0]}, "must be positive"),
    ("isrl_odd_even", {"calibration": ["guessed"]}, "no calibration is called 'guessed'"),
    ("isrl_odd_even", {"search": ["equal"]}, "label of One-pass"),
    ("isrl_rounds", {"num_phases": [3]}, "computes it from other columns"),
    ("p2p_dimensions", {"num_features": [3]}, "label of CD"),
    ("p2p_dimensions", {"mechanism": ["gaussian"]}, "was calibrated for its existing values"),
    ("p2p_movielens", {"start": ["zero"]}, "was calibrated for its existing values"),
    ("pfl_alone", {"total_epochs": [3]}, "was calibrated for its existing values"),
    ("pfl_alone", {"num_clients": [3]}, "label of SN+Lin"),
]


@pytest.mark.parametrize(("name", "columns", "said"), REFUSED, ids=[f"{n} {next(iter(c))} {s}" for n, c, s in REFUSED])
def test_what_cannot_be_done_honestly_is_one_line(name, columns, said):
    with pytest.raises(InputError, match=said.replace("+", r"\+")) as error:
        with_grid(SWEEPS[name]("smoke"), columns)
    assert "\n" not in str(error.value)


def test_columns_that_change_together_are_told():
    crossed = grid(a=[1, 2], b=[1, 2], c=[1, 2])
    assert not tied(crossed, "a", "b")
    assert tied(crossed.assign(b=10 * crossed["a"]), "a", "b")
    assert tied(crossed[(crossed["c"] == 1) | (crossed["a"] == crossed["b"])], "a", "b")
    assert not tied(crossed.assign(b=1), "a", "b")


def test_a_column_that_goes_with_another_argument_is_refused():
    points = grid(step_size=[0.1, 0.2]).assign(noise_multiplier=[1.0, 2.0])
    with pytest.raises(InputError, match="goes with noise_multiplier"):
        with_grid(walks(points=points), {"step_size": [0.5]})


def test_values_are_lists_however_they_come():
    assert listed("a", "log:1:100:3") == [1.0, 10.0, 100.0]
    assert listed("a", 3) == [3]
    assert listed("a", np.array([1, 2])) == [1, 2]
    assert listed("a", (True, 1)) == [True, 1]


def test_rounds_replace_the_sweeps_and_must_fit_its_evaluations():
    sweep = walks()
    assert (with_rounds(sweep, 40).num_rounds, with_rounds(sweep, 40).eval_every) == (40, 5)
    with pytest.raises(InputError, match="evaluated every 5 rounds, so give 20 or 25"):
        with_rounds(sweep, 22)
    with pytest.raises(InputError, match="so give 5"):
        with_rounds(sweep, 2)
    at_end = with_rounds(sweep._replace(eval_every=20), 7)
    assert (at_end.num_rounds, at_end.eval_every) == (7, 7)
    assert with_rounds(sweep._replace(eval_every=None), 7).eval_every is None
    for wrong in (0, -1, 1.5, True, "5", 10**9):
        with pytest.raises(InputError, match="must be a whole number"):
            with_rounds(sweep, wrong)


def test_rounds_that_follow_from_the_data_are_not_replaced():
    with pytest.raises(InputError, match="give --grid num_epochs"):
        with_rounds(SWEEPS["ppsgd_digits"]("smoke"), 100)
    with pytest.raises(InputError, match="set their own number of rounds"):
        with_rounds(SWEEPS["ppsgd_theory"]("smoke"), 100)
    with pytest.raises(InputError, match="leave it out"):
        with_rounds(walks(num_rounds=lambda task, args: 5), 100)


def test_entries_with_rounds_of_their_own_keep_them_and_are_named():
    entry = private_sgd().entries["PPSGD"]
    sweep = sweep_of({"a": entry, "b": Entry(ppsgd.METHOD, entry.points, num_rounds=10, eval_every=5)})
    assert keeping_rounds(sweep) == ["b"]
    assert with_rounds(sweep, 40).entries["b"].num_rounds == 10
