"""Checks of what Bellet et al. 2018 say of noise, by the range of the inputs, and of the number of agents."""

import math
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis import select
from figures.p2p import common, pairs
from figures.p2p.published import published
from figures.shared.margins import Margin, computed, every, paired, some
from figures.shared.verdicts import NotTestable, Verdict, require, verdict

P, R, Y = "num_features", "input_range", "test_accuracy"
NEAR = 0.03  # of accuracy: as published
UPDATES = 8  # per agent, after which the rest of the gap is compared
FACTOR = 2.0  # by which that rest may grow with the number of agents
LOGS = "of the logarithm of the rests' ratio"


def tuned(runs: pd.DataFrame) -> pd.DataFrame:
    """Final private rows by range and number of features, mu and updates chosen on other problem instances: mu where
    the run without privacy is the most accurate, as in the paper."""
    free = common.final(common.part(runs, algorithm="CD", instances="validation"))
    mu = select.choose(free, by=[P, R], over="mu", on=Y, best="max")[[P, R, "mu"]]
    private = common.part(runs, algorithm="private CD").merge(mu, on=[P, R, "mu"])
    tested, others = (common.final(common.part(private, instances=kind)) for kind in ("test", "validation"))
    return select.tuned_elsewhere(tested, others, by=[P, R, "budget"], over=["num_updates"], on=Y, best="max")


def noise_of_the_legend(runs: pd.DataFrame) -> Verdict:
    """At every number of features, for some range of the inputs, the published noise spends no more than the epsilon of
    the legend, and accuracies are as published."""
    rows = tuned(runs)
    theirs = published("p2p_fig2c").pivot(index="series", columns="x", values="y")
    margins: list[Margin] = []
    evidence = []
    for p, of_p in rows.groupby(P):
        require(theirs.columns, [p], "p")
        of_ranges = []
        for r, of_r in of_p.groupby(R):
            both, said = [], []
            for group, at_budget in of_r.groupby("budget"):
                budget = float(str(group))
                name = common.epsilon_name(budget)
                factor = float((at_budget["epsilon_true"] / at_budget["epsilon"]).mean())
                there = pd.Series({budget: float(theirs[p].loc[name])})
                both.append(computed(1 - factor, "of the epsilon of the legend").named(name, "what is spent"))
                both += [
                    margin.named(name, "accuracy")
                    for margin in pairs.near(at_budget, there, "budget", Y, NEAR).values()
                ]
                said.append(
                    f"{name} accuracy {at_budget[Y].mean():.3f} (published {there[budget]:.3f}), {factor:.3g} times"
                )
            of_ranges.append(every(both).named(f"range {r:g}"))
            evidence.append(f"p = {p:g}, range {r:g}: {', '.join(said)}")
        margins.append(some(of_ranges).named(f"p = {p:g}"))
    return verdict(every(margins), "; ".join(evidence))


def rest_of_gap(runs: pd.DataFrame) -> pd.Series:
    """Return in each row what is left of the gap to the objective of the last round, as a share of that at first."""
    gap, keys = runs["objective"].astype(float), [runs[key] for key in (*select.REPETITION, "num_agents")]
    first, last = (
        gap.where(runs["rounds"] == rounds).groupby(keys, observed=True).transform("max")
        for rounds in (0, runs["num_rounds"])
    )
    return (gap - last) / (first - last)


def scales(runs: pd.DataFrame) -> Verdict:
    """After as many updates per agent, what is left of the gap to the objective of the last round is at most FACTOR
    times as large with the most agents as with the fewest."""
    middle = runs.assign(rest=rest_of_gap(runs))[runs["rounds"] == UPDATES]
    if middle.empty or runs["num_agents"].nunique() < 2:
        raise NotTestable(f"several numbers of agents after {UPDATES} updates are needed")
    rest = middle.set_index([*select.REPETITION, "num_agents"])["rest"].unstack("num_agents")
    fewest, most = rest.columns.min(), rest.columns.max()
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = math.log(FACTOR) - (rest[most] / rest[fewest]).apply(np.log)
    means: Any = rest.mean()
    said = ", ".join(f"n = {n:g}: {100 * share:.2g} %" for n, share in means.items())
    return verdict(paired(logs.dropna(), LOGS), f"of the gap left after {UPDATES} updates per agent: {said}")
