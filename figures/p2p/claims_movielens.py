"""Checks of the claims of Bellet et al. 2018 on Table 1, by runs on MovieLens.

Private runs have Laplace noise and gradients clipped at the paper's norm; two claims of ours tune this norm as well.
The paper does not say where they start, so the start is tuned on validation ratings together with the number of
updates. The evidence also has the other variants of the table.
"""

from itertools import pairwise

import pandas as pd

from bench.analysis import select
from figures.p2p import common, pairs, table1
from figures.p2p.common import LOCAL, NON_PRIVATE
from figures.p2p.published import published
from figures.shared.derived import derived
from figures.shared.margins import Margin, every
from figures.shared.verdicts import NotTestable, Verdict, require, verdict

Y = "test_rmse"
NEAR_PUBLISHED, NEAR_NON_PRIVATE = 0.01, 0.003
SERIES = [LOCAL, NON_PRIVATE, "epsilon 1", "epsilon 0.5", "epsilon 0.1"]


@derived
def _rows(runs: pd.DataFrame, norm_tuned: bool = False) -> pd.DataFrame:
    """Final rows, one per repetition, with "series": SERIES, and each user's mean.

    norm_tuned: private runs have the clipping norm that is best on validation ratings, and not that of the paper.

    Raises:
        NotTestable: where a series or a budget is missing, or a series diverged.
    """
    rows = table1.final_rows(runs)
    wanted = {LOCAL, NON_PRIVATE, table1.USER_MEAN}
    rows = rows[rows["series"].isin(wanted)]
    if missing := wanted - set(rows["series"]):
        raise NotTestable(f"no runs of {', '.join(sorted(missing))}")
    printed = common.part(runs, algorithm="private CD", mechanism="laplace")
    if not norm_tuned:
        printed = common.part(printed, clip_norm=table1.CLIP_NORM)
    best = table1.tuned(printed, ["start", *table1.OVER])
    tried = common.final(common.part(printed, instances="validation"))
    best = common.with_edges(best, tried, ["budget", "start"], table1.OVER)
    best = best.assign(series=best["budget"].map(common.epsilon_name))
    require(best["budget"], [1.0, 0.5, 0.1], "budget")
    rows = pd.concat([rows, best], ignore_index=True)
    table = _table(rows, [*SERIES, table1.USER_MEAN])
    if table[Y].isna().any():
        raise NotTestable(f"{', '.join(table.index[table[Y].isna()])} diverged")
    return rows


def _table(rows: pd.DataFrame, series: list[str]) -> pd.DataFrame:
    """Mean RMSE with its interval by series, in this order."""
    return select.interval(rows, by=["series"], value=Y).set_index("series").loc[series]


def _lower(rows: pd.DataFrame, first: str, second: str, allowed: float = 0.0) -> Margin:
    """Return by how much the RMSE of the first series is below that of the second plus what is allowed."""
    one, other = (rows[rows["series"] == name] for name in (first, second))
    return pairs.one(one, other, Y, allowed).named(f"{first} below {second}")


def _said(rows: pd.DataFrame) -> str:
    return ", ".join(f"{name} {row.test_rmse:.4f} [{row.low:.4f}, {row.high:.4f}]" for name, row in rows.iterrows())


def _others(runs: pd.DataFrame, *series: str) -> str:
    """Return the private rows of the table, as one part of the evidence per variant."""
    rows = table1.table(runs)
    rows = rows[rows["series"].isin(series or rows.loc[rows["series"].str.startswith("epsilon"), "series"])]
    return "; ".join(
        f"{variant}: " + ", ".join(f"{row.series} {row.test_rmse:.4f}" for row in group.itertuples())
        for variant, group in rows.groupby("variant", sort=False)
    )


def non_private_as_published(runs: pd.DataFrame) -> Verdict:
    """RMSE without privacy is within 0.01 of the published."""
    rows = _rows(runs)
    theirs = published("p2p_table1").set_index("series")["y"]
    (margin,) = pairs.near(rows[rows["series"] == NON_PRIVATE], theirs, "series", Y, NEAR_PUBLISHED).values()
    return verdict(margin, f"{_said(_table(rows, [NON_PRIVATE]))}, published {theirs[NON_PRIVATE]:.4f}")


def little_is_lost(runs: pd.DataFrame, norm_tuned: bool = False) -> Verdict:
    """RMSE at epsilon 1 is at most 0.003 above that without privacy."""
    rows = _rows(runs, norm_tuned)
    table = _table(rows, [NON_PRIVATE, "epsilon 1"])
    said = f"{_said(table)}, {table[Y]['epsilon 1'] - table[Y][NON_PRIVATE]:+.4f}"
    margin = _lower(rows, "epsilon 1", NON_PRIVATE, NEAR_NON_PRIVATE)
    return verdict(margin, f"{said}; {_others(runs, 'epsilon 1')}")


def grows_with_privacy(runs: pd.DataFrame) -> Verdict:
    """RMSE grows as epsilon falls, from no privacy on."""
    rows, series = _rows(runs), [name for name in SERIES if name != LOCAL]
    margins = [_lower(rows, first, second) for first, second in pairwise(series)]
    return verdict(every(margins), f"{_said(_table(rows, series))}; {_others(runs)}")


def beats_local(runs: pd.DataFrame, norm_tuned: bool = False) -> Verdict:
    """Return all runs, private or not, in which agents learn together have a lower RMSE than local models."""
    rows = _rows(runs, norm_tuned)
    mean = _table(rows, [table1.USER_MEAN])[Y].item()
    return verdict(
        every(_lower(rows, name, LOCAL) for name in SERIES if name != LOCAL),
        f"{_said(_table(rows, SERIES))}; for comparison the users' means, which no film enters: {mean:.4f}; "
        f"{_others(runs)}",
    )


def beats_user_mean(runs: pd.DataFrame) -> Verdict:
    """Return all private runs have a lower RMSE than each user's mean rating."""
    rows, series = _rows(runs), SERIES[2:]
    mean = _table(rows, [table1.USER_MEAN])[Y].item()
    margins = [_lower(rows, name, table1.USER_MEAN) for name in series]
    return verdict(every(margins), f"{_said(_table(rows, series))}; users' means {mean:.4f}; {_others(runs)}")
