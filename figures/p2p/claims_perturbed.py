"""Checks of what Bellet et al. 2018 say of learning together from perturbed inputs (appendix D.1)."""

import pandas as pd

from figures.p2p import pairs, perturbed
from figures.p2p.perturbed import ALONE, AS_PAPER, TUNED, P, Y
from figures.shared.margins import every, paired
from figures.shared.verdicts import Verdict, verdict

SMALL = 0.02  # of accuracy: a gain that is not significant in the words of the paper; a threshold of ours


def _gains(runs: pd.DataFrame, variant: str) -> dict[str, dict[float, pd.Series]]:
    """Series -> p -> by how much learning together is more accurate than learning alone, instance by instance."""
    rows = perturbed.rows_of(runs)
    found = {}
    for name, series in rows.groupby("series"):
        together, alone = (series[series["variant"] == which] for which in (variant, ALONE))
        leads = pairs.leads(together, alone, P, Y)
        found[name] = {p: leads.loc[p].dropna() for p in leads.index}
    return found


def _said(gains: dict[str, dict[float, pd.Series]]) -> str:
    return "; ".join(
        f"{name}: " + ", ".join(f"p = {p:g} {gain.mean():+.3f}" for p, gain in cells.items())
        for name, cells in gains.items()
    )


def no_gain(runs: pd.DataFrame) -> Verdict:
    """At the paper's mu learning together gains at most SMALL over learning alone, at every p and epsilon."""
    gains = _gains(runs, AS_PAPER)
    every_gain = [gain for cells in gains.values() for gain in cells.values()]
    margins = [paired(SMALL - gain, pairs.UNITS[Y]) for gain in every_gain]
    return verdict(every(margins), f"gain over learning alone, {_said(gains)}")


def tuned_gains(runs: pd.DataFrame) -> Verdict:
    """With mu tuned learning together is more accurate than learning alone, at every p and epsilon."""
    gains = _gains(runs, TUNED)
    rows = perturbed.rows_of(runs)
    margins = []
    for name, cells in gains.items():
        own = rows[(rows["series"] == name) & (rows["variant"] == TUNED)]
        for p, gain in cells.items():
            edges = own.loc[own[P] == p, "edge"].dropna().unique()
            margins.append(paired(gain, pairs.UNITS[Y]).on(*filter(None, edges)))
    return verdict(every(margins), f"gain over learning alone, {_said(gains)}")
