"""The user's files and where others may come from, as the environment says at each call."""

import os

import pytest
from tiny_emnist import hdf5, made_up
from tiny_sweeps import walks

from bench import run
from bench.data.fetch import retrieval
from bench.data.files import DataFiles
from bench.data.tasks import digits
from bench.data.tasks.registry import TASKS
from bench.errors import InputError
from bench.papers import SWEEPS


@pytest.fixture
def folders(tmp_path):
    sizes = {"three": dict.fromkeys("abc", (10, 4)), "four": dict.fromkeys("abcd", (10, 4))}
    return [hdf5(tmp_path / name, made_up(of)) for name, of in sizes.items()]


@pytest.fixture
def environment():
    """Fails a test that leaves another environment than it began with, but for what it sets itself."""

    def variables():
        ours = ("PYTEST_CURRENT_TEST", "BENCH_DATA", "BENCH_SOURCE")
        return {name: value for name, value in os.environ.items() if name not in ours}

    before = variables()
    yield
    assert variables() == before


@pytest.fixture
def sweep(monkeypatch):
    """A sweep of random walks, "tiny", on digits of EMNIST."""
    monkeypatch.setitem(
        SWEEPS, "tiny", lambda scale: walks(tasks={"digits": digits.emnist_digits}, num_rounds=2, eval_every=2)
    )


# ---- The options ----


def test_without_a_folder_it_is_the_one_that_bench_data_names_at_that_moment(tmp_path, monkeypatch):
    assert DataFiles().data_dir is None
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    assert DataFiles().data_dir == tmp_path
    assert DataFiles(source="packages") == DataFiles(tmp_path, "packages")
    (tmp_path / "other").mkdir()
    assert DataFiles(tmp_path / "other").data_dir == tmp_path / "other"
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / "other"))
    assert DataFiles().data_dir == tmp_path / "other"


def test_a_folder_is_the_same_however_it_is_written_and_wherever_the_process_goes(tmp_path, monkeypatch):
    (tmp_path / "files").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    here = {DataFiles(tmp_path / "files"), DataFiles("~/files"), DataFiles("files"), DataFiles(str(tmp_path / "files"))}
    assert len(here) == 1
    monkeypatch.chdir(tmp_path / "files")
    assert here == {DataFiles(tmp_path / "files")}


def test_a_folder_that_is_none_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder, reason in ((tmp_path / "none", "No such file or directory"), (tmp_path / "file", "Not a directory")):
        line = f"{folder}: {reason}: give BENCH_DATA another folder."
        with pytest.raises(InputError) as error:
            DataFiles(folder)
        assert str(error.value) == line
        monkeypatch.setenv("BENCH_DATA", str(folder))
        with pytest.raises(InputError) as error:
            DataFiles()
        assert str(error.value) == line


def test_the_source_is_that_of_the_call_or_of_the_environment_or_any(monkeypatch):
    monkeypatch.setenv("BENCH_SOURCE", "packages")
    assert (DataFiles().source, DataFiles(source="publisher").source) == ("packages", "publisher")
    monkeypatch.delenv("BENCH_SOURCE")
    assert DataFiles().source == "any"
    with pytest.raises(InputError, match=r"BENCH_SOURCE\) is called 'publishers'"):
        DataFiles(source="publishers")


GENERATED = ("synthetic", "softmax", "bounded", "made_up", "quadratic", "linear_p2p", "gossip", "rare_features")


def test_every_task_that_reads_files_has_them_from_where_the_environment_says(monkeypatch, tmp_path):
    """Where nothing can be had, a task is made without files, or has asked for them there."""

    class Asked(Exception):
        pass

    def asked(name, data_files=None, **_):
        assert data_files in (None, DataFiles(tmp_path))
        raise Asked

    monkeypatch.delitem(TASKS, "tiny", raising=False)  # of the tests of comparisons
    monkeypatch.setattr(retrieval, "get", asked)
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    for name in (name for name in TASKS if not name.startswith(GENERATED)):
        with pytest.raises(Asked):
            TASKS[name].make(0)


# ---- From Python and from the command line ----


def test_each_run_reads_the_folder_that_it_is_given(folders, sweep, tmp_path, monkeypatch, environment):
    rows = []
    for i, folder in enumerate(folders):
        monkeypatch.setenv("BENCH_DATA", str(folder))
        rows.append(run("tiny", out=tmp_path / f"out{i}"))
    checksums = [set(of_run["checksum"]) for of_run in rows]
    wanted = [{retrieval.get("federated_emnist", DataFiles(folder)).checksum} for folder in folders]
    assert checksums == wanted
    assert checksums[0] != checksums[1]
    assert set(rows[0]["task"]) == {"emnist_digits"}
