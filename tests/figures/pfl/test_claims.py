"""Every claim of Bhaskar et al. can hold, fail, be undecided and not be run, on made-up runs."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_pfl import as_claimed, clients_runs, of_claim, paper, splits_runs
from made_up_runs import at, changed, claim_of, first_repetition, judge, once_for_each

from figures.pfl.claims import CLAIMS, robust_is_best
from figures.pfl.comparisons import decided_by
from figures.shared.verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED

INF = math.inf
SPLITS, CLIENTS = splits_runs(), clients_runs()
RUNS = {claim.text: of_claim(claim, SPLITS, CLIENTS) for claim in CLAIMS}
NO_SPREAD = "single runs with no cell like them that has two"
ON_MNIST = [claim for claim in CLAIMS if claim.text.startswith("MNIST: ")]
(
    ALWAYS,
    NOT_WITHOUT,
    LEAST,
    FRAGILE,
    ROBUST,
    MODEL,
    COLLAPSE,
    GROWS,
    CLOSER,
    CLOSER_LARGE,
    OVERLAP,
    SOONER,
    HARDLY,
    BEST,
    PRIVATE,
) = (
    claim_of(ON_MNIST, words)
    for words in (
        "(1, 20) is the best split",
        "without privacy another split",
        "privacy costs the least",
        "lose at least 18",
        "loses at most",
        "in every row",
        "collapses",
        "100 clients are more accurate",
        "the settings of the others",
        "batches of 256",
        "no example has",
        "sqrt(gamma)",
        "privacy costs at most",
        "within 0.8",
        "in every private row",
    )
)
NEAR, NEAR_CLIENTS = (claim_of(ON_MNIST, f"half of the cells of Table {number}") for number in (2, 5))
OF_SPLITS = [claim for claim in CLAIMS if claim.sweep == "pfl_splits"]
CIFAR = [claim for claim in OF_SPLITS if claim.text.startswith("CIFAR-10")]


def by_points(points):
    """A change of the accuracy by so many points."""
    return {"test_accuracy": lambda rows: rows["test_accuracy"] + points / 100}


def some(**columns):
    """Rows on MNIST with these values."""
    return at(dataset="MNIST", **columns)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text[:40])
def test_a_claim_holds_where_the_runs_bear_it_out(claim):
    found = judge(claim, RUNS[claim.text])
    assert found.outcome == HOLDS, found


FAILING = {
    "another split is better": (
        ALWAYS,
        changed(RUNS[ALWAYS.text], some(algorithm="CNN+TS", target_epsilon=1.2, num_epochs=2), **by_points(3.0)),
    ),
    "the same split without privacy, too": (
        NOT_WITHOUT,
        changed(SPLITS, lambda r: some(target_epsilon=INF)(r) & (r["num_epochs"] > 1), **by_points(-3.0)),
    ),
    "privacy costs less elsewhere": (
        LEAST,
        changed(RUNS[LEAST.text], some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=5), **by_points(6.0)),
    ),
    "privacy costs much less elsewhere": (
        HARDLY,
        changed(RUNS[HARDLY.text], some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=5), **by_points(7.0)),
    ),
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
    "3.4 points are lost": (
        ROBUST,
        changed(SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), **by_points(-1.5)),
    ),
    "the linear model diverges": (
        ROBUST,
        changed(SPLITS, some(algorithm="SN+Lin", num_epochs=20), test_accuracy=lambda r: np.inf),
    ),
    "another model is better in a row without privacy": (
        MODEL,
        changed(SPLITS, some(algorithm="SN+CNN", target_epsilon=INF, num_epochs=1), **by_points(2.2)),
    ),
    "another model is better in a private row": (
        PRIVATE,
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
    "no growth": (GROWS, changed(CLIENTS, some(algorithm="SN+CNN", num_clients=100), **by_points(-2.0))),
    "ten clients are closer": (
        CLOSER,
        changed(CLIENTS, some(algorithm="CNN+TS", num_clients=1), **by_points(-3.0)),
    ),
    "ten clients are closer with large batches": (
        CLOSER_LARGE,
        changed(
            RUNS[CLOSER_LARGE.text],
            some(algorithm="CNN+TS", num_clients=1, sweep="pfl_one_client", batch_size=256),
            **by_points(-3.0),
        ),
    ),
    "an example of several clients": (
        OVERLAP,
        changed(RUNS[OVERLAP.text], some(num_clients=25, seed=1), epsilon_worst=lambda r: 9.0),
    ),
    "the noise of the tables": (SOONER, CLIENTS.assign(noise_multiplier=0.957603)),
    "far off with clients": (NEAR_CLIENTS, changed(CLIENTS, some(), **by_points(-3.0))),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_claim_fails_where_the_runs_speak_against_it(name):
    claim, runs = FAILING[name]
    found = judge(claim, runs)
    assert found.outcome == FAILS, found


def test_every_claim_can_fail_on_every_data_set():
    """Accuracies turned upside down: what was the best is the worst, and what fell rises."""
    assert {claim.text for claim, _ in FAILING.values()} == {one.text for one in ON_MNIST}
    for claim in CLAIMS:
        runs = RUNS[claim.text]
        if "no example" in claim.text:
            runs = runs.assign(epsilon_worst=99.0)
        elif "sqrt(gamma)" in claim.text:
            runs = runs.assign(noise_multiplier=0.7)
        elif "privacy costs" in claim.text:
            runs = changed(
                runs, lambda r: np.isfinite(r["target_epsilon"]), test_accuracy=lambda r: r["num_epochs"] / 40
            )
        elif "closer than" in claim.text:
            runs = changed(runs, lambda r: r["num_clients"] == 1, test_accuracy=lambda r: 0.01)
        elif "without privacy another" in claim.text:
            runs = runs.assign(test_accuracy=0.9 / runs["num_epochs"])
        elif "collapses" in claim.text:
            runs = runs.assign(test_accuracy=0.5)
        elif "loses at most" in claim.text:
            runs = runs.assign(test_accuracy=runs["test_accuracy"] / runs["num_epochs"])
        else:
            runs = runs.assign(test_accuracy=1 - runs["test_accuracy"])
        found = judge(claim, runs)
        assert found.outcome == FAILS, (claim.text, found)


def test_a_network_that_collapses_on_a_seed_is_compared_without_it():
    """With one run of ten it would be undecided; without it SN+Lin can still be found behind."""
    collapsed = some(algorithm="CNN+RL", target_epsilon=INF, num_epochs=1)
    first = RUNS[MODEL.text][RUNS[MODEL.text]["seed"] == 0]
    runs = pd.concat([first.assign(seed=seed) for seed in range(10)], ignore_index=True)
    runs = changed(runs, lambda r: collapsed(r) & (r["seed"] == 3), **by_points(-85.0))
    found = judge(MODEL, runs)
    assert found.outcome == HOLDS, found
    assert "1 run below half of their cell's median, left out" in found.evidence
    whole = judge(MODEL._replace(check=decided_by(robust_is_best, "MNIST", "pfl_table2")), runs)
    assert whole.outcome == UNDECIDED
    better = changed(runs, lambda r: collapsed(r) & (r["seed"] != 3), **by_points(20.0))
    assert judge(MODEL, better).outcome == FAILS


@pytest.mark.parametrize(("more", "outcome"), [(0.6, HOLDS), (1.0, FAILS)])
def test_privacy_may_cost_the_first_split_so_much_more(more, outcome):
    """Than another, in points; CNN+RL does not count."""
    same = RUNS[HARDLY.text].assign(test_accuracy=lambda r: np.where(np.isfinite(r["target_epsilon"]), 0.8, 0.9))
    first = some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=1)
    runs = changed(same, first, **by_points(-more))
    runs = changed(runs, some(algorithm="CNN+RL", num_epochs=1), **by_points(-50.0))
    assert judge(HARDLY, runs).outcome == outcome


def by_seed(points):
    """A change of the accuracy by so many points down in the first seed and up in the last: no change on average."""
    return {"test_accuracy": lambda rows: rows["test_accuracy"] + points / 100 * (rows["seed"] - 1)}


DOUBTFUL = {
    "always the best by chance": (ALWAYS, None, some(algorithm="CNN+TS", target_epsilon=1.2, num_epochs=2), 6.0),
    "another without privacy by chance": (
        NOT_WITHOUT,
        SPLITS,
        lambda r: some(target_epsilon=INF)(r) & (r["num_epochs"] > 1),
        30.0,
    ),
    "the least lost by chance": (LEAST, None, some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=5), 20.0),
    "hardly more lost by chance": (HARDLY, None, some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=5), 20.0),
    "the best split by chance": (BEST, SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=2), 1.0),
    "what is lost": (FRAGILE, SPLITS, some(algorithm="CNN+TS", target_epsilon=2.93, num_epochs=20), 20.0),
    "what is kept": (ROBUST, SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), 1.0),
    "the best model by chance": (MODEL, SPLITS, some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=1), 3.0),
    "the best in a row by chance": (PRIVATE, SPLITS, some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=1), 3.0),
    "collapse in one seed": (COLLAPSE, SPLITS, some(algorithm="CNN+RL", target_epsilon=INF, num_epochs=20), 60.0),
    "published in a wide interval": (NEAR, SPLITS, some(), 3.0),
    "growth by chance": (GROWS, CLIENTS, some(algorithm="SN+CNN", num_clients=100), 3.0),
    "closer by chance": (CLOSER, CLIENTS, some(algorithm="CNN+TS", num_clients=100), 5.0),
    "closer to large batches by chance": (CLOSER_LARGE, None, some(algorithm="CNN+TS", num_clients=100), 5.0),
    "clients in a wide interval": (NEAR_CLIENTS, CLIENTS, some(), 3.0),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_claim_is_undecided_where_chance_may_turn_it(name):
    """The means are those of runs that bear it out, and the seeds are far apart."""
    claim, runs, where, points = DOUBTFUL[name]
    found = judge(claim, changed(RUNS[claim.text] if runs is None else runs, where, **by_seed(points)))
    assert found.outcome == UNDECIDED, found
    assert found.margin.value > 0
    assert found.margin.half > found.margin.value
    assert "repetitions" in found.margin.to_decide


@pytest.mark.parametrize(
    "claim",
    [one for one in CLAIMS if "no example" not in one.text and "gamma" not in one.text],
    ids=lambda one: one.text[:40],
)
def test_single_runs_decide_nothing(claim):
    found = judge(claim, first_repetition(RUNS[claim.text]))
    assert found.outcome == UNDECIDED, found
    assert NO_SPREAD in found.evidence
    assert found.margin.to_decide == "further repetitions"


def test_single_runs_decide_where_the_spread_is_known_from_cells_like_them():
    """At the smaller budget one run of each cell, at the larger three: the spread is 0.1 points, as made up."""
    runs = SPLITS[(SPLITS["target_epsilon"] != 1.2) | (SPLITS["seed"] == 0)]
    for claim in (FRAGILE, ROBUST, MODEL):
        assert judge(claim, runs).outcome == HOLDS
    assert judge(ROBUST, runs).margin.basis == "spread pooled over 3 cells"  # E of 1 and 2, and 20, at epsilon 2.93
    far = changed(runs, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), **by_points(-3.0))
    assert judge(ROBUST, far).outcome == FAILS


# What the runs at hand cannot decide.

OPEN = {
    "scale smoke": (CLAIMS, lambda r: r.assign(scale="smoke"), "cannot decide claims"),
    "no results": (CLAIMS, lambda r: None, "no results of pfl_"),
    "another data set alone": (CIFAR, lambda r: r[r["dataset"] != "CIFAR-10"], "no runs on CIFAR-10"),
    "not at the end": (CLAIMS, lambda r: r[r["rounds"] == 0], "has reached its last round"),
    "a model missing": (
        [ALWAYS, BEST, FRAGILE, PRIVATE],
        lambda r: r[r["algorithm"] != "CNN+TS"],
        "cells were not run: CNN+TS at epsilon 2.93 and epsilon 1.2 with E = 1, ",
    ),
    "the collapsing model missing": (
        [COLLAPSE],
        lambda r: r[r["algorithm"] != "CNN+RL"],
        "2 cells were not run: CNN+RL at FedAvg with E = 1, 20 and k = 10",
    ),
    "one epsilon": (
        [ALWAYS, BEST, FRAGILE, ROBUST, PRIVATE],
        lambda r: r[r["target_epsilon"] == 2.93],
        "not run at 20|not run at 3|not run at 1|not run at 18",
    ),
    "with privacy alone": ([NOT_WITHOUT, LEAST], lambda r: r[np.isfinite(r["target_epsilon"])], "not run at "),
    "without privacy alone": (
        [BEST, FRAGILE, ROBUST, PRIVATE, NEAR],
        lambda r: r[np.isinf(r["target_epsilon"])],
        "met beyond chance at 0 of |of 24 cells run (all: 72)",
    ),
    "the ends alone": (
        [BEST, PRIVATE, NEAR],
        lambda r: r[r["num_epochs"].isin([1, 20])],
        "SN+Lin -0.67 ± 0.00 so far (0.07)|(2, 10) not run (2.35)|of 24 cells run (all: 72)",
    ),
    "no k = 100": ([GROWS, CLOSER], lambda r: r[r["num_clients"] != 100], "4 cells were not run: "),
    "no k = 1": ([CLOSER], lambda r: r[r["num_clients"] != 1], "not run at 4"),
    "no large batches": (
        [CLOSER_LARGE],
        lambda r: r[r["batch_size"] != 256],
        "no run of one client with batches of 256",
    ),
    "one client alone": ([OVERLAP, SOONER], lambda r: r[r["num_clients"] == 1], "no private run of several clients"),
}


CHANGES = {name: once_for_each(change) for name, (_, change, _) in OPEN.items()}


@pytest.mark.parametrize(("name", "claim"), [(name, claim) for name in OPEN for claim in OPEN[name][0]])
def test_a_claim_whose_runs_are_not_there_is_not_run(name, claim):
    said = OPEN[name][2]
    found = judge(claim, CHANGES[name](RUNS[claim.text]))
    assert found.outcome == NOT_RUN, found
    assert any(word in found.evidence for word in said.split("|")), found


def test_one_data_set_is_decided_without_the_others():
    for claim in OF_SPLITS:
        runs = RUNS[claim.text]
        found = judge(claim, runs[runs["dataset"] == "MNIST"])
        assert found.outcome == (HOLDS if claim.text.startswith("MNIST") else NOT_RUN), claim.text


def test_a_claim_never_raises():
    rng = np.random.default_rng(5)
    for claim in CLAIMS:
        whole = RUNS[claim.text]
        part = whole[rng.uniform(size=len(whole)) < rng.uniform()].copy()
        part.loc[rng.uniform(size=len(part)) < 0.3, "test_accuracy"] = rng.choice([np.nan, np.inf])
        judge(claim, part)


def test_made_up_accuracies_are_near_the_published():
    for name in ("pfl_table2", "pfl_table5"):
        apart = pd.Series(as_claimed(name)) - pd.Series(paper(name))
        assert apart.abs().max() < 0.02
