"""What all tests share: `--slow`, strict dtypes, warnings as errors, and no touch of the user's own files."""

import os
import socket
import tempfile

# Before anything imports bench: tests neither read nor write the user's cache, data or downloads.
_FOLDER = tempfile.TemporaryDirectory(prefix="bench-tests-")
os.environ["BENCH_CACHE"] = _FOLDER.name
os.environ["TFDS_DATA_DIR"] = os.path.join(_FOLDER.name, "tfds")
os.environ.pop("BENCH_DATA", None)

from compiler_flags import compile_quickly  # noqa: E402

compile_quickly()  # before anything imports jax

import hypothesis  # noqa: E402
import jax  # noqa: E402
import jaxtyping  # noqa: E402
import pytest  # noqa: E402

# Before anything imports bench: every call of a kernel checks the shapes and dtypes that its annotations state.
jaxtyping.install_import_hook("bench.kernels", "runtime_types.check")


hypothesis.settings.register_profile("suite", deadline=None)  # other work may slow any example
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")


jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_configure(config):
    config.addinivalue_line("filterwarnings", "error")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--slow"):
        skip = pytest.mark.skip(reason="takes more than ten seconds: give --slow")
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(skip)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """A test that would leave this machine fails at once instead of waiting."""
    connect = socket.socket.connect

    def refuse(self, address):
        if self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "::1", "localhost"):
            return connect(self, address)
        raise OSError(f"a test tried to reach {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
