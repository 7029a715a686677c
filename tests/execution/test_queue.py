"""What is left to do is cut and ordered so that workers end together, and nothing is lost or done twice."""

from collections import Counter

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_sweeps import resolved, walks

from bench.execution.queue import Block, WorkQueue
from bench.execution.unit import Outcome

ROWS = pd.DataFrame()
POINTS = tuple(resolved(walks(steps=[0.1 * n for n in range(1, 13)]))["synthetic"])


def block(points=12, runs=1, trial=0, size=10**9, **fields) -> Block:
    return Block("tiny", ("synthetic", trial), size, POINTS[:points], tuple((trial, n) for n in range(runs)), **fields)


def runs_of(block: Block, points: int | None = None, runs: int | None = None) -> Counter:
    """(point, trial, seed) of the first points and runs of a block."""
    return Counter((point.id, *run) for point in block.points[:points] for run in block.runs[:runs])


@given(
    st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(1, 5),
    st.none() | st.integers(1, 5),
    st.booleans(),
    st.data(),
)
def test_every_run_is_done_once_whatever_fits(sizes, workers, most, shared_sizes, data):
    """Memory may run out, a part may be all that fits, workers may die: in the end each run was trained once."""
    blocks = [block(points, runs, trial + 10 * n) for n, (points, runs, trial) in enumerate(sizes)]
    queue, done = WorkQueue(blocks, workers=workers, most=most, shared_sizes=shared_sizes), Counter()
    while queue:
        unit = queue.pop()
        assert len(unit.points) <= (most or 12)
        what = data.draw(st.sampled_from(["all", "all", "part", "first run", "memory", "death"]))
        points, runs = len(unit.points), len(unit.runs)
        if what == "death" and queue.died(unit):
            continue
        if what == "memory" and (points > 1 or runs > 1):
            queue.finished(unit, Outcome(None, points, runs, points, 0.0, 0.1))
            continue
        if what == "part":
            points, runs = data.draw(st.integers(1, points)), 1
        if what == "first run":
            runs = 1
        done += runs_of(unit, points, runs)
        queue.finished(unit, Outcome(ROWS, points, runs, points, 1.0, 0.1))
    assert done == sum(map(runs_of, blocks), Counter())


def test_a_block_that_is_most_of_the_work_is_shared_equally():
    queue = WorkQueue([block(12)], workers=3)
    units = [queue.pop() for _ in range(3)]
    assert [len(unit.points) for unit in units] == [4, 4, 4]
    assert not queue
    assert {unit.chunk for unit in units} == {4}


def test_the_last_unit_is_filled_up_to_the_program_of_the_others():
    queue = WorkQueue([block(7)], workers=2)
    assert [(len(unit.points), unit.chunk) for unit in (queue.pop(), queue.pop())] == [(4, 4), (3, 4)]


def test_rounded_units_fit_the_points_and_are_nearly_equal():
    for points, units in ((12, [(6, 6), (6, 6)]), (11, [(6, 6), (5, 6)]), (7, [(4, 4), (3, 4)]), (9, [(6, 6), (3, 6)])):
        queue = WorkQueue([block(points)], workers=2, shared_sizes=True)
        assert [(len(unit.points), unit.chunk) for unit in (queue.pop(), queue.pop())] == units
        assert not queue
    queue = WorkQueue([block(12, size=10**6)] * 3, workers=2, shared_sizes=True)
    assert [queue.pop().chunk for _ in range(2)] == [16, 16]  # whole blocks, with room for more points
    queue = WorkQueue([block(12)], workers=2, most=5, shared_sizes=True)
    assert [(len(unit.points), unit.chunk) for unit in (queue.pop(), queue.pop())] == [(5, 5), (5, 5)]


def test_many_blocks_are_not_cut_and_the_longest_is_first():
    blocks = [block(size, trial=size) for size in (3, 12, 5, 4, 6, 7, 2, 8)]
    queue = WorkQueue(blocks, workers=2)
    assert [len(queue.pop().points) for _ in range(4)] == [12, 8, 7, 6]


def test_little_work_is_not_cut():
    """A second program would take longer to compile than it saves."""
    queue = WorkQueue([block(12, size=10**6)], workers=4)
    assert len(queue.pop().points) == 12


def test_runs_are_shared_where_points_are_few():
    queue = WorkQueue([block(1, runs=4)], workers=2)
    assert [unit.runs for unit in (queue.pop(), queue.pop())] == [((0, 0), (0, 1)), ((0, 2), (0, 3))]


def test_what_was_measured_replaces_the_guess():
    """The smaller data set has the slower program; after one unit of it, and of the other, its blocks go first."""
    small, large = block(1, size=10**8), block(1, size=10**9, trial=1)
    large = Block("tiny", ("other", 1), large.task_bytes, large.points, large.runs)
    queue = WorkQueue([small, large], workers=2)
    assert queue.seconds(large) > queue.seconds(small)
    for unit, seconds in ((small, 100.0), (large, 1.0)):
        queue.finished(unit, Outcome(ROWS, 1, 1, 1, seconds, 0.0))
    assert queue.seconds(small) == pytest.approx(100.0)
    assert queue.seconds(large) == pytest.approx(1.0)
