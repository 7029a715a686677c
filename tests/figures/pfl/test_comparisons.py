"""What stands beside a verdict on Bhaskar et al.: the published numbers by the same test, and where runs are from."""

import math

import pytest
from made_up_pfl import clients_runs, some, splits_runs
from made_up_runs import NOT_RUN, changed, judge

from figures.claims import judged
from figures.pfl.claims import CLAIMS, LOST
from figures.shared.verdicts import YES

RUNS = {"pfl_splits": splits_runs(), "pfl_clients": clients_runs()}
SPLITS = RUNS["pfl_splits"]
COLLAPSE = [claim for claim in CLAIMS if claim.text.startswith("MNIST: ")][6]


# The paper's own numbers.

IN_PRINT = {  # what the published tables contradict, and how many comparisons meet it
    "MNIST: (1, 20) is the best split": (34, 40),
    "Fashion-MNIST: (1, 20) is the best split": (36, 40),
    "CIFAR-10: (1, 20) is the best split": (34, 40),
    "MNIST: the distance": (33, 40),
    "Fashion-MNIST: the distance": (37, 40),
    "CIFAR-10: the distance": (29, 40),
    "CIFAR-10: SN+Lin is the best model in every row": (52, 54),
}


def test_the_published_tables_contradict_seven_claims():
    found = {claim.text: claim.in_print() for claim in CLAIMS if claim.published}
    failing = {
        next(begin for begin in IN_PRINT if text.startswith(begin)): (sum(p.value > 0 for p in parts), len(parts))
        for text, (deciding, *parts) in found.items()
        if not deciding.value > 0
    }
    assert failing == IN_PRINT


def test_the_threshold_is_the_extreme_of_the_published_tables():
    """The smallest published loss of the three data sets is what rounding left."""
    margins = [claim.in_print()[0] for claim in CLAIMS if f"lose at least {LOST:g}" in claim.text]
    assert min(margin.estimate for margin in margins) == pytest.approx(18.66)


# Sources, repetitions.


def with_sources(runs):
    return runs.assign(source="files of " + runs["dataset"].astype(str))


def facts(runs, sweep="pfl_splits"):
    """Text of a claim -> its row, of the claims of one sweep on one data set."""
    rows = judged("pfl", {sweep: with_sources(runs)})[0].to_dict("records")
    of_sweep = [claim.sweeps == (sweep,) and ": " in claim.text for claim in CLAIMS]
    return {claim.text: row for claim, row, own in zip(CLAIMS, rows, of_sweep, strict=True) if own}


@pytest.mark.parametrize("sweep", RUNS)
def test_the_source_is_that_of_the_claims_own_data_set(sweep):
    for text, row in facts(RUNS[sweep], sweep).items():
        assert row["source"] == "files of " + text.split(":")[0]
        assert row["runs"] == "3"


def test_runs_that_diverged_count_as_nothing_right():
    gone = changed(SPLITS, some(algorithm="CNN+RL", num_epochs=20), test_accuracy=lambda r: math.nan)
    found = judge(COLLAPSE, gone)
    assert (found.seen, found.margin.value) == (YES, pytest.approx(98.2 / 2))
    lost = SPLITS[~some(algorithm="CNN+RL", num_epochs=20)(SPLITS)]
    assert judge(COLLAPSE, lost).seen == NOT_RUN
