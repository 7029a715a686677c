"""The wheel, installed elsewhere and used from a folder of its own: lists, runs, draws and compares."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT_OF = ("bench", "figures", "private_federated_bench.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
OLDEST = 77  # of setuptools, in pyproject.toml

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(int(version("setuptools").split(".")[0]) < OLDEST, reason=f"setuptools is older than {OLDEST}"),
]


def done(*words, **options):
    """What a process prints; fails with what it says where it fails."""
    process = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=600, **options)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """A folder into which the wheel is installed, by pip alone: nothing is fetched."""
    source, wheels, target = (tmp_path_factory.mktemp(name) for name in ("source", "wheels", "target"))
    for name in BUILT_OF:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source)
    pip = ("-m", "pip", "--disable-pip-version-check")
    done(*pip, "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "-w", wheels, source)
    (wheel,) = wheels.glob("*.whl")
    done(*pip, "install", "--quiet", "--no-index", "--no-deps", "--target", target, wheel)
    return target


@pytest.fixture
def command(target, tmp_path, monkeypatch):
    """Calls the installed script from an empty folder; what it prints."""
    monkeypatch.setenv("PYTHONPATH", str(target))
    monkeypatch.chdir(tmp_path)
    return lambda *words: done(target / "bin" / "private-federated-bench", *words)


def test_everything_is_in_the_wheel(target):
    """All modules, and the files beside them that they read."""

    def files(root):
        found = [path for name in ("bench", "figures") for path in (root / name).rglob("*") if path.is_file()]
        return {str(path.relative_to(root)) for path in found if path.suffix != ".pyc"}

    assert files(target) == files(ROOT)


def test_the_installed_suite_works_from_any_folder(command, target, tmp_path):
    where = "import bench, figures; print(bench.__file__, figures.__file__)"
    assert all(str(target) in path for path in done("-c", where).split())
    assert "server_optimisers" in command("list")
    command("run", "server_optimisers", "--seeds", "1", "--workers", "2")
    drawn = command("figures", "server_steps_optimisers").strip()
    assert (tmp_path / drawn).with_suffix(".csv").is_file()
    shutil.copy(ROOT / "examples" / "normalised_gradients.py", tmp_path / "mine.py")
    few = ("--epsilons", "1", "--seeds", "2", "--settings", "2", "--rounds", "5", "--baselines", "none")
    compared = command("compare", "mine.py", "--task", "synthetic", "--name", "mine", *few)
    assert "normalised_gradients" in compared.split("gains, costs")[0]
    assert (tmp_path / "results" / "compare" / "mine" / "comparison.png").is_file()


def test_results_that_only_the_repository_has_are_said_to_be_there(target, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(target))
    words = [sys.executable, "-m", "figures", "ppsgd_fig1a", "--scale", "laptop"]
    process = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=os.environ)
    assert process.returncode == 2
    (line,) = process.stderr.splitlines()
    assert "in the project's repository, folder results" in line
