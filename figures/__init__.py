"""Figures, tables and claims of the papers, one folder per paper. They read results and run nothing."""

from importlib import import_module

from bench.papers import PAPERS as NAMES
from figures.shared.figure import Figure
from figures.shared.paper import Paper

PAPERS: dict[str, Paper] = {name: import_module(f"figures.{name}").PAPER for name in NAMES}
FIGURES: dict[str, Figure] = {name: figure for paper in PAPERS.values() for name, figure in paper.figures.items()}
