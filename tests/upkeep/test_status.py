"""What is there and what is missing is counted without data, and the rest is timed by what was measured."""

import json
import re
from dataclasses import replace

import pytest
from made_up_parts import put, rows
from tiny_sweeps import private_sgd, run, walks

import bench
from bench.cli.app import app
from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.papers import SWEEPS
from bench.store import part_files
from bench.sweeps.spec import grid, select
from bench.upkeep import status


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())


def refused(*_, **__):
    raise AssertionError("data are read")


def test_nothing_half_and_all_are_counted_without_a_data_set(tmp_path, monkeypatch):
    sweep = walks()
    folder = tmp_path / "smoke" / "tiny"
    blind = sweep._replace(tasks={"synthetic": refused})
    empty = status.status(blind, "smoke", folder)
    assert (empty.total.wanted, empty.total.there, empty.total.core_hours) == (8, 0, None)
    assert not folder.exists()
    run_sweep(select(sweep, "step_size < 0.25"), full_sweep=sweep, scale="smoke", out=tmp_path)
    half = status.status(blind, "smoke", folder)
    assert (half.total.there, half.total.missing, half.other_runs) == (4, 4, 0)
    rows = part_files.read(folder).drop_duplicates(part_files.IDENTITY)
    expected = (4 * rows["wall_s"].mean() + rows["compile_s"].mean()) / 3600
    assert half.total.core_hours == pytest.approx(expected)
    run(sweep, tmp_path)
    whole = status.status(blind, "smoke", folder)
    assert (whole.total.missing, whole.total.core_hours) == (0, 0.0)
    json.dumps(whole.as_dict())
    assert "\n\nThe rest: 8 runs without a rate. " in status.as_text([empty], by_entry=False)
    assert re.search(r"The rest: [0-9.e-]+ core-hours\. ", status.as_text([half, whole], by_entry=False))
    assert "The rest: nothing. " in status.as_text([whole], by_entry=False)


def test_the_command_and_python_return_the_same_counts(tmp_path, capsys):
    run(walks(), tmp_path)
    app(["status", "tiny", "--out", str(tmp_path), "--json"], standalone_mode=False)
    (found,) = json.loads(capsys.readouterr().out)
    (row,) = bench.status("tiny", out=tmp_path).to_dict("records")
    assert {name: row[name] for name in ("wanted", "there", "missing")} == {"wanted": 8, "there": 8, "missing": 0}
    assert row == {"sweep": "tiny", "entry": "Walk"} | {name: found[name] for name in list(row)[2:]}


def test_runs_of_other_settings_and_versions_do_not_count(tmp_path):
    run(walks(steps=(0.1, 0.9)), tmp_path)
    found = status.status(walks(), "smoke", tmp_path / "smoke" / "tiny")
    assert (found.total.there, found.other_runs) == (2, 2)
    sweep = walks()
    newer = {label: replace(entry, method=entry.method._replace(version=2)) for label, entry in sweep.entries.items()}
    found = status.status(sweep._replace(entries=newer), "smoke", tmp_path / "smoke" / "tiny")
    assert (found.total.there, found.other_runs) == (0, 4)
    assert found.total.core_hours is not None


def test_a_rate_is_pooled_where_nothing_like_the_missing_was_run(tmp_path):
    def sweep(sizes):
        points = grid(step_size=[0.1], personalization=1.0, clip_norm=1.0, noise_multiplier=1.0, batch_size=sizes)
        return private_sgd(points=points.assign(num_sampled=4, sampler="fixed"))

    run(sweep([2]), tmp_path)
    found = status.status(sweep([2, 3]), "smoke", tmp_path / "smoke" / "tiny")
    rows = part_files.read(tmp_path / "smoke" / "tiny").drop_duplicates(part_files.IDENTITY)
    assert found.total.core_hours == pytest.approx((2 * rows["wall_s"].mean() + rows["compile_s"].mean()) / 3600)


def test_a_rate_is_that_of_the_same_data_where_the_method_ran_on_them_otherwise():
    """Large data take a hundred times as long; of them only runs with other batches are there."""
    entry = private_sgd(points=grid(step_size=[0.1], batch_size=[2, 3], num_clients=[4, 400])).entries["PPSGD"]
    runs = entry.points[entry.points["batch_size"] == 2].assign(compile_s=0.0)
    runs["wall_s"] = runs["num_clients"] * 1.0
    todo = entry.points[entry.points["batch_size"] == 3].assign(missing=1)
    assert status._hours(entry, todo[todo["num_clients"] == 400], runs, runs) == pytest.approx(400 / 3600)


def test_runs_of_a_gpu_give_no_rate_of_a_core():
    """Half of the runs were made on a GPU in a hundredth of the time."""
    entry = private_sgd(points=grid(step_size=[0.1, 0.2], batch_size=2)).entries["PPSGD"]
    runs = entry.points.assign(compile_s=0.0, wall_s=[100.0, 1.0], device=["1 x cpu", "1 x NVIDIA H100"])
    todo = entry.points.assign(missing=1)
    assert status._hours(entry, todo, runs, runs) == pytest.approx(200 / 3600)
    assert status._hours(entry, todo, runs[1:], runs[1:]) is None


def test_verify_names_what_is_wrong_and_changes_nothing(tmp_path):
    folder = tmp_path / "smoke" / "tiny"
    run_sweep(walks(), scale="smoke", out=tmp_path, most=1)
    assert status.verify(walks(), folder) == []
    parts = part_files.parts_in(folder)
    parts[0].write_bytes(parts[0].read_bytes()[:-40])
    put(folder, parts[1].read_bytes())
    before = {path: path.read_bytes() for path in folder.iterdir()}
    said = status.verify(walks(steps=(0.1, 0.2)), folder)
    assert any("is damaged" in line for line in said)
    assert any("that are duplicates" in line for line in said)
    assert any("of other settings" in line for line in said)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_part_without_a_column_that_status_needs_is_named(tmp_path):
    path = put(tmp_path, rows("a"))
    runs, (problem,) = status.runs_there(tmp_path, [])
    assert problem.startswith(f"{path} is not a part of these results (no column 'version')")
    assert runs.empty


def test_verify_says_that_data_are_missing(tmp_path):
    def missing(trial):
        raise InputError("no data: get some")

    run(walks(), tmp_path)
    said = status.verify(walks()._replace(tasks={"synthetic": missing}), tmp_path / "smoke" / "tiny")
    assert len(said) == 1
    assert "not checked, since data are missing: no data: get some" in said[0]


def test_names_are_looked_up(tmp_path):
    with pytest.raises(InputError, match="did you mean tiny"):
        status.statuses(SWEEPS, ["tinny"], "smoke", tmp_path)
    with pytest.raises(InputError, match="no scale is called"):
        status.statuses(SWEEPS, ["tiny"], "papr", tmp_path)
    with pytest.raises(InputError, match=r"there are no results at scale paper in .*: choose another --scale"):
        status.check(SWEEPS, [], "paper", tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is not a folder"):
        status.statuses(SWEEPS, [], "paper", tmp_path / "file")
    assert [one.sweep for one in status.statuses(SWEEPS, ["tiny"], "smoke", tmp_path)] == ["tiny"]
