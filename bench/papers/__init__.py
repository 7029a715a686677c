"""The suite's papers: what each of them swept.

A paper has two rooms. In bench/papers/<name>/, sweeps.py has a dictionary SWEEPS, and the paper's theory and a second,
plain implementation of its methods stand beside it. figures/<name>/ has its figures and claims, with an object PAPER.
Commands, report and tables follow the order of this list.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.sweeps.spec import Sweep

    SWEEPS: dict[str, Callable[[str], Sweep]]

PAPERS = ("ppsgd", "isrl", "p2p", "pfl", "correlated_noise", "mrmtl", "scaffold", "decor", "server_steps")


def __getattr__(name: str):
    """SWEEPS, built on first use since its methods import JAX: name -> function from scale to sweep, ordered by paper
    and, within a paper, as in its module.
    """
    if name != "SWEEPS":
        raise AttributeError(f"module 'bench.papers' has no attribute {name!r}")
    modules = [import_module(f"bench.papers.{paper}.sweeps") for paper in PAPERS]
    globals()[name] = {sweep: make for module in modules for sweep, make in module.SWEEPS.items()}
    return globals()[name]
