"""What each command does not import, in a process of its own: start-up is a matter of that."""

import subprocess
import sys
from pathlib import Path

import pytest
from slow_cases import cases

ROOT = Path(__file__).parent.parent
HEAVY = {"jax", "flax", "optax", "tensorflow", "matplotlib", "pandas", "pyarrow", "scipy.stats", "scipy.special"}
HEAVY |= {"dp_accounting", "bench.papers.pfl", "bench.papers.pfl_cells", "figures"}
ACCOUNTING = {"dp_accounting", "scipy.special", "scipy.stats"}
EPSILON = "epsilon --noise-multiplier 1 --sampling-rate 0.01 --steps 20000 --delta 1e-4"
NOISE = "noise --epsilon 2 --sampling-rate 0.01 --steps 2000 --delta 1e-4"
DRAWING = {"pandas", "pyarrow", "matplotlib", "scipy.special", "figures"}
DRAW = "import bench.analysis.select, figures.command_line, figures"
COMMAND = "import sys; from bench.__main__ import main; sys.argv[1:] = {!r}; assert main() == 0"


def imported(code: str) -> set[str]:
    """Of HEAVY, what is in sys.modules after some code."""
    code += f"\nimport sys; print('modules', *{HEAVY!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize(
    ("code", "may"),
    [
        ("import bench", set()),
        (COMMAND.format(["--version"]), set()),
        (COMMAND.format(["--help"]), set()),
        pytest.param(COMMAND.format(["run", "--help"]), set(), marks=pytest.mark.slow),
        (COMMAND.format(EPSILON.split()), ACCOUNTING),
        pytest.param(COMMAND.format(NOISE.split()), ACCOUNTING, marks=pytest.mark.slow),
        (COMMAND.format(["conformance"]), set()),
        ("from bench.conformance import check", ACCOUNTING),
        pytest.param("from bench import load", {"pandas", "pyarrow"}, marks=pytest.mark.slow),
        ("from bench import compare, load, run", {"pandas", "pyarrow"}),
        pytest.param(DRAW, DRAWING, marks=pytest.mark.slow),
        (f"{DRAW}, figures.claims", DRAWING),
    ],
)
def test_only_what_is_needed_is_imported(code, may):
    assert imported(code) <= may


@pytest.mark.slow
def test_the_list_is_gathered_once_for_the_same_code(tmp_path, monkeypatch):
    """Calibrating nothing the first time, importing nothing of it the second."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    unused = "import bench.papers.pfl_cells as cells; cells.noise_multiplier = None\n"
    assert "jax" in imported(unused + COMMAND.format(["list"]))
    assert imported(COMMAND.format(["list"])) == set()


def test_all_public_names_are_there():
    import bench

    assert all(getattr(bench, name) for name in bench.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = bench.nosuch  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("module", cases(["bench.privacy.events", "bench.parts"], slow={"bench.parts"}))
def test_an_import_leaves_the_packages_of_others_as_they_are(module):
    """Their modules are what Python's own import made of their files."""
    code = f"""
import importlib, sys
importlib.import_module({module!r})
import dp_accounting
for name, module in list(sys.modules.items()):
    if name.split(".")[0] == "dp_accounting":
        assert module.__spec__.name == name and "__getattr__" not in vars(module), name
print(dp_accounting.pld.PLDAccountant is not None)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
