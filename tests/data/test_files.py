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


@pytest.mark.parametrize(("name", "reason"), [("none", "No such file or directory"), ("file", "Not a directory")])
def test_a_folder_that_is_none_is_one_line(name, reason, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / name))
    for given in (tmp_path / name, None):
        with pytest.raises(InputError) as error:
            DataFiles(given)
        assert str(error.value) == f"{tmp_path / name}: {reason}: give BENCH_DATA another folder."


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


def test_each_run_reads_the_folder_that_it_is_given_and_leaves_the_environment_as_it_is(tmp_path, monkeypatch):
    digit_walks = walks(tasks={"digits": digits.emnist_digits}, num_rounds=2, eval_every=2)
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: digit_walks)
    checksums = []
    for clients in ("abc", "abcd"):
        folder = hdf5(tmp_path / clients, made_up(dict.fromkeys(clients, (10, 4))))
        monkeypatch.setenv("BENCH_DATA", str(folder))
        before = dict(os.environ)
        rows = run("tiny", out=tmp_path / f"out_{clients}")
        assert os.environ == before
        assert set(rows["task"]) == {"emnist_digits"}
        (checksum,) = set(rows["checksum"])
        assert checksum == retrieval.get("federated_emnist", DataFiles(folder)).checksum
        checksums.append(checksum)
    assert checksums[0] != checksums[1]
