"""Speed and memory: the compiled programs against plain NumPy loops of the same algorithms, on this machine, now.

Not a test: it prints what it measures. Shares of the peak are of a matrix product measured in the same run.
"""

from collections.abc import Callable

import jax
import psutil
from rich.console import Console
from rich.table import Table

from bench.data.files import DataFiles, with_files
from bench.perf import grids, isrl, p2p, pfl, ppsgd, users
from bench.perf.measure import Measurement, peak_flops

BENCHMARKS: dict[str, Callable[..., list[Measurement]]] = {
    "ppsgd_synthetic": ppsgd.ppsgd_synthetic,
    "ppsgd_digits": ppsgd.ppsgd_digits,
    "ppsgd_tags": ppsgd.ppsgd_tags,
    "isrl_odd_even": isrl.isrl_odd_even,
    "p2p_descent": p2p.p2p_descent,
    "p2p_admm": p2p.p2p_admm,
    "p2p_large": p2p.p2p_large,
    "fedavg_round": grids.fedavg_round,
    "clipping_cnn": pfl.clipping_cnn,
    "clipping_scattering": pfl.clipping_scattering,
    "small_runs": grids.small_runs,
    "users": users.users,
}


def report(names: list[str], data_files: DataFiles | None = None) -> None:
    """Run the benchmarks and print their lines.

    Args:
        names: of BENCHMARKS.
        data_files: where the data of those may come from that read any; default DataFiles().
    """
    table = Table("what", "value", "unit", "wanted", "remarks")
    lines = [Measurement("matrix product, 2,000 x 2,000 float32", peak_flops() / 1e9, "GFLOP/s")]
    for name in names:
        lines += with_files(BENCHMARKS[name], data_files)()
    resident = psutil.Process().memory_info().rss
    lines.append(Measurement("resident memory at the end", resident / 1e9, "GB"))
    for line in lines:
        table.add_row(line.what, f"{line.value:.3g}", line.unit, line.wanted, line.remarks)
    device = jax.local_devices()[0]
    console = Console(width=None if Console().is_terminal else 150)
    console.print(
        f"{jax.local_device_count()} x {device.device_kind}, {psutil.cpu_count()} cores, jax {jax.__version__}"
    )
    console.print(table)
