"""Speed and memory of the compiled programs, against plain NumPy loops of the same algorithms, and against the limits
of this machine.

This is not a test: it prints what it measures. The limits are measured in the same run.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import jax
import psutil
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.data.files import DataFiles, with_files
from bench.errors import InputError, cannot_write
from bench.files import write_whole
from bench.perf import accelerator, grids, isrl, methods, p2p, pfl, ppsgd, shares, users
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


def report_accelerator(out: Path | None, data_files: DataFiles | None = None) -> None:
    """Measure what the accelerator reaches, print it, and write it as JSON.

    Args:
        out: the file; default perf-DEVICE.json in the current folder.
        data_files: the allowed sources of CIFAR-10.

    Raises:
        InputError: where JAX has no accelerator here, or the file cannot be written.
    """
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        raise InputError(
            "--accelerator: JAX sees no GPU or TPU here: run it where there is one, or install the CUDA build of jax "
            "with ./run_all.sh --gpu; without --accelerator, `perf` measures this processor"
        )
    path = out or Path(f"perf-{re.sub('[^a-z0-9]+', '-', device.device_kind.lower()).strip('-')}.json")
    if path.is_dir():
        raise InputError(f"--out {path} is a folder: name a file")
    found = accelerator.measure(data_files)
    try:
        write_whole(path, json.dumps(found, indent=1) + "\n")
    except OSError as error:
        raise cannot_write(error, path) from None
    print(path)
