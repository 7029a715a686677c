"""The wheel, installed elsewhere and used from a folder of its own: lists, runs, draws and compares."""

import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
BUILT_OF = ("bench", "figures", "results/board", "setup.py", "pyproject.toml")
BUILT_OF += ("MANIFEST.in", "README.md", "LICENSE")
ROWS = "bench/comparison/rows_of_board"
MOST = 6e6  # bytes of these
ALONE = '''"""A method that releases nothing and learns nothing."""

from bench import Algorithm, Method, Scalar, State
from bench.parts import nothing_released


def untrained(task, *, start: Scalar = 0.0) -> Algorithm:
    def one_round(key, state):
        return state, {}

    return Algorithm(lambda key: State((), task.init_params + start), one_round, lambda state: state.variables)


def releases(task, *, delta, **_):
    return {"paper": nothing_released(delta=delta, privacy_unit="user", protects_against="everybody")}


METHOD = Method(untrained, releases, version=1)
'''
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
def source(tmp_path_factory):
    """A copy of what the wheel is built of."""
    source = tmp_path_factory.mktemp("source")
    for name in BUILT_OF:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source)
    return source


@pytest.fixture(scope="module")
def target(source, tmp_path_factory):
    """A folder into which the wheel is installed, by pip alone: nothing is fetched."""
    wheels, target = (tmp_path_factory.mktemp(name) for name in ("wheels", "target"))
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

    rows = {f"{ROWS}/{path.relative_to(ROOT / 'results/board')}" for path in needed(ROOT / "results" / "board")}
    assert {path.split("/")[3] for path in rows} == {path.name for path in (ROOT / "results" / "board").glob("*/")}
    assert files(target) == files(ROOT) | rows


def needed(board):
    """The files of a board that `compare --against board` reads."""
    return [*board.rglob("protocol.json"), *board.rglob("part-*.parquet")]


def test_the_rows_of_the_board_are_those_of_the_repository_and_few(target):
    board = ROOT / "results" / "board"
    sizes = []
    for path in needed(target / ROWS):
        assert path.read_bytes() == (board / path.relative_to(target / ROWS)).read_bytes()
        sizes.append(path.stat().st_size)
    assert 0 < sum(sizes) < MOST


def test_a_source_distribution_has_them_too(source, tmp_path):
    built = "from setuptools import build_meta; import sys; print(build_meta.build_sdist(sys.argv[1]))"
    name = done("-c", built, tmp_path, cwd=source).split()[-1]
    with tarfile.open(tmp_path / name) as archive:
        names = {path.partition("/")[2] for path in archive.getnames()}
    board = {f"results/board/{path.relative_to(source / 'results/board')}" for path in needed(source / "results/board")}
    assert {path for path in names if path.startswith("results/") and "." in path} == board
    assert "setup.py" in names


def test_the_board_that_is_installed_is_compared_with_from_any_folder(command, target, tmp_path):
    (tmp_path / "mine.py").write_text(ALONE)
    said = command("compare", "mine.py", "--task", "synthetic", "--against", "board")
    assert f"those of {target / ROWS / 'synthetic'}" in said
    table = pd.read_csv(tmp_path / "results" / "compare" / "synthetic_untrained" / "comparison.csv")
    both = table.merge(pd.read_csv(ROOT / "results/board/synthetic/comparison.csv"), on=["algorithm", "target_epsilon"])
    assert len(both) == 66
    np.testing.assert_allclose(both["excess_risk_x"], both["excess_risk_y"], rtol=1e-5)
    assert "untrained" in set(table["algorithm"])
    assert not list(target.rglob("untrained*"))


def test_the_installed_suite_works_from_any_folder(command, target, tmp_path):
    where = "import bench, figures; print(bench.__file__, figures.__file__)"
    assert all(str(target) in path for path in done("-c", where).split())
    assert "server_optimisers" in command("list")
    command("run", "server_optimisers", "--seeds", "1", "--workers", "2")
    drawn = command("figures", "server_steps_optimisers").strip()
    assert (tmp_path / drawn).with_suffix(".csv").is_file()
    shutil.copy(ROOT / "examples" / "normalised_gradients.py", tmp_path / "mine.py")
    few = ("--epsilons", "1", "--seeds", "2", "--settings", "2", "--rounds", "5", "--baselines", "none")
    compared = command("compare", "mine.py", "--task", "synthetic", *few)
    assert "normalised_gradients" in compared.split("gains, costs")[0]
    assert (tmp_path / "results" / "compare" / "synthetic_normalised_gradients" / "comparison.png").is_file()
