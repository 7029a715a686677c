"""On a Ray cluster, rows are those of one process, whatever is lost."""

import gc
import os
import subprocess
import sys
import textwrap
import time
import warnings

import psutil
import pytest
from tiny_sweeps import ROOT, assert_same_rows, run, table, walks

from bench.errors import InputError
from bench.execution.pool import Pool

ROUNDS = {"num_rounds": 40_000, "eval_every": 4_000}  # some seconds of work a unit, so that there is something to lose


# Ray leaves processes to the garbage collector, which says so.
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


def test_no_cluster_is_one_line():
    pytest.importorskip("ray")
    with Pool("ray://127.0.0.1:1") as pool, pytest.raises(InputError, match=r"no Ray cluster answers at ray://127"):
        pool.executor(1.0)
