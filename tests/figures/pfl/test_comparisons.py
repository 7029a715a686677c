"""What stands beside a verdict on Bhaskar et al.: the published numbers by the same test, and where runs are from."""

import math

import pytest
from made_up_pfl import clients_runs, paper, splits_runs
from made_up_runs import NOT_RUN, at, changed, judge

from figures.claims import judged
from figures.pfl.claims import CLAIMS, LOST
from figures.shared.verdicts import OPEN, YES

INF = math.inf
RUNS = {"pfl_splits": splits_runs(), "pfl_clients": clients_runs()}
SPLITS, CLIENTS = RUNS.values()
ON_MNIST = [claim for claim in CLAIMS if claim.text.startswith("MNIST: ")]
ALWAYS, NOT_WITHOUT, LEAST, FRAGILE, ROBUST, MODEL, COLLAPSE, *_ = ON_MNIST


def by_points(points):
    """A change of the accuracy by so many points."""
    return {"test_accuracy": lambda rows: rows["test_accuracy"] + points / 100}


def some(**columns):
    """Rows on MNIST with these values."""
    return at(dataset="MNIST", **columns)


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


def test_the_published_numbers_as_runs_are_judged_as_they_are_in_print():
    runs = {"pfl_splits": splits_runs(paper), "pfl_clients": clients_runs(paper)}
    for claim in CLAIMS:
        if claim.published and len(claim.sweeps) == 1:
            found = judge(claim, runs[claim.sweep])
            assert (found.seen == YES) == (claim.in_print()[0].value > 0), claim.text


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


@pytest.mark.slow
def test_the_repetitions_are_those_of_the_cells_that_a_claim_compares():
    """One network at one epsilon is run once: what speaks of it says so, and nothing else does."""
    once = some(algorithm="CNN+TS", target_epsilon=1.2, num_epochs=20)
    found = facts(SPLITS[~once(SPLITS) | (SPLITS["seed"] == 0)])
    expected = [ALWAYS, LEAST, FRAGILE, ROBUST, MODEL]
    assert {text for text, row in found.items() if row["runs"] == "1 to 3"} == {one.text for one in expected}
    assert {row["runs"] for row in found.values()} == {"3", "1 to 3"}


def test_what_is_not_run_has_no_source_and_says_so():
    """Nothing on CIFAR-10 but the linear model without privacy; of Fashion-MNIST nothing at its last round."""
    other = SPLITS["dataset"] != "CIFAR-10"
    there = at(dataset="CIFAR-10", algorithm="SN+Lin", target_epsilon=INF)(SPLITS) & (SPLITS["seed"] == 0)
    runs = SPLITS[(other | there) & ((SPLITS["dataset"] != "Fashion-MNIST") | (SPLITS["rounds"] == 0))]
    for text, row in facts(runs).items():
        without = any(words in text for words in ("without privacy", "in every row", "to that without"))
        run = text.startswith("MNIST") or (text.startswith("CIFAR-10") and without)
        assert (row["source"] != "") == run, text
        assert (row["why"] != "") == (row["seen"] == OPEN) == (not text.startswith("MNIST")), text


def test_seeds_that_differ_are_compared_by_their_means():
    runs = SPLITS[(SPLITS["num_epochs"] != 20) | (SPLITS["seed"] > 0)]
    found = judge(ROBUST, runs)
    assert found.seen == YES
    assert found.margin.basis.startswith("spread pooled over ")


def test_runs_that_diverged_count_as_nothing_right():
    gone = changed(SPLITS, some(algorithm="CNN+RL", num_epochs=20), test_accuracy=lambda r: math.nan)
    found = judge(COLLAPSE, gone)
    assert (found.seen, found.margin.value) == (YES, pytest.approx(98.2 / 2))
    lost = SPLITS[~some(algorithm="CNN+RL", num_epochs=20)(SPLITS)]
    assert judge(COLLAPSE, lost).seen == NOT_RUN
