"""Tables of runs, and running them."""

from collections.abc import Callable
from importlib import import_module

from bench.papers import PAPERS
from bench.sweeps.spec import Sweep

SCALES = ("smoke", "laptop", "paper")

# Name -> scale -> the sweep; paper by paper, those of a paper as its module lists them.
SWEEPS: dict[str, Callable[[str], Sweep]] = {
    name: sweep for paper in PAPERS for name, sweep in import_module(f"bench.sweeps.{paper}").SWEEPS.items()
}
