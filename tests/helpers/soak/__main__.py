"""python -m soak: see the package."""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

KINDS = {"kills": 300, "signals": 150, "flips": 30_000}
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
}


def main() -> int:
    """Run what is asked for; 0 where nothing was wrong."""
    parser = argparse.ArgumentParser(prog="soak", description="Random trouble for a small sweep.")
    for kind, number in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, default=number)
    parser.add_argument("--only", choices=list(KINDS), help="default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scratch", type=Path, help="a folder to work in; default a temporary one")
    given = parser.parse_args()
    if given.only:
        return int(alone(given.only, getattr(given, given.only), given.seed, given.scratch))
    # Each in a process of its own: some fork, which a process that has started XLA must not.
    ended = [subprocess.call([sys.executable, "-m", "soak", *sys.argv[1:], "--only", kind]) for kind in KINDS]
    return int(any(ended))


def alone(kind: str, number: int, seed: int, scratch: Path | None) -> bool:
    """Run one kind of trouble, and print what came of it; whether something was wrong."""
    with tempfile.TemporaryDirectory(prefix="soak-", dir=scratch) as folder:
        os.environ["BENCH_CACHE"] = os.path.join(folder, "cache")
        from compiling import compile_quickly

        compile_quickly()
        from soak import flips, kills, sweep
        from soak.processes import Forks

        own = Path(folder) / kind
        own.mkdir()
        began = time.monotonic()
        chance = random.Random(seed)
        if kind == "flips":
            counts: Counter = flips.flips(own, number, chance)
        else:
            with Forks(sweep.prepare) as forks:
                counts = {"kills": kills.kills, "signals": kills.signals}[kind](forks, own, number, chance)
        report = {"kind": kind, "seconds": round(time.monotonic() - began), **counts}
        print(json.dumps(report, indent=1), flush=True)
        return bool(set(counts) - EXPECTED)


if __name__ == "__main__":
    sys.exit(main())
