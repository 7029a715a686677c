"""A data set made of a release's index, with a stand-in for apt that writes what it is told to."""

import hashlib
import stat
import sys

import pytest

from bench.data.dataset import DataSet
from bench.data.fetch import retrieval
from bench.data.fetch.packages import AptIndex
from bench.data.fetch.sources import DATASETS
from bench.data.files import DataFiles
from bench.errors import InputError

APT = """#!{python}
import pathlib, sys
settings, verb = sys.argv[1].removeprefix("-c="), sys.argv[2]
folder = pathlib.Path(settings).parent / "apt" / "lists"
text = pathlib.Path(settings).read_text()
assert 'Acquire::Languages {{ "en"; }}' in text and "source/Sources" in text and 'Architecture "amd64"' in text
if verb == "update":
    (folder / "the Packages").write_bytes(b"one ")
    (folder / "the Sources").write_bytes(b"two")
    {update}
else:
    assert verb == "indextargets"
    for codename in ("sid", "bookworm"):
        for target in ("Packages", "Sources", "Missing"):
            print(codename, "main", target, folder / (f"the {{target}}" if codename == "bookworm" else "not there"))
"""


@pytest.fixture
def apt(monkeypatch, tmp_path):
    """Puts a program called apt-get first on the PATH, and a data set "x" made of two index files."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCH_SOURCE", "packages")

    def make(update: str = "", codename: str = "bookworm", targets=("Packages", "Sources")) -> None:
        program = tmp_path / "bin" / "apt-get"
        program.parent.mkdir(exist_ok=True)
        program.write_text(APT.format(python=sys.executable, update=update))
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        index = AptIndex(codename, "main", {"x.txt": targets}, lambda name, *parts: b"".join(parts))
        files = {"x.txt": hashlib.md5(b"one two").hexdigest()}
        monkeypatch.setitem(DATASETS, "x", DataSet("x", "", files, "free", "", (index,)))

    return make


def test_the_files_of_the_release_are_decoded_checked_and_kept(apt):
    apt()
    found = retrieval.get("x")
    assert found.files["x.txt"].read_bytes() == b"one two"
    assert found.source == "apt index of bookworm/main"
    apt(update="sys.exit(1)")
    assert retrieval.get("x").checksum == found.checksum  # from the cache


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            {"update": "print('Temporary failure: Could not resolve deb.debian.org')", "codename": "sid"},
            "sid/main: no network",
        ),
        ({"codename": "trixie"}, "apt is set up for no archive with Packages of trixie/main"),
        ({"targets": ("Packages", "Missing")}, "no archive with Missing of bookworm/main"),
        ({"targets": ("Packages",)}, "its x.txt has md5"),
        ({"update": "sys.exit('E: it broke')"}, "E: it broke"),
    ],
)
def test_what_cannot_be_had_is_one_line(apt, how, said):
    apt(**how)
    with pytest.raises(InputError) as error:
        retrieval.get("x")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_without_apt_it_says_so(apt, monkeypatch, tmp_path):
    apt()
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="apt-get is not installed"):
        retrieval.get("x")


def test_the_users_own_copy_is_taken_first(apt, tmp_path):
    apt(update="sys.exit(1)")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x.txt").write_bytes(b"one two")
    assert retrieval.get("x", DataFiles(tmp_path / "mine")).source == "user files"
