"""Disks that are full and memory that runs out: one line, and what was finished is kept."""

import contextlib
import random
import resource
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from soak import sweep
from soak.processes import Forks


@contextlib.contextmanager
def small_disk(size: int) -> Iterator[Path | None]:
    """A file system of so many bytes; None where this user may not mount one."""
    with tempfile.TemporaryDirectory(prefix="soak-disk-") as folder:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True)
        try:
            yield Path(folder) if made.returncode == 0 else None
        finally:
            if made.returncode == 0:
                subprocess.run(["umount", folder], check=True)


def shortages(forks: Forks, scratch: Path, number: int, chance: random.Random) -> Counter:
    """So many runs on full disks and with little memory, half of each; every one is finished with enough of both.

    Returns:
        Counts: full disks, for results or for the cache; limits of memory, on the address space of the process and by
        the device's own word; how they ended; whatever was wrong, in words.
    """
    found: Counter = Counter()
    forks.start([*sweep.WORDS, "--out", str(scratch / "undisturbed")], scratch / "log").wait()
    reference = sweep.rows(scratch / "undisturbed")
    for count in range(number):
        out = scratch / f"out{count}"
        if count % 2:
            _memory(forks, scratch, out, chance, found)
        else:
            _disk(forks, scratch, out, chance, found)
        running = forks.start([*sweep.WORDS, "--out", str(out)], scratch / "log")
        if running.wait():
            found[f"does not go on: {running.said()[-300:]}"] += 1
        else:
            for what in sweep.differs(out, reference, exactly=False):
                found[f"not as undisturbed: {what}"] += 1
    return found


def _disk(forks: Forks, scratch: Path, out: Path, chance: random.Random, found: Counter) -> None:
    of_cache = chance.random() < 0.3
    with small_disk(chance.randrange(8, 500) * 1024) as disk:
        if disk is None:
            found["disks that could not be made"] += 1
            return
        place = disk / "results"
        words = [*sweep.WORDS, "--out", str(out if of_cache else place)]
        running = forks.start(words, scratch / "log", {"BENCH_CACHE": str(disk)} if of_cache else {})
        status = running.wait()
        found["full disks of the cache" if of_cache else "full disks of the results"] += 1
        _ended(status, running.said(), found, "the disk is full")
        if not of_cache:
            for what in sweep.wrong(place):
                found[what] += 1
            if left := [path.name for path in place.rglob(".*parquet*")]:
                found[f"unfinished files: {left}"] += 1
            if sweep.parts(place):
                subprocess.run(["cp", "-r", str(place), str(out)], check=True)


def _memory(forks: Forks, scratch: Path, out: Path, chance: random.Random, found: Counter) -> None:
    if chance.random() < 0.5:
        first = partial(_limit, chance.randrange(100, 2000) * 10**6)
        found["limits of the address space"] += 1
    else:
        first = partial(_run_out, chance.random(), chance.randrange(3))
        found["devices that run out of memory"] += 1
    running = forks.start([*sweep.WORDS, "--out", str(out)], scratch / "log", first=first)
    status = running.wait()
    if first.func is _limit and status in (-6, -11):  # XLA and LLVM abort where they cannot start a thread
        found["limits at which a library ended the process"] += 1
    else:
        _ended(status, running.said(), found, "memory")
    for what in sweep.wrong(out):
        found[what] += 1


def _limit(more: int) -> None:
    """Let this process take so many bytes of address space beside what it has."""
    import psutil

    most = psutil.Process().memory_info().vms + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _run_out(share: float, which: int) -> None:
    """Have a share of the chunks fail for want of memory, those of more than one point alone."""
    import jax

    from bench.sweeps import engine

    words = ["RESOURCE_EXHAUSTED: Out of memory", "INTERNAL: Failed to allocate 8 bytes"]
    error = MemoryError() if which == 2 else jax.errors.JaxRuntimeError(words[which])
    chance, whole = random.Random(share), engine.run_chunk

    def failing(program, step, task, keys, hypers, **options):
        if chance.random() < share and len(next(iter(hypers.values()))) > 1:
            raise error
        return whole(program, step, task, keys, hypers, **options)

    engine.run_chunk = failing


def _ended(status: int | None, said: str, found: Counter, word: str) -> None:
    lines = [line for line in said.splitlines() if line.strip()]
    if status == 0:
        found["shortages that were got round"] += 1
    elif status == 2 and lines and lines[-1].startswith("error: ") and word in lines[-1]:
        found["shortages that ended in one line"] += 1
    else:
        found[f"exit status {status}: {said[-500:]}"] += 1
    if "Traceback" in said:
        found["a traceback"] += 1
