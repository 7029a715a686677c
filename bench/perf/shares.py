"""The share of this machine's limits that each workload reaches, on one core and with a worker on every core.

Every worker is a process pinned to its own core (or to a GPU). For one core only one worker runs, and the others wait.
For all cores each worker has the whole workload, and all run it at the same time. The limits are measured in the same
processes, in the same way.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from bench.execution import memory, resources
from bench.perf import isrl, limits, networks, p2p, pfl, ppsgd, users
from bench.perf.measure import Grid, Workload, workload_of
from bench.processes import Workers, cores

SECONDS = 1.0  # the least time for which a workload runs
LEAD = 0.2  # seconds from the order to the common start
NOTE = (
    "Operations and bytes of a unit are counted on the traced program, loops as often as they run; bytes are what it "
    "must read and write at least. The limit is the one that the unit would take longer at: a product of two matrices "
    "of 2,000 x 2,000 float32, or the difference of two arrays as large as the program's memory, measured in the same "
    "workers. With all workers, the time is that of all together for one unit."
)

# Benchmark -> its workloads by name.
WORKLOADS: dict[str, dict[str, Callable[[], Grid | Workload]]] = {
    "ppsgd_synthetic": {"ppsgd_synthetic": ppsgd.synthetic_grid},
    "isrl_odd_even": {"isrl_odd_even": isrl.odd_even_grid},
    "p2p_descent": {"p2p_descent": p2p.descent_grid},
    "fedavg_round": {"fedavg_round": users.fedavg_grid},
    "local_steps": {f"local_steps, {name}": partial(networks.local_steps_grid, name) for name in networks.TASKS},
    "clipping_cnn": {"clipping_cnn": partial(pfl.workload, *pfl.CNN)},
    "clipping_scattering": {"clipping_scattering": partial(pfl.workload, *pfl.SCATTERING)},
    "clipping_colour": {
        f"clipping_colour, {name}": partial(pfl.workload, *arguments) for name, arguments in pfl.COLOUR.items()
    },
    "users": {f"users, {name}": partial(users.rounds_with, name, users.generated, users.MOST) for name in users.ARGS},
}


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

_prepared: list[Workload] = []  # the one that is measured now


def _prepare(benchmark: str, name: str, budget: float) -> None:
    """Make a workload, whose program may need `budget` bytes where its memory can be limited, and run it once."""
    _prepared.clear()  # before the next one needs memory
    made = WORKLOADS[benchmark][name]()
    _prepared.append(workload_of(made, budget) if isinstance(made, Grid) else made)
    _prepared[0].run()


def _limits(begin: float, several: bool) -> tuple[float, float]:
    time.sleep(max(0.0, begin - time.time()))
    return limits.least_seconds(_prepared[0], several)


def _rate(begin: float, several: bool) -> tuple[str, int, float, float, float]:
    (workload,) = _prepared
    time.sleep(max(0.0, begin - time.time()))
    return workload.unit, workload.points, workload.work.flops, workload.work.bytes, rate(workload, several=several)


# ---- In the driver ----


def _measured(workers: Workers, number: int) -> list[WorkerRates]:
    """Return the rates of so many workers when they run at the same time."""

    def in_all_workers(function):
        begin = time.time() + LEAD
        orders = [workers.submit(function, begin, number > 1) for _ in range(number)]
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


def report(benchmark: str, console: Console) -> dict[str, dict[str, float]]:
    """Print a line for each workload of a benchmark on one core, and one with all workers.

    Args:
        benchmark: its name; nothing is printed for one without a limit.
        console: the console to print on.

    Returns:
        Workload -> where its workers ran, "1 core" -> the share of the limit that it reached.
    """
    if benchmark not in WORKLOADS:
        return {}
    gpus = resources.gpus()
    places = [((), {"CUDA_VISIBLE_DEVICES": gpu}) for gpu in gpus] or [((core,), {}) for core in cores()]
    single, several = ("1 GPU", f"{len(places)} GPUs") if gpus else ("1 core", f"{len(places)} cores")
    budget = memory.budget(len(places))
    reached: dict[str, dict[str, float]] = {}
    table = Table("workload", "unit", "on", "ms a unit", "GFLOP/s", "GB/s", "limit", "reached")
    with Workers(places) as workers:
        for name in WORKLOADS[benchmark]:
            for future in [workers.submit(_prepare, benchmark, name, budget) for _ in places]:
                future.result()
            reached[name] = {}
            for place, number in {several: len(places), single: 1}.items() if len(places) > 1 else [(single, 1)]:
                rates = _measured(workers, number)
                table.add_row(*row(name, place, rates))
                reached[name][place] = share_of_limit(rates)
    console.print(table)
    return reached
