"""On a Ray cluster, and in jobs that connect to the driver, rows are those of one process, whatever is lost."""

import contextlib
import gc
import os
import socket
import struct
import subprocess
import sys
import textwrap
import time
import warnings
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client

import psutil
import pytest
import stand_in_slurm
from tiny_sweeps import ROOT, assert_same_rows, run, table, walks

from bench.errors import InputError
from bench.execution import slurm_jobs
from bench.execution.pool import Pool

ROUNDS = {"num_rounds": 40_000, "eval_every": 4_000}  # some seconds of work a unit, so that there is something to lose


# Ray and submitit leave processes to the garbage collector, which says so.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module", autouse=True)
def collected():
    """Nothing of these tests is left for the collector to complain of in another."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="module")
def cluster():
    """A head without cores, and two nodes of one core."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    cluster.first = cluster.add_node(num_cpus=1)
    cluster.second = cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return run(walks(**ROUNDS), tmp_path_factory.mktemp("expected"), pool=Pool(workers=1), most=1)


DRIVER = """
import sys
from pathlib import Path
from bench.execution.pool import Pool
from tiny_sweeps import run, walks
with Pool("ray") as pool:
    run(walks(num_rounds=40_000, eval_every=4_000), Path(sys.argv[1]), pool=pool, most=1)
"""


def start(cluster, out) -> subprocess.Popen:
    """A driver of eight units of one point, in a process of its own."""
    environment = os.environ | {"PYTHONPATH": "tests/helpers:.", "RAY_ADDRESS": cluster.address}
    words = [sys.executable, "-c", textwrap.dedent(DRIVER), str(out)]
    return subprocess.Popen(words, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.1)
    return value


def busy() -> list[psutil.Process]:
    """Ray's processes that train."""
    return [p for p in psutil.process_iter(["name"]) if "ray::_task" in (p.info["name"] or "")]


@pytest.mark.slow
def test_what_a_cluster_loses_is_done_again(cluster, tmp_path, expected):
    """A worker is killed, then the driver; the driver that follows loses a node, and finishes."""
    driver = start(cluster, tmp_path)
    try:
        wait_for(busy)[0].kill()
        wait_for(lambda: list((tmp_path / "smoke" / "tiny").glob("part-*")))
        driver.kill()
        driver.wait()
        assert 0 < len(table(tmp_path / "smoke" / "tiny")) < len(expected)
        driver = start(cluster, tmp_path)
        wait_for(busy)
        cluster.remove_node(cluster.second, allow_graceful=False)
        assert driver.wait(240) == 0
    finally:
        driver.kill()
        driver.wait()
    assert_same_rows(table(tmp_path / "smoke" / "tiny"), expected)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A stand-in for Slurm, and an empty folder to work in."""
    of_jobs = pytest.importorskip("submitit.slurm.slurm")
    of_jobs.SlurmJob.watcher.clear()  # the numbers of jobs begin anew with every stand-in
    monkeypatch.setenv("PATH", f"{stand_in_slurm.install(tmp_path / 'slurm_bin')}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv(slurm_jobs.HOST, "localhost")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return monkeypatch


def test_jobs_connect_to_the_driver(slurm, tmp_path, expected):
    """From an empty folder; the jobs end with the driver."""
    with Pool("slurm", 2) as pool:
        assert_same_rows(run(walks(**ROUNDS), tmp_path, pool=pool, most=1), expected)
        ours = str(tmp_path / "work" / "slurm")
        jobs = [p for p in psutil.process_iter(["cmdline"]) if ours in " ".join(p.info["cmdline"] or [])]
        assert len(jobs) >= 2
    wait_for(lambda: not any(job.is_running() and job.status() != psutil.STATUS_ZOMBIE for job in jobs), 20.0)
    assert not list((tmp_path / "work" / "slurm").glob("*.key"))


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            "refuse",
            r"sbatch refuses the job \(sbatch: error: invalid partition specified: nosuch; sbatch: error: Batch",
        ),
        ("junk", r"sbatch answers without the number of a job \(.*Welcome to the cluster!; new terms of use"),
        pytest.param(
            "lose",
            r"Slurm job 1000 ended before it could start working: its log is .*; if it could not reach localhost:",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_slurm_refuses_is_one_line_in_its_words(how, said, slurm, tmp_path, capfd):
    slurm.setenv("FAKE_SLURM", how)
    slurm.setattr(slurm_jobs, "UNKNOWN_S", 1.0)
    with Pool("slurm") as pool, pytest.raises(InputError, match=said) as refused:
        run(walks(), tmp_path, pool=pool, most=1)
    assert "\n" not in str(refused.value)
    assert "invalid partition" not in capfd.readouterr().err


def test_a_folder_that_cannot_be_written_is_one_line(slurm, tmp_path):
    (tmp_path / "work" / "slurm").touch()
    with Pool("slurm") as pool, pytest.raises(InputError, match=r"cannot write slurm/ here \(File exists\)"):
        pool.executor(1.0)


def test_without_sbatch_it_is_one_line(slurm, tmp_path):
    (tmp_path / "slurm_bin" / "sbatch").unlink()
    with Pool("slurm") as pool, pytest.raises(InputError, match=r"sbatch cannot be run \(sbatch: No such file"):
        run(walks(), tmp_path, pool=pool, most=1)


@pytest.fixture
def door(monkeypatch):
    monkeypatch.setattr(slurm_jobs, "HANDSHAKE_S", 0.5)
    door = slurm_jobs.Door("localhost", b"key")
    yield door
    door.close()


STRAY = [  # what somebody sends who has no key
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"GET / HTTP/1.0\r\n\r\n",
    b"\x00\x00\x00\x10" + b"a" * 16,
    b"\x7f\xff\xff\xff" + b"a" * 100_000,
]


def test_jobs_arrive_whatever_else_connects(door, capfd):
    """A scan, garbage, too much, and connections that say nothing, as many as may show their key at the same time."""
    silent = [socket.create_connection(door.address) for _ in range(slurm_jobs.AT_ONCE)]
    for content in STRAY:
        with socket.create_connection(door.address) as stray, contextlib.suppress(OSError):
            stray.sendall(content)
    with socket.create_connection(door.address) as scan:
        scan.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it is reset
    with pytest.raises((EOFError, OSError, AuthenticationError)):
        Client(door.address, authkey=b"another")
    arrival = door.expect("job")
    with Client(door.address, authkey=b"key") as stranger:
        stranger.send("nobody")
    with Client(door.address, authkey=b"key") as job:
        job.send("job")
        arrived = arrival.get(timeout=10)
        job.send("hello")
        assert arrived.recv() == "hello"
        time.sleep(2 * slurm_jobs.HANDSHAKE_S)  # its time is not limited any more
        arrived.send("welcome")
        assert job.recv() == "welcome"
        arrived.close()
    for one in silent:
        one.close()
    assert capfd.readouterr().err.count("refused connections from 127.0.0.1") == 1


def test_jobs_are_told_an_address_of_this_machine_that_others_can_reach(monkeypatch):
    monkeypatch.delenv(slurm_jobs.HOST, raising=False)
    for addresses, expected in ((["10.1.2.3"], "10.1.2.3"), (["127.0.1.1", "10.1.2.3"], "10.1.2.3")):
        monkeypatch.setattr(socket, "gethostbyname_ex", lambda _, found=addresses: ("here", [], found))
        assert slurm_jobs.own_address() == expected
    monkeypatch.setattr(socket, "gethostbyname_ex", lambda _: ("here", [], ["127.0.1.1"]))
    assert slurm_jobs.own_address() != "127.0.1.1"
    monkeypatch.setenv(slurm_jobs.HOST, "login-1")
    assert slurm_jobs.own_address() == "login-1"
    door = slurm_jobs.Door("no-interface.invalid", b"key")  # the nodes reach it by another way
    door.close()
    assert door.address[0] == "no-interface.invalid"


def test_no_cluster_is_one_line(monkeypatch):
    pytest.importorskip("ray")
    with Pool("ray://127.0.0.1:1") as pool, pytest.raises(InputError, match=r"no Ray cluster answers at ray://127"):
        pool.executor(1.0)


def test_no_slurm_is_one_line(monkeypatch, tmp_path):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    with Pool("slurm") as pool, pytest.raises(InputError, match=r"--executor slurm cannot be used here"):
        pool.executor(1.0)
