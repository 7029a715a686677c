"""The soak, in small: `python -m soak` counts more of each (docs/reliability.md)."""

import os
import subprocess
import sys

import pytest
from tiny_sweeps import ROOT

SMALL = {"kills": 5, "signals": 5, "flips": 500}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SMALL)
def test_random_trouble_loses_nothing(kind, tmp_path):
    new = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "helpers"), str(ROOT)])}
    words = [sys.executable, "-m", "soak", "--only", kind, f"--{kind}", str(SMALL[kind]), "--scratch", str(tmp_path)]
    done = subprocess.run(words, env=new, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


ON_TWO_DEVICES = """
import sys
from pathlib import Path
from tiny_sweeps import private_sgd, run
rows = run(private_sgd(), Path(sys.argv[1]), most=5)
assert set(rows["device"]) == {"2 x cpu"}
assert len(rows) == 12 * 2 * 5
"""


@pytest.mark.slow
def test_a_sweep_runs_to_its_end_with_several_devices_in_the_process(tmp_path):
    """It uses one of them; the rows say how many there were."""
    new = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "helpers"), str(ROOT)])}
    new["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    words = [sys.executable, "-c", ON_TWO_DEVICES, str(tmp_path)]
    done = subprocess.run(words, env=new, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
