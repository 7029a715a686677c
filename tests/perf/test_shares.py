"""What share of a limit a workload reaches: the limits, the rates of several workers, and the line that is printed."""

import jax.numpy as jnp
import pytest

from bench.perf import BENCHMARKS, shares
from bench.perf.counts import Counts
from bench.perf.measure import Workload


def a_workload(run=lambda: None):
    return Workload(run, "round of a point", 20, Counts(flops=3e6, bytes=1e3), 1e5, points=4)


def rates(rate, arithmetic_s, moving_s):
    return shares.WorkerRates("step", 1, 2e9, 1e9, rate, arithmetic_s, moving_s)


def test_every_benchmark_has_workloads_but_those_of_whole_runs_of_many_methods_and_of_commands():
    assert [name for name in BENCHMARKS if name not in shares.WORKLOADS] == ["commands"]
    assert set(shares.WORKLOADS) <= set(BENCHMARKS)


def test_the_line_of_one_worker_names_the_limit_that_binds():
    line = shares.row("w", "1 core", [rates(10, arithmetic_s=0.05, moving_s=0.01)])
    assert line == ("w", "step", "1 core", "100", "20", "10", "40 GFLOP/s", "50 %")
    line = shares.row("w", "1 core", [rates(10, arithmetic_s=0.01, moving_s=0.025)])
    assert line[-2:] == ("40 GB/s", "25 %")


def test_alone_the_fastest_call_counts_and_beside_others_all(monkeypatch):
    clock = iter([0, 1, 1, 5, 5, 7, 0, 1, 1, 5, 5, 7])
    monkeypatch.setattr(shares.time, "perf_counter", lambda: next(clock))
    assert shares.rate(a_workload(), several=False) == 20
    assert shares.rate(a_workload(), several=True) == pytest.approx(60 / 7)


def test_a_grid_becomes_a_workload_with_its_work():
    from bench.perf.measure import workload_of
    from bench.perf.users import fedavg_grid

    grid = fedavg_grid()._replace(eval_every=2, num_rounds=4)
    workload = workload_of(grid)
    assert (workload.units, workload.points) == (4, 1)
    product = 4 * 1000 * 10 * 100  # predictions and gradients of 1,000 users with 10 examples of 100 features
    assert product < workload.work.flops < 2 * product
    assert 4 * 1000 * 10 * 100 < workload.work.bytes < 1.2 * 4 * 1000 * 10 * 100
    workload.run()
    assert jnp.isfinite(workload.bytes)
