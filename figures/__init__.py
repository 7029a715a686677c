"""Figures, tables and claims of the papers, one folder per paper. They read results and run nothing."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from figures.shared.figure import Figure
    from figures.shared.paper import Paper

    PAPERS: dict[str, Paper]
    FIGURES: dict[str, Figure]


def __getattr__(name: str):
    """PAPERS and FIGURES by name, imported when first used: a signal during the imports must find its handler."""
    if name not in ("PAPERS", "FIGURES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    papers = _papers()
    return papers if name == "PAPERS" else _figures()


@cache
def _papers() -> "dict[str, Paper]":
    from bench.papers import PAPERS as names

    return {name: import_module(f"figures.{name}").PAPER for name in names}


@cache
def _figures() -> "dict[str, Figure]":
    return {name: figure for paper in _papers().values() for name, figure in paper.figures.items()}
