"""The claims of Gao et al. 2024 on their experiment and algorithms, further claims, and their checks. Methods are
compared trial by trial, since all methods share a trial's data, silos and noise."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from bench.analysis import select
from bench.theory.isrl import EXPERIMENT, Setting, subgradient_rounds
from figures.isrl import nonsmooth
from figures.isrl import rounds as isrl_rounds
from figures.isrl.common import (
    EXACT,
    FIXED_ROUNDS,
    LOCALIZED,
    MULTI_PASS,
    ONE_PASS,
    PUBLISHED,
    WIDE,
    differences,
    errors,
    tried,
)
from figures.isrl.errors import ALL as RELIABLE
from figures.isrl.errors import SOME as UNRELIABLE
from figures.shared.margins import Margin, computed, every, of_mean, paired, some, within
from figures.shared.verdicts import Claim, NotTestable, Verdict, verdict

SECTION_4 = "section 4, Figures 2 and 3"
NOT_THERE = "not in the paper"
ERROR = "points of test error"
LOGS = "of the logarithm of the risks' ratio"
ALIKE = 2.0  # points of test error below which two methods count as alike; a threshold of ours
CHOSEN = "Mean test error of the setting with the lowest mean training loss over a trial's runs, in each trial"


def below(first: str, second: str, calibration: str) -> Callable[[pd.DataFrame], Verdict]:
    """A check that the first curve is below the second at every epsilon in both settings, on average over trials."""

    def check(runs: pd.DataFrame) -> Verdict:
        margins: list[Margin] = []
        evidence = []
        for num_sampled in (RELIABLE, UNRELIABLE):
            rows = errors(runs, num_sampled)
            gaps = differences(rows, first, second, calibration)
            if gaps.empty:
                raise NotTestable(f"no runs of {first} and {second} where {num_sampled} silos answer ({calibration})")
            searched = _searched(rows, first, second, calibration)
            larger = int((gaps["mean"] < -gaps["half"]).sum())
            smaller = int((gaps["mean"] > gaps["half"]).sum())
            margins += [of_mean(-row["mean"], row["half"], int(row["trials"]), ERROR) for _, row in gaps.iterrows()]
            by_epsilon = ", ".join(f"{at:g}: {row['mean']:+.2f} ± {row['half']:.2f}" for at, row in gaps.iterrows())
            lower = int((gaps["mean"] < 0).sum())
            evidence.append(
                f"{num_sampled} silos answer ({searched}): lower at {lower} of {len(gaps)} epsilons, by more than the "
                f"interval at {larger}, higher by more than it at {smaller}"
            )
            evidence.append(f"difference in points of test error by epsilon {by_epsilon}")
        return verdict(every(margins), "; ".join(evidence))

    return check


def _searched(rows: pd.DataFrame, first: str, second: str, calibration: str) -> str:
    """The numbers of settings that the two curves were chosen among."""
    few, many = (tried(rows[rows["calibration"] == calibration], [name]) for name in (first, second))
    return f"{few} each" if few == many else f"{few} against {many}"


def falls(calibration: str) -> Callable[[pd.DataFrame], Verdict]:
    """A check that the mean error of both methods falls from each epsilon to the next, in both settings."""

    def check(runs: pd.DataFrame) -> Verdict:
        margins: list[Margin] = []
        evidence = []
        for num_sampled in (RELIABLE, UNRELIABLE):
            rows = errors(runs, num_sampled)
            rows = rows[(rows["calibration"] == calibration) & rows["series"].isin([ONE_PASS, LOCALIZED])]
            means = rows.groupby(["series", "target_epsilon"])["test_error"].mean().unstack("series").sort_index()
            if len(means) < 2 or set(means) != {ONE_PASS, LOCALIZED}:
                raise NotTestable(f"both methods at two epsilons are needed where {num_sampled} silos answer")
            for name in means:
                by_epsilon = ", ".join(f"{at:g}: {100 * value:.2f} %" for at, value in means[name].items())
                evidence.append(f"{num_sampled} silos answer, {name}: {by_epsilon}")
                trials = rows[rows["series"] == name].pivot(
                    index="trial", columns="target_epsilon", values="test_error"
                )
                falls = -100 * trials.diff(axis=1).iloc[:, 1:]
                margins += [paired(gaps, ERROR) for _, gaps in falls.items()]
        return verdict(every(margins), "; ".join(evidence))

    return check


def alike(runs: pd.DataFrame) -> Verdict:
    """Any two of the three methods differ by less than two points of test error at every epsilon."""
    trials = nonsmooth.by_trial(runs)
    margins: list[Margin] = []
    names, evidence = list(nonsmooth.LOOKS), [_most_rounds(runs)]
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            gaps = differences(trials, first, second, EXACT)
            if gaps.empty:
                raise NotTestable(f"no runs of {first} and {second}")
            apart = int((gaps["mean"].abs() > gaps["half"]).sum())
            margins += [
                within(row["mean"], row["half"], int(row["trials"]), ALIKE, ERROR) for _, row in gaps.iterrows()
            ]
            by_epsilon = ", ".join(f"{at:g}: {row['mean']:+.2f} ± {row['half']:.2f}" for at, row in gaps.iterrows())
            evidence.append(
                f"{first} - {second}: different beyond chance at {apart} of {len(gaps)} epsilons, in points of error "
                f"{by_epsilon}"
            )
    return verdict(every(margins), "; ".join(evidence))


def _both(table: pd.DataFrame) -> None:
    """Raise NotTestable where one of the two methods compared is missing."""
    if not {isrl_rounds.ONE_PASS, isrl_rounds.LOCALIZED} <= set(table["algorithm"]):
        raise NotTestable(f"both {isrl_rounds.ONE_PASS} and {isrl_rounds.LOCALIZED} are needed")


def _most_rounds(runs: pd.DataFrame) -> str:
    """The most rounds of a phase that were tried, beside those of the theorem on the subgradient method."""
    most = runs.groupby("algorithm", observed=True)["phase_rounds"].max()
    wanted = subgradient_rounds(Setting(epsilon=1.0, **EXPERIMENT))[0]
    return (
        f"at no more than {', '.join(f'{rounds:g} ({name})' for name, rounds in most.items())} rounds a phase, where "
        f"the theorem wants {wanted:,} of subgradients in the first"
    )


def fewer_rounds(runs: pd.DataFrame) -> Verdict:
    """At every n and epsilon, localized accelerated reaches one-pass MB-SGD's lowest risk in fewer rounds.

    Where one-pass has its lowest risk at the most rounds that were tried, more rounds might lower it further, so the
    comparison is left open.
    """
    table = isrl_rounds.table(runs)
    _both(table)
    judged, more, fewer, evidence, open_at = 0, 0, 0, [], []
    margins: list[Margin] = []
    for (n, epsilon), panel in table.groupby(isrl_rounds.PANEL):
        where = f"n = {n:g}, epsilon {epsilon:g}"
        if not panel["interior"].iloc[0]:
            open_at.append(where)
            continue
        rounds = panel.groupby("algorithm")[["rounds_low", "rounds_to_target", "rounds_high"]].first().fillna(np.inf)
        one_pass, localized = (select.row(rounds, name) for name in (isrl_rounds.ONE_PASS, isrl_rounds.LOCALIZED))
        judged += 1
        margins.append(_reached_before(runs, panel, one_pass["rounds_to_target"]))
        fewer += bool(localized["rounds_high"] < one_pass["rounds_low"])
        more += bool(localized["rounds_low"] > one_pass["rounds_high"])
        names = [name for name in isrl_rounds.LOOKS if name in rounds.index]
        evidence.append(f"{where}: " + ", ".join(f"{name} {_rounds(select.row(rounds, name))}" for name in names))
    if not judged:
        raise NotTestable("one-pass MB-SGD has its lowest risk at the most rounds that were tried, wherever it was run")
    counts = [f"localized accelerated takes fewer beyond chance at {fewer} of {judged}, more beyond chance at {more}"]
    left = [f"left open, one-pass improves up to the most rounds tried: {', '.join(open_at)}"] if open_at else []
    return verdict(every(margins), "; ".join([*counts, *evidence, *left]))


def _reached_before(runs: pd.DataFrame, panel: pd.DataFrame, rounds: float) -> Margin:
    """The margin by which localized accelerated is below one-pass MB-SGD's lowest risk at some smaller number of
    rounds."""
    trials = isrl_rounds.of_trials(runs).merge(panel[isrl_rounds.PANEL].drop_duplicates(), on=isrl_rounds.PANEL)
    rows = trials[(trials["algorithm"] == isrl_rounds.LOCALIZED) & (trials["num_rounds"] < rounds)]
    if rows.empty:
        return computed(-np.inf, LOGS, "one-pass needs no more rounds than the fewest of the other")
    logs = rows.assign(gap=-np.log(rows["ratio"])).groupby("num_rounds")["gap"]
    return some(paired(gaps, LOGS) for _, gaps in logs)


def _rounds(row: pd.Series) -> str:
    """Rounds to the target, with the interval where chance leaves them open."""
    low, mean, high = (f"{row[name]:g}" if np.isfinite(row[name]) else "never" for name in row.index)
    return f"{'in ' if mean != 'never' else ''}{mean}" + (f" ({low} to {high})" if low != high else "")


def lower_risk(runs: pd.DataFrame) -> Verdict:
    """At every n and epsilon, the lowest risk of localized accelerated over rounds is below that of one-pass."""
    table = isrl_rounds.table(runs)
    _both(table)
    own = table[table["algorithm"] == isrl_rounds.LOCALIZED].dropna(subset="ratio")
    best = own.loc[own.groupby(isrl_rounds.PANEL)["excess_risk"].idxmin()]
    if best.empty:
        raise NotTestable("no risk of both methods in the same trials")
    evidence = [
        f"lower at {int((best['ratio'] < 1).sum())} of {len(best)}, beyond chance at "
        f"{int((best['ratio_high'] < 1).sum())}, higher beyond chance at {int((best['ratio_low'] > 1).sum())}"
    ]
    for row in best.itertuples():
        at = f"n = {row.num_records:g}, epsilon {row.target_epsilon:g}"
        evidence.append(f"{at}: {row.ratio:.2f} times [{row.ratio_low:.2f}, {row.ratio_high:.2f}]")
    halves = np.log(best["ratio_high"] / best["ratio_low"]) / 2
    margins = [
        of_mean(-np.log(ratio), half, count, LOGS)
        for ratio, half, count in zip(best["ratio"], halves, best["repetitions"], strict=True)
    ]
    return verdict(every(margins), "; ".join(evidence))


BELOW = f"{CHOSEN}; the second method minus the first, trial by trial, at every epsilon"
CLAIMS = [
    Claim(
        "At every epsilon and in both settings localized MB-SGD errs less than one-pass MB-SGD, as published",
        SECTION_4,
        "isrl_odd_even",
        below(LOCALIZED, ONE_PASS, PUBLISHED),
        f"{BELOW}; the two have equally many settings to choose from",
    ),
    Claim(
        "The same at equal exact epsilon",
        f"{SECTION_4}, with noise calibrated exactly",
        "isrl_odd_even",
        below(LOCALIZED, ONE_PASS, EXACT),
        f"{BELOW}; noise of both calibrated to one epsilon by exact accounting",
    ),
    Claim(
        "The same as published where the one-pass method always takes 35 rounds, and so searches step sizes alone",
        f"{SECTION_4}, rounds of the authors' earlier program, unequal search",
        "isrl_odd_even",
        below(LOCALIZED, FIXED_ROUNDS, PUBLISHED),
        f"{BELOW}; one-pass with its 35 rounds, so with fewer settings",
    ),
    Claim(
        "The same as published where localized MB-SGD has the larger search, also with one phase or no regulariser",
        f"{SECTION_4}, unequal search",
        "isrl_odd_even",
        below(WIDE, ONE_PASS, PUBLISHED),
        f"{BELOW}; localized with all its settings",
    ),
    Claim(
        "The error of both methods falls as epsilon grows",
        SECTION_4,
        "isrl_odd_even",
        falls(PUBLISHED),
        f"{CHOSEN}; each epsilon minus the next larger one, trial by trial, for both methods in both settings",
    ),
    Claim(
        "Phases help by themselves: localized MB-SGD errs less than multi-pass MB-SGD on all records",
        NOT_THERE,
        "isrl_odd_even",
        below(LOCALIZED, MULTI_PASS, PUBLISHED),
        BELOW,
        ours=True,
    ),
    Claim(
        "Subgradients, convolution smoothing and Moreau envelopes err alike under the hinge loss in as few rounds",
        "Theorems 3.1, 3.4 and D.5, equal optimal risk, but at the theorems' rounds",
        "isrl_nonsmooth",
        alike,
        "In each trial the setting with the lowest training loss; two points of test error (a threshold of ours) minus "
        "the mean difference of any two methods, either way, at every epsilon",
    ),
    Claim(
        "Localized accelerated MB-SGD reaches one-pass MB-SGD's lowest risk in fewer rounds, at every n and epsilon",
        "Theorem 2.1, communication; a single stage of Algorithm 1 in each phase",
        "isrl_rounds",
        fewer_rounds,
        "Excess risk of each number of rounds at its best setting by geometric mean; one-pass's lowest minus that of "
        "the localized method at some smaller number of rounds, trial by trial, wherever one-pass's lowest lies before "
        "the most rounds tried",
    ),
    Claim(
        "Localized accelerated MB-SGD reaches a lower risk than one-pass MB-SGD, at every n and epsilon",
        "Theorem 2.1, optimal risk; a single stage of Algorithm 1 in each phase",
        "isrl_rounds",
        lower_risk,
        "Lowest excess risk over rounds and settings by geometric mean; logarithm of the ratio of the two, trial by "
        "trial, at every n and epsilon",
    ),
]
