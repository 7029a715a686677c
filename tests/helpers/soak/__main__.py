"""python -m soak: see the package."""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

KINDS = {"kills": 200, "signals": 100, "shortages": 50, "flips": 10_000, "inputs": 500}


def main() -> int:
    """Run what is asked for; 0 where nothing was wrong."""
    parser = argparse.ArgumentParser(prog="soak", description="Random trouble for a small sweep.")
    for kind, number in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, default=number)
    parser.add_argument("--only", choices=list(KINDS), action="append", help="may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scratch", type=Path, help="a folder to work in; default a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-", dir=given.scratch) as folder:
        os.environ["BENCH_CACHE"] = os.path.join(folder, "cache")
        from compiler_flags import compile_quickly

        compile_quickly()
        from soak import campaigns

        failed = False
        for kind in given.only or KINDS:
            scratch = Path(folder) / kind
            scratch.mkdir()
            began = time.monotonic()
            counts: Counter = campaigns.RUN[kind](scratch, getattr(given, kind), random.Random(given.seed))
            report = {"kind": kind, "seconds": round(time.monotonic() - began), **counts}
            print(json.dumps(report, indent=1), flush=True)
            failed |= bool(set(counts) - campaigns.EXPECTED)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
