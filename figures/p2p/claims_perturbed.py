"""Checks of what Bellet et al. 2018 say of learning together from perturbed inputs (appendix D.1)."""

import pandas as pd

from figures.p2p import pairs, perturbed
from figures.p2p.perturbed import ALONE, AS_PAPER, TUNED, P, Y
from figures.p2p.published import published
from figures.shared.margins import Margin
from figures.shared.verdicts import NotTestable, Verdict, verdict

NEAR = 0.03  # of accuracy: where the perturbed inputs are taken to be those of the paper
SMALL = 0.02  # of accuracy: a gain that is not significant in the words of the paper; a threshold of ours


def _ahead(runs: pd.DataFrame, first: str, second: str, allowed: float = 0.0) -> dict[str, dict[float, Margin]]:
    """Series -> p -> by how much one way of learning is more accurate than the other, instance by instance."""
    found = {}
    for name, series in perturbed.rows_of(runs).groupby("series"):
        better, worse = (series[series["variant"] == variant] for variant in (first, second))
        found[str(name)] = pairs.ahead(better, worse, P, Y, allowed)
    return found


def _said(gains: dict[str, dict[float, float]]) -> str:
    cells = ((name, ", ".join(f"p = {p:g} {gain:+.3f}" for p, gain in cells.items())) for name, cells in gains.items())
    return "gain over learning alone, " + "; ".join(f"{name}: {said}" for name, said in cells)


def _like_figure_4(runs: pd.DataFrame) -> list[float]:
    """Return the numbers of features at which local models from perturbed inputs are as accurate as in Figure 4.

    Raises:
        NotTestable: where there are none.
    """
    alone = perturbed.rows_of(runs)
    means = alone[alone["variant"] == ALONE].groupby([P, "series"])[Y].mean()
    theirs = published("p2p_fig4").set_index(["x", "series"])["y"]
    apart = (means - theirs.reindex(means.index)).abs().groupby(level=P).max()
    alike = apart.index[apart <= NEAR].tolist()
    if not alike:
        raise NotTestable("nowhere are local models from perturbed inputs as accurate as in Figure 4")
    return alike


def no_gain(runs: pd.DataFrame) -> Verdict:
    """At the paper's mu learning together gains at most SMALL over learning alone, at every epsilon, and at every p
    where learning alone is as accurate as in Figure 4."""
    features = _like_figure_4(runs)
    found = _ahead(runs, ALONE, AS_PAPER, SMALL)
    found = {name: {p: margin for p, margin in cells.items() if p in features} for name, cells in found.items()}
    gains = {name: {p: SMALL - margin.value for p, margin in cells.items()} for name, cells in found.items()}
    return verdict(pairs.everywhere(found), _said(gains))


def tuned_gains(runs: pd.DataFrame) -> Verdict:
    """With mu tuned learning together is more accurate than learning alone, at every p and epsilon."""
    found = _ahead(runs, TUNED, ALONE)
    gains = {name: {p: margin.value for p, margin in cells.items()} for name, cells in found.items()}
    return verdict(pairs.everywhere(found), _said(gains))
