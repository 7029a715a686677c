"""What Gao et al. 2024 state of rounds and risk, measured on a quadratic with known minimiser, and further claims of
ours. Methods are compared trial by trial, since all methods share a trial's data.

The paper compares orders of magnitude, up to logarithms, with an algorithm that is not run here. So the claims against
other methods, and those at every n and epsilon, are ours.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.isrl import gradients, heterogeneity
from figures.isrl import rounds as isrl_rounds
from figures.isrl.rounds import LOCALIZED, MULTI_STAGE, ONE_PASS, ONE_PASS_ACCELERATED
from figures.shared import edges
from figures.shared.derived import derived
from figures.shared.margins import Margin, computed, every, paired, some
from figures.shared.runs import at_end
from figures.shared.verdicts import Claim, NotTestable, Verdict, verdict

LOGS = "of the logarithm of the risks' ratio"
BOTH = "edge", "edge_of_second", "edge_of_identical"  # columns with the edges of the compared risks
REACHED = 1e-12  # of a ratio of risks, for rounding
ALL_RECORDS = ("Multi-pass MB-SGD", "Accelerated")  # use all records in every round
FACTOR = 2.0  # by which a risk may grow with heterogeneity and still count as of one order; a threshold of ours


def _need(runs: pd.DataFrame, *names: str) -> None:
    """Raise NotTestable where one of the methods compared is missing."""
    if missing := [name for name in names if name not in set(runs["algorithm"].unique())]:
        raise NotTestable(f"{' and '.join(names)} are needed, and there is no run of {' and '.join(missing)}")


@derived
def _panels_of_methods(runs: pd.DataFrame, panel: list[str]) -> pd.DataFrame:
    """Return each method with each of its panels, a row each."""
    return runs[["algorithm", *panel]].drop_duplicates()


def _need_panels(runs: pd.DataFrame, panel: list[str], *names: str) -> None:
    """Raise NotTestable where a method lacks a panel that another one has."""
    there = _panels_of_methods(runs, panel)
    every_one = there[panel].drop_duplicates()
    for name in names:
        own = there.loc[there["algorithm"] == name, panel]
        found = every_one.merge(own, on=panel, how="left", indicator=True)
        missing = found[found["_merge"] == "left_only"]
        if len(missing):
            raise NotTestable(f"there is no run of {name} at {' or '.join(map(_where, _rows(missing)))}")


def _rows(table: pd.DataFrame) -> list[pd.Series]:
    return [row for _, row in table.iterrows()]


def fewer_rounds(localized: str) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that a localized method reaches one-pass MB-SGD's lowest risk in fewer rounds, at every n and
    epsilon.

    Where one-pass has its lowest risk at the most rounds that were tried, more rounds might lower it further, so the
    comparison is left open.
    """

    def check(runs: pd.DataFrame) -> Verdict:
        _need(runs, ONE_PASS, localized)
        _need_panels(runs, isrl_rounds.PANEL, ONE_PASS, localized)
        table = isrl_rounds.table(runs)
        judged, more, fewer, evidence, open_at = 0, 0, 0, [], []
        margins: list[Margin] = []
        for (n, epsilon), panel in table.groupby(isrl_rounds.PANEL):
            where = f"n = {n:g}, epsilon {epsilon:g}"
            if not panel["interior"].iloc[0]:
                open_at.append(where)
                continue
            rounds = panel.groupby("algorithm")[["rounds_low", "rounds_to_target", "rounds_high"]].first()
            rounds = rounds.fillna(np.inf)
            one_pass, own = (select.row(rounds, name) for name in (ONE_PASS, localized))
            judged += 1
            margins.append(_reached_before(runs, panel, localized, one_pass["rounds_to_target"]).named(where))
            fewer += bool(own["rounds_high"] < one_pass["rounds_low"])
            more += bool(own["rounds_low"] > one_pass["rounds_high"])
            names = [name for name in isrl_rounds.LOOKS if name in rounds.index]
            evidence.append(f"{where}: " + ", ".join(f"{name} {_rounds(select.row(rounds, name))}" for name in names))
        if not judged:
            raise NotTestable(f"{ONE_PASS} has its lowest risk at the most rounds that were tried, wherever it was run")
        counts = [f"{localized} takes fewer beyond chance at {fewer} of {judged}, more beyond chance at {more}"]
        left = [f"left open, one-pass improves up to the most rounds tried: {', '.join(open_at)}"] if open_at else []
        return verdict(every(margins), "; ".join([*counts, *evidence, *left]))

    check.__name__ = f"fewer_rounds_of_{localized}"
    return check


def _reached_before(runs: pd.DataFrame, panel: pd.DataFrame, localized: str, rounds: float) -> Margin:
    """Return the margin by which the localized method is below one-pass MB-SGD's lowest risk at some smaller number of
    rounds."""
    trials = isrl_rounds.of_trials(runs).merge(panel[isrl_rounds.PANEL].drop_duplicates(), on=isrl_rounds.PANEL)
    rows = trials[(trials["algorithm"] == localized) & (trials["num_rounds"] < rounds)]
    if rows.empty:
        return computed(-np.inf, LOGS, "one-pass needs no more rounds than the fewest of the other")
    logs = rows.assign(gap=-np.log(rows["ratio"])).groupby("num_rounds")["gap"]
    return some(paired(gaps, LOGS).named(f"{rounds:g} rounds") for rounds, gaps in logs)


def fewer_gradients(localized: str, others: Sequence[str]) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that a localized method reaches one-pass MB-SGD's lowest risk with fewer gradients than the other
    methods that reach it, at every n and epsilon at which it or one of them does."""

    def check(runs: pd.DataFrame) -> Verdict:
        _need(runs, ONE_PASS, localized, *others)
        _need_panels(runs, isrl_rounds.PANEL, ONE_PASS, localized, *others)
        counts = gradients.table(runs)[[*isrl_rounds.BY, "gradients", "ratio"]]
        trials = isrl_rounds.of_trials(runs).merge(counts.drop(columns="ratio"), on=isrl_rounds.BY)
        margins, evidence = [], []
        for labels, panel in counts.groupby(isrl_rounds.PANEL):
            n, epsilon = labels if isinstance(labels, tuple) else (labels, math.nan)
            where = f"n = {n:g}, epsilon {epsilon:g}"
            reached = panel[panel["ratio"] <= 1 + REACHED].groupby("algorithm")["gradients"].min()
            fewest = reached.reindex(list(others)).min()  # NaN where none of them reaches it
            if np.isnan(fewest) and localized not in reached:
                continue
            rows = trials[(trials["algorithm"] == localized) & (trials["num_records"] == n)]
            rows = rows[(rows["target_epsilon"] == epsilon) & ~(rows["gradients"] >= fewest)]
            logs = rows.assign(gap=-np.log(rows["ratio"])).groupby("gradients")["gap"]
            margins.append(
                some(paired(gaps, LOGS).named(f"{number:,.0f} gradients") for number, gaps in logs).named(where)
                if len(rows)
                else computed(-np.inf, LOGS, "the others need no more than its fewest").named(where)
            )
            names = (ONE_PASS, localized, *others)
            said = ", ".join(f"{name} {reached[name]:,.0f}" if name in reached else f"{name} never" for name in names)
            evidence.append(f"{where}: {said}")
        if not margins:
            raise NotTestable(f"none of the methods reaches the lowest risk of {ONE_PASS}")
        return verdict(every(margins), "; ".join(evidence))

    check.__name__ = f"fewer_gradients_of_{localized}"
    return check


def _rounds(row: pd.Series) -> str:
    """Rounds to the target, with the interval where chance leaves them open."""
    low, mean, high = (f"{row[name]:g}" if np.isfinite(row[name]) else "never" for name in row.index)
    return f"{'in ' if mean != 'never' else ''}{mean}" + (f" ({low} to {high})" if low != high else "")


def lower_risk(first: str, second: str) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that the lowest private risk of the first method over rounds is below that of the second, at every
    n and epsilon, and at every distance where it varies."""

    def check(runs: pd.DataFrame) -> Verdict:
        _need(runs, first, second)
        panel = [name for name in (*isrl_rounds.PANEL, "spread") if name in runs]
        _need_panels(runs, panel, first, second)
        ratios = isrl_rounds.ratios(_private(runs), first, second, panel)
        if ratios.empty:
            raise NotTestable("no risk of both methods in the same trials")
        table = select.interval(ratios, by=panel, value="ratio", log=True)
        evidence = [
            f"lower at {int((table['ratio'] < 1).sum())} of {len(table)}, beyond chance at "
            f"{int((table['high'] < 1).sum())}, higher beyond chance at {int((table['low'] > 1).sum())}"
        ]
        evidence += [f"{_where(row)}: {_times(row)}" for row in _rows(table)]
        margins = [_below(1.0, part) for _, part in ratios.groupby(panel)]
        return verdict(every(margins), "; ".join(evidence))

    check.__name__ = f"lower_risk_of_{first}"
    return check


@derived
def _private(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with noise after their last round, of which the theorem speaks.

    Raises:
        NotTestable: where there are none.
    """
    last = at_end(runs)
    private = last[np.isfinite(last["target_epsilon"])]
    if private.empty:
        raise NotTestable("no private runs")
    return private


def _below(limit: float, ratios: pd.DataFrame) -> Margin:
    """Return the margin by which ratios of risks are below a limit, on a logarithmic scale."""
    margin = paired(math.log(limit) - np.log(ratios["ratio"]), LOGS)
    return margin.on(*edges.distinct(ratios, *BOTH)).named(_where(ratios.iloc[0]))


def _where(row: pd.Series) -> str:
    names = {"num_records": "n = ", "spread": "distance ", "target_epsilon": "epsilon "}
    return ", ".join(f"{said}{row[name]:g}" for name, said in names.items() if name in row.index)


def _times(row: pd.Series) -> str:
    return f"{row['ratio']:.2f} times [{row['low']:.2f}, {row['high']:.2f}]"


def of_one_order(name: str) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that a method's lowest private risk at every heterogeneity is at most FACTOR times that of silos
    with one distribution."""

    def check(runs: pd.DataFrame) -> Verdict:
        _need(runs, name)
        _need_panels(runs, heterogeneity.PANEL, name)
        rows = heterogeneity.against_identical(_private(runs))
        rows = rows[(rows["algorithm"] == name) & (rows["spread"] > 0)]
        if rows.empty:
            raise NotTestable("no private runs of silos with one distribution and with several, in the same trials")
        by = ["spread", "target_epsilon"]
        table = select.interval(rows, by=by, value="ratio", log=True)
        margins = [_below(FACTOR, part) for _, part in rows.groupby(by)]
        return verdict(every(margins), "; ".join(f"{_where(row)}: {_times(row)}" for row in _rows(table)))

    check.__name__ = f"of_one_order_for_{name}"
    return check


ROUNDS_HOW = (
    "Excess risk of each number of rounds by geometric mean, at the setting chosen for every quarter of the trials on "
    "the other three; one-pass's lowest minus that of the localized method at some smaller number of rounds, trial by "
    "trial, wherever one-pass's lowest lies before the most rounds tried"
)
RISK_HOW = (
    "Lowest excess risk over rounds and settings by geometric mean, with noise, chosen for every quarter of the trials "
    "on the other three; logarithm of the ratio of the two"
)
SINGLE = "a single stage of Algorithm 1 in each phase"
STAGES = "Algorithm 1 with its stages"
CLAIMS = [
    Claim(
        f"The private risk of localized accelerated MB-SGD in silos that differ is at most {FACTOR:g} times that in "
        "silos with one distribution",
        "Theorem 2.1 and Remark 2.2",
        "isrl_heterogeneity",
        of_one_order(LOCALIZED),
        "12 of 25 silos answer, n = 512; a single stage of Algorithm 1 in each phase; lowest excess risk over rounds "
        "and settings by geometric mean, with noise, chosen for every quarter of the trials on the other three; "
        "logarithm of its ratio to that in silos with one distribution, trial by trial, at every distance and "
        'epsilon; the factor, which stands for "up to logarithms", is a threshold of ours',
        statement="The excess risk matches the optimal one for silos with one distribution, up to logarithms, however "
        "the silos differ",
    ),
]
OURS = [
    *(
        Claim(
            f"{name} reaches one-pass MB-SGD's lowest risk in fewer rounds, at every n and epsilon",
            f"as Theorem 2.1, communication; {stages}",
            "isrl_rounds",
            fewer_rounds(method),
            ROUNDS_HOW,
            ours=True,
        )
        for name, method, stages in (
            ("Localized accelerated MB-SGD", LOCALIZED, SINGLE),
            ("Localized multi-stage MB-SGD", MULTI_STAGE, STAGES),
        )
    ),
    Claim(
        "Localized accelerated MB-SGD reaches one-pass MB-SGD's lowest risk with fewer gradients than methods on all "
        "records, at every n and epsilon at which one of them does",
        f"as Theorem 2.1, gradient complexity, against methods that are run here; {SINGLE}",
        "isrl_rounds",
        fewer_gradients(LOCALIZED, ALL_RECORDS),
        "Gradients of single records in the run with the fewest whose mean risk is at most the lowest of one-pass; "
        "that lowest risk minus that of the localized method at some smaller number of gradients than "
        f"{' and '.join(ALL_RECORDS)} need, trial by trial, at the setting chosen on other trials",
        ours=True,
    ),
    Claim(
        "Localized accelerated MB-SGD reaches a lower risk than one-pass MB-SGD, at every n and epsilon",
        f"as Theorem 2.1, optimal risk; {SINGLE}",
        "isrl_rounds",
        lower_risk(LOCALIZED, ONE_PASS),
        f"{RISK_HOW}, trial by trial, at every n and epsilon",
        ours=True,
    ),
    Claim(
        "Localized accelerated MB-SGD reaches a lower risk than the earlier one-pass accelerated MB-SGD, at every n "
        "and epsilon",
        f"as Theorem 2.1 and Table 1, risk in silos that differ; {SINGLE}",
        "isrl_rounds",
        lower_risk(LOCALIZED, ONE_PASS_ACCELERATED),
        f"{RISK_HOW}, trial by trial, at every n and epsilon",
        ours=True,
    ),
    Claim(
        "Localized accelerated MB-SGD reaches a lower risk than the earlier one-pass accelerated MB-SGD, at every "
        "distance of the silos' models and epsilon",
        f"as Theorem 2.1 and Table 1, any heterogeneity; 12 of 25 silos answer, n = 512; {SINGLE}",
        "isrl_heterogeneity",
        lower_risk(LOCALIZED, ONE_PASS_ACCELERATED),
        f"{RISK_HOW}, trial by trial, at every distance and epsilon",
        ours=True,
    ),
]
