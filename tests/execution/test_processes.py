"""Several processes give the rows of one; one that is killed costs its unit, and the driver's end is theirs."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import jax
import psutil
import pytest
from slow_cases import cases
from tiny_sweeps import COLUMNS, KEY, ROOT, assert_same_rows, run, walks

from bench import processes
from bench.errors import InputError
from bench.execution import shared
from bench.execution.pool import Pool
from bench.execution.processes import Processes

NAMES = [*KEY, *COLUMNS[:2], "epsilon", "commit", "device", "version"]


def workers_of(pid: int) -> list[psutil.Process]:
    """The worker processes that a process has started."""
    found = []
    for child in psutil.Process(pid).children(True):
        with contextlib.suppress(psutil.NoSuchProcess):  # also one that is dead, and not buried yet
            if any("bench.processes" in word for word in child.cmdline()):
                found.append(child)
    return found


def alive(workers: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run, of processes that have some seconds to end."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        workers = [one for one in workers if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
        if not workers:
            break
        time.sleep(0.1)
    return workers


@pytest.fixture(scope="module")
def two():
    with Pool(workers=2) as pool:
        yield pool


def test_two_workers_give_the_rows_of_one(tmp_path, undisturbed, two, capsys):
    """Chunks of two points: four units, so that both work. The method's module is only known to this process."""
    here = run(walks(), tmp_path, pool=two, most=2)
    assert_same_rows(here, undisturbed)
    assert (here["commit"] == undisturbed["commit"]).all()
    assert "100 %" in capsys.readouterr().err
    assert len(workers_of(os.getpid())) == 2


def test_workers_are_kept_from_sweep_to_sweep(tmp_path, undisturbed, two):
    before = {worker.pid for worker in workers_of(os.getpid())}
    assert_same_rows(run(walks(), tmp_path, pool=two, most=2), undisturbed)
    assert before <= {worker.pid for worker in workers_of(os.getpid())}


def test_a_killed_worker_costs_its_unit_alone(tmp_path, undisturbed, two, monkeypatch, capsys):
    """The first conversation's worker is killed at its beginning."""
    original, left = processes.Worker.call, [1]

    def killed(self, *args, **options):
        left[0] -= 1
        if left[0] == 0:
            self.process.kill()
        return original(self, *args, **options)

    monkeypatch.setattr(processes.Worker, "call", killed)
    assert_same_rows(run(walks(), tmp_path, pool=two, most=2), undisturbed)
    assert "a worker died: retrying: Walk on synthetic" in capsys.readouterr().err


def test_bad_input_found_in_a_worker_is_bad_input(tmp_path, two, monkeypatch):
    monkeypatch.setattr(shared, "code", lambda: "other")
    with (
        Pool(workers=2) as pool,
        pytest.raises(InputError, match=r"source on .* is not the driver's"),
    ):
        run(walks(steps=(0.1,), seeds=1), tmp_path, pool=pool)  # one unit, for which one worker is started


def test_cores_are_shared_out():
    """Workers of one machine have cores of their own where there are enough."""
    own = processes.cores()
    for workers in range(1, len(own) + 1):
        shares = processes.shares(workers)
        assert sorted(core for share in shares for core in share) == own
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert all(len(share) == 1 for share in processes.shares(2 * len(own)))


def test_a_core_is_claimed_once(tmp_path, monkeypatch):
    from bench.execution import resources

    monkeypatch.setattr(resources.tempfile, "gettempdir", lambda: tmp_path)
    own = processes.cores()
    assert [resources._unclaimed() for _ in own] == [[core] for core in own]
    assert resources._unclaimed() == own


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_a_worker_has_as_many_threads_of_openblas_as_cores(given, threads, monkeypatch):
    """Set before NumPy is imported, as more of them wait for each other busily."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    own = processes.cores()[:1]
    with processes.Workers([(own, {})]) as workers:
        assert workers.submit(os.getenv, "OPENBLAS_NUM_THREADS").result() == threads
        assert workers.submit(processes.cores).result() == own


DRIVER = """
import signal, sys
from pathlib import Path
from bench.execution.pool import Pool
from tiny_sweeps import run, walks
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background process may have lost
with Pool(workers=2) as pool:
    print("go", flush=True)
    run(walks(num_rounds=4_000_000, eval_every=40_000), Path(sys.argv[1]), pool=pool, most=1)
"""


@pytest.mark.slow
def test_each_gpu_has_a_worker_of_its_own(tmp_path, undisturbed, monkeypatch):
    """Named by the environment, though there are none: what a worker is told, and that the driver leaves them alone."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    platforms = jax.config.jax_platforms
    jax.config.update("jax_platforms", None)
    before = workers_of(os.getpid())
    try:
        with Pool() as pool:
            assert jax.config.jax_platforms == "cpu"
            assert pool.executor(100.0).num_workers == 2
            assert_same_rows(run(walks(), tmp_path, pool=Kept(pool), most=2), undisturbed)
            started = [worker for worker in workers_of(os.getpid()) if worker not in before]
            assert {worker.environ()["CUDA_VISIBLE_DEVICES"] for worker in started} == {"4", "7"}
    finally:
        jax.config.update("jax_platforms", platforms)


class Kept:
    """A pool that gives its workers however little there is to do."""

    def __init__(self, pool):
        self.executor = lambda _: pool.executor(100.0)
        self.command, self.devices = pool.command, pool.devices


SIGNALS = [signal.SIGKILL, signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", cases(SIGNALS, slow=SIGNALS[1:]))
def test_no_worker_outlives_its_driver(tmp_path, number):
    """Killed while both workers train, in the middle of a compiled loop."""
    environment = os.environ | {"PYTHONPATH": "tests/helpers:."}
    driver = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(DRIVER), str(tmp_path)],
        env=environment,
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 120
        while len(workers := workers_of(driver.pid)) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(3.0)
        driver.send_signal(number)
        driver.wait(30)
        assert not alive(workers)
    finally:
        driver.kill()


def test_close_ends_the_workers(tmp_path, undisturbed, two):
    """The pool of the other tests. It starts workers with their first unit: both have had one after four units."""
    with two:
        assert isinstance(two.executor(100.0), Processes)
        assert_same_rows(run(walks(), tmp_path, pool=two, most=2), undisturbed)
        started = workers_of(os.getpid())
    assert len(started) == 2
    assert not alive(started)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "--workers is 0"),
        ({"workers": "many"}, "--workers is many"),
        ({"executor": "dask"}, "no executor is called 'dask'"),
    ],
)
def test_words_that_nobody_knows_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Pool(**options)
