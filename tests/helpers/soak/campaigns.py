"""What can be run, by name, and the counts that are no fault."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fuzzing.kinds import KINDS

from soak import boards, flips, inputs, kills, on_ray, shortages, sweep, tables
from soak.processes import Forks

EXPECTED = {
    "kills",
    "kills with two workers",
    "kills while parts were written",
    "complete after kills",
    "signals",
    "signals to a fresh process",
    "signals to a forked process",
    "signals after the work was done",
    "ended before its signal",
    "complete after signals",
    "flips in parts",
    "flips in footers",
    "flips that were noticed",
    "flips in the list of columns",
    "parts set aside and redone",
    "full disks of the cache",
    "full disks of the results",
    "limits of the address space",
    "limits at which a library ended the process",
    "devices that run out of memory",
    "shortages that were got round",
    "shortages that ended in one line",
    "kills of a Ray driver",
    "kills of a Ray worker",
    "complete after kills on Ray",
    "crafted boards",
    "boards with an entry that may stay",
    "own tables",
    "own tables of one kind",
    *KINDS,
}


def _in_forks(campaign: Callable[..., Counter]) -> Callable[[Path, int, random.Random], Counter]:
    def run(scratch: Path, number: int, chance: random.Random) -> Counter:
        with Forks(sweep.prepare) as forks:
            return campaign(forks, scratch, number, chance)

    return run


RUN: dict[str, Callable[[Path, int, random.Random], Counter]] = {
    "kills": _in_forks(kills.kills),
    "signals": _in_forks(kills.signals),
    "shortages": _in_forks(shortages.shortages),
    "flips": flips.flips,
    "inputs": inputs.inputs,
    "boards": boards.crafted_boards,
    "tables": tables.tables,
    "ray": _in_forks(on_ray.ray_kills),
}
