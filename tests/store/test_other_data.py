"""Results of one data set are never displaced by those of another that this machine has in its place."""

import dataclasses

import pandas as pd
import pytest
from made_up_parts import put
from tiny_sweeps import TASK, walks

from bench import __main__ as command
from bench import board, compare, run
from bench.comparison.protocol import PROTOCOL
from bench.data.dataset import LocalCopy
from bench.data.fetch import retrieval
from bench.data.tasks import digits, school, stand_ins, tags
from bench.data.tasks.registry import TASKS
from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.papers import SWEEPS
from bench.store import other_data, part_files
from bench.upkeep import merge
from bench.upkeep.status import verify

WRITERS = {"task": "mnist_by_writer", "source": "MNIST (pip) by writer, ids of QMNIST (user files)", "checksum": "abc"}
PROTOCOL_OF_DIGITS = (
    '{"task": "digits", "epsilons": [1.0], "seeds": 1, "settings": 2, "rounds": 2, "delta": 0.0001, '
    '"neighbors": "add-or-remove one", "unit": "user"}'
)


def rows(scale: str = "smoke", sweep: str = "tiny", **columns) -> pd.DataFrame:
    """A run as others made it, on the digits of real writers unless other columns say so."""
    run = {"point": "0123456789abcdef", "trial": 0, "seed": 0, "rounds": [0, 2], "sweep": sweep, "scale": scale}
    return pd.DataFrame(run | {"algorithm": "Walk", "version": 1, "wall_s": 1.0, "compile_s": 1.0} | WRITERS | columns)


@pytest.fixture
def folder(tmp_path):
    """Results of a sweep "tiny" on the digits of real writers."""
    (tmp_path / "smoke" / "tiny").mkdir(parents=True)
    put(tmp_path / "smoke" / "tiny", rows())
    return tmp_path / "smoke" / "tiny"


@pytest.fixture(autouse=True)
def nothing_is_read(monkeypatch):
    """Fails a test that reads pictures: what is here is known without them."""

    def read(*_):
        raise AssertionError("pictures were read")

    monkeypatch.setattr(digits, "mnist", read)
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: sweep_on(digits.best_available))


def sweep_on(make):
    return walks(tasks={"digits": make}, num_rounds=2, eval_every=2)


def content(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def test_a_sweep_on_other_data_stops_in_a_line_that_says_how_to_get_them_and_nothing_moves(folder, tmp_path):
    before = content(folder)
    with pytest.raises(other_data.OtherData) as refused:
        run("tiny", out=tmp_path)
    said = str(refused.value)
    assert said.startswith(f"{folder} has 1 runs on mnist_by_writer (MNIST (pip) by writer")
    assert "this machine has mnist_by_style in its place: get qmnist_writers by `python -m bench data get" in said
    for remedy in ("get qmnist_writers`", "--data-dir with qmnist-train", "--task mnist_by_style", "--out", "--fresh"):
        assert remedy in said
    assert "\n" not in said
    assert content(folder) == before


def test_on_request_the_runs_are_moved_aside(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: sweep_on(TASK))
    run("tiny", out=tmp_path, fresh=True)
    assert len(list((folder / "_stale").iterdir())) == 1
    assert set(part_files.read(folder)["task"]) == {"synthetic_0.1"}


def test_a_run_of_all_sweeps_leaves_this_one_alone_and_goes_on(folder, tmp_path, monkeypatch, capsys):
    before = content(folder)
    for name in set(SWEEPS) - {"tiny"}:
        monkeypatch.delitem(SWEEPS, name)
    monkeypatch.setitem(SWEEPS, "other", lambda scale: walks()._replace(name="other"))
    monkeypatch.setattr("sys.argv", ["bench", "run", "all", "--out", str(tmp_path), "--workers", "1"])
    assert command.main() == 0
    assert f"left as it is: {folder} has 1 runs on mnist_by_writer" in capsys.readouterr().err
    assert content(folder) == before
    assert len(part_files.read(tmp_path / "smoke" / "other"))


def test_stand_ins_do_not_stay_in_the_place_of_the_real_data_without_a_word(tmp_path, monkeypatch):
    folder = tmp_path / "smoke" / "tiny"
    folder.mkdir(parents=True)
    put(folder, rows(task="mnist_by_style", source="MNIST (pip) by slant and stroke width, no real writers"))
    monkeypatch.setattr(retrieval, "find", lambda name, data_files: name == "qmnist_writers")
    with pytest.raises(other_data.OtherData, match="this machine has mnist_by_writer in its place"):
        run("tiny", out=tmp_path)


def made(**changes):
    """The function of a task that says of itself what it is told to."""
    return lambda trial: dataclasses.replace(TASK(trial), **changes)


def test_the_same_task_of_other_content_stops_as_well_and_generated_data_that_changed_are_outdated(tmp_path):
    real = {"name": "school", "source": "School (user files)"}
    run_sweep(sweep_on(made(checksum="a", **real)), scale="smoke", out=tmp_path)
    with pytest.raises(other_data.OtherData, match="this machine has school with other content in its place"):
        run_sweep(sweep_on(made(checksum="b", **real)), scale="smoke", out=tmp_path)
    assert verify(sweep_on(made(checksum="b", **real)), tmp_path / "smoke" / "tiny")[0].count("other content") == 1
    assert not (tmp_path / "smoke" / "tiny" / "_stale").exists()
    other = tmp_path / "generated"
    run_sweep(sweep_on(made(checksum="a")), scale="smoke", out=other)
    run_sweep(sweep_on(made(checksum="b")), scale="smoke", out=other)
    assert (other / "smoke" / "tiny" / "_stale").exists()


def test_merging_into_results_of_other_data_is_refused_and_checking_them_says_so(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: sweep_on(made(name="mnist_by_style", source="MNIST")))
    run("tiny", out=tmp_path / "elsewhere")
    before = content(folder)
    with pytest.raises(other_data.OtherData, match="this machine has mnist_by_style in its place"):
        merge.merge([tmp_path / "elsewhere"], tmp_path)
    assert content(folder) == before
    (problem,) = verify(SWEEPS["tiny"]("smoke"), folder)
    assert "are not checked, since the data here are others" in problem
    assert "this machine has mnist_by_style in its place" in problem


def test_a_board_of_other_data_is_refused_before_anything_is_read(tmp_path, monkeypatch, caplog):
    folder = tmp_path / "board" / "digits"
    for stage in ("test", "tuning"):
        (folder / stage).mkdir(parents=True)
        put(folder / stage, rows("board", f"digits/{stage}"))
    (folder / PROTOCOL).write_text(PROTOCOL_OF_DIGITS)
    before = content(folder / "test"), content(folder / "tuning")
    with pytest.raises(other_data.OtherData, match="leave --against out") as refused:
        compare("dp_fedavg", task="digits", board="board", out=tmp_path)
    assert "has 1 runs on mnist_by_writer" in str(refused.value)
    assert "--fresh" not in str(refused.value)
    with pytest.raises(other_data.OtherData, match="move those runs aside by --fresh"):
        board("digits", epsilons=1.0, seeds=1, num_settings=2, rounds=2, out=tmp_path)
    monkeypatch.setattr("bench.comparison.board.ROUNDS", {"digits": 2})
    assert board(epsilons=1.0, seeds=1, num_settings=2, rounds=2, out=tmp_path) == []
    assert "left as it is" in caplog.text
    assert (content(folder / "test"), content(folder / "tuning")) == before


# ---- What is here, without making it ----


@pytest.mark.parametrize("here", [set(), {"qmnist_writers"}, {"federated_emnist", "qmnist_writers"}])
def test_what_would_be_chosen_is_what_is_chosen(here, monkeypatch):
    monkeypatch.setattr(retrieval, "find", lambda name, data_files=None: name in here)
    for name in ("emnist_digits", "mnist_by_writer", "mnist_by_style"):
        monkeypatch.setattr(digits, name, lambda trial, name=name, **_: name)
    assert stand_ins.chosen_here(digits.best_available) == digits.best_available(0)


def test_what_can_be_fetched_is_here_and_is_not_asked_for_twice(monkeypatch):
    asked = []

    def fetched(name, data_files):
        asked.append(name)
        if name == "debian_packages":
            raise InputError("no network")
        return LocalCopy(name, {}, "", "")

    monkeypatch.setattr(retrieval, "find", lambda name, data_files=None: None)
    monkeypatch.setattr(retrieval, "get", fetched)
    retrieval._fetched.cache_clear()
    for _ in range(2):
        assert stand_ins.chosen_here(tags.best_available) == "made_up_tags"
        assert stand_ins.chosen_here(school.best_available) == "school"
        assert stand_ins.chosen_here(school.school) is None
    retrieval._fetched.cache_clear()
    assert asked == ["debian_packages", "school"]


def test_every_choice_is_a_task_that_can_be_asked_for_by_name():
    for make, choices in stand_ins.CHOICES.items():
        for name in choices:
            assert stand_ins.as_task(make, name) == name
            assert name in TASKS
            assert bool(stand_ins.remedy(name)) == bool(choices[name])
    cnn = SWEEPS["ppsgd_cnn"]("laptop").tasks["digits"]
    assert stand_ins.as_task(cnn, "mnist_by_style") == "mnist_by_style_cnn"
