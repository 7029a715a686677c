"""What each command does not import, in a process of its own: start-up is a matter of that."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = {"jax", "flax", "optax", "tensorflow", "matplotlib", "pandas", "pyarrow", "scipy.stats", "scipy.special"}
HEAVY |= {"dp_accounting", "bench.papers.pfl", "bench.papers.pfl.cells", "figures"}
ACCOUNTING = {"dp_accounting", "scipy.special", "scipy.stats"}
EPSILON = "epsilon --noise-multiplier 1 --sampling-rate 0.01 --steps 20000 --delta 1e-4"
NOISE = "noise --epsilon 2 --sampling-rate 0.01 --steps 2000 --delta 1e-4"
TABLES = {"pandas", "pyarrow"}
DRAWING = TABLES | {"matplotlib", "scipy.special", "figures"}
COMMAND = "import sys; from bench.__main__ import main; sys.argv[1:] = {!r}; assert main() == 0"

# Modules of others are what Python's own import made of their files.
UNTOUCHED = """
import importlib, sys
importlib.import_module({!r})
import dp_accounting
for name, module in list(sys.modules.items()):
    if name.split(".")[0] == "dp_accounting":
        assert module.__spec__.name == name and "__getattr__" not in vars(module), name
assert dp_accounting.pld.PLDAccountant is not None
"""

# Processes, each as steps of some code and what may have been imported after it. A later step may have all that an
# earlier one may, so one process shows what each step would import by itself.
COMMANDS = [
    ("import bench", set()),
    (COMMAND.format(["--version"]), set()),
    (COMMAND.format(["--help"]), set()),
    (COMMAND.format(["run", "--help"]), set()),
    (COMMAND.format(["conformance"]), set()),
    (COMMAND.format(EPSILON.split()), ACCOUNTING),
    ("from bench.conformance import check", ACCOUNTING),
    (UNTOUCHED.format("bench.privacy.events"), ACCOUNTING),
]
FROM_PYTHON = [
    ("from bench import load", TABLES),
    ("from bench import compare, load, run", TABLES),
    ("import bench.analysis.select, figures.command_line, figures", DRAWING),
    ("import figures.claims", DRAWING),
]
CALIBRATION = [(COMMAND.format(NOISE.split()), ACCOUNTING)]


def imported(*steps: str) -> list[set[str]]:
    """Of HEAVY, what is in sys.modules after each of some pieces of code, in one process."""
    after = f"import sys; print('modules', *{HEAVY!r} & sys.modules.keys())"
    code = "\n".join(line for step in steps for line in (step, after))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = [set(line.split()[1:]) for line in done.stdout.splitlines() if line.split()[:1] == ["modules"]]
    assert len(found) == len(steps)
    return found


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(COMMANDS, id="commands"),
        pytest.param(FROM_PYTHON, id="from Python"),
        pytest.param(CALIBRATION, id="calibration", marks=pytest.mark.slow),
    ],
)
def test_only_what_is_needed_is_imported(steps):
    for (code, may), found in zip(steps, imported(*(code for code, _ in steps)), strict=True):
        assert found <= may, code


@pytest.mark.slow
def test_the_list_is_gathered_once_for_the_same_code(tmp_path, monkeypatch):
    """Calibrating nothing the first time, importing nothing of it the second."""
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    unused = "import bench.papers.pfl.cells as cells; cells.noise_multiplier = None\n"
    assert "jax" in imported(unused + COMMAND.format(["list"]))[0]
    assert imported(COMMAND.format(["list"])) == [set()]


def test_all_public_names_are_there():
    import bench

    assert all(getattr(bench, name) for name in bench.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = bench.nosuch  # pyright: ignore[reportAttributeAccessIssue]
