"""A run that dies at any moment loses the chunk in flight at most, and doubles nothing."""

from tiny_sweeps import assert_same_rows, run, walks

from bench.sweeps import engine, store
from bench.sweeps.run import run_sweep


class Killed(BaseException):
    """The process is gone: no handler of errors sees it."""


def killed_at(monkeypatch, number: int):
    """Die at the given call, counted over all that change the disk or train."""
    left = [number]

    def dying(original):
        def call(*args, **options):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return original(*args, **options)

        return call

    places = [(store.os, "replace"), (store.os, "fsync"), (store.pq, "write_table"), (store.Path, "unlink")]
    for module, name in [*places, (engine, "run_chunk")]:
        monkeypatch.setattr(module, name, dying(getattr(module, name)))


def test_dying_anywhere_loses_the_chunk_in_flight_at_most(tmp_path, monkeypatch, undisturbed, calls):
    """At every call that trains or writes, one after the other, until a run gets through."""
    for number in range(100):
        out = tmp_path / str(number)
        with monkeypatch.context() as patched:
            killed_at(patched, number)
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
    for number in range(100):
        out = tmp_path / str(number)
        run_sweep(walks(), scale="smoke", out=out)
        with monkeypatch.context() as patched:
            killed_at(patched, number)
            try:
                run_sweep(smaller, scale="smoke", out=out)
                break
            except Killed:
                pass
        assert_same_rows(run(smaller, out), expected)
    assert number > 3
