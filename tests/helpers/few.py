"""A suite of few figures and papers, to be quick."""

from collections.abc import Iterable

import figures
from figures.shared.paper import Paper


def keep(monkeypatch, names: Iterable[str], papers: Iterable[Paper]) -> None:
    """Of all figures only those named, and these papers alone."""
    few = {paper.name: paper for paper in papers}
    monkeypatch.setattr("figures.FIGURES", {name: figures.FIGURES[name] for name in names})
    for module in ("figures", "figures.claims", "figures.pages.report.collect"):
        monkeypatch.setattr(f"{module}.PAPERS", few)
