"""One run over the devices of two processes: the rows of one, and one line where a process dies."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from tiny_sweeps import sweep_of, table

from bench.algorithms import ALGORITHMS
from bench.data.tasks.quadratic import quadratic
from bench.errors import InputError
from bench.execution.pool import Pool
from bench.execution.run import run_sweep
from bench.sweeps.spec import Entry, grid

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys

from bench.errors import InputError
from bench.execution.pool import Pool
from bench.execution.run import run_sweep
from test_hosts import sweep

try:
    with Pool(hosts=sys.argv[1]) as pool:
        if not pool.follow():
            run_sweep(sweep(int(sys.argv[3])), scale="smoke", out=sys.argv[2], pool=pool)
except InputError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
"""

SNAPSHOTS = """
import os, signal, sys
from bench.execution import snapshots

snapshots.LEAST_S, snapshots.BYTES_PER_SECOND, offer = 0.0, float("inf"), snapshots.Snapshots.offer

def offer_and_die(self, *given):
    offer(self, *given)
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[4] == "die":
    snapshots.Snapshots.offer = offer_and_die
"""


def records(trial: int):
    return quadratic(trial, num_records=16)


def sweep(rounds: int):
    args = {"num_sampled": 9, "batch_size": 4, "clip_norm": 1.0, "noise_multiplier": 0.5, "server_step_size": 0.3}
    points = grid(step_size=[0.1, 0.2], sampler="fixed", **args)
    entries = {"FedAvg": Entry(ALGORITHMS["dp_fedavg"], points)}
    return sweep_of(entries, tasks={"quadratic": records}, num_rounds=rounds, eval_every=rounds // 2)


def started(number: int, port: int, out, rounds: int, before="", *words, **environment) -> subprocess.Popen:
    paths = [ROOT, ROOT / "tests" / "helpers", ROOT / "tests" / "execution"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))} | environment
    words = [sys.executable, "-c", before + SCRIPT, f"localhost:{port}/2/{number}", str(out), str(rounds), *words]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


def test_two_processes_give_the_rows_of_one(tmp_path):
    port = free_port()
    both = [started(number, port, tmp_path / "two", 4) for number in (0, 1)]
    for one in both:
        _, said = one.communicate()
        assert one.returncode == 0, said[-3000:]
    run_sweep(sweep(4), scale="smoke", out=tmp_path / "one")
    one, two = (table(tmp_path / folder / "smoke" / "tiny") for folder in ("one", "two"))
    columns = ["point", "trial", "seed", "rounds", "excess_risk", "clipped", "epsilon"]
    pd.testing.assert_frame_equal(one[columns], two[columns], rtol=3e-5)


@pytest.mark.slow
def test_where_a_process_dies_the_driver_ends_with_a_line(tmp_path):
    port = free_port()
    driver, follower = (started(number, port, tmp_path, 4_000_000) for number in (0, 1))
    for line in driver.stderr:
        if "runs to do" in line:
            break
    follower.send_signal(signal.SIGKILL)
    _, said = driver.communicate(timeout=120)
    assert driver.returncode == 2, said[-3000:]
    assert "start all of them again" in said.strip().splitlines()[-1]
    follower.communicate()


@pytest.mark.slow
def test_processes_that_died_go_on_from_their_last_evaluation(tmp_path):
    """Each has kept its own users' part of the state; the first says when."""
    rounds, cache = 40, {"BENCH_CACHE": str(tmp_path / "cache")}

    def both(how: str, out: str) -> list[str]:
        port = free_port()
        processes = [started(number, port, tmp_path / out, rounds, SNAPSHOTS, how, **cache) for number in (0, 1)]
        return [one.communicate()[1] for one in processes]

    both("die", "died")
    assert len(list((tmp_path / "cache" / "unfinished").glob("*.state"))) == 2
    said, _ = both("live", "died")
    assert f"goes on after round {rounds // 2} of {rounds}" in said
    assert "goes on" not in both("live", "whole")[0]
    died, whole = (table(tmp_path / out / "smoke" / "tiny") for out in ("died", "whole"))
    columns = ["point", "trial", "seed", "rounds", "excess_risk", "clipped", "epsilon"]
    pd.testing.assert_frame_equal(died[columns], whole[columns], check_exact=True)


@pytest.mark.parametrize("text", ["here", "localhost/2/0", "localhost:1/2", "localhost:1/two/0"])
def test_other_words_are_refused(text):
    with pytest.raises(InputError, match=f"--hosts is {text}"):
        Pool(hosts=text)


def test_hosts_use_all_devices():
    with pytest.raises(InputError, match="leave out --devices"):
        Pool(hosts="auto", devices=2)
