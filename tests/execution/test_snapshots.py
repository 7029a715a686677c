"""A unit that was stopped goes on from its last snapshot, with the numbers of one that was not, to the last bit."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from tiny_sweeps import EVERY, ROOT, ROUNDS, TASK, private_sgd, resolved, sweep_of, table, walks

from bench.algorithms import ALGORITHMS
from bench.data.tasks.quadratic import quadratic
from bench.execution import snapshots
from bench.execution.snapshots import Snapshots
from bench.execution.unit import Trainer, Unit
from bench.sweeps import engine
from bench.sweeps.rows import Origin
from bench.sweeps.spec import Entry, Sweep, grid

RUNS = ((0, 0), (0, 1))
TIMES = ["wall_s", "compile_s"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The folder of snapshots, one of which is taken after every round."""
    monkeypatch.setattr(engine, "CALL_S", 0.0)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(snapshots, "LEAST_S", 0.0)
    monkeypatch.setattr(snapshots, "BYTES_PER_SECOND", np.inf)
    return tmp_path / "cache" / "unfinished"


def unit_of(sweep, runs=RUNS, task=None) -> Unit:
    ((_, points),) = resolved(sweep).items()
    (make,) = sweep.tasks.values()
    return Unit(Origin("tiny", "smoke", 1e-4, "0"), make(0) if task is None else task, points, runs)


def stop_after(rounds: int, unit: Unit) -> None:
    """Train a unit until so many rounds are done, and stop there as Ctrl-C does."""
    done = 0

    def report(step) -> None:
        nonlocal done
        done += step.units
        if done > rounds * len(unit.points) * len(unit.runs):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Trainer(1e9).run(unit, report)


def trained(unit: Unit) -> tuple[pd.DataFrame, list]:
    steps: list = []
    return Trainer(1e9).run(unit, steps.append).rows.drop(columns=TIMES), steps


def last() -> Path:
    """The file of the last snapshot."""
    (path,) = snapshots.folder().glob("*.state")
    return path


def rounds_of(path: Path) -> int:
    with np.load(path) as file:
        return int(file["rounds"])


def resumed_after(steps: list, unit: Unit) -> int:
    """The round after which a unit went on; 0 where it began anew."""
    found = [step.units for step in steps if not step.seconds]
    return sum(found) // (len(unit.points) * len(unit.runs))


def records(trial: int):
    return quadratic(trial, num_records=16)


def queued() -> Sweep:
    """DP-FedAvg whose sampler keeps queues of examples in its state, from round to round."""
    args = {"num_sampled": 3, "batch_size": 2, "clip_norm": 1.0, "noise_multiplier": 0.5, "sampler": "queue"}
    entry = Entry(ALGORITHMS["dp_fedavg"], grid(step_size=[0.1, 0.2], server_step_size=0.3, **args))
    return sweep_of({"FedAvg": entry}, tasks={"quadratic": records})


@pytest.mark.parametrize("make", [walks, private_sgd, queued])
def test_a_unit_that_was_stopped_goes_on_from_its_last_snapshot(make, folder):
    """At first between two evaluations, and then at one."""
    unit = unit_of(make())
    expected, steps = trained(unit)
    assert resumed_after(steps, unit) == 0
    assert not list(folder.glob("*"))
    stop_after(2 * EVERY + 1, unit)
    assert rounds_of(last()) == 2 * EVERY + 1
    stop_after(3 * EVERY, unit)
    rows, steps = trained(unit)
    assert resumed_after(steps, unit) == 3 * EVERY
    said = next(step.message for step in steps if step.units and not step.seconds)
    assert f"goes on after round {3 * EVERY} of {ROUNDS}, up to which an earlier command came" in said
    assert sum(step.units for step in steps if step.seconds) == EVERY * len(unit.points) * len(RUNS)
    pd.testing.assert_frame_equal(rows, expected, check_exact=True)
    assert not list(folder.glob("*"))


@pytest.mark.parametrize("other", ["points", "runs", "data", "source", "devices"])
def test_another_unit_begins_anew(other, monkeypatch):
    unit = unit_of(walks())
    stop_after(2 * EVERY, unit)
    changed = {
        "points": lambda: unit_of(walks(steps=(0.1, 0.2, 0.3, 0.5))),
        "runs": lambda: unit_of(walks(), runs=((0, 0), (0, 2))),
        "data": lambda: unit_of(walks(), task=TASK(1)),
    }.get(other, lambda: unit)()
    if other == "source":
        monkeypatch.setattr(snapshots, "code", lambda: "another")
    if other == "devices":
        monkeypatch.setattr(snapshots.jax, "local_devices", lambda: jax.devices() * 2)
    assert resumed_after(trained(changed)[1], changed) == 0


class Command:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return Path.touch, (Path("executed"),)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def in_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "pickle": lambda path: path.write_bytes(pickle.dumps(Command())),
    "a bit of a number": flip,
    "a folder": in_a_folder,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_snapshot_is_named_and_its_unit_begins_anew(folder, kind, tmp_path, monkeypatch):
    """Whatever is in its place, the rows are those of an undisturbed unit, and nothing in it is run."""
    monkeypatch.chdir(tmp_path)
    unit = unit_of(walks())
    expected, _ = trained(unit)
    stop_after(3 * EVERY, unit)
    DAMAGE[kind](last())
    outcome, steps = Trainer(1e9).run(unit, (steps := []).append), steps
    assert resumed_after(steps, unit) == 0
    assert [str(folder) in step.message for step in steps if "is not used" in step.message] == [True]
    pd.testing.assert_frame_equal(outcome.rows.drop(columns=TIMES), expected, check_exact=True)
    assert not Path("executed").exists()


def test_a_snapshot_is_on_the_disk_before_it_is_named(folder, monkeypatch):
    """So that no part of it is missing after a power failure."""
    order: list[str] = []
    for name in ("fsync", "replace"):
        whole = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, whole=whole, name=name: (order.append(name), whole(*args))[1])
    Snapshots([], "").offer(1, {"w": jnp.zeros(1)}, [])
    assert order == ["fsync", "replace"]


def test_short_units_write_nothing(folder, monkeypatch):
    monkeypatch.setattr(snapshots, "LEAST_S", 60.0)
    unit = unit_of(walks())
    stop_after(3 * EVERY, unit)
    assert not folder.exists()
    assert resumed_after(trained(unit)[1], unit) == 0


def test_a_large_state_is_written_seldom(monkeypatch):
    monkeypatch.undo()
    now = 0.0
    monkeypatch.setattr(snapshots.time, "monotonic", lambda: now)
    kept = Snapshots([], "")
    written: list[float] = []
    monkeypatch.setattr(snapshots, "write_whole", lambda path, content, durable: written.append(now))
    monkeypatch.setattr(snapshots.memory, "available", lambda: 1e12)
    state = jnp.zeros(10**6)  # 4 MB, at 100 kB/s
    monkeypatch.setattr(snapshots, "BYTES_PER_SECOND", 1e5)
    for minute in range(1, 101):
        now = 60.0 * minute
        kept.offer(minute, {"w": state}, [])
    gaps = np.diff([0.0, *written])
    assert len(written) == 2
    assert min(gaps) >= 40 / snapshots.SHARE


def test_what_cannot_be_written_stops_nothing(folder, monkeypatch):
    folder.parent.mkdir()
    folder.write_text("a file in the folder's place")
    unit = unit_of(walks())
    rows, _ = trained(unit)
    assert len(rows) == len(unit.points) * len(RUNS) * (1 + ROUNDS // EVERY)


def test_old_snapshots_are_removed(folder):
    folder.mkdir(parents=True)
    paths = [folder / f"{number}.state" for number in range(2)]
    for age, path in enumerate(paths):
        path.write_bytes(bytes(400))
        when = path.stat().st_mtime - age * (snapshots.OLD_S + 60)
        os.utime(path, (when, when))
    Snapshots([], "new").offer(1, {"w": jnp.zeros(1)}, [])
    assert len(left := list(folder.glob("*.state"))) == 2
    assert paths[0] in left


def test_all_kinds_of_leaves_come_back():
    def of(seed: int) -> dict:
        key, half = jax.random.key(seed), jnp.full(3, seed, jnp.bfloat16)
        return {"key": key, "keys": jax.random.split(key, 2), "half": half, "numbers": seed + jnp.arange(3)}

    state = of(3)
    Snapshots([], "").offer(7, state, [{"loss": np.ones((1, 1))}])
    begun = Snapshots([], "").load(lambda rounds: of(0))
    assert begun is not None
    assert begun.rounds == 7
    assert begun.metrics == [{"loss": np.ones((1, 1))}]
    back = begun.kept
    for ours, theirs in zip(jax.tree.leaves(back), jax.tree.leaves(state), strict=True):
        assert ours.dtype == theirs.dtype
        if jnp.issubdtype(ours.dtype, jax.dtypes.prng_key):
            ours, theirs = jax.random.key_data(ours), jax.random.key_data(theirs)
        np.testing.assert_array_equal(ours, theirs)


KILLED = """
import os, signal, sys
from pathlib import Path
from tiny_sweeps import private_sgd
from bench.algorithms import ALGORITHMS
from bench.data.tasks.quadratic import quadratic
from bench.execution import snapshots
from bench.execution.run import run_sweep
from bench.sweeps import engine

engine.CALL_S, snapshots.LEAST_S, snapshots.BYTES_PER_SECOND = 0.0, 0.0, float("inf")
offer = snapshots.Snapshots.offer

def offer_and_die(self, rounds, *rest):
    offer(self, rounds, *rest)
    if rounds == AFTER:
        os.kill(os.getpid(), signal.SIGKILL)

AFTER = int(sys.argv[3])
if sys.argv[2] == "die":
    snapshots.Snapshots.offer = offer_and_die
run_sweep(private_sgd(), scale="smoke", out=Path(sys.argv[1]))
"""

AFTER = 2 * EVERY + 1  # rounds, between two evaluations


@pytest.mark.slow
def test_a_command_that_was_killed_goes_on_within_its_runs(tmp_path):
    def command(out: str, how: str) -> subprocess.CompletedProcess:
        paths = os.pathsep.join(map(str, [ROOT, ROOT / "tests" / "helpers"]))
        words = [sys.executable, "-c", KILLED, str(tmp_path / out), how, str(AFTER)]
        return subprocess.run(words, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)

    assert command("killed", "die").returncode == -signal.SIGKILL
    again = command("killed", "live")
    assert f"goes on after round {AFTER} of {ROUNDS}" in again.stderr
    assert "goes on after" not in command("whole", "live").stderr
    rows, expected = (table(tmp_path / out / "smoke" / "tiny").drop(columns=TIMES) for out in ("killed", "whole"))
    pd.testing.assert_frame_equal(rows, expected, check_exact=True)
