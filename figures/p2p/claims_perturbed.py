"""Checks of what Bellet et al. 2018 say of learning together from perturbed inputs (appendix D.1)."""

import pandas as pd

from figures.p2p import pairs, perturbed
from figures.p2p.perturbed import ALONE, AS_PAPER, TUNED, P, Y
from figures.shared.margins import Margin
from figures.shared.verdicts import Verdict, verdict

SMALL = 0.02  # of accuracy: a gain that is not significant in the words of the paper; a threshold of ours


def _ahead(runs: pd.DataFrame, first: str, second: str, allowed: float = 0.0) -> dict[str, dict[float, Margin]]:
    """Series -> p -> by how much one way of learning is more accurate than the other, instance by instance."""
    found = {}
    for name, series in perturbed.rows_of(runs).groupby("series"):
        better, worse = (series[series["variant"] == one] for one in (first, second))
        found[str(name)] = pairs.ahead(better, worse, P, Y, allowed)
    return found


def _said(gains: dict[str, dict[float, float]]) -> str:
    cells = ((name, ", ".join(f"p = {p:g} {gain:+.3f}" for p, gain in cells.items())) for name, cells in gains.items())
    return "gain over learning alone, " + "; ".join(f"{name}: {said}" for name, said in cells)


def no_gain(runs: pd.DataFrame) -> Verdict:
    """At the paper's mu learning together gains at most SMALL over learning alone, at every p and epsilon."""
    found = _ahead(runs, ALONE, AS_PAPER, SMALL)
    gains = {name: {p: SMALL - margin.value for p, margin in cells.items()} for name, cells in found.items()}
    return verdict(pairs.everywhere(found), _said(gains))


def tuned_gains(runs: pd.DataFrame) -> Verdict:
    """With mu tuned learning together is more accurate than learning alone, at every p and epsilon."""
    found = _ahead(runs, TUNED, ALONE)
    gains = {name: {p: margin.value for p, margin in cells.items()} for name, cells in found.items()}
    return verdict(pairs.everywhere(found), _said(gains))
