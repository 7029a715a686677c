"""Claims on server optimisers, proximal steps and adaptive clipping, and their checks.

All settings of a sweep run on the same draws of the data and are compared draw by draw, by training loss.
"""

from collections.abc import Callable

import pandas as pd

from bench.analysis.select import REPETITION, half_width
from figures.server_steps import clipping, optimisers, proximal
from figures.shared.margins import Margin, every, paired, within
from figures.shared.verdicts import Claim, NotTestable, Verdict, require, spread, stand_in, verdict

UNIT = "of training loss"
# Deviation of the clipped share up to which a norm tracks the quantile: a sixth of the distance between the quantiles
# tested, so that they are told apart; a threshold of ours.
NEAR = 0.05
ON_PAR = 0.01  # difference in loss up to which one norm does as well as another; a threshold of ours


def _losses(rows: pd.DataFrame, metric: str) -> pd.Series:
    if rows.empty:
        raise NotTestable("runs that are compared are missing")
    return rows.set_index(REPETITION)[metric]


# ---- Server optimisers ----


def ahead(first: str, second: str, *, noisy: bool) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that the first has a lower loss than the second, each at its best step (and tau)."""

    def check(runs: pd.DataFrame) -> Verdict:
        best = optimisers.tuned(runs)
        best = best[(best["noise_multiplier"] > 0) == noisy]
        sides = [best[best["algorithm"] == name] for name in (first, second)]
        mine, other = (_losses(side, optimisers.METRIC) for side in sides)
        edges = [f"{side['algorithm'].iloc[0]}: {side['edge'].iloc[0]}" for side in sides if side["edge"].iloc[0]]
        gain = (other - mine).dropna()
        return verdict(paired(gain, UNIT).on(*edges), f"{second} {spread(other)}, {first} {spread(mine)}")

    return check


# ---- Proximal steps ----


def _gains(runs: pd.DataFrame, way: str, mu: float) -> dict[tuple[str, float], pd.Series]:
    """Loss of FedAvg minus that with mu by repetition, (task, local steps) -> [repetition]."""
    rows = proximal.rows_of(runs)
    require(rows["proximal"], (0.0, mu), "mu")
    wide = rows[rows["step"] == way].pivot_table(
        index=REPETITION, columns=["proximal", "task", "num_steps"], values=proximal.METRIC
    )
    gains = wide[0.0] - wide[mu]
    return {(task, float(steps)): gains[(task, steps)].dropna() for task, steps in gains.columns.to_list()}


def holds_on(way: str, mu: float, most: bool) -> Callable[[pd.DataFrame], Verdict]:
    """Return a check that mu lowers the loss on both kinds of clients.

    Args:
        way: of choosing the step size.
        mu: the weight of the proximal term.
        most: compare at the largest number of local steps only, not at all numbers above the smallest.
    """

    def check(runs: pd.DataFrame) -> Verdict:
        found = _gains(runs, way, mu)
        counts = sorted({steps for _, steps in found})
        if len(counts) < 2:
            raise NotTestable("two numbers of local steps are needed")
        meant = counts[-1:] if most else counts[1:]
        margins: list[Margin] = [
            paired(gain, UNIT).named(task, f"K = {steps:g}") for (task, steps), gain in found.items() if steps in meant
        ]
        words = [f"{task}, K = {steps:g}: {spread(gain)}" for (task, steps), gain in found.items()]
        rows = proximal.rows_of(runs)
        rows = rows[
            (rows["step"] == way)
            & rows["num_steps"].isin(meant)
            & rows["proximal"].isin([0.0, mu])
            & (rows["edge"] != "")
        ]
        cells = rows[["task", "num_steps", "proximal", "edge"]].drop_duplicates().to_dict("records")
        edges = [f"{c['task']}, K = {c['num_steps']}, mu = {c['proximal']:g}: {c['edge']}" for c in cells]
        return verdict(every(margins).on(*edges), f"FedAvg minus mu = {mu:g}: " + "; ".join(words))

    return check


# ---- Adaptive clipping ----


def tracks(runs: pd.DataFrame) -> Verdict:
    """Return whether the share of clipped messages is near 1 minus the quantile, from all initial norms."""
    rows = clipping.tuned(runs)
    rows = rows[rows["algorithm"] == clipping.ADAPTIVE]
    margins, words = [], []
    for _, group in rows.groupby(["followed", "factor"]):
        quantile, factor = group["followed"].iloc[0], group["factor"].iloc[0]
        off = group["clipped"] - (1 - quantile)
        if len(off) < 2:
            raise NotTestable("fewer than two repetitions")
        half = half_width(off.std(ddof=1), len(off))
        margin = within(off.mean(), half, len(off), NEAR, "of the clipped share")
        margins.append(margin.named(f"quantile {quantile:g} from {factor:g}"))
        words.append(f"quantile {quantile:g} from {factor:g}: {spread(group['clipped'], '.3f')}")
    return verdict(every(margins), "; ".join(words))


def as_well_as_the_best(runs: pd.DataFrame) -> Verdict:
    """Return whether the median has at most ON_PAR more loss than the best fixed norm, from both initial norms."""
    rows = clipping.tuned(runs)
    fixed = rows[rows["algorithm"] == clipping.FIXED]
    median = rows[rows["followed"] == clipping.MEDIAN]
    if fixed.empty or median.empty:
        raise NotTestable("both fixed and adaptive norms are needed")
    best = fixed.groupby("factor")[clipping.METRIC].mean().idxmin()
    least = _losses(fixed[fixed["factor"] == best], clipping.METRIC)
    margins, words = [], [f"best fixed norm, {best:g}: {spread(least)}"]
    for factor, group in median.groupby("factor"):
        loss = _losses(group, clipping.METRIC)
        margins.append(paired((least - loss).dropna() + ON_PAR, UNIT).named(f"median from {factor:g}"))
        words.append(f"median from {factor:g}: {spread(loss)}")
    used = pd.concat([fixed[fixed["factor"] == best], median])
    used = used[used["edge"] != ""][["algorithm", "factor", "edge"]].drop_duplicates().to_dict("records")
    edges = [f"{c['algorithm']}, start {c['factor']:g}: {c['edge']}" for c in used]
    return verdict(every(margins).on(*edges), "; ".join(words))


def better_than_ten_times_off(runs: pd.DataFrame) -> Verdict:
    """Return whether the median from an initial norm ten times off has a lower loss than that norm kept fixed."""
    rows = clipping.tuned(runs)
    margins, words = [], []
    for factor in (0.1, 10.0):
        fixed, median = (
            _losses(rows[(rows["followed"] == followed) & (rows["factor"] == factor)], clipping.METRIC)
            for followed in (0.0, clipping.MEDIAN)
        )
        gain = (fixed - median).dropna()
        margins.append(paired(gain, UNIT).named(f"from {factor:g} times"))
        words.append(f"from {factor:g} times the typical length: {spread(gain)}")
    return verdict(every(margins), "; ".join(words))


REDDI, LI, ANDREW = (
    "Reddi et al. 2021, abstract, section 5",
    "Li et al. 2020, section 5",
    "Andrew et al. 2021, abstract",
)
RARE = stand_in("generated examples with rare features for language data")
FEW = stand_in("20 generated clients of 40 records for larger data")
GENERATED = stand_in("generated examples for the data of federated benchmarks")
TUNED = (
    "Training loss after 100 rounds by repetition, each at its best server step, the adaptive ones at the best tau, too"
)
FIXED_STEP = f"Training loss after 60 rounds by repetition at step {proximal.FIXED_STEP:g}"
CLAIMS = [
    *(
        Claim(
            f"{name} has a lower loss than {other} where features are rare, without noise",
            REDDI,
            optimisers.SWEEP,
            ahead(name, other, noisy=False),
            TUNED,
            statement="Adaptive server optimisers outperform FedAvg and FedAvgM where gradients are sparse",
            settings=RARE,
        )
        for name in (optimisers.ADAM, optimisers.YOGI)
        for other in (optimisers.FEDAVG, optimisers.MOMENTUM)
    ),
    *(
        Claim(
            f"{name} has a lower loss than {optimisers.FEDAVG} where features are rare, under noise, too",
            "",
            optimisers.SWEEP,
            ahead(name, optimisers.FEDAVG, noisy=True),
            TUNED,
            ours=True,
        )
        for name in (optimisers.MOMENTUM, optimisers.ADAM, optimisers.YOGI)
    ),
    Claim(
        "With many local steps on unlike clients mu = 1 has a lower loss than FedAvg at the same step",
        LI,
        proximal.SWEEP,
        holds_on(proximal.AT_FIXED, 1.0, most=False),
        f"{FIXED_STEP}, at 50 and 200 local steps and both kinds of clients",
        statement="On heterogeneous clients with much local work a proximal term makes FedAvg converge better",
        settings=FEW,
    ),
    Claim(
        "With 200 local steps mu = 1 has a lower loss than FedAvg where each has its best step",
        "",
        proximal.SWEEP,
        holds_on(proximal.AT_BEST, 1.0, most=True),
        "Training loss after 60 rounds by repetition, each at the best of five steps, both kinds of clients",
        ours=True,
    ),
    Claim(
        f"The share of clipped messages comes to within {NEAR:g} of 1 minus the quantile that the norm follows",
        ANDREW,
        clipping.SWEEP,
        tracks,
        f"Share of messages clipped in the last 20 rounds within {NEAR:g} of 1 minus the quantile, for .2, .5 and .8, "
        "from a tenth and from ten times the typical length; the tolerance, of ours, is a sixth of the distance "
        "between these quantiles",
        statement="The clipping norm closely tracks a quantile of the norms of updates",
        settings=GENERATED,
    ),
    Claim(
        "Clipping at the median does as well as the best fixed norm at the same epsilon, wherever it starts",
        ANDREW,
        clipping.SWEEP,
        as_well_as_the_best,
        "Training loss after 100 rounds at most .01 above that of the best of five fixed norms, each at its best "
        "server step, from a tenth and from ten times the typical length",
        statement="Clipping at the median works as well as the best fixed norm chosen in hindsight",
        settings=GENERATED,
    ),
    Claim(
        "Clipping at the median has a lower loss than a fixed norm that is ten times off either way",
        "",
        clipping.SWEEP,
        better_than_ten_times_off,
        "Training loss after 100 rounds by repetition, each at its best server step",
        ours=True,
    ),
]
