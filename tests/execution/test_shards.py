"""Shards of a sweep: processes that know nothing of each other do all of its runs, and none twice."""

import pytest
from calling import caller
from tiny_sweeps import KEY, WALK, assert_same_rows, run, table, walks

import bench
from bench import __main__ as command
from bench.papers import SWEEPS
from bench.sweeps.spec import Entry, grid


@pytest.mark.parametrize("number", [2, 3, 20])
def test_shards_do_all_runs_and_none_twice(number, tmp_path, monkeypatch, capsys):
    """Also of an entry with fewer seeds, and of more shards than runs."""
    entries = {"Many": Entry(WALK, grid(step_size=[0.1, 0.2, 0.3])), "Few": Entry(WALK, grid(step_size=[0.1]), seeds=1)}
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks(seeds=3)._replace(entries=entries))
    call, shares = caller("bench", command.main, monkeypatch, capsys), []
    for first in range(1, number + 1):
        out = tmp_path / str(first)
        assert call("run", "tiny", "--out", out, "--shard", f"{first}/{number}")[0] == 0
        folder = out / "smoke" / "tiny"
        shares.append(len(table(folder)[KEY[:3]].drop_duplicates()) if list(folder.glob("part-*")) else 0)
    assert shares == [len(range(first, 10, number)) for first in range(number)]
    full = [tmp_path / str(first) for first, share in enumerate(shares, 1) if share]
    assert call("merge", *full, "--out", tmp_path / "merged")[1].count(" 0 duplicates") == 1
    merged, one = tmp_path / "merged" / "smoke" / "tiny", run(SWEEPS["tiny"]("smoke"), tmp_path / "one")
    assert_same_rows(table(merged), one)


def test_a_shard_takes_the_same_runs_whatever_is_there(tmp_path, monkeypatch, calls):
    """Of eight runs, two of the first shard are in the folder: it lacks two, and the second shard all four."""
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())
    bench.run("tiny", out=tmp_path, where="step_size == 0.1")
    for shard, missing in (("2/2", 4), ("1/2", 2)):
        calls.clear()
        bench.run("tiny", out=tmp_path, shard=shard)
        assert sum(points * runs for points, runs in calls) == missing
