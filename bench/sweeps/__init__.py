"""Sweeps: tables of runs, and the code that runs them."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from bench.papers import PAPERS

if TYPE_CHECKING:
    from bench.sweeps.spec import Sweep

    SWEEPS: dict[str, Callable[[str], Sweep]]

SCALES = ("smoke", "laptop", "paper")


def __getattr__(name: str):
    """SWEEPS, built on first use since its methods import JAX: name -> function from scale to sweep, ordered by paper
    and, within a paper, as in its module.
    """
    if name != "SWEEPS":
        raise AttributeError(f"module 'bench.sweeps' has no attribute {name!r}")
    modules = [import_module(f"bench.sweeps.{paper}") for paper in PAPERS]
    globals()[name] = {sweep: make for module in modules for sweep, make in module.SWEEPS.items()}
    return globals()[name]
