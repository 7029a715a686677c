"""The share of this machine's limits that each workload reaches, on one core and with a worker on every core.

Every worker is a process pinned to its own core (or to a GPU). For one core only one worker runs, and the others wait.
For all cores each worker has the whole workload, and all run it at the same time. The limits are measured in the same
processes, in the same way.
"""

import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.data.files import DataFiles, with_files
from bench.execution import memory, resources
from bench.perf import grids, isrl, limits, networks, p2p, pfl, ppsgd, users
from bench.perf.measure import Workload, workload_of
from bench.processes import Workers, cores

SECONDS = 1.0  # the least time for which a workload runs
LEAD = 0.2  # seconds from the order to the common start
NOTE = (
    "Operations and bytes of a unit are counted on the traced program, loops as often as they run; bytes are what it "
    "must read and write at least. The limit is the one that the unit would take longer at: a product of two matrices "
    "of 2,000 x 2,000 float32, or the difference of two arrays as large as the program's memory, measured in the same "
    "workers. With all workers, the time is that of all together for one unit."
)

# Workload -> its points, and benchmark -> its other workloads by name. Where a benchmark has several workloads, what
# stands before the comma is its name.
GRIDS: dict[str, Callable] = {
    "ppsgd_synthetic": ppsgd.synthetic_grid,
    "isrl_odd_even": isrl.odd_even_grid,
    "p2p_descent": p2p.descent_grid,
    "fedavg_round": grids.fedavg_grid,
    **{f"local_steps, {name}": partial(networks.local_steps_grid, name) for name in networks.TASKS},
}
OTHERS: dict[str, dict[str, Callable[[], Workload]]] = {
    "clipping_cnn": {"clipping_cnn": pfl.cnn_workload},
    "clipping_scattering": {"clipping_scattering": pfl.scattering_workload},
    "clipping_colour": {f"clipping_colour, {name}": partial(pfl.colour_workload, name) for name in pfl.COLOUR},
    "users": {f"users, {name}": partial(users.round_of_many, name) for name in users.ARGS},
}


def workloads(name: str) -> list[str]:
    """Return the names of a benchmark's workloads."""
    return [work for work in GRIDS if name in (work, work.partition(",")[0])] or list(OTHERS.get(name, ()))


def make(name: str, data_files: DataFiles, budget: float) -> Workload:
    """Return a workload by its name.

    Args:
        name: a name returned by `workloads`.
        data_files: the allowed sources of data.
        budget: bytes that its program may need, where its memory can be limited.
    """
    if name in GRIDS:
        return workload_of(with_files(GRIDS[name], data_files)(), budget)
    return next(workloads_of[name] for workloads_of in OTHERS.values() if name in workloads_of)()


class WorkerRates(NamedTuple):
    """The rates of one worker.

    unit, points: of the workload.
    flops, bytes: of a unit.
    rate: units a second.
    arithmetic_s, moving_s: seconds of a unit at either limit.
    """

    unit: str
    points: int
    flops: float
    bytes: float
    rate: float
    arithmetic_s: float
    moving_s: float


def rate(workload: Workload, *, several: bool, seconds: float = SECONDS) -> float:
    """Return the units a second of a workload that has run before.

    Args:
        workload: the workload to run repeatedly.
        several: whether other workers run at the same time; then all calls count, otherwise only the fastest.
        seconds: the least time for which it runs.
    """
    times: list[float] = []
    while sum(times) < seconds or len(times) < 3:
        began = time.perf_counter()
        workload.run()
        times.append(time.perf_counter() - began)
    return workload.units / (sum(times) / len(times) if several else min(times))


# ---- In a worker ----

_made = cache(make)


def _prepare(arguments: tuple[str, DataFiles, float]) -> None:
    _made.cache_clear()
    _made(*arguments).run()


def _limits(arguments: tuple[str, DataFiles, float], begin: float, several: bool) -> tuple[float, float]:
    workload = _made(*arguments)
    time.sleep(max(0.0, begin - time.time()))
    return limits.least_seconds(workload, several)


def _rate(arguments: tuple[str, DataFiles, float], begin: float, several: bool) -> tuple[str, int, float, float, float]:
    unit, points, work = _made(*arguments).unit, _made(*arguments).points, _made(*arguments).work
    time.sleep(max(0.0, begin - time.time()))
    return unit, points, work.flops, work.bytes, rate(_made(*arguments), several=several)


# ---- In the driver ----


def _measured(workers: Workers, number: int, arguments: tuple[str, DataFiles, float]) -> list[WorkerRates]:
    """Return the rates of so many workers when they run at the same time."""

    def in_all_workers(function):
        begin = time.time() + LEAD
        orders = [workers.submit(function, arguments, begin, number > 1) for _ in range(number)]
        return [order.result() for order in orders]

    limit_seconds = in_all_workers(_limits)
    return [
        WorkerRates(*reached, *seconds) for reached, seconds in zip(in_all_workers(_rate), limit_seconds, strict=True)
    ]


def row(name: str, place: str, rates: Sequence[WorkerRates]) -> tuple[str, ...]:
    """Return a line of the table, with the sums of the workers' rates and of their limits.

    Args:
        name: of the workload.
        place: where the workers are.
        rates: the rates of each worker.
    """
    first = rates[0]
    reached = sum(worker.rate for worker in rates)
    unit = f"{first.unit}, {first.points} together" if first.points > 1 else first.unit
    numbers = (f"{number:.3g}" for number in (1e3 / reached, reached * first.flops / 1e9, reached * first.bytes / 1e9))
    limit, kind = _limit(rates)
    words = f"{limit * getattr(first, kind) / 1e9:.3g} {'GFLOP/s' if kind == 'flops' else 'GB/s'}"
    return name, unit, place, *numbers, words, f"{100 * share_of_limit(rates):.0f} %"


def share_of_limit(rates: Sequence[WorkerRates]) -> float:
    """Return the share of the workers' limit that they reach together."""
    return sum(worker.rate for worker in rates) / _limit(rates)[0]


def _limit(rates: Sequence[WorkerRates]) -> tuple[float, str]:
    """Return the units a second that the workers could do together, and what limits them: "flops" or "bytes"."""
    arithmetic = sum(worker.arithmetic_s for worker in rates) >= sum(worker.moving_s for worker in rates)
    return sum(1 / (worker.arithmetic_s if arithmetic else worker.moving_s) for worker in rates), (
        "flops" if arithmetic else "bytes"
    )


def report(benchmark: str, data_files: DataFiles, console: Console) -> dict[str, dict[str, float]]:
    """Print a line for each workload of a benchmark on one core, and one with all workers.

    Args:
        benchmark: its name; nothing is printed for one without a limit.
        data_files: the allowed sources of data.
        console: the console to print on.

    Returns:
        Workload -> where its workers ran, "1 core" -> the share of the limit that it reached.
    """
    chosen = workloads(benchmark)
    if not chosen:
        return {}
    gpus = resources.gpus()
    places = [((), {"CUDA_VISIBLE_DEVICES": gpu}) for gpu in gpus] or [((core,), {}) for core in cores()]
    single, several = ("1 GPU", f"{len(places)} GPUs") if gpus else ("1 core", f"{len(places)} cores")
    budget = memory.budget(len(places))
    reached: dict[str, dict[str, float]] = {}
    table = Table("workload", "unit", "on", "ms a unit", "GFLOP/s", "GB/s", "limit", "reached")
    with Workers(places) as workers:
        for name in chosen:
            arguments = name, data_files, budget
            for future in [workers.submit(_prepare, arguments) for _ in places]:
                future.result()
            reached[name] = {}
            for place, number in {several: len(places), single: 1}.items() if len(places) > 1 else [(single, 1)]:
                rates = _measured(workers, number, arguments)
                table.add_row(*row(name, place, rates))
                reached[name][place] = share_of_limit(rates)
    console.print(table)
    return reached
