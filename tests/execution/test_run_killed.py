"""A run that dies at any moment loses the chunk in flight at most, and doubles nothing."""

import shutil

import pytest
from killing import WRITES, Killed, killed_at
from tiny_sweeps import assert_same_rows, run, walks

from bench.execution.run import run_sweep
from bench.sweeps import engine


@pytest.mark.slow
def test_dying_anywhere_loses_the_chunk_in_flight_at_most(tmp_path, monkeypatch, undisturbed, calls):
    """At every call that trains or writes, one after the other, until a run gets through."""
    for number in range(100):
        out = tmp_path / str(number)
        with monkeypatch.context() as patched:
            killed_at(patched, number, [*WRITES, (engine, "run_chunk")])
            try:
                run_sweep(walks(), scale="smoke", out=out, most=2)
                break
            except Killed:
                pass
        trained = sum(points for points, _ in calls)
        kept = len(list((out / "smoke" / "tiny").glob("part-*"))) * 2
        calls.clear()
        assert_same_rows(run(walks(), out, most=2), undisturbed)
        assert sum(points for points, _ in calls) == 8 - kept
        assert kept >= trained - 2
        calls.clear()
    assert number > 15


def test_dying_while_stale_rows_are_sorted_out_doubles_nothing(tmp_path, monkeypatch, undisturbed):
    smaller = walks(steps=(0.1, 0.2, 0.3))
    expected = undisturbed[undisturbed["step_size"] < 0.35].reset_index(drop=True)
    run_sweep(walks(), scale="smoke", out=tmp_path / "whole")
    for number in range(100):
        out = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", out)
        with monkeypatch.context() as patched:
            killed_at(patched, number, [*WRITES, (engine, "run_chunk")])
            try:
                run_sweep(smaller, scale="smoke", out=out)
                break
            except Killed:
                pass
        assert_same_rows(run(smaller, out), expected)
    assert number > 3
