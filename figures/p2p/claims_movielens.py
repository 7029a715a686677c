"""How runs on MovieLens decide what Bellet et al. 2018 claim of Table 1.

Private runs have Laplace noise and gradients clipped at the paper's norm; where they start, which the paper does not
say, is tuned on validation ratings with the number of updates. Evidence has the other variants of the table as well.
"""

from itertools import pairwise

import pandas as pd

from bench.analysis import select
from figures.p2p import common, table1
from figures.p2p.common import LOCAL, NON_PRIVATE
from figures.p2p.published import published
from figures.shared.derived import derived
from figures.shared.margins import MEAN, Margin, apart, measured
from figures.shared.verdicts import NotTestable, Verdict, repeated, require, verdict

UNIT = "of RMSE"
NEAR_PUBLISHED, NEAR_NON_PRIVATE = 0.01, 0.003


@derived
def _rmse(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean RMSE with its interval by series: local, non-private, and private as above, the largest epsilon first."""
    rows = table1.final_rows(runs)
    rows = rows[rows["series"].isin([LOCAL, NON_PRIVATE])]
    printed = common.part(runs, algorithm="private CD", mechanism="laplace", clip_norm=table1.CLIP_NORM)
    best = table1.tuned(printed, ["start", *table1.OVER])
    best = best.assign(series=best["budget"].map(common.epsilon_name))
    require(best["budget"], [1.0, 0.5, 0.1], "budget")
    table = select.interval(pd.concat([rows, best]), by=["series"], value="test_rmse").set_index("series")
    repeated(table["repetitions"].min())
    if table["test_rmse"].isna().any():
        raise NotTestable(f"{', '.join(table.index[table['test_rmse'].isna()])} diverged")
    return table.loc[[LOCAL, NON_PRIVATE, "epsilon 1", "epsilon 0.5", "epsilon 0.1"]]


def _half(row: pd.Series) -> float:
    return float(row["high"] - row["low"]) / 2


def _lower(first: pd.Series, second: pd.Series, allowed: float = 0.0) -> Margin:
    """By how much the RMSE of the first row is below that of the second, and what it may be above it."""
    return apart(second["test_rmse"] - first["test_rmse"] + allowed, _half(first), _half(second), UNIT)


def _said(rows: pd.DataFrame) -> str:
    return ", ".join(f"{name} {row.test_rmse:.4f} [{row.low:.4f}, {row.high:.4f}]" for name, row in rows.iterrows())


def _others(runs: pd.DataFrame, *series: str) -> str:
    """The private rows of the table, a part of the evidence for each variant."""
    rows = table1.table(runs)
    rows = rows[rows["series"].isin(series or rows.loc[rows["series"].str.startswith("epsilon"), "series"])]
    return "; ".join(
        f"{variant}: " + ", ".join(f"{row.series} {row.test_rmse:.4f}" for row in group.itertuples())
        for variant, group in rows.groupby("variant", sort=False)
    )


def non_private_as_published(runs: pd.DataFrame) -> Verdict:
    """RMSE without privacy is within 0.01 of the published."""
    ours = _rmse(runs).loc[[NON_PRIVATE]]
    theirs = published("p2p_table1").set_index("series")["y"][NON_PRIVATE]
    room = NEAR_PUBLISHED - abs(ours["test_rmse"].iloc[0] - theirs)
    margin = measured(room, UNIT, MEAN, _half(ours.iloc[0]))
    return verdict(bool(room >= 0), f"{_said(ours)}, published {theirs:.4f}", [margin])


def little_is_lost(runs: pd.DataFrame) -> Verdict:
    """RMSE at epsilon 1 is within 0.003 of that without privacy."""
    table = _rmse(runs)
    loss = table["test_rmse"]["epsilon 1"] - table["test_rmse"][NON_PRIVATE]
    said = f"{_said(table.loc[[NON_PRIVATE, 'epsilon 1']])}, {loss:+.4f}"
    margin = _lower(select.row(table, "epsilon 1"), select.row(table, NON_PRIVATE), NEAR_NON_PRIVATE)
    return verdict(bool(loss <= NEAR_NON_PRIVATE), f"{said}; {_others(runs, 'epsilon 1')}", [margin])


def grows_with_privacy(runs: pd.DataFrame) -> Verdict:
    """RMSE grows as epsilon falls, from no privacy on."""
    table = _rmse(runs).drop(LOCAL)
    grows = (table["test_rmse"].diff().iloc[1:] > 0).all()
    margins = [_lower(first, second) for (_, first), (_, second) in pairwise(table.iterrows())]
    return verdict(bool(grows), f"{_said(table)}; {_others(runs)}", margins)


def beats_local(runs: pd.DataFrame) -> Verdict:
    """All runs together, private or not, have a lower RMSE than local models."""
    table = _rmse(runs)
    mean = table1.table(runs).set_index("series")["test_rmse"][table1.USER_MEAN]
    holds = (table["test_rmse"].drop(LOCAL) < table["test_rmse"][LOCAL]).all()
    return verdict(
        bool(holds),
        f"{_said(table)}; for comparison the users' means, which no film enters: {mean:.4f}; {_others(runs)}",
        [_lower(row, select.row(table, LOCAL)) for _, row in table.drop(LOCAL).iterrows()],
    )


def beats_user_mean(runs: pd.DataFrame) -> Verdict:
    """All private runs have a lower RMSE than each user's mean rating."""
    table = _rmse(runs).drop([LOCAL, NON_PRIVATE])
    means = select.row(table1.table(runs).set_index("series"), table1.USER_MEAN)
    mean = means["test_rmse"]
    said = f"{_said(table)}; users' means {mean:.4f}; {_others(runs)}"
    margins = [_lower(row, means) for _, row in table.iterrows()]
    return verdict(bool((table["test_rmse"] < mean).all()), said, margins)
