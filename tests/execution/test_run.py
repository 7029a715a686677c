"""Running a sweep: what is missing and nothing else, in any pieces, with the same rows at the end."""

import time
from functools import partial

import jax
import numpy as np
import pandas as pd
import pytest
from tiny_sweeps import EVERY, KEY, ROUNDS, TASK, assert_same_rows, run, table, walks

from bench.data.tasks.synthetic import synthetic
from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.sweeps.spec import grid, on_task, select


def test_one_row_per_run_and_evaluation(undisturbed):
    assert len(undisturbed) == 4 * 2 * (1 + ROUNDS // EVERY)
    assert not undisturbed.duplicated(KEY).any()
    assert sorted(undisturbed["rounds"].unique()) == list(range(0, ROUNDS + 1, EVERY))
    assert undisturbed.groupby("step_size")["excess_risk"].last().nunique() == 4
    drift = undisturbed[undisturbed["rounds"] == 0]
    assert drift.groupby("trial")["excess_risk"].nunique().tolist() == [1, 1]  # w = 0: only the data differ


def test_every_seed_has_a_draw_of_the_data_unless_trials_say_otherwise(tmp_path):
    tied, crossed = run(walks(), tmp_path), run(walks(trials=3, name="crossed"), tmp_path)
    assert set(zip(tied["trial"], tied["seed"], strict=True)) == {(0, 0), (1, 1)}
    assert set(zip(crossed["trial"], crossed["seed"], strict=True)) == {(t, s) for t in range(3) for s in range(2)}
    at_start = crossed[crossed["rounds"] == 0].groupby("trial")["excess_risk"]
    assert at_start.nunique().tolist() == [1, 1, 1]
    assert at_start.first().nunique() == 3
    same = crossed[crossed["trial"] == crossed["seed"]]
    pd.testing.assert_series_equal(
        same["excess_risk"].reset_index(drop=True), tied["excess_risk"], rtol=1e-6, check_index=False
    )


def test_running_again_does_nothing(tmp_path, calls, capsys):
    """64 runs, in well under the 0.66 s that benchopt takes with everything cached."""
    sweep = walks(steps=np.linspace(0.1, 1.0, 32))
    first = run(sweep, tmp_path)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "smoke" / "tiny").iterdir() if path.name[0] != "."}
    calls.clear()
    took = []
    for _ in range(3):
        began = time.perf_counter()
        run_sweep(sweep, scale="smoke", out=tmp_path)
        took.append(time.perf_counter() - began)
    assert calls == []
    assert min(took) < 0.66
    assert files == {path: path.stat().st_mtime_ns for path in files}
    assert "tiny at scale smoke: 0 runs to do, 64 in" in capsys.readouterr().err
    pd.testing.assert_frame_equal(table(tmp_path / "smoke" / "tiny"), first)


def test_more_seeds_are_run_and_the_old_ones_are_not(tmp_path, undisturbed, calls):
    run(walks(seeds=1), tmp_path)
    calls.clear()
    assert_same_rows(run(walks(seeds=2), tmp_path), undisturbed)
    assert calls == [(4, 1)]
    run(walks(seeds=1), tmp_path)
    assert calls == [(4, 1)]


def test_a_selection_first_and_the_rest_later_are_the_whole(tmp_path, undisturbed, calls):
    chosen = run(select(walks(), "step_size in (0.2, 0.4)"), tmp_path, full_sweep=walks())
    assert sorted(chosen["step_size"].unique()) == [0.2, 0.4]
    calls.clear()
    assert_same_rows(run(walks(), tmp_path), undisturbed)
    assert calls == [(2, 1), (2, 1)]
    calls.clear()
    run(select(walks(), "step_size == 0.1"), tmp_path, full_sweep=walks())
    assert calls == []
    assert not (tmp_path / "smoke" / "tiny" / "_stale").exists()


def test_data_of_no_selected_point_are_loaded_only_where_the_folder_has_results_of_them(tmp_path):
    loaded = []

    def other(trial):
        loaded.append(trial)
        return synthetic(trial, num_clients=14, num_features=6)

    points = grid(task=["synthetic", "other"], step_size=[0.1, 0.2])
    both = walks(points=points, tasks={"synthetic": TASK, "other": other})
    part = select(both, "task == 'synthetic'")
    run(part, tmp_path, full_sweep=both)
    assert not loaded
    run(both, tmp_path)
    assert len(run(both, tmp_path).groupby(["point", "trial", "seed"])) == 8
    loaded.clear()
    run(part, tmp_path, full_sweep=both)
    assert loaded, "the other results were not recognised"
    assert len(run(both, tmp_path).groupby(["point", "trial", "seed"])) == 8


@pytest.mark.parametrize("most", [1, 3])
def test_the_chunk_changes_no_row(tmp_path, undisturbed, most):
    assert_same_rows(run(walks(trials=1), tmp_path, most=most), run(walks(trials=1), tmp_path / "free"))
    assert_same_rows(run(walks(name="tied"), tmp_path, most=most), undisturbed)


def test_results_of_other_settings_are_set_aside_with_a_sentence(tmp_path, undisturbed, capsys):
    run(walks(), tmp_path)
    capsys.readouterr()
    other = walks(num_rounds=ROUNDS + EVERY)
    rows = run(other, tmp_path)
    aside = tmp_path / "smoke" / "tiny" / "_stale"
    assert f"has 4 runs of other settings, data or code versions: set aside as {aside}" in capsys.readouterr().err
    assert not set(rows["point"]) & set(undisturbed["point"])
    assert rows["num_rounds"].unique().tolist() == [other.num_rounds]
    assert len(rows) == 4 * 2 * (1 + other.num_rounds // EVERY)
    assert_same_rows(table(aside), undisturbed)


def test_another_task_has_a_folder_of_its_own(tmp_path, undisturbed):
    run(walks(), tmp_path)
    run(on_task(walks(), "wide", partial(TASK, delta_std=0.5)), tmp_path)
    assert_same_rows(run(walks(), tmp_path), undisturbed)
    assert set(table(tmp_path / "smoke" / "tiny_on_wide")["sweep"]) == {"tiny_on_wide"}
    assert not list(tmp_path.rglob("_stale"))


def test_small_selections_share_the_programs_of_their_sizes_rounded_up(tmp_path):
    whole = walks(steps=tuple(np.linspace(0.1, 1.1, 11)))
    for selection in ("step_size < 0.55", "step_size > 0.55 and step_size < 0.85", "step_size > 0.85"):  # 5, 3 and 3
        run_sweep(select(whole, selection), full_sweep=whole, scale="smoke", out=tmp_path, shared_sizes=True)
    rows = table(tmp_path / "smoke" / "tiny")
    assert rows.groupby("step_size")["points_per_chunk"].first().tolist() == [8] * 5 + [4] * 6
    assert len(rows.drop_duplicates(["point", "trial", "seed"])) == 22
    assert not rows.duplicated(["point", "trial", "seed", "rounds"]).any()
    run_sweep(whole, scale="smoke", out=tmp_path / "plain")
    assert_same_rows(rows, table(tmp_path / "plain" / "smoke" / "tiny"))


@pytest.mark.parametrize("setting", ["jax_enable_x64", "jax_debug_nans"])
def test_a_setting_that_changes_what_a_run_is_is_refused_before_anything_runs(setting, tmp_path):
    """As one that a method's file, or the environment, turns on."""
    jax.config.update(setting, True)
    try:
        with pytest.raises(InputError, match=f"{setting} is on, by your code or by the environment"):
            run(walks(), tmp_path)
    finally:
        jax.config.update(setting, False)
    assert not any(tmp_path.rglob("part-*"))
