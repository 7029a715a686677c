"""Other values in a sweep: what follows from them is computed again, and what would become false is refused."""

import math
from functools import partial

import numpy as np
import pytest
from made_sweeps import made
from slow_cases import MANY_POINTS, cases
from tiny_sweeps import private_sgd, sweep_of, walks

from bench.algorithms import ppsgd
from bench.errors import InputError
from bench.papers import SWEEPS
from bench.papers.isrl import noise as isrl_noise
from bench.papers.isrl.sweeps import DELTA
from bench.papers.p2p import noise as p2p_noise
from bench.papers.ppsgd import grid as ppsgd_grid
from bench.privacy import accounting, events
from bench.sweeps.grids import keeping_rounds, listed, with_grid, with_rounds
from bench.sweeps.spec import Entry, grid


@pytest.mark.parametrize("name", cases(SWEEPS, slow=MANY_POINTS))
def test_a_column_given_its_own_values_loses_no_point(name):
    """Where a column may be replaced at all, every point that the sweep had is there again."""
    sweep, replaced = made(name, "smoke"), 0
    for column in {column for entry in sweep.entries.values() for column in entry.free}:
        there = [entry.free[column].unique().tolist() for entry in sweep.entries.values() if column in entry.free]
        try:
            new = with_grid(sweep, {column: list(dict.fromkeys(value for values in there for value in values))})
        except InputError:
            continue
        replaced += 1
        for label, entry in sweep.entries.items():
            if new.entries[label] is entry:  # which has no such column
                continue
            both = new.entries[label].points.merge(entry.points, on=list(entry.points), how="inner")
            assert len(both.drop_duplicates()) == len(entry.points), (column, label)
    assert replaced >= 2


def test_values_replace_those_of_every_entry_that_has_the_column():
    points = grid(step_size=[0.1, 0.2], noise_multiplier=[1.0, 2.0])
    sweep = walks(points=points)
    new = with_grid(sweep, {"step_size": [0.5, 0.6, 0.7]}).entries["Walk"].points
    assert sorted(map(tuple, new[["step_size", "noise_multiplier"]].to_numpy())) == [
        (step, noise) for step in (0.5, 0.6, 0.7) for noise in (1.0, 2.0)
    ]
    assert sweep.entries["Walk"].points.equals(points)


def test_local_learning_stays_once_and_silent():
    new = with_grid(made("ppsgd_synthetic", "smoke"), {"noise_multiplier": [7, 8], "personalization": "0,0.5,inf"})
    points = new.entries["PPSGD"].points
    local = points[points["personalization"] == 0]
    assert set(local["noise_multiplier"]) == {0.0}
    assert len(local) == 2 * 5  # values of delta_std, step sizes
    shared = points[points["personalization"] > 0]
    assert set(shared["noise_multiplier"]) == {7.0, 8.0}
    assert len(shared) == 2 * 2 * 2 * 5


def test_local_learning_has_the_smallest_clipping_norm_where_its_own_is_gone():
    free = grid(personalization=[0.0, 1.0], clip_norm=[2.0, 5.0], noise_multiplier=[0.0, 1.0])
    entry = Entry(ppsgd.METHOD, free, complete=partial(ppsgd_grid.once_for_local, clip_norm=10.0))
    local = entry.points.query("personalization == 0")
    assert local[["clip_norm", "noise_multiplier"]].to_numpy().tolist() == [[2.0, 0.0]]


def test_noise_is_found_for_another_budget_and_number_of_rounds():
    new = with_grid(made("isrl_odd_even", "smoke"), {"target_epsilon": [2, math.inf], "phase_rounds": [4, 9]})
    for label, once in (("One-pass MB-SGD", True), ("Multi-pass MB-SGD", False), ("Localized MB-SGD", False)):
        points = new.entries[label].points
        assert set(points["target_epsilon"]) == {2.0, math.inf}
        for row in points.drop_duplicates(["target_epsilon", "calibration", "phase_rounds"]).itertuples():
            uses = 1 if once else row.phase_rounds
            assert row.noise_multiplier == isrl_noise.noise(row.target_epsilon, row.calibration, uses, DELTA)
        assert (points["target_epsilon"].eq(math.inf) == points["calibration"].eq("no noise")).all()


def test_noise_of_the_peers_costs_the_budget_that_the_label_says():
    new = with_grid(made("p2p_private", "smoke"), {"target_epsilon": [0.7], "max_updates": [3], "clip_norm": [2.0]})
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
    new = with_grid(made("p2p_movielens", "smoke"), {"start_share": [0.5], "budget": [2.0], "num_updates": [1]})
    points = new.entries["private CD"].points
    cold = points["start"] == "zero"
    assert set(points.loc[cold, "start_share"]) == {0.0}
    assert set(points.loc[~cold, "target_epsilon"]) == {1.0}
    assert set(points.loc[cold, "target_epsilon"]) == {2.0}


def test_the_ratio_of_a_network_follows_from_that_of_the_legend():
    new = with_grid(made("ppsgd_cnn", "smoke"), {"legend_personalization": [5], "legend_step_size": [0.5]})
    points = new.entries["PPSGD"].points
    np.testing.assert_allclose(points["personalization"], 0.5)
    np.testing.assert_allclose(points["step_size"], np.maximum(0.5, 10 * 0.5 / 5))


REFUSED = [
    ("ppsgd_synthetic", {"noise_multipler": [1]}, "did you mean noise_multiplier"),
    ("ppsgd_synthetic", {"delta_std": [0.5]}, "has no data for some of the values"),
    ("ppsgd_synthetic", {"task": ["digits"]}, "by --task"),
    ("ppsgd_synthetic", {"noise_multiplier": [-1]}, "at least 0 and finite"),
    ("ppsgd_synthetic", {"noise_multiplier": [math.nan]}, "give numbers"),
    ("ppsgd_synthetic", {"noise_multiplier": []}, "has 0 values"),
    ("ppsgd_synthetic", {"noise_multiplier": ["much"]}, "must be a number"),
    ("ppsgd_synthetic", {"noise_multiplier": "1,1.0"}, "twice"),
    ("ppsgd_synthetic", {"num_sampled": [2.5]}, "must be a whole number"),
    ("ppsgd_synthetic", {"sampler": [3]}, "must be a word such as all"),
    ("ppsgd_synthetic", {"step_size": np.geomspace(0.1, 1, 10**6)}, "give 1 to 10,000"),
    ("ppsgd_synthetic", {"step_size": list(range(1, 9001)), "num_sampled": list(range(1, 1000))}, "at most 1,000,000"),
    ("ppsgd_theory", {"noise_multiplier": [1.0]}, "replace target_epsilon, personalization, or choose"),
    ("isrl_odd_even", {"target_epsilon": [0.0]}, "must be positive"),
    ("isrl_odd_even", {"calibration": ["guessed"]}, "no calibration is called 'guessed'"),
    ("p2p_dimensions", {"num_updates": [2.5]}, "noise is found for a whole number of updates"),
    ("p2p_private", {"start": ["local"]}, "no start is called 'local'"),
    ("decor_noise", {"against": ["nobody"]}, "no observer is called 'nobody'"),
]


@pytest.mark.parametrize(("name", "columns", "said"), REFUSED, ids=[f"{n} {next(iter(c))} {s}" for n, c, s in REFUSED])
def test_what_cannot_be_done_honestly_is_one_line(name, columns, said):
    with pytest.raises(InputError, match=said) as error:
        with_grid(made(name, "smoke"), columns)
    assert "\n" not in str(error.value)


def test_a_label_of_the_data_takes_the_values_that_there_are_data_for():
    points = with_grid(made("p2p_dimensions", "smoke"), {"num_features": [25]}).entries["local"].points
    assert set(points["task"]) == {"linear_p2p_25"}
    points = with_grid(made("pfl_splits", "laptop"), {"dataset": ["Fashion-MNIST"]}).entries["SN+Lin"].points
    assert set(points["task"]) == {"fashion_mnist_scatter_linear_10"}
    assert {later.args[1] for later in points["noise_multiplier"]} == {"fashion_mnist"}


def test_runs_without_noise_are_not_clipped_whatever_the_norm():
    points = with_grid(made("scaffold_steps", "smoke"), {"noise_multiplier": [0, 2], "clip_norm": [3]}).entries
    for entry in points.values():
        assert set(zip(entry.points["noise_multiplier"], entry.points["clip_norm"], strict=True)) == {
            (0.0, math.inf),
            (2.0, 3.0),
        }


def test_own_budgets_have_the_bounds_of_the_theorem():
    sweep = made("ppsgd_theory", "smoke")
    ((label, entry), *_) = sweep.entries.items()
    own = with_grid(sweep, {"target_epsilon": [3, 5]}).entries[label].points
    same, other = (own.query(f"target_epsilon == {target}").reset_index(drop=True) for target in (3, 5))
    assert same.equals(entry.points.query("target_epsilon == 3").reset_index(drop=True))
    assert (other["noise_multiplier"] < same["noise_multiplier"]).all()
    assert (other["bound"] < same["bound"])[1:].all()  # the first learns alone


def test_what_was_computed_by_nobody_knows_whom_is_not_replaced():
    entry = private_sgd().entries["PPSGD"]
    points = entry.points.assign(label="a")
    with pytest.raises(InputError, match=r"replace step_size, .* choose among"):
        with_grid(sweep_of({"PPSGD": Entry(ppsgd.METHOD, points)}), {"label": ["b"]})
    made = Entry(ppsgd.METHOD, points, computed=("noise_multiplier",))
    for column in ("noise_multiplier", "step_size", "label"):
        with pytest.raises(InputError, match="computes or fixes it"):
            with_grid(sweep_of({"PPSGD": made}), {column: [1.0]})


def test_values_are_lists_however_they_come():
    assert listed("a", "log:1:100:3") == [1.0, 10.0, 100.0]
    assert listed("a", 3) == [3]
    assert listed("a", np.array([1, 2])) == [1, 2]
    assert listed("a", (True, 1)) == [True, 1]


def test_rounds_replace_the_sweeps_and_must_fit_its_evaluations():
    sweep = walks()
    assert (with_rounds(sweep, 40).num_rounds, with_rounds(sweep, 40).eval_every) == (40, 5)
    with pytest.raises(InputError, match="evaluated every 5 rounds, so give a multiple"):
        with_rounds(sweep, 22)
    at_end = with_rounds(sweep._replace(eval_every=20), 7)
    assert (at_end.num_rounds, at_end.eval_every) == (7, 7)
    assert with_rounds(sweep._replace(eval_every=None), 7).eval_every is None
    for wrong in (0, -1, 1.5, True, "5", 10**9):
        with pytest.raises(InputError, match="must be a whole number"):
            with_rounds(sweep, wrong)


def test_rounds_that_follow_from_the_data_are_not_replaced():
    with pytest.raises(InputError, match="follow from its data and points"):
        with_rounds(made("ppsgd_digits", "smoke"), 100)
    with pytest.raises(InputError, match="set their own number of rounds"):
        with_rounds(made("ppsgd_theory", "smoke"), 100)
    with pytest.raises(InputError, match="leave it out"):
        with_rounds(walks(num_rounds=lambda task, args: 5), 100)


def test_entries_with_rounds_of_their_own_keep_them_and_are_named():
    entry = private_sgd().entries["PPSGD"]
    sweep = sweep_of({"a": entry, "b": Entry(ppsgd.METHOD, entry.points, num_rounds=10, eval_every=5)})
    assert keeping_rounds(sweep) == ["b"]
    assert with_rounds(sweep, 40).entries["b"].num_rounds == 10
