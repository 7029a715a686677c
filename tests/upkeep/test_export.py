"""Results for other programs: what is written for each, and that a missing package is one line."""

import builtins
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_up_parts import put
from tiny_sweeps import walks

from bench.cli.app import app
from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.store import part_files
from bench.upkeep import export as exporting
from bench.upkeep.export import TARGETS, export, measured, runs_of

STEPS = [0.1, 0.2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two points with two seeds each, five evaluations of a run."""
    out = tmp_path_factory.mktemp("results")
    sweep = walks(STEPS)
    run_sweep(sweep, scale="smoke", out=out)
    return out / "smoke" / sweep.name


@pytest.fixture
def rows(folder):
    return part_files.read(folder)


def test_what_was_measured_is_told_from_what_was_set(folder, rows):
    curves = measured(folder, rows)
    assert {"excess_risk", "validation_loss", "epsilon", "releases"} <= set(curves)
    assert not {"step_size", "noise_multiplier", "delta", "wall_s", "num_rounds", "rounds", "seed"} & set(curves)
    assert "global_floor" in curves  # which does not change within a run
    runs = list(runs_of(rows, curves))
    assert len(runs) == 4
    first = runs[0]
    mine = rows[(rows["point"] == first.settings["point"]) & (rows["seed"] == first.settings["seed"])]
    assert {at: values["excess_risk"] for at, values in first.curves.items()} == dict(
        zip(mine["rounds"], mine["excess_risk"], strict=True)
    )
    assert first.settings["step_size"] in STEPS
    assert all(np.isfinite(value) for run in runs for values in run.curves.values() for value in values.values())


def test_settings_of_other_methods_and_what_is_not_finite_are_left_out(folder, rows):
    rows["momentum"] = np.nan
    rows.loc[rows["rounds"] > 0, "epsilon"] = np.inf
    for run in runs_of(rows, measured(folder, rows)):
        assert "momentum" not in run.settings
        assert "epsilon" in run.curves[0]
        assert all("epsilon" not in values for at, values in run.curves.items() if at)


def test_csv_is_the_whole_table(folder, rows, tmp_path):
    assert export(folder, "csv", tmp_path / "out") == 4
    (file,) = (tmp_path / "out").iterdir()
    columns = ["rounds", "excess_risk"]
    pd.testing.assert_frame_equal(pd.read_csv(file)[columns], rows[columns], check_dtype=False)
    assert list(pd.read_csv(file).columns) == list(rows.columns)


def written_of(folder, tmp_path, **columns):
    """The CSV file of runs with other columns."""
    source = tmp_path / "source"
    source.mkdir()
    put(source, part_files.read(folder).assign(**columns), 1)
    export(source, "csv", tmp_path / "out" / "csv")
    (file,) = (tmp_path / "out" / "csv").iterdir()
    return file


def test_a_spreadsheet_computes_nothing_of_it(folder, tmp_path):
    found = pd.read_csv(written_of(folder, tmp_path, algorithm="=1+1", **{"@SUM(1)": "x"}))
    assert set(found["algorithm"]) == {"'=1+1"}
    assert "'@SUM(1)" in found


@pytest.mark.parametrize("sweep", ["..", ".", "../a", ".hidden", "a/../../b", "nul\0"])
def test_nothing_is_written_elsewhere(folder, tmp_path, sweep):
    """Also where a part has a made-up name of its sweep, which becomes that of a file or folder."""
    file = written_of(folder, tmp_path, sweep=sweep)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source"]
    assert not file.name.startswith(".")
    for name in (sweep, f"{sweep} 1 0-0"):
        place = (tmp_path / exporting._file_name(name)).resolve()
        assert place.parent == tmp_path


def test_a_folder_of_several_sweeps_is_exported_whole(folder, tmp_path, capsys):
    both = tmp_path / "both"
    for name in ("test", "tuning", "_stale"):
        (both / name).mkdir(parents=True)
        put(both / name, part_files.read(folder).assign(sweep=f"both/{name}"), 1)
    (both / "comparison.csv").write_text("a table")
    assert export(both, "csv", tmp_path / "out") == 8


def test_tensorboard_reads_what_was_written(folder, rows, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert export(folder, "tensorboard", tmp_path) == 4
    found = sorted((tmp_path / rows["sweep"].iloc[0]).iterdir())
    assert len(found) == 4
    for path in found:
        events = accumulator.EventAccumulator(str(path)).Reload()
        algorithm, point, _ = path.name.split("_")
        trial, seed = map(int, path.name.rsplit("_", 1)[1].split("-"))
        mine = rows[(rows["point"] == point) & (rows["trial"] == trial) & (rows["seed"] == seed)]
        assert set(mine["algorithm"]) == {algorithm}
        curve = events.Scalars("excess_risk")
        assert [event.step for event in curve] == mine["rounds"].tolist()
        np.testing.assert_allclose([event.value for event in curve], mine["excess_risk"], rtol=1e-6)
        assert "_hparams_/session_start_info" in events.summary_metadata


class Recorder:
    """A module whose every function writes down how it is called, in order; what it returns does so, too."""

    def __init__(self, calls, name=""):
        self.calls, self.name = calls, name

    def __getattr__(self, name):
        def called(*args, **options):
            self.calls.append((name, args, options))
            return self

        return called

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.calls.append(("end_run", (), {}))


@pytest.fixture
def calls(monkeypatch):
    """What mlflow and wandb are asked to do."""
    seen = []
    for name in ("mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, Recorder(seen))
    return seen


def test_mlflow_gets_a_run_with_settings_and_curves(folder, rows, tmp_path, calls):
    assert export(folder, "mlflow", tmp_path / "out") == 4
    names = [name for name, _, _ in calls]
    assert names[:4] == ["set_tracking_uri", "set_experiment", "start_run", "log_params"]
    assert calls[0][1] == (f"sqlite:///{tmp_path / 'out' / 'mlflow.db'}",)
    assert names.count("start_run") == names.count("end_run") == names.count("log_params") == 4
    logged = [(args[0]["excess_risk"], options["step"]) for name, args, options in calls if name == "log_metrics"]
    assert logged == list(zip(rows["excess_risk"], rows["rounds"], strict=True))
    assert {args[0]["step_size"] for name, args, _ in calls if name == "log_params"} == set(STEPS)


def test_wandb_is_offline_and_gets_the_same(folder, rows, tmp_path, calls):
    assert export(folder, "wandb", tmp_path / "out") == 4
    starts = [options for name, _, options in calls if name == "init"]
    assert {options["mode"] for options in starts} == {"offline"}
    assert {options["dir"] for options in starts} == {str(tmp_path / "out")}
    assert [name for name, _, _ in calls].count("finish") == 4
    logged = [(args[0]["excess_risk"], options["step"]) for name, args, options in calls if name == "log"]
    assert logged == list(zip(rows["excess_risk"], rows["rounds"], strict=True))


@pytest.mark.parametrize("to", [name for name, (_, package) in TARGETS.items() if package])
def test_a_package_that_is_missing_is_one_line(folder, tmp_path, to, monkeypatch):
    package = TARGETS[to][1]

    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(exporting, "importlib", SimpleNamespace(import_module=missing))
    with pytest.raises(InputError) as error:
        export(folder, to, tmp_path / "out")
    assert str(error.value) == (
        f"{to} is not installed (No module named {package!r}): pip install 'private-federated-bench[{to}]'"
    )
    assert not (tmp_path / "out").exists()


def test_without_a_package_nothing_of_it_is_imported(folder, tmp_path, monkeypatch):
    imported, plain = [], builtins.__import__

    def watched(name, *args, **options):
        imported.append(name)
        return plain(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", watched)
    export(folder, "csv", tmp_path / "out")
    assert not [name for name in imported if name.partition(".")[0] in ("mlflow", "wandb", "tensorboard")]


def test_what_cannot_be_exported_is_refused(folder, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for source, to, out, words in (
        (folder, "tensorbord", tmp_path / "out", "tensorboard"),
        (folder, "csv", tmp_path, "is not empty"),
        (folder, "csv", tmp_path / "notes.txt", "is not empty"),
        (tmp_path, "csv", tmp_path / "out", "no results in"),
        (tmp_path / "nosuch", "csv", tmp_path / "out", "no results in"),
    ):
        with pytest.raises(InputError, match=words):
            export(source, to, out)


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_export_that_is_stopped_leaves_nothing(folder, tmp_path, monkeypatch, existed, stop):
    def cut(rows, path, **_):
        path.write_text("half a ta")
        raise stop

    out = tmp_path / "out"
    if existed:
        out.mkdir()
    monkeypatch.setattr(pd.DataFrame, "to_csv", cut)
    with pytest.raises(InputError if isinstance(stop, OSError) else KeyboardInterrupt):
        export(folder, "csv", out)
    assert out.is_dir() == existed
    assert not existed or not list(out.iterdir())


def test_the_command_says_how_many_runs_and_where(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app(["export", str(folder)], standalone_mode=False)
    assert capsys.readouterr().out == f"4 runs in exported/csv/{folder.name}\n"
    app(["export", str(folder), "--to", "csv", "--out", "elsewhere"], standalone_mode=False)
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
