"""Claims on server optimisers, proximal steps and adaptive clipping. All settings of a sweep run on the same draws of
the data and are compared draw by draw, by training loss."""

from functools import partial

import pandas as pd

from figures.server_steps import clipping, optimisers, proximal
from figures.shared.checks import Cells, ahead, cells_of, inside
from figures.shared.margins import need
from figures.shared.verdicts import Claim, ours, require, stand_in

UNIT = "of training loss"
# Deviation of the clipped share up to which a norm tracks the quantile: a sixth of the distance between the quantiles
# tested, so that they are told apart; a threshold of ours.
NEAR = 0.05
ON_PAR = 0.01  # difference in loss up to which one norm does as well as another; a threshold of ours
FIXED, MEDIAN = "fixed", "median"


def optimised(runs: pd.DataFrame, noisy: bool) -> Cells:
    """Loss of each optimiser at its best step and tau."""
    rows = optimisers.tuned(runs)
    rows = rows[(rows["noise_multiplier"] > 0) == noisy]
    return cells_of(rows, "algorithm", {}, optimisers.METRIC, UNIT, scale=-1)


def with_mu(runs: pd.DataFrame, way: str, skipped: int) -> Cells:
    """Loss by mu, kind of clients and local steps, of which the smallest numbers are skipped; `way`: how the step is
    chosen."""
    rows = proximal.rows_of(runs)
    require(rows["proximal"], (0.0, 1.0), "mu")
    counts = sorted(rows["num_steps"].unique())
    need(len(counts) > 1, "two numbers of local steps are needed")
    rows = rows[(rows["step"] == way) & rows["num_steps"].isin(counts[skipped:])]
    places = {"task": "", "num_steps": "local steps"}
    return cells_of(rows, "proximal", places, proximal.METRIC, UNIT, scale=-1, called="mu =")


def off_the_quantile(runs: pd.DataFrame) -> Cells:
    """Deviation of the share of clipped messages from 1 minus the quantile that the norm follows."""
    rows = clipping.tuned(runs)
    rows = rows[rows["algorithm"] == clipping.ADAPTIVE]
    rows = rows.assign(off=rows["clipped"] - (1 - rows["followed"]), edge="")
    places = {"followed": "quantile", "factor": "from"}
    return cells_of(rows, "algorithm", places, "off", "of the clipped share")


def clipped(runs: pd.DataFrame, hindsight: bool) -> Cells:
    """Loss with the norm at the median and with a fixed one, by the norm at the start. hindsight: whether the fixed
    norm is the best of all."""
    rows = clipping.tuned(runs)
    fixed, median = rows[rows["algorithm"] == clipping.FIXED], rows[rows["followed"] == clipping.MEDIAN]
    need(len(fixed) and len(median), "both fixed and adaptive norms are needed")
    if hindsight:
        best = fixed[fixed["factor"] == fixed.groupby("factor")[clipping.METRIC].mean().idxmin()]
        fixed = pd.concat([best.assign(factor=factor) for factor in median["factor"].unique()])
    rows = pd.concat([fixed.assign(norm=FIXED), median.assign(norm=MEDIAN)])
    rows = rows[rows["factor"].isin(median["factor"])]
    return cells_of(rows, "norm", {"factor": "from"}, clipping.METRIC, UNIT, scale=-1)


REDDI, LI = "Reddi et al. 2021, abstract, section 5", "Li et al. 2020, section 5"
ANDREW = "Andrew et al. 2021, abstract"
RARE = stand_in("generated examples with rare features for language data")
FEW = stand_in("20 generated clients of 40 records for larger data")
GENERATED = stand_in("generated examples for the data of federated benchmarks")
AT_BEST = "each at its best server step and tau, after 100 rounds"
STARTS = "from a tenth and from ten times the typical length, after 100 rounds, each at its best server step"
CLAIMS = [
    *(
        Claim(
            "Adaptive server optimisers outperform FedAvg and FedAvgM where gradients are sparse",
            REDDI,
            f"{name} has a lower loss than {other} where features are rare, without noise, {AT_BEST}",
            optimisers.SWEEP,
            partial(optimised, noisy=False),
            ahead(name, other),
            RARE,
        )
        for name in (optimisers.ADAM, optimisers.YOGI)
        for other in (optimisers.FEDAVG, optimisers.MOMENTUM)
    ),
    Claim(
        "On heterogeneous clients with much local work a proximal term makes FedAvg converge better",
        LI,
        f"At step {proximal.FIXED_STEP:g} mu = 1 has a lower loss than FedAvg after 60 rounds, with 50 and 200 local "
        "steps on both kinds of clients",
        proximal.SWEEP,
        partial(with_mu, way=proximal.AT_FIXED, skipped=1),
        ahead(1.0, 0.0),
        FEW,
    ),
    Claim(
        "The clipping norm closely tracks a quantile of the norms of updates",
        ANDREW,
        f"The share of clipped messages in the last 20 rounds is within {NEAR:g} of 1 minus the quantile that the norm "
        "follows, for .2, .5 and .8, from a tenth and from ten times the typical length; the tolerance, of ours, is a "
        "sixth of the distance between these quantiles",
        clipping.SWEEP,
        off_the_quantile,
        inside(-NEAR, NEAR),
        GENERATED,
    ),
    Claim(
        "Clipping at the median works as well as the best fixed norm chosen in hindsight",
        ANDREW,
        f"Clipping at the median costs at most {ON_PAR:g} more loss (a tolerance of ours) than the best of five fixed "
        f"norms, at the same epsilon, {STARTS}",
        clipping.SWEEP,
        partial(clipped, hindsight=True),
        ahead(MEDIAN, FIXED, by=-ON_PAR),
        GENERATED,
    ),
    # ---- Ours ----
    *(
        ours(
            f"{name} has a lower loss than {optimisers.FEDAVG} where features are rare, under noise, too, {AT_BEST}",
            optimisers.SWEEP,
            partial(optimised, noisy=True),
            ahead(name, optimisers.FEDAVG),
        )
        for name in (optimisers.MOMENTUM, optimisers.ADAM, optimisers.YOGI)
    ),
    ours(
        "With 200 local steps mu = 1 has a lower loss than FedAvg where each has the best of five steps, on both kinds "
        "of clients",
        proximal.SWEEP,
        partial(with_mu, way=proximal.AT_BEST, skipped=-1),
        ahead(1.0, 0.0),
    ),
    ours(
        f"Clipping at the median has a lower loss than the fixed norm that it starts at, {STARTS}",
        clipping.SWEEP,
        partial(clipped, hindsight=False),
        ahead(MEDIAN, FIXED),
    ),
]
