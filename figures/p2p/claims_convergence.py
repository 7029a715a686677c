"""Checks of the claims of Bellet et al. 2018 on Figure 1, by runs without privacy: coordinate descent against ADMM.

The paper does not give the penalty of ADMM. Its claims are tested at the penalty whose curves are the closest to the
published ones. Further claims of ours use the penalty that ends with the lowest objective.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from figures.p2p import common, fig1, pairs, vectors
from figures.p2p.published import published
from figures.shared.derived import derived
from figures.shared.margins import every
from figures.shared.verdicts import NotTestable, Verdict, require, spread, verdict

NAMES = {"objective": "objective", "test_accuracy": "accuracy"}
TOLERANCES = {"objective": 0.05, "test_accuracy": 0.015}


@derived
def _of_start(runs: pd.DataFrame, variant: str, best: bool) -> Mapping[str, pd.DataFrame]:
    """Return the runs of CD and of ADMM from one start. `best`: ADMM at its best penalty instead of `fitting_penalty`.

    Raises:
        NotTestable: where one of the two is missing.
    """
    if best:
        chosen = fig1.chosen(runs)
    else:
        candidates = fig1.candidates(runs)
        penalties = pd.DataFrame({"variant": [variant], "penalty": [fig1.fitting_penalty(runs)]})
        chosen = fig1.with_penalty(candidates, penalties)
    chosen = chosen[chosen["variant"] == variant]
    for name in fig1.SERIES:
        if name not in set(chosen["series"]):
            raise NotTestable(f"no run of {name} from {variant}")
    return MappingProxyType({str(name): rows for name, rows in chosen.groupby("series")})


def _after_start(pair: Mapping[str, pd.DataFrame], x: str, y: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of CD and of ADMM at the points after the start that both have."""
    if x == "vectors_sent":
        both = vectors.by_vectors(pd.concat(pair.values()), [y])
        pair = {str(name): rows for name, rows in both.groupby("series")}
    cd, admm = (pair[name] for name in fig1.SERIES)
    shared = set(cd[x]) & set(admm[x]) - {0}
    if not shared:
        raise NotTestable("CD and ADMM were not evaluated at the same points")
    return cd[cd[x].isin(shared)], admm[admm[x].isin(shared)]


@derived
def _compared(runs: pd.DataFrame, variant: str, best: bool, x: str, y: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what `_after_start` returns for the runs from one start."""
    return _after_start(_of_start(runs, variant, best), x, y)


@derived
def _always_ahead(runs: pd.DataFrame, variant: str, x: str, y: str) -> str:
    """Return the penalties of ADMM at which CD is ahead at every point on average, in words."""
    candidates = fig1.candidates(runs)
    candidates = candidates[candidates["variant"] == variant]
    cd, found = candidates[candidates["series"] == "CD"], []
    for penalty, admm in candidates[candidates["series"] == "ADMM"].groupby("penalty"):
        leads = pairs.leads(*_after_start({"CD": cd, "ADMM": admm}, x, y), x, y)
        if (leads.min(axis=1) > -np.inf).all() and (leads.mean(axis=1) > 0).all():
            found.append(f"{penalty:g}")
    return ", ".join(found) or "none"


def ahead(x: str, y: str, best: bool = False) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that CD is ahead of ADMM at every x > 0, from either start. `best`: as of `_of_start`."""

    def check(runs: pd.DataFrame) -> Verdict:
        evidence, margins = [], []
        for variant in fig1.STARTS.values():
            pair = _of_start(runs, variant, best)
            cd, admm = _compared(runs, variant, best, x, y)
            found = pairs.ahead(cd, admm, x, y)
            margins += [margin.named(f"from {variant}") for margin in found.values()]
            smallest = min(found, key=lambda at: found[at].value)
            behind = [at for at, margin in found.items() if margin.value <= 0]
            where = f"behind at {len(behind)} of {len(found)} points, the last at {max(behind, default=0):g}"
            lead = spread(pairs.leads(cd[cd[x] == smallest], admm[admm[x] == smallest], x, y).iloc[0].dropna())
            evidence += [
                f"from {variant}, penalty {pair['ADMM']['penalty'].iloc[0]:g}: "
                f"{where if behind else 'always ahead'}, smallest lead {lead} at {smallest:g}",
                f"from {variant}, always ahead at penalties: {_always_ahead(runs, variant, x, y)}",
            ]
        return verdict(every(margins), "; ".join(evidence))

    check.__name__ = f"ahead_in_{y}_by_{x}{'_at_best' * best}"
    return check


def ends_ahead(best: bool) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that CD is ahead of ADMM at the last point of all four panels, from either start."""

    def check(runs: pd.DataFrame) -> Verdict:
        evidence, margins = [], []
        for variant in fig1.STARTS.values():
            pair = _of_start(runs, variant, best)
            evidence.append(f"from {variant}, penalty {pair['ADMM']['penalty'].iloc[0]:g}")
            for x in fig1.AXES:
                for y in fig1.METRICS:
                    cd, admm = _compared(runs, variant, best, x, y)
                    last = cd[x].max()
                    cd, admm = cd[cd[x] == last], admm[admm[x] == last]
                    found = pairs.ahead(cd, admm, x, y).values()
                    margins += [margin.named(f"from {variant}", NAMES[y]) for margin in found]
                    lead = pairs.leads(cd, admm, x, y).iloc[0].dropna()
                    evidence.append(f"{y} at {x} {last:g}: lead {spread(lead)}")
        return verdict(every(margins), "; ".join(evidence))

    check.__name__ = f"ends_ahead{'_at_best' * best}"
    return check


def ends_as_published(runs: pd.DataFrame) -> Verdict:
    """CD from the short descent, where the published curves start, ends within the tolerance of them."""
    rows = fig1.candidates(runs)
    rows = rows[(rows["series"] == "CD") & (rows["variant"] == common.DESCENT)]
    theirs = published("p2p_fig1")
    theirs = theirs[(theirs["series"] == "CD") & (theirs["x_name"] == "iterations")]
    evidence, margins = [], []
    for y, tolerance in TOLERANCES.items():
        points = theirs[theirs["y_name"] == y].sort_values("x")
        last = round(points["x"].max(), -1)
        require(rows["iterations"], [last], "iterations")
        ours = rows[rows["iterations"] == last]
        there = points["y"].iloc[-1]
        found = pairs.near(ours, pd.Series({last: there}), "iterations", y, tolerance).values()
        margins += [margin.named(NAMES[y]) for margin in found]
        evidence.append(f"{y} {ours[y].mean():.4f}, published {there:.4f}, tolerance {tolerance:g}")
    return verdict(every(margins), "; ".join(evidence))
