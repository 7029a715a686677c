"""The memory that the compiler names for a chunk is what a process takes to run it, beside what it had before."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_sweeps import ROOT

# In a process of its own, which has freed nothing that could be used again. /proc/self/clear_refs sets the peak back.
SCRIPT = """
import json, re, sys
from pathlib import Path
import jax, numpy as np
from bench.data.tasks.synthetic import synthetic
from bench.papers import SWEEPS
from bench.sweeps import engine
from bench.sweeps.points import resolve
from tiny_sweeps import private_sgd, walks

def resident(name):
    return 1024 * int(re.search(rf"{name}:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

def largest(sweep):
    tasks = {name: sweep.task(name, 0) for name in sweep.tasks}
    groups = {}
    for name, points in resolve(sweep, tasks).items():
        for point in points:
            groups.setdefault((name, point.method.make, point.static), []).append(point)
    (name, make, static), points = max(groups.items(), key=lambda pair: len(pair[1]))
    return tasks[name], make, static, points

which, times = sys.argv[1], int(sys.argv[2])
users = lambda trial: synthetic(trial, num_clients=20_000, num_features=20)
sweep = {
    "walks": lambda: walks(tasks={"synthetic": users}),
    "private_sgd": lambda: private_sgd(tasks={"synthetic": users}),
    "p2p_dimensions": lambda: SWEEPS["p2p_dimensions"]("smoke"),
}[which]()
task, make, static, points = largest(sweep)
points = points * times
program = engine.Program(make, static, 2)
fitted = engine.fitted_chunk(program, task, 2, points[0].traced, len(points), budget=4e9)
assert fitted.chunk == len(points)
keys = engine.run_keys(np.zeros(2, np.int32), np.arange(2, dtype=np.int32))
hypers = {name: np.array([point.traced[name] for point in points]) for name in points[0].traced}
held = sum(leaf.nbytes for leaf in jax.tree.leaves(task))
before = resident("VmRSS")
Path("/proc/self/clear_refs").write_text("5")
engine.run_chunk(program, fitted.step, task, keys, hypers, num_evals=2, chunk=fitted.chunk)
print(json.dumps([fitted.peak_bytes, held + resident("VmHWM") - before]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux's /proc")
@pytest.mark.parametrize(("sweep", "times"), [("walks", 20), ("private_sgd", 4), ("p2p_dimensions", 300)])
def test_the_plan_is_within_a_quarter_of_the_measured_peak(sweep, times):
    new = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "helpers"), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, sweep, str(times)], env=new, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    planned, measured = json.loads(done.stdout)
    assert measured > 50e6, "too little to be told from what the process does besides"
    assert planned == pytest.approx(measured, rel=0.25)
