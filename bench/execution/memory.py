"""Memory limits: the memory left to this process and to a compiled program, and how to detect running out."""

import re
import resource
from collections.abc import Iterator
from pathlib import Path

import jax
import psutil

MEMORY_LIMIT = 10e9  # bytes that a compiled program may need at most on any machine
GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# Messages of XLA on CPUs and GPUs, of the C++ library and of the system.
WORDS = re.compile(r"RESOURCE_EXHAUSTED|out of memory|failed to allocate|cannot allocate|bad_alloc", re.IGNORECASE)


def available() -> float:
    """Return the bytes that this process may still take: the least of free memory and what its control groups and its
    own limit leave.
    """
    bounds = [psutil.virtual_memory().available, *left_in_groups()]
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        bounds.append(limit - psutil.Process().memory_info().vms)
    return max(min(bounds), 0.0)


def budget(sharing: int = 1) -> float:
    """Return the bytes that one compiled program may need on a device: on a CPU 60 % of what is available and at most
    MEMORY_LIMIT, elsewhere 80 % of what JAX may take of the device in this process.

    Args:
        sharing: devices or processes that share a CPU's memory. On a GPU the processes' shares are set when they start.
    """
    if jax.default_backend() == "cpu":
        return min(MEMORY_LIMIT, 0.6 * available()) / sharing
    stats = jax.local_devices()[0].memory_stats() or {}
    return 0.8 * stats.get("bytes_limit", MEMORY_LIMIT / 0.8)


def left_in_groups(groups: Path = GROUPS, membership: Path = OWN_GROUPS) -> Iterator[float]:
    """Yield the bytes left to each control group with a limit, of either version, that contains this process.

    Args:
        groups: the folder where they are mounted.
        membership: the file that names this process's groups.
    """
    try:
        lines = membership.read_text().splitlines()
    except OSError:  # not on Linux
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            base, names = groups, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base, names = groups / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = base / path.lstrip("/")
        for place in (group, *group.parents):
            yield from _left(place, *names)
            if place == base:
                break


def _left(group: Path, limit: str, used: str, cache: str) -> Iterator[float]:
    """Yield the bytes that one group leaves, if it has a limit; its cache of files counts as free."""
    try:
        bound = float((group / limit).read_text())  # "max" is not a number
        in_use = float((group / used).read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return
    yield bound - in_use + float(stat.get(cache, 0))


def ran_out(error: BaseException) -> bool:
    """Return whether an error means that there is no memory left."""
    return isinstance(error, MemoryError) or bool(WORDS.search(str(error)))
