"""What all tests share: `--slow` and `--slow-share`, strict dtypes, warnings as errors, and no touch of the user's own
files."""

import gc
import os
import re
import socket
import sys
import tempfile
import zlib
from pathlib import Path

gc.disable()  # until all tests are collected, since next to nothing of what is imported can be freed

# Before anything imports bench: tests neither read nor write the user's cache, data or downloads.
_FOLDER = tempfile.TemporaryDirectory(prefix="bench-tests-")
_OF_ALL = os.environ.get("BENCH_CACHE") if "PYTEST_XDIST_WORKER" in os.environ else None  # what the controller has set
os.environ["BENCH_CACHE"] = _FOLDER.name
# Calibrated noise, which takes most of the time in which sweeps are made, is shared by the processes of one command.
_NOISE = Path(_OF_ALL or _FOLDER.name) / "noise"
_NOISE.mkdir(exist_ok=True)
if _OF_ALL:
    (Path(_FOLDER.name) / "noise").symlink_to(_NOISE, target_is_directory=True)
os.environ["TFDS_DATA_DIR"] = os.path.join(_FOLDER.name, "tfds")
os.environ["BENCH_SOURCE"] = "none"
os.environ.pop("BENCH_DATA", None)

# For the workers of pytest-xdist and other processes, which have yet to import NumPy: the threads of its linear algebra
# wait for each other busily, and where processes share the cores this takes several times as long as the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Else each of the many processes that tests start would compile every module of the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

from compiling import compile_quickly, keep_programs, processor, share_contexts, stage_without_programs  # noqa: E402

compile_quickly()  # before anything imports jax
PROGRAMS = Path(__file__).parents[1] / ".pytest_cache" / "compiled" / processor()
keep_programs(PROGRAMS)

import hypothesis  # noqa: E402
import jax  # noqa: E402
import jaxtyping  # noqa: E402
import pytest  # noqa: E402

share_contexts()
stage_without_programs()

# Before anything imports bench: every call of a kernel checks the shapes and dtypes that its annotations state.
jaxtyping.install_import_hook("bench.kernels", "runtime_types.check")


hypothesis.settings.register_profile("suite", deadline=None)  # other work may slow any example
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption("--slow-share", metavar="K/N", help="run the K-th of N shares of the tests marked slow as well")


jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


MOST_PROGRAMS = 5e8  # bytes on disk


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", "error")
    # JAX then compiles the program. Another process may be writing it, or was killed while it did, or the disk is full.
    config.addinivalue_line("filterwarnings", "ignore:Error (reading|writing) persistent compilation cache entry")
    if not hasattr(config, "workerinput"):  # once, before the workers start
        from bench.execution import compile_cache

        compile_cache.tidy(PROGRAMS, MOST_PROGRAMS)


def share_of(config) -> tuple[int, int]:
    """K and N of the share of the slow tests that is run: 1/1 is all of them, 0/1 none."""
    if (given := config.getoption("--slow-share")) is None:
        return (1 if config.getoption("--slow") else 0), 1
    found = re.fullmatch(r"(\d+)/(\d+)", given)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise pytest.UsageError(f"--slow-share is {given}: give K/N with K from 1 to N, such as 2/7")
    return int(found[1]), int(found[2])


def in_share(nodeid: str, share: tuple[int, int]) -> bool:
    """Whether a slow test is in a share. Tests of one file that differ in their parameters may be in several."""
    return zlib.crc32(nodeid.encode()) % share[1] == share[0] - 1


def pytest_collection_modifyitems(config, items):
    share = share_of(config)
    skip = pytest.mark.skip(reason="takes long, or is a further case: give --slow")
    for item in items:
        if "slow" in item.keywords and not in_share(item.nodeid, share):
            item.add_marker(skip)


def pytest_collection_finish(session):
    """Spare garbage collection the objects of imported modules, and most of its runs, which take 5 % of the time."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 10, 10)


def pytest_report_header(config):
    share = share_of(config)
    return f"slow tests: share {share[0]} of {share[1]}" if share[0] else None


MAPS = Path("/proc/self/maps")  # one line for each piece of memory of this process
MOST_MAPS = 20_000  # Linux allows 65,530, and every compiled program has some


def _make_room_for_programs():
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()


@pytest.fixture(scope="module", autouse=True)
def room_for_programs():
    """Forgets compiled programs before there are so many that the next one ends the process."""
    yield
    _make_room_for_programs()


@pytest.fixture(autouse=True)
def room_for_programs_of_slow_tests(request):
    """The same after each slow test, of which some compile hundreds of programs."""
    yield
    if "slow" in request.keywords:
        _make_room_for_programs()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """A test that would leave this machine fails at once instead of waiting."""
    connect = socket.socket.connect

    def refuse(self, address):
        if self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "::1", "localhost"):
            return connect(self, address)
        raise OSError(f"a test tried to reach {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
