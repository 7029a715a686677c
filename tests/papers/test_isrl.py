"""The sweeps of Gao et al.: fair grids, noise that costs what its label says, runs evaluated at both their ends."""

import math

import numpy as np
import pandas as pd
import pytest
from tiny_silos import random_records, task_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts import silos
from bench.data.tasks import odd_even
from bench.data.tasks.quadratic import LIPSCHITZ, lipschitz
from bench.execution.run import run_sweep
from bench.papers import SWEEPS
from bench.papers.isrl import noise, rounds, theory
from bench.privacy import accounting
from bench.sweeps.spec import Entry, Sweep, arguments, grid, with_computed
from figures.isrl import gradients

NAMES = ("isrl_odd_even", "isrl_nonsmooth", "isrl_rounds", "isrl_heterogeneity")
WHOLE = {name: SWEEPS[name]("paper") for name in NAMES}


def blank(records):
    """A task of the experiment's sizes; what it holds does not matter to the accounting."""
    return task_of(np.zeros((25, records, 1)), np.zeros((25, records)))


def spent(sweep, entry, row, records):
    """What the releases of a point cost after its last round, by claim."""
    task, args = blank(records), arguments(entry.method, row)
    entry.method.fits(task, **args)
    rounds = sweep.num_rounds(task, args)
    claims = entry.method.releases(task, delta=sweep.delta, **args)
    return {name: accounting.epsilon(claim, rounds) for name, claim in claims.items()}


def by_budget(points, size=1):
    """A few points of each target epsilon and calibration."""
    return (
        with_computed(points).groupby(["target_epsilon", "calibration"], group_keys=False).sample(size, random_state=1)
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_point_costs_what_its_label_says(name):
    """ "exact": that epsilon, by the exact accountant. "published": that epsilon by the form that was published."""
    sweep = WHOLE[name]
    for entry in sweep.entries.values():
        for row in by_budget(entry.points, 2).to_dict("records"):
            costs = spent(sweep, entry, row, row.get("num_records", odd_even.NUM_RECORDS))
            target = row["target_epsilon"]
            if row["calibration"] == noise.SILENT:
                assert math.isinf(target)
                assert row["noise_multiplier"] == 0
                assert set(costs.values()) == {math.inf}
            elif row["calibration"] == noise.EXACT:
                assert 0.998 * target <= costs["exact"] <= target
            else:
                assert (1 - 4 * accounting.MARGIN) * target <= costs["paper"] <= target


def test_noise_below_the_label_would_be_seen():
    sweep = WHOLE["isrl_odd_even"]
    entry = sweep.entries["Localized MB-SGD"]
    row = entry.points.query("calibration == 'exact' and phase_rounds == 5").iloc[0].to_dict()
    wrong = row | {
        "noise_multiplier": row["noise_multiplier"] / math.sqrt(row["phase_rounds"])
    }  # composition forgotten
    assert spent(sweep, entry, wrong, odd_even.NUM_RECORDS)["exact"] > 1.5 * row["target_epsilon"]


def test_one_pass_and_phases_may_be_as_short_and_no_setting_is_there_twice():
    """Steps beyond 1 / lambda are cut to it, so a grid with several of them holds one run several times."""
    entries = WHOLE["isrl_odd_even"].entries
    localized = entries["Localized MB-SGD"].points
    assert localized["phase_rounds"].min() == entries["One-pass MB-SGD"].points["phase_rounds"].min() == 1
    assert (localized["step_size"] * localized["regularization"] <= 1).all()


@pytest.mark.parametrize("name", ["isrl_odd_even", "isrl_nonsmooth"])
def test_methods_have_equally_many_points_and_the_same_budgets(name):
    counts = {}
    for label, entry in WHOLE[name].entries.items():
        points = entry.points
        if "search" in points:
            points = points[points["search"] == "equal"]
        keys = ["target_epsilon", "calibration", "num_sampled"]
        counts[label] = points.groupby(keys, dropna=False).size()
    first = next(iter(counts.values()))
    assert first.nunique() == 1
    for other in counts.values():
        pd.testing.assert_series_equal(first, other)


def test_one_noise_for_both_methods_at_equal_uses_of_a_record():
    entries = WHOLE["isrl_odd_even"].entries
    multi, localized = (
        entries[name].points.query("calibration == 'exact' and target_epsilon == 3.0 and phase_rounds == 10")
        for name in ("Multi-pass MB-SGD", "Localized MB-SGD")
    )
    once = entries["One-pass MB-SGD"].points.query("calibration == 'exact' and target_epsilon == 3.0")
    assert multi["noise_multiplier"].unique() == localized["noise_multiplier"].unique()
    np.testing.assert_allclose(multi["noise_multiplier"].iloc[0], math.sqrt(10) * once["noise_multiplier"].unique())
    assert (once["sampler"] == "once").all()
    assert (multi["sampler"] == "all").all()


def test_rounds_are_as_the_theorem_says():
    sweep = WHOLE["isrl_rounds"]
    entry = sweep.entries["Localized accelerated"]
    points = entry.points[np.isfinite(entry.points["target_epsilon"])]
    assert (points["clip_norm"] == LIPSCHITZ).all()
    for row in points.drop_duplicates(["num_records", "target_epsilon", "theorem_lambda"]).to_dict("records"):
        n = row["num_records"]
        assert row["num_phases"] == theory.num_phases(n)
        assert row["growth"] == theory.growth(25, n) == 3.0
        setting = theory.Setting(25, 25, n, 50, row["target_epsilon"], 1e-6, LIPSCHITZ, 2.0)
        np.testing.assert_allclose(row["regularization"], row["theorem_lambda"] * theory.regularization(setting))
        cut = silos.phases_of(blank(n), arguments(entry.method, row))
        assert cut.sizes == tuple(theory.phase_records(n))
    cut = silos.phases_of(
        blank(512), {**row, "num_phases": 9, "phase_rounds": 64, "sampler": "all", "batch_size": 1, "share": 0.5}
    )
    np.testing.assert_allclose(np.divide(cut.rounds[1:4], cut.rounds[:3]), 8**-0.5, rtol=0.1)


def test_heterogeneity_is_measured_at_one_noise():
    """All distances share clipping, noise and settings, and the clipping is that of the largest."""
    sweep = WHOLE["isrl_heterogeneity"]
    for entry in sweep.entries.values():
        assert (entry.points["clip_norm"] == lipschitz(max(rounds.SPREADS))).all()
        apart = entry.points.groupby("spread")
        parts = [part.drop(columns=["spread", "task"]).reset_index(drop=True) for _, part in apart]
        assert len(parts) == len(rounds.SPREADS)
        for part in parts[1:]:
            pd.testing.assert_frame_equal(part, parts[0])
    tasks = {name: make(0) for name, make in sweep.tasks.items()}
    first, *others = tasks.values()
    for task in others:
        np.testing.assert_array_equal(first.train[0], task.train[0])
        np.testing.assert_array_equal(first.evaluation["minimiser"], task.evaluation["minimiser"])


# Evaluated before the first round and after the last, whatever the number of rounds.


@pytest.mark.slow
def test_runs_of_different_lengths_are_evaluated_at_their_ends(tmp_path):
    points = grid(
        num_sampled=3, phase_rounds=[2, 3], step_size=1.0, clip_norm=1.0, noise_multiplier=2.0, sampler=["all", "once"]
    )
    sweep = Sweep(
        "ends",
        "a test",
        {"tiny": lambda trial: random_records(trial)},
        {"SGD": Entry(ALGORITHMS["minibatch_sgd"], points)},
        num_rounds=silos.total_rounds,
        eval_every=None,
        delta=1e-6,
        seeds=2,
        trials=2,
    )
    run_sweep(sweep, scale="smoke", out=tmp_path)
    rows = pd.read_parquet(tmp_path / "smoke" / "ends")
    assert len(rows) == 4 * 4 * 2
    assert (rows["num_rounds"] == rows["phase_rounds"]).all()
    assert sorted(rows["rounds"].unique()) == [0, 2, 3]
    end = rows[rows["rounds"] == rows["num_rounds"]]
    assert (end["releases"] == end["num_rounds"]).all()
    once = end[end["sampler"] == "once"]
    assert once["epsilon_exact"].nunique() == 1  # each record in one round, however many there are
    assert end.loc[end["sampler"] == "all", "epsilon_exact"].nunique() == 2
    assert set(end["privacy_unit"]) == {"record"}
    assert (rows.loc[rows["rounds"] == 0, "epsilon_exact"] == 0).all()


@pytest.mark.slow
def test_the_figure_counts_the_gradients_that_the_methods_declare():
    sweep = WHOLE["isrl_rounds"]
    for entry in sweep.entries.values():
        points = with_computed(entry.points.drop_duplicates(["num_records", "phase_rounds"]))
        for row in points.to_dict("records"):
            task, args = blank(row["num_records"]), arguments(entry.method, row)
            cost = silos.cost(task, **args)
            known = {"share": math.nan, "rounds_ratio": math.nan, "num_phases": math.nan, "sampler": "all"} | row | args
            assert gradients.of_run(known) == pytest.approx(cost.gradients * sweep.num_rounds(task, args))
