"""Speed and memory of the compiled programs, against plain NumPy loops of the same algorithms, and against the limits
of this machine.

This is not a test: it prints what it measures. The limits are measured in the same run.
"""

from collections.abc import Callable

import jax
import psutil
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.data.files import DataFiles, with_files
from bench.perf import grids, isrl, methods, p2p, pfl, ppsgd, shares, users
from bench.perf.measure import Measurement

BENCHMARKS: dict[str, Callable[..., list[Measurement]]] = {
    "ppsgd_synthetic": ppsgd.ppsgd_synthetic,
    "ppsgd_digits": ppsgd.ppsgd_digits,
    "ppsgd_cnn": ppsgd.ppsgd_cnn,
    "ppsgd_tags": ppsgd.ppsgd_tags,
    "isrl_odd_even": isrl.isrl_odd_even,
    "p2p_descent": p2p.p2p_descent,
    "p2p_admm": p2p.p2p_admm,
    "p2p_large": p2p.p2p_large,
    "fedavg_round": grids.fedavg_round,
    "clipping_cnn": pfl.clipping_cnn,
    "clipping_scattering": pfl.clipping_scattering,
    "clipping_colour": pfl.clipping_colour,
    "small_runs": grids.small_runs,
    "users": users.users,
    "methods": methods.methods,
}


def report(names: list[str], data_files: DataFiles | None = None) -> None:
    """Run the benchmarks and print their lines, and then their shares of this machine's limits.

    Args:
        names: names in BENCHMARKS.
        data_files: the allowed sources of the data of benchmarks that read any; default DataFiles().
    """
    table = Table("what", "value", "unit", "wanted", "remarks")
    lines: list[Measurement] = []
    for name in names:
        lines += with_files(BENCHMARKS[name], data_files)()
    resident = psutil.Process().memory_info().rss
    lines.append(Measurement("resident memory at the end", resident / 1e9, "GB"))
    for line in lines:
        table.add_row(line.what, f"{line.value:.3g}", line.unit, line.wanted, escape(line.remarks))
    device = jax.local_devices()[0]
    console = Console(width=None if Console().is_terminal else 150)
    console.print(
        f"{jax.local_device_count()} x {device.device_kind}, {psutil.cpu_count()} cores, jax {jax.__version__}"
    )
    console.print(table)
    shares.report(names, data_files or DataFiles(), console)
