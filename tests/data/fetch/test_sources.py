"""The table of data sets, and getting them from the user's files and the cache."""

import hashlib
import json
import os
import re
import threading
import time
from urllib.parse import urlsplit

import pytest
from tiny_data import pictures, stand_in, write

from bench.data.fetch import cache, retrieval
from bench.data.fetch.addresses import Address
from bench.data.fetch.packages import AptIndex, Package
from bench.data.fetch.sources import DATASETS, IDX
from bench.data.files import DataFiles
from bench.errors import InputError
from bench.files import cache_folder


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def mnist(monkeypatch):
    return stand_in(monkeypatch, "mnist", pictures(seed=1))


@pytest.fixture
def fashion(monkeypatch):
    return stand_in(monkeypatch, "fashion_mnist", pictures(seed=2))


def content(found):
    return {name: path.read_bytes() for name, path in found.files.items()}


def one_line(error) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_every_source_in_the_table_yields_every_file_and_is_pinned():
    for dataset in DATASETS.values():
        assert bool(dataset.files) == bool(dataset.sources) != bool(dataset.user_files)
        assert all(re.fullmatch("[0-9a-f]{32}", md5) for md5 in dataset.files.values())
        for source in dataset.sources:
            if isinstance(source, Package | AptIndex):
                assert source.members.keys() == dataset.files.keys()
            if isinstance(source, Package):
                assert re.fullmatch("[0-9a-f]{64}", source.sha256)
            if isinstance(source, Address):
                assert source.files.keys() == dataset.files.keys()
                assert {urlsplit(url).netloc for url, _ in source.files.values()} == {str(source)}
        # What is here comes before what is fetched, and whoever published a data set before a registry.
        kinds = [source.kind for source in dataset.sources]
        assert kinds == sorted(kinds, key=("tensorflow-datasets", "publisher", "packages").index)
    # Two sets share their file names, so no md5 may be shared: the md5 tells them apart.
    sums = [md5 for dataset in DATASETS.values() for md5 in dataset.files.values()]
    assert len(set(sums)) == len(sums)


@pytest.mark.parametrize(("packed", "separator"), [(False, "-"), (True, "-"), (False, ".")])
@pytest.mark.parametrize("where", [".", "mnist", "a/b/MNIST/raw"])
def test_files_the_user_has_are_taken_gzipped_or_not_and_nested(mnist, tmp_path, packed, separator, where):
    write(tmp_path / "data" / where, {name.replace("-idx", f"{separator}idx"): mnist[name] for name in mnist}, packed)
    found = retrieval.get("mnist", DataFiles(tmp_path / "data"))
    assert content(found) == mnist
    assert found.source == "user files"
    # From then on the cache has them, and still says where they came from.
    assert retrieval.get("mnist") == found
    assert retrieval.find("mnist") == found


def test_mnist_and_fashion_mnist_are_never_mistaken_for_each_other(mnist, fashion, tmp_path, monkeypatch):
    # The folders are named the wrong way round on purpose: the content decides.
    write(tmp_path / "data" / "mnist", fashion, packed=True)
    write(tmp_path / "data" / "fashion-mnist", mnist)
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / "data"))
    assert content(retrieval.get("mnist")) == mnist
    assert content(retrieval.get("fashion_mnist")) == fashion
    assert retrieval.get("mnist").checksum != retrieval.get("fashion_mnist").checksum


@pytest.mark.parametrize(("cached", "swapped"), [(False, False), (True, False), (False, True)])
def test_a_wrong_file_is_named_even_where_the_cache_has_the_right_one(mnist, tmp_path, cached, swapped):
    wrong = mnist[IDX[0]] if swapped else mnist[IDX[2]] + b"x"  # another file of the set is wrong under this name
    if cached:
        retrieval.get("mnist", DataFiles(write(tmp_path / "good", mnist)))
    data = write(tmp_path / "data", mnist | {IDX[2]: wrong})
    with pytest.raises(InputError) as error:
        retrieval.get("mnist", DataFiles(data))
    md5 = hashlib.md5(wrong).hexdigest()
    assert one_line(error).startswith(f"{data / IDX[2]}: md5 {md5}, not ")
    assert "replace it" in one_line(error)
    # A right copy elsewhere in the folder settles it.
    write(data / "again", {IDX[2]: mnist[IDX[2]]}, packed=True)
    assert content(retrieval.get("mnist", DataFiles(data))) == mnist


def test_a_damaged_cached_file_is_set_aside_named_and_replaced(mnist, tmp_path, caplog):
    data = write(tmp_path / "data", mnist)
    path = retrieval.get("mnist", DataFiles(data)).files[IDX[1]]
    path.write_bytes(b"damaged")
    assert retrieval.find("mnist") is None
    assert content(retrieval.get("mnist", DataFiles(data))) == mnist
    assert path.with_name(f"{IDX[1]}.corrupt").read_bytes() == b"damaged"
    assert str(path) in caplog.text
    path.write_bytes(b"damaged again")  # and now nothing can replace it
    with pytest.raises(InputError) as error:
        retrieval.get("mnist")
    assert f"{path} was damaged and is now {IDX[1]}.corrupt" in one_line(error)


def test_many_at_once_fill_the_cache_once(mnist, tmp_path, monkeypatch):
    data, stored, store = write(tmp_path / "data", mnist, packed=True), [], cache.Cached.store

    def slow(*args):
        stored.append(1)
        time.sleep(0.1)
        return store(*args)

    monkeypatch.setattr(cache.Cached, "store", slow)
    threads = [threading.Thread(target=retrieval.get, args=("mnist", DataFiles(data))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content(retrieval.get("mnist")) == mnist
    assert len(stored) == 1


def test_the_cache_remembers_the_source_and_works_without_the_record(mnist, tmp_path):
    retrieval.get("mnist", DataFiles(write(tmp_path / "data", mnist)))
    record = cache_folder("mnist") / cache.RECORD
    record.write_text(json.dumps({"source": "apt something"}))
    assert retrieval.get("mnist").source == "apt something"
    # The user's own files are what a result is credited to where they are given, cached or not.
    assert retrieval.get("mnist", DataFiles(tmp_path / "data")).source == "user files"
    record.unlink()
    assert retrieval.get("mnist").source == "cache"


def test_a_full_disk_is_one_line(mnist, tmp_path, monkeypatch):
    data = write(tmp_path / "data", mnist)

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(InputError) as error:
        retrieval.get("mnist", DataFiles(data))
    assert "No space left on device: set BENCH_CACHE" in one_line(error)
    assert {path.name for path in cache_folder("mnist").iterdir()} == {".lock"}


def test_federated_emnist_is_read_in_place_with_its_own_checksum(tmp_path):
    names = DATASETS["federated_emnist"].user_files[0]
    write(tmp_path / "data", {names[0]: b"one"})
    assert retrieval.find("federated_emnist", DataFiles(tmp_path / "data")) is None  # half of it is not it
    write(tmp_path / "data" / "test", {names[1]: b"two"})
    found = retrieval.get("federated_emnist", DataFiles(tmp_path / "data"))
    assert content(found) == {names[0]: b"one", names[1]: b"two"}
    write(tmp_path / "data", {names[0]: b"One"})
    assert retrieval.get("federated_emnist", DataFiles(tmp_path / "data")).checksum != found.checksum
    write(tmp_path / "data" / "copy", {names[0]: b"one"})
    with pytest.raises(InputError, match="keep only one, since no checksum can tell them apart"):
        retrieval.get("federated_emnist", DataFiles(tmp_path / "data"))
