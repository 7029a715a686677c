"""What a GPU or TPU reaches, within ten minutes: client updates, examples of DP-SGD, and cells of Bhaskar et al.

Every number is the best of repeated calls of a compiled program. The share is that of the device's own limit, measured
in the same process (`bench.perf.limits`).
"""

import dataclasses
import datetime
import importlib.util
import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.data.task import Task
from bench.data.tasks.digits import Digits, digit_task
from bench.errors import InputError, in_one_line
from bench.papers.pfl.cells import EPOCHS, EPSILONS, MODELS, sweep_of_cells
from bench.perf import limits, pfl, users
from bench.perf.measure import Call, Grid, workload_of, workload_of_call
from bench.perf.ppsgd import published_grid
from bench.perf.shares import rate
from bench.sweeps.points import resolve
from bench.sweeps.rows import commit
from bench.sweeps.spec import grid

SECONDS = 600.0  # for all measurements; what would begin later is left out
GRIDS = ("ppsgd_synthetic", "ppsgd_digits", "ppsgd_tags_made_up", "ppsgd_cnn")
PIXELS, CLASSES = 784, 10


class Probe(NamedTuple):
    """One measurement.

    what: what is measured.
    make: the program; raises InputError where data are missing.
    counted: the number of `unit` in a unit of the workload; where `unit` is a time, the units of the workload in it.
    unit: of the value.
    """

    what: str
    make: Callable[[], Grid | Call]
    counted: float
    unit: str


def _size(params, task: Task) -> dict:
    """Return a number of the model, in place of metrics that would take most of the time."""
    return {"size": sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(params))}


def random_digits(num_users: int) -> Task:
    """Return the task of Figure 1d of Bietti et al. on random images: the small network, five images a user."""
    rng = np.random.default_rng(0)
    pixels = rng.random((num_users, users.EXAMPLES, PIXELS), np.float32)
    labels = rng.integers(CLASSES, size=(num_users, users.EXAMPLES))
    examples = list(zip(pixels, labels, strict=True))
    names = {"name": f"random_digits_{num_users}", "source": "generated", "checksum": ""}
    task = digit_task(Digits(examples, examples[:1] * num_users), model="cnn", batch_size=users.EXAMPLES, **names)
    return dataclasses.replace(task, metrics=_size, evaluation=None)


def cell(model: str) -> Grid:
    """Return a round of a cell of Table 4 of Bhaskar et al.: ten clients, one local epoch on CIFAR-10, with DP-SGD.

    Args:
        model: one of MODELS.

    Raises:
        InputError: where CIFAR-10 is not here.
    """
    cells = grid(data="cifar10", algorithm=model, target_epsilon=EPSILONS["cifar10"][0], num_epochs=1, num_clients=10)
    sweep = sweep_of_cells("perf", "a cell of Table 4", cells, "paper", smoke="")
    ((name, _),) = sweep.tasks.items()
    task = sweep.task(name, 0)
    return Grid(task, resolve(sweep, {name: task})[name], 1, 1)


def probes() -> list[Probe]:
    """Return all measurements, those that matter most first."""
    steps = {"CNN of digits": pfl.CNN, **pfl.COLOUR, "scattering + linear": pfl.SCATTERING}
    of_users = [
        ("DP-FedAvg, linear", "dp_fedavg", users.generated, (10**3, 10**5)),
        ("PPSGD, CNN of digits", "ppsgd", random_digits, (10**3, 10**4)),
    ]
    return [
        *(Probe(sweep, partial(published_grid, sweep), 1, "rounds of a point/s") for sweep in GRIDS),
        *(Probe(f"Table 4, {model}", partial(cell, model), EPOCHS, "s") for model in MODELS),
        *(
            Probe(f"DP-SGD, {name}", partial(pfl.step, *arguments), pfl.BATCH, "examples/s")
            for name, arguments in steps.items()
        ),
        *(
            Probe(f"{what}, {number:,} users", partial(users.rounds_with, method, make, number), number,
                  "client updates/s")
            for what, method, make, numbers in of_users
            for number in numbers
        ),
    ]  # fmt: skip


def measurement(probe: Probe) -> dict[str, Any]:
    """Compile and time one program: its value, milliseconds of a unit, share of the limit that binds, and memory."""
    began = time.perf_counter()
    made = probe.make()
    workload = workload_of(made) if isinstance(made, Grid) else workload_of_call(made)
    workload.run()
    compiled = time.perf_counter() - began
    reached = rate(workload, several=False)
    arithmetic, moving = limits.least_seconds(workload)
    return {
        "what": probe.what,
        "value": probe.counted / reached if probe.unit == "s" else probe.counted * reached,
        "unit": probe.unit,
        "ms": 1e3 / reached,
        "share_of_limit": reached * max(arithmetic, moving),
        "limit": "arithmetic" if arithmetic >= moving else "moving data",
        "points": workload.points,
        "program_bytes": workload.bytes,
        "start_s": compiled,
    }


def measure() -> dict[str, Any]:
    """Measure what JAX's default device reaches, and print a line for each measurement.

    Returns:
        What can be written as JSON: the device, its limits, what was measured, and what was left out, with the reason.
    """
    began, device = time.monotonic(), jax.local_devices()[0]
    measurements: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for probe in probes():
        if time.monotonic() - began > SECONDS:
            left_out[probe.what] = f"{SECONDS:g} s had passed"
        else:
            try:
                measurements.append(measurement(probe))
            except InputError as error:
                left_out[probe.what] = str(error)
            except jax.errors.JaxRuntimeError as error:  # mostly for lack of memory
                left_out[probe.what] = in_one_line(error)
        print(f"{probe.what}: {left_out.get(probe.what) or _in_words(measurements[-1])}")
    if importlib.util.find_spec("opacus") is None:
        left_out["Opacus"] = "it is not installed: pip install '.[opacus]'"
    elif time.monotonic() - began <= SECONDS:
        measurements += [
            {"what": example.what, "value": example.value, "unit": example.unit} for example in pfl.clipping_cnn()
        ]
    return {
        "device": device.device_kind,
        "platform": device.platform,
        "devices": jax.local_device_count(),
        "memory_bytes": (device.memory_stats() or {}).get("bytes_limit"),
        "peak_gflops": limits.peak_flops(False) / 1e9,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "seconds": round(time.monotonic() - began),
        "measured": measurements,
        "left_out": left_out,
    }


def _in_words(row: dict[str, Any]) -> str:
    return f"{row['value']:,.3g} {row['unit']}, {100 * row['share_of_limit']:.0f} % of the limit of {row['limit']}"
