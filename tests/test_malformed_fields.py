"""Fields, names and files that no command can use end in one line that names them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_sweeps import WALK

import bench
from bench import __main__ as command
from bench.algorithms.loading import load_method
from bench.comparison.plan import make_plan
from bench.comparison.request import make_request
from bench.data.files import DataFiles
from bench.data.read.tables import client_table
from bench.errors import InputError, cut, shown, unknown_name
from bench.files import cache_folder
from bench.store.store import LOCK, Store

ROOT = Path(__file__).parent.parent


class Mute:
    """An object that cannot be shown."""

    def __repr__(self):
        raise RuntimeError("no repr")


def test_what_is_shown_of_a_value_is_short_and_cannot_fail():
    assert shown("a") == "'a'"
    assert shown(Mute()) == "an object of type Mute"
    assert shown(np.arange(10_000).reshape(100, 100)).count("\n") == 0
    assert len(shown("a" * 5000)) == 100
    assert len(str(unknown_name("sweep", "a" * 5000, ["b"]))) < 200
    assert cut("a\x1b[2J\n" + "b" * 5000).startswith(r"a\x1b[2J\nb")


@pytest.mark.parametrize("field", ["releases", "version", "check", "noise", "space"])
def test_a_field_of_a_method_that_cannot_be_shown_is_named(field):
    with pytest.raises(InputError, match=f"`{field}` of walk is an object of type Mute: give"):
        load_method(WALK._replace(**{field: Mute()}))


@pytest.mark.parametrize("name", ["", "a" * 5000, "compare/mine"])
def test_results_whose_name_no_folder_can_have(name, tmp_path):
    with pytest.raises(InputError, match="is not the name of results"):
        bench.load(name, results=tmp_path)


def read(path):
    return client_table.__wrapped__(path, "client", "label", False)


@pytest.mark.parametrize(
    "content", ["client,label,x\na,0,1\n".encode("utf-16-le"), b'client,label,x\n"a,0,1\n', b"\n\n"]
)
def test_a_csv_file_that_cannot_be_read_says_what_to_do(content, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"t\.csv.*: save it as UTF-8 text with a header line") as one:
        read(path)
    assert "\n" not in str(one.value)


def test_a_store_that_failed_keeps_what_was_there(tmp_path):
    (tmp_path / "old").mkdir()
    with pytest.raises(ZeroDivisionError), Store(tmp_path / "old"):
        raise ZeroDivisionError
    assert (tmp_path / "old" / LOCK).exists()


# ---- What a comparison, a grid and a table of examples take ----


@pytest.mark.parametrize("name", ["setting", "reading", "target_epsilon", "gradients", "tuned_epsilon", "spent"])
def test_an_argument_that_is_a_column_of_comparisons_is_refused(name):
    """Otherwise the method would run with the comparison's value in place of its own."""
    space: dict = {}
    exec(
        f"def walks_by(task, *, step_size: Scalar, noise_multiplier: Scalar = 1.0, {name}: float = 2.0): ...",
        {"Scalar": bench.Scalar},
        space,
    )
    method = WALK._replace(make=space["walks_by"])
    request = make_request(method, task="synthetic", epsilons=[1], seeds=1, num_settings=1, baselines=[])
    with pytest.raises(InputError, match=f"walks_by has an argument {name}, which is a column of every comparison"):
        make_plan(request)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("client,label,x\na,0,1,\nb,1,2,\n", "and equally many cells in every row"),
        ("client,label,x,x\na,0,1,2\nb,1,2,3\n", "has several columns 'x'"),
        ("client,label,x\na,0,1\nb,1\n", "'x' is empty in row 2"),
    ],
)
def test_rows_of_another_length_and_doubled_columns_are_named(text, said, tmp_path):
    """Pandas takes the first cell for a row's name where there is one more than in the header, and renames columns."""
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("variable", ["BENCH_DATA", "BENCH_CACHE"])
def test_a_home_folder_that_nobody_has_is_named(variable, monkeypatch):
    monkeypatch.setenv(variable, "~nosuchuser/x")
    use = {"BENCH_DATA": DataFiles, "BENCH_CACHE": lambda: cache_folder("noise")}[variable]
    with pytest.raises(InputError, match=rf"{variable}.* is '~nosuchuser/x', but that home folder is unknown"):
        use()


def test_an_option_that_is_given_twice_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench", "audit", "ppsgd", "--set", "a=1", "--set", "a=2"])
    assert command.main() == 2
    assert "--set a is given twice" in capsys.readouterr().err
