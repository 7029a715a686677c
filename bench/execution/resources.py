"""The cores and devices of this machine, and the number of workers to run on them."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import jax
import psutil

from bench.errors import InputError
from bench.execution import memory
from bench.files import open_lock
from bench.processes import cores

WORKER_BYTES = 1.5e9  # least memory of a worker
_claims: list[int] = []  # this process's claims of cores, open files


def gpus() -> list[str]:
    """Return the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them; jax is not started on them."""
    if jax.config.jax_platforms == "cpu":  # pyright: ignore[reportAttributeAccessIssue]
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name and name != "-1"]
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    listing = subprocess.run([program, "--list-gpus"], capture_output=True, text=True, timeout=30)
    return [str(number) for number, line in enumerate(listing.stdout.splitlines()) if line.startswith("GPU ")]


def automatic_workers(gpus: Sequence[str]) -> int:
    """Return one worker a GPU, or one a physical core without GPUs, and fewer where memory is short."""
    if gpus:
        return len(gpus)
    physical = min(len(cores()), psutil.cpu_count(logical=False) or 1)
    return max(1, min(physical, int(memory.available() / WORKER_BYTES)))


def number_of(option: str, text: str | int) -> int | None:
    """Return the requested number of workers or devices; None for "auto".

    Raises:
        InputError: for anything but "auto" or a number from 1 to 10,000; naming the option.
    """
    if text == "auto":
        return None
    number = int(text) if str(text).isdecimal() else 0
    if not 1 <= number <= 10_000:
        raise InputError(f"{option} is {text}: give a number from 1 to 10,000, or auto")
    return number


def number_of_devices(text: str | int) -> int:
    """Return the number of devices over which the clients of a run are divided; JAX starts on them.

    On a CPU so many devices are made of its cores, where JAX has not started yet.

    Args:
        text: a number, or "auto" for all devices that JAX sees.

    Raises:
        InputError: for anything else, or for more devices than there are.
    """
    number = number_of("--devices", text)
    if number and "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with suppress(RuntimeError):  # JAX has started: it keeps the devices that it has
            jax.config.update("jax_num_cpu_devices", number)
    if (number or 1) > (count := jax.device_count()):
        raise InputError(f"--devices is {number}, but JAX has {count} here: give at most so many, or auto")
    return number or count


def keep_to_a_core() -> None:
    """Use only one core, which no other process has claimed this way, where there is no GPU, and this is possible."""
    if hasattr(os, "sched_setaffinity") and not gpus():
        os.sched_setaffinity(0, _unclaimed())


def _unclaimed() -> list[int]:
    """Return a core whose claim, a locked file, no process holds, or all cores where there is none. The claim lasts as
    long as this process.
    """
    for core in cores():
        with suppress(OSError):  # also of somebody else's link or folder in its place
            claim = open_lock(Path(tempfile.gettempdir()) / f"bench-{os.getuid()}-core-{core}.lock")
            try:
                fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(claim)
                continue
            _claims.append(claim)
            return [core]
    return cores()
