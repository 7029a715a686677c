"""python -m bench data list, get and verify."""

import json
import os
import re

import pytest
from tiny_data import pictures, stand_in, write
from typer.testing import CliRunner

from bench.cli.data import app
from bench.data.fetch.sources import DATASETS, IDX
from bench.errors import InputError
from bench.files import cache_folder


@pytest.fixture(autouse=True)
def sets(monkeypatch, tmp_path):
    """Stand-ins for the two sets that share their file names."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    return {
        "mnist": stand_in(monkeypatch, "mnist", pictures(seed=1)),
        "fashion_mnist": stand_in(monkeypatch, "fashion_mnist", pictures(seed=2)),
    }


@pytest.fixture
def data(sets, tmp_path):
    write(tmp_path / "data" / "fashion", sets["fashion_mnist"], packed=True)
    return write(tmp_path / "data" / "digits", sets["mnist"]).parent


def run(*arguments, data=None) -> str:
    """What a command prints, with data files in a folder; an InputError comes through, for the main program."""
    env = {} if data is None else {"BENCH_DATA": str(data)}
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    if result.exception:
        raise result.exception
    return result.stdout


def test_list_says_what_is_here_and_how_to_get_the_rest(data):
    rows = {row["name"]: row for row in json.loads(run("list", "--json", data=data))}
    assert rows.keys() == DATASETS.keys()
    assert rows["mnist"]["found"] == str(data / "digits")
    assert rows["mnist"]["source"] == "user files"
    assert rows["cifar10"]["found"] is None
    assert "bench data get cifar10" in rows["cifar10"]["how"]
    assert "fed_emnist_digitsonly_train.h5" in rows["federated_emnist"]["how"]
    table = run("list", data=data)
    for name, dataset in DATASETS.items():
        assert name in table
        assert dataset.licence.split()[0] in table
    assert not (data.parent / "cache").exists()


def test_list_shows_a_wrong_file_and_goes_on(data):
    (data / "digits" / IDX[1]).write_bytes(b"wrong")
    rows = {row["name"]: row for row in json.loads(run("list", "--json", data=data))}
    assert rows["mnist"]["found"] is None
    assert f"{data / 'digits' / IDX[1]}: md5 " in rows["mnist"]["how"]


def test_get_prints_place_source_and_terms(data, sets):
    printed = run("get", "mnist", data=data)
    assert printed == f"mnist: {cache_folder('mnist')} (user files; terms: CC BY-SA 3.0)\n"
    assert {name: (cache_folder("mnist") / name).read_bytes() for name in IDX} == sets["mnist"]


def test_get_without_a_name_gets_what_can_be_got(data):
    printed = run("get", data=data)
    assert "mnist: " in printed
    assert f"fashion_mnist: {cache_folder('fashion_mnist')} (user files; terms: MIT)" in printed
    assert "qmnist_writers: not here: put qmnist-train-labels-idx2-int, qmnist-test-labels-idx2-int in" in printed
    assert "federated_emnist: not here: put fed_emnist" in printed


def test_get_without_a_name_gets_the_rest_and_then_names_a_wrong_file(data, monkeypatch):
    stand_in(monkeypatch, "qmnist_writers", {"qmnist-train-labels-idx2-int": b"right"})
    write(data, {"qmnist-train-labels-idx2-int": b"wrong"})
    with pytest.raises(InputError, match="qmnist-train-labels-idx2-int: md5 "):
        run("get", data=data)
    assert (cache_folder("fashion_mnist") / IDX[0]).exists()


def test_errors_come_through_as_one_line(data):
    for arguments, words in (
        (("get", "minst"), "did you mean mnist"),
        (("verify", "minst"), "did you mean mnist"),
        (("get", "cifar10"), "cifar10: not in BENCH_DATA, cache or tensorflow_datasets: put data_batch_1.bin, "),
        (("verify", "cifar10"), "cifar10: not here: get it with"),
        *(
            ((command,), f"{data / 'none'}: No such file or directory: give BENCH_DATA")
            for command in ("list", "get", "verify")
        ),
    ):
        with pytest.raises(InputError, match=re.escape(words)) as error:
            run(*arguments, data=data / "none" if "none" in words else None)
        assert "\n" not in str(error.value)


def test_verify_reads_every_file_again_and_names_the_wrong_one(data):
    run("get", data=data)
    first = run("verify")
    assert f"mnist: {cache_folder('mnist')} (user files): md5 as published, " in first
    path = cache_folder("fashion_mnist") / IDX[0]
    # One bit, the same size, the same time.
    content, times = bytearray(path.read_bytes()), path.stat()
    content[100] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    for arguments in (("verify",), ("verify", "fashion_mnist")):
        with pytest.raises(InputError, match=re.escape(f"{path}: md5 ")) as error:
            run(*arguments)
        assert "python -m bench data get fashion_mnist" in str(error.value)
        assert str(cache_folder("mnist") / IDX[0]) not in str(error.value)
    run("verify", "mnist")


def test_verify_reads_the_users_files_too(data):
    assert f"{data / 'digits'} (user files)" in run("verify", "mnist", data=data)
    (data / "digits" / IDX[1]).write_bytes(b"wrong")
    with pytest.raises(InputError, match=re.escape(str(data / "digits" / IDX[1]))):
        run("verify", data=data)


def test_verify_reports_a_checksum_where_none_is_known(tmp_path):
    names = DATASETS["federated_emnist"].user_files[0]
    write(tmp_path / "emnist", dict.fromkeys(names, b"it"))
    printed = run("verify", "federated_emnist", data=tmp_path / "emnist")
    assert re.search("sha256, with no published value to compare, [0-9a-f]{12}$", printed.strip())
