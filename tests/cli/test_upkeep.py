"""The command lines of own grids, of merge and of status, on a small sweep."""

import pytest
from calling import caller
from tiny_sweeps import table, walks

from bench import __main__ as command
from bench.papers import SWEEPS
from bench.store.requests import GridRequest, prepare
from bench.store.store import Store


@pytest.fixture
def bench(monkeypatch, capsys, tmp_path):
    """Runs a command line in this process, from an empty folder, with a sweep called "tiny"."""
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    monkeypatch.chdir(tmp_path)
    return caller("bench", command.main, monkeypatch, capsys)


OWN = ["run", "tiny", "--grid", "step_size=log:.25:1:3", "--name", "mine", "--workers", "1"]


def test_an_own_grid_runs_its_values_in_its_own_folder_and_resumes(bench, tmp_path):
    assert bench(*OWN)[0] == 0
    folder = tmp_path / "results" / "smoke" / "mine"
    runs = table(folder)
    assert set(runs["step_size"]) == {0.25, 0.5, 1.0}
    assert not (tmp_path / "results" / "smoke" / "tiny").exists()
    parts = {path: path.read_bytes() for path in folder.glob("*.parquet")}
    assert bench(*OWN)[0] == 0
    assert {path: path.read_bytes() for path in folder.glob("*.parquet")} == parts
    status, _, lines = bench("run", "tiny", "--grid", "step_size=.1", "--rounds", "10", "--name", "mine")
    assert status == 2
    assert "holds other results" in lines[-1]


@pytest.mark.parametrize("name", [["--name", "mine"], []])
def test_one_more_value_runs_what_is_new_and_keeps_the_rest(bench, tmp_path, name):
    more = ["run", "tiny", *name, "--workers", "1", "--grid"]
    assert bench(*more, "step_size=.1,.2")[0] == 0
    (folder,) = (tmp_path / "results" / "smoke").iterdir()
    parts = {path: path.read_bytes() for path in folder.glob("part*.parquet")}
    status, _, lines = bench(*more, "step_size=.2,.3")
    assert status == 0
    assert any("2 runs to do, 4 in" in line for line in lines)
    assert not any("set aside" in line for line in lines)
    assert {path: path.read_bytes() for path in parts} == parts
    assert set(table(folder)["step_size"]) == {0.1, 0.2, 0.3}
    assert bench("check", folder.name)[0] == 0
    assert bench(*more, "step_size=.1,.3")[0] == 0
    assert len([*folder.parent.iterdir()]) == 1


@pytest.mark.parametrize(
    ("grid", "culprit"),
    [
        ("step_size", "step_size"),
        ("step_sise=1", "did you mean step_size?"),
        ("step_size=log:0:1:3", "log:0:1:3"),
    ],
)
def test_a_wrong_grid_is_one_line_and_leaves_nothing(bench, tmp_path, grid, culprit):
    status, out, lines = bench("run", "tiny", "--grid", grid)
    assert status == 2
    assert out == ""
    assert len(lines) == 1
    assert culprit in lines[0]
    assert not (tmp_path / "results").exists()


def test_check_names_a_damaged_part(bench, tmp_path):
    bench("run", "tiny", "--workers", "1")
    assert bench("check", "tiny")[0] == 0
    part = next((tmp_path / "results" / "smoke" / "tiny").glob("part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    status, out, _ = bench("check", "tiny")
    assert status == 1
    assert part.name in out


def test_merge_adds_runs_once_and_says_what_it_left_out(bench, tmp_path):
    bench("run", "tiny", "--where", "step_size < 0.25", "--out", "a", "--workers", "1")
    bench("run", "tiny", "--out", "b", "--workers", "1")
    status, out, lines = bench("merge", "a", "b")
    assert (status, lines) == (0, [])
    whole = table(tmp_path / "results" / "smoke" / "tiny")
    assert len(whole) == len(table(tmp_path / "b" / "smoke" / "tiny"))
    assert f"{len(table(tmp_path / 'a' / 'smoke' / 'tiny').drop_duplicates(['point', 'seed']))} duplicates" in out
    part = next((tmp_path / "a" / "smoke" / "tiny").glob("part-*.parquet"))
    part.write_bytes(b"no parquet")
    status, _, lines = bench("merge", "a")
    assert status == 1
    assert lines[0].startswith("left out: ")
    assert part.name in lines[0]


def test_a_run_that_finds_the_folder_in_use_leaves_it_there(bench, tmp_path):
    """The second of two runs that start together must not take away the folder of the first."""
    folder = tmp_path / "results" / "smoke" / "mine"
    assert prepare(folder, GridRequest("tiny", "smoke", {"step_size": [0.25, 0.5, 1.0]}))
    with Store(folder):
        status, _, lines = bench(*OWN)
        assert status == 2
        assert "in use by another run" in lines[-1]
    assert folder.is_dir()
    assert bench(*OWN)[0] == 0
