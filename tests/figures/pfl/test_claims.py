"""Every claim of Bhaskar et al. can hold, fail, be undecided and not be run, on made-up runs."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_pfl import as_claimed, clients_runs, paper, splits_runs
from made_up_runs import at, changed, judge

from figures.pfl.claims import CLAIMS
from figures.shared.verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED

INF = math.inf
RUNS = {"pfl_splits": splits_runs(), "pfl_clients": clients_runs()}
SPLITS, CLIENTS = RUNS.values()
NO_SPREAD = "single runs with no cell like them that has two"
BEST, FRAGILE, ROBUST, MODEL, COLLAPSE, NEAR = CLAIMS[:6]  # on MNIST
GROWS, BELOW, NEAR_CLIENTS = CLAIMS[18:21]
CIFAR = CLAIMS[12:18]


def by_points(points):
    """A change of the accuracy by so many points."""
    return {"test_accuracy": lambda rows: rows["test_accuracy"] + points / 100}


def some(**columns):
    """Rows on MNIST with these values."""
    return at(dataset="MNIST", **columns)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text[:40])
def test_a_claim_holds_where_the_runs_bear_it_out(claim):
    found = judge(claim, RUNS[claim.sweep])
    assert found.outcome == HOLDS, found


FAILING = {
    "another split is better by 0.9": (
        BEST,
        changed(SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=2), **by_points(0.5)),
    ),
    "(1, 20) diverges": (
        BEST,
        changed(SPLITS, some(algorithm="CNN+RL", target_epsilon=1.2, num_epochs=1), test_accuracy=lambda r: np.nan),
    ),
    "another split is better, the others not run": (
        BEST,
        changed(SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=2), **by_points(0.5)).query(
            "num_epochs < 4"
        ),
    ),
    "17 points are lost": (
        FRAGILE,
        changed(SPLITS, some(algorithm="CNN+TS", target_epsilon=2.93, num_epochs=20), **by_points(43.81 - 17.9)),
    ),
    "2.4 points are lost": (
        ROBUST,
        changed(SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), **by_points(-0.5)),
    ),
    "the linear model diverges": (
        ROBUST,
        changed(SPLITS, some(algorithm="SN+Lin", num_epochs=20), test_accuracy=lambda r: np.inf),
    ),
    "another model is better in a row": (
        MODEL,
        changed(SPLITS, some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=1), **by_points(2.2)),
    ),
    "no collapse": (COLLAPSE, changed(SPLITS, some(algorithm="CNN+RL", num_epochs=20), **by_points(40.0))),
    "far from the published": (
        NEAR,
        changed(SPLITS, lambda r: some()(r) & (r["algorithm"] != "SN+Lin"), **by_points(5.0)),
    ),
    "half diverged and some": (
        NEAR,
        changed(SPLITS, lambda r: some()(r) & (r["algorithm"] != "SN+Lin"), test_accuracy=lambda r: np.nan),
    ),
    "a step down": (GROWS, changed(CLIENTS, some(algorithm="SN+CNN", num_clients=25), **by_points(1.0))),
    "one client is worse": (BELOW, changed(CLIENTS, some(algorithm="CNN+TS", num_clients=1), **by_points(-2.0))),
    "far off with clients": (NEAR_CLIENTS, changed(CLIENTS, some(), **by_points(-3.0))),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_claim_fails_where_the_runs_speak_against_it(name):
    claim, runs = FAILING[name]
    found = judge(claim, runs)
    assert found.outcome == FAILS, found


def test_every_claim_can_fail_on_every_data_set():
    """Accuracies turned upside down: what was the best is the worst, and what fell rises."""
    assert {claim.text for claim, _ in FAILING.values()} == {one.text for one in CLAIMS if one.text[:7] == "MNIST: "}
    for claim in CLAIMS:
        runs = RUNS[claim.sweep]
        if "collapses" in claim.text:
            runs = runs.assign(test_accuracy=0.5)
        elif "loses at most" in claim.text:
            runs = runs.assign(test_accuracy=runs["test_accuracy"] / runs["num_epochs"])
        else:
            runs = runs.assign(test_accuracy=1 - runs["test_accuracy"])
        found = judge(claim, runs)
        assert found.outcome == FAILS, (claim.text, found)


def by_seed(points):
    """A change of the accuracy by so many points down in the first seed and up in the last: no change on average."""
    return {"test_accuracy": lambda rows: rows["test_accuracy"] + points / 100 * (rows["seed"] - 1)}


DOUBTFUL = {
    "the best split by chance": (BEST, SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=2), 1.0),
    "what is lost": (FRAGILE, SPLITS, some(algorithm="CNN+TS", target_epsilon=2.93, num_epochs=20), 20.0),
    "what is kept": (ROBUST, SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), 1.0),
    "the best model by chance": (MODEL, SPLITS, some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=1), 3.0),
    "collapse in one seed": (COLLAPSE, SPLITS, some(algorithm="CNN+RL", target_epsilon=INF, num_epochs=20), 60.0),
    "published in a wide interval": (NEAR, SPLITS, some(), 3.0),
    "a step that may be down": (GROWS, CLIENTS, some(algorithm="SN+CNN", num_clients=25), 3.0),
    "one client may be worse": (BELOW, CLIENTS, some(algorithm="CNN+TS", num_clients=1), 5.0),
    "clients in a wide interval": (NEAR_CLIENTS, CLIENTS, some(), 3.0),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_claim_is_undecided_where_chance_may_turn_it(name):
    """The means are those of runs that bear it out, and the seeds are far apart."""
    claim, runs, where, points = DOUBTFUL[name]
    found = judge(claim, changed(runs, where, **by_seed(points)))
    assert found.outcome == UNDECIDED, found
    assert found.margin.value > 0
    assert found.margin.half > found.margin.value
    assert "repetitions" in found.margin.to_decide


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text[:40])
def test_single_runs_decide_nothing(claim):
    runs = RUNS[claim.sweep]
    found = judge(claim, runs[runs["seed"] == 0])
    assert found.outcome == UNDECIDED, found
    assert NO_SPREAD in found.evidence
    assert found.margin.to_decide == "further repetitions"


def test_single_runs_decide_where_the_spread_is_known_from_cells_like_them():
    """At the smaller budget one run of each cell, at the larger three: the spread is 0.1 points, as made up."""
    runs = SPLITS[(SPLITS["target_epsilon"] != 1.2) | (SPLITS["seed"] == 0)]
    for claim in (FRAGILE, ROBUST, MODEL):
        assert judge(claim, runs).outcome == HOLDS
    assert judge(ROBUST, runs).margin.basis == "spread pooled over 3 cells"  # E of 1 and 2, and 20, at epsilon 2.93
    far = changed(runs, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), **by_points(-2.0))
    assert judge(ROBUST, far).outcome == FAILS


# What the runs at hand cannot decide.

OPEN = {
    "scale smoke": (CLAIMS, lambda r: r.assign(scale="smoke"), "cannot decide claims"),
    "no results": (CLAIMS, lambda r: None, "no results of pfl_"),
    "another data set alone": (CIFAR, lambda r: r[r["dataset"] != "CIFAR-10"], "no runs on CIFAR-10"),
    "not at the end": (CLAIMS, lambda r: r[r["rounds"] == 0], "has reached its last round"),
    "a model missing": (
        [BEST, FRAGILE, MODEL],
        lambda r: r[r["algorithm"] != "CNN+TS"],
        "cells were not run: CNN+TS at epsilon 2.93 and epsilon 1.2 with E = 1, ",
    ),
    "the collapsing model missing": (
        [COLLAPSE],
        lambda r: r[r["algorithm"] != "CNN+RL"],
        "2 cells were not run: CNN+RL at FedAvg with E = 1, 20 and k = 10",
    ),
    "one epsilon": (
        [BEST, FRAGILE, ROBUST, MODEL],
        lambda r: r[r["target_epsilon"] == 2.93],
        "not run at 20|not run at 3|not run at 1|not run at 18",
    ),
    "without privacy alone": (
        [BEST, FRAGILE, ROBUST, MODEL, NEAR],
        lambda r: r[np.isinf(r["target_epsilon"])],
        "met beyond chance at 0 of |of 24 cells run (all: 72)",
    ),
    "the ends alone": (
        [BEST, MODEL, NEAR],
        lambda r: r[r["num_epochs"].isin([1, 20])],
        "SN+Lin -0.67 ± 0.00 so far (0.07)|(2, 10) not run (2.35)|of 24 cells run (all: 72)",
    ),
    "no k = 50": ([GROWS], lambda r: r[r["num_clients"] != 50], "4 cells were not run: "),
    "no k = 1": ([BELOW], lambda r: r[r["num_clients"] != 1], "not run at 4"),
}


@pytest.mark.parametrize(("name", "claim"), [(name, claim) for name in OPEN for claim in OPEN[name][0]])
def test_a_claim_whose_runs_are_not_there_is_not_run(name, claim):
    _, change, said = OPEN[name]
    found = judge(claim, change(RUNS[claim.sweep]))
    assert found.outcome == NOT_RUN, found
    assert any(word in found.evidence for word in said.split("|")), found


def test_one_data_set_is_decided_without_the_others():
    runs = SPLITS[SPLITS["dataset"] == "MNIST"]
    assert [judge(claim, runs).outcome for claim in CLAIMS[:18]] == [HOLDS] * 6 + [NOT_RUN] * 12


def test_a_claim_never_raises():
    rng = np.random.default_rng(5)
    for claim in CLAIMS:
        whole = RUNS[claim.sweep]
        part = whole[rng.uniform(size=len(whole)) < rng.uniform()].copy()
        part.loc[rng.uniform(size=len(part)) < 0.3, "test_accuracy"] = rng.choice([np.nan, np.inf])
        judge(claim, part)


def test_made_up_accuracies_are_near_the_published():
    for name in ("pfl_table2", "pfl_table5"):
        apart = pd.Series(as_claimed(name)) - pd.Series(paper(name))
        assert apart.abs().max() < 0.02
