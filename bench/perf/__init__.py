"""Speed and memory of the compiled programs, against plain NumPy loops of the same algorithms, and against the limits
of this machine.

This is not a test: it prints what it measures. The limits are measured in the same run.
"""

import datetime
import json
import math
import os
import platform
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import psutil
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.errors import InputError, writing
from bench.files import record, recorded, write_whole
from bench.perf import accelerator, commands, compiled, isrl, networks, p2p, pfl, ppsgd, shares, users
from bench.perf.measure import Measurement
from bench.sweeps.rows import commit

BENCHMARKS: dict[str, Callable[..., list[Measurement]]] = {
    "ppsgd_synthetic": ppsgd.ppsgd_synthetic,
    "isrl_odd_even": isrl.isrl_odd_even,
    "p2p_descent": p2p.p2p_descent,
    "fedavg_round": users.fedavg_round,
    "local_steps": networks.local_steps,
    "clipping_cnn": pfl.clipping_cnn,
    "clipping_scattering": pfl.clipping_scattering,
    "clipping_colour": pfl.clipping_colour,
    "users": users.users,
    "commands": commands.commands,
}


def report(names: list[str], out: Path | None = None) -> None:
    """Run the benchmarks one after another; print the lines of each, and its shares of this machine's limits.

    Args:
        names: names in BENCHMARKS.
        out: a JSON file to which the numbers of each are written when it is done; those of other benchmarks in it are
            kept.

    Raises:
        InputError: where the file is no such file, or cannot be written.
    """
    earlier = recorded(out) if out else {}
    if out and os.path.lexists(out) and not (earlier and set(earlier) <= set(BENCHMARKS)):
        raise InputError(f"--out {out} is no file of `bench perf`: name another file")
    device = jax.local_devices()[0]
    about = {
        "date": datetime.date.today().isoformat(),
        "device": f"{jax.local_device_count()} x {device.device_kind}",
        "processor": platform.processor() or platform.machine(),
        "cores": psutil.cpu_count(),
        "jax": jax.__version__,
        "commit": commit(),
    }
    reached: dict[str, dict] = {}
    console = Console(width=None if Console().is_terminal else 150)
    console.print(f"{about['device']}, {about['cores']} cores, jax {about['jax']}")
    for name in names:
        busy = os.getloadavg()[0]
        lines = BENCHMARKS[name]()
        if name == names[-1]:
            resident = psutil.Process().memory_info().rss
            lines.append(Measurement("resident memory at the end", resident / 1e9, "GB"))
        table = Table("what", "value", "unit", "wanted", "remarks")
        for line in lines:
            table.add_row(line.what, f"{line.value:.3g}", line.unit, line.wanted, escape(line.remarks))
        console.print(table)
        numbers = [line._asdict() for line in lines if math.isfinite(line.value)]
        reached[name] = shares.report(name, console)
        if out:
            with writing(out):
                record(out, name, about | {"load_before": busy, "lines": numbers, "shares_of_limit": reached[name]})
    if any(reached.values()):
        console.print(shares.NOTE)
    if out:
        print(out)


def report_accelerator(name: str, out: Path | None) -> None:
    """Measure what the accelerator reaches, or compile for a GPU that need not be here; print it and write it as JSON.

    Args:
        name: "accelerator", or a GPU of `compiled.GPUS`.
        out: the file; default perf-DEVICE.json or compiled-for-GPU.json in the current folder.

    Raises:
        InputError: where JAX has no accelerator or no compiler for one here, or the file cannot be written.
    """
    if name in compiled.GPUS:
        path, measure = out or Path(f"compiled-for-{name}.json"), partial(compiled.measure, name)
    elif (device := jax.local_devices()[0]).platform == "cpu":
        raise InputError(
            "JAX sees no GPU or TPU here: run it where there is one, or install the CUDA build of jax "
            "with ./run_all.sh --gpu; `perf` without a name measures this processor"
        )
    else:
        kind = re.sub("[^a-z0-9]+", "-", device.device_kind.lower()).strip("-")
        path, measure = out or Path(f"perf-{kind}.json"), accelerator.measure
    numbers = json.dumps(measure(), indent=1) + "\n"
    with writing(path):
        write_whole(path, numbers)
    print(path)
