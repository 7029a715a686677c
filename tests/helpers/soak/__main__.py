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

KINDS = {"kills": 300, "signals": 150, "shortages": 50, "flips": 30_000, "inputs": 1_000, "boards": 200, "tables": 300}
KINDS |= {"ray": 20}


def main() -> int:
    """Run what is asked for; 0 where nothing was wrong."""
    parser = argparse.ArgumentParser(prog="soak", description="Random trouble for a small sweep.")
    for kind, number in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, default=number)
    parser.add_argument("--only", choices=list(KINDS), action="append", help="may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scratch", type=Path, help="a folder to work in; default a temporary one")
    given = parser.parse_args()
    kinds = given.only or list(KINDS)
    if len(kinds) == 1:
        return alone(kinds[0], getattr(given, kinds[0]), given.seed, given.scratch)
    failed = False
    for kind in kinds:  # each in a process of its own: some fork, which a process that has started XLA must not
        options = ["--only", kind, f"--{kind}", str(getattr(given, kind)), "--seed", str(given.seed)]
        options += ["--scratch", str(given.scratch)] if given.scratch else []
        failed |= subprocess.run([sys.executable, "-m", "soak", *options]).returncode != 0
    return int(failed)


def alone(kind: str, number: int, seed: int, scratch: Path | None) -> int:
    """Run one kind of trouble; 0 where nothing was wrong."""
    with tempfile.TemporaryDirectory(prefix="soak-", dir=scratch) as folder:
        os.environ["BENCH_CACHE"] = os.path.join(folder, "cache")
        from compiling import compile_quickly

        compile_quickly()
        from soak import campaigns

        own = Path(folder) / kind
        own.mkdir()
        began = time.monotonic()
        counts: Counter = campaigns.RUN[kind](own, number, random.Random(seed))
        report = {"kind": kind, "seconds": round(time.monotonic() - began), **counts}
        print(json.dumps(report, indent=1), flush=True)
        return int(bool(set(counts) - campaigns.EXPECTED))


if __name__ == "__main__":
    sys.exit(main())
