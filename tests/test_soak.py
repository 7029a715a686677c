"""The soak, in small: `python -m soak` counts more of each (docs/reliability.md)."""

import os
import subprocess
import sys

import pytest
from tiny_sweeps import ROOT

SMALL = {"kills": 5, "signals": 5, "shortages": 4, "flips": 500, "inputs": 30}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SMALL)
def test_random_trouble_loses_nothing(kind, tmp_path):
    new = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "helpers"), str(ROOT)])}
    words = [sys.executable, "-m", "soak", "--only", kind, f"--{kind}", str(SMALL[kind]), "--scratch", str(tmp_path)]
    done = subprocess.run(words, env=new, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_a_sweep_runs_to_its_end_with_several_devices_in_the_process(tmp_path):
    """It uses one of them; the rows say how many there were."""
    new = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "bench", "run", "p2p_dimensions", "--chunk", "8", "--out", str(tmp_path)]
    done = subprocess.run(words, env=new, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    from bench.sweeps import part_files

    rows = part_files.read(tmp_path / "smoke" / "p2p_dimensions")
    assert set(rows["device"]) == {"2 x cpu"}
