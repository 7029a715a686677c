"""The sweeps of one command are one queue: no worker waits for the end of a sweep, and an error of one loses nothing of
the others."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest
from tiny_sweeps import assert_same_rows, table, walks

from bench.errors import InputError
from bench.execution import run as running
from bench.execution.pool import Pool
from bench.execution.queue import Block, WorkQueue
from bench.execution.run import Opener, opened, run_all
from bench.execution.unit import Trainer
from bench.processes import WorkerDied

WAIT_S = 20.0  # after which a test fails that waits for what does not happen
WHOLE = {"trials": 1}  # one block
WORK = {"first": 10, "second": 60}  # sweep -> seconds


class Threads:
    """Two workers, each a thread with a trainer.

    Args:
        before: sweep -> what its first unit waits for, called in the thread.
    """

    num_workers = 2

    def __init__(self, before):
        self.before, self.began, self.threads = before, [], ThreadPoolExecutor(2)

    def submit(self, unit, report) -> Future:
        def train():
            self.began.append(unit.origin.sweep)
            self.before.get(unit.origin.sweep, lambda: None)()
            return Trainer(1e9).run(unit, report)

        return self.threads.submit(train)


@pytest.fixture
def pool(monkeypatch):
    pool = Pool()
    pool.threads = Threads({})
    monkeypatch.setattr(pool, "executor", lambda seconds: pool.threads)
    yield pool
    pool.threads.threads.shutdown()


def upcoming(sweep, out, pool) -> Opener:
    return partial(opened, sweep, scale="smoke", out=out, pool=pool)


def test_a_sweep_begins_while_the_last_unit_of_the_one_before_is_trained(tmp_path, pool, undisturbed):
    second = threading.Event()

    def until_the_second_begins():
        assert second.wait(WAIT_S), "the second sweep waited for the end of the first"

    pool.threads.before |= {"first": until_the_second_begins, "second": second.set}
    sweeps = [walks(name="first", **WHOLE), walks(name="second", **WHOLE), walks(name="third")]
    run_all([upcoming(sweep, tmp_path, pool) for sweep in sweeps], pool)
    rows = [table(tmp_path / "smoke" / sweep.name) for sweep in sweeps]
    assert_same_rows(rows[0], rows[1])
    assert_same_rows(rows[2], undisturbed)
    assert [set(part["sweep"]) for part in rows] == [{"first"}, {"second"}, {"third"}]


def test_sweeps_whose_data_are_missing_stop_no_other_and_are_all_named_at_the_end(tmp_path, pool):
    refused = threading.Event()

    def refuse(of):
        refused.set()
        raise InputError(f"{of} is not here")

    def until_refused():
        assert refused.wait(WAIT_S)

    pool.threads.before["first"] = until_refused
    first, last = (upcoming(walks(name=name, **WHOLE), tmp_path, pool) for name in ("first", "last"))
    missing = [lambda stack, name=name: refuse(name) for name in ("school", "mnist")]
    with pytest.raises(InputError, match=r"^school is not here; mnist is not here$"):
        run_all([first, *missing, last], pool)
    for name in ("first", "last"):
        assert len(table(tmp_path / "smoke" / name).groupby(["point", "trial", "seed"])) == 8


def test_the_folder_of_a_sweep_that_cannot_be_opened_is_given_back(tmp_path, pool):
    held = []

    def refuse(stack):
        held.append(True)
        stack.callback(held.clear)
        raise InputError("its data are not here")

    with pytest.raises(InputError, match="its data are not here"):
        run_all([refuse], pool)
    assert not held


def test_runs_that_are_given_up_stop_no_other_sweep(tmp_path, pool):
    def die():
        raise WorkerDied

    pool.threads.before["dies"] = die
    sweeps = [walks(name="dies", **WHOLE), walks(name="lives", **WHOLE)]
    with pytest.raises(InputError, match="workers died twice of 8 runs of dies"):
        run_all([upcoming(sweep, tmp_path, pool) for sweep in sweeps], pool)
    assert pool.threads.began.count("dies") == 2
    assert len(table(tmp_path / "smoke" / "lives").groupby(["point", "trial", "seed"])) == 8
    assert not list((tmp_path / "smoke" / "dies").glob("*.parquet"))


def test_no_program_is_compiled_twice_while_there_is_other_work():
    """Alone, a block of 10 s is shared by two workers, which pays; with 60 s of another sweep it does not."""
    (make,) = (entry.method.make for entry in walks().entries.values())
    points = running.resolve(walks(), {"synthetic": walks().task("synthetic", 0)})["synthetic"]
    assert all(point.method.make is make for point in points)
    size = 5e9 / (len(points) * points[0].num_rounds)
    block, other = (Block(name, ("synthetic", 0), s * size, tuple(points), ((0, 0),)) for name, s in WORK.items())
    assert (block.guess_s, other.guess_s) == pytest.approx((10, 60))
    assert len(WorkQueue([block], workers=2).pop().points) == len(points) // 2
    unit = WorkQueue([block, other], workers=2).pop()
    assert (unit.sweep, len(unit.points)) == ("first", len(points))
