"""Every claim of Bhaskar et al. can hold, fail, be undecided and not be run, on made-up runs."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from made_up_pfl import as_claimed, clients_runs, of_claim, paper, some, splits_runs
from made_up_runs import changed, claim_of, judge
from worlds import holds, judged, not_run, open_with_one

from figures.pfl.cells import of_runs
from figures.pfl.claims import CLAIMS
from figures.shared.verdicts import NO, OPEN, YES

INF = math.inf
SPLITS, CLIENTS = splits_runs(), clients_runs()
RUNS = {claim.text: of_claim(claim, SPLITS, CLIENTS) for claim in CLAIMS}
ON_MNIST = [claim for claim in CLAIMS if claim.text.startswith("MNIST: ")]
ALWAYS, NOT_WITHOUT, LEAST, FRAGILE, ROBUST, MODEL, COLLAPSE, GROWS, CLOSER, SOONER = ON_MNIST
OVERLAP = claim_of(CLAIMS, "No example has")
OF_SPLITS = [claim for claim in CLAIMS if claim.sweeps == ("pfl_splits",)]
CIFAR = [claim for claim in OF_SPLITS if claim.text.startswith("CIFAR-10")]


def by_points(points):
    """A change of the accuracy by so many points."""
    return {"test_accuracy": lambda rows: rows["test_accuracy"] + points / 100}


def runs_of(claim):
    return RUNS[claim.text]


test_a_claim_holds_where_the_runs_bear_it_out = holds(CLAIMS, runs_of)

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
    "another split is better, the others not run": (
        ALWAYS,
        changed(RUNS[ALWAYS.text], some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=2), **by_points(3.0)).query(
            "num_epochs < 4"
        ),
    ),
    "17 points are lost": (
        FRAGILE,
        changed(SPLITS, some(algorithm="CNN+TS", target_epsilon=2.93, num_epochs=20), **by_points(43.81 - 17.9)),
    ),
    "as much is lost as by a network": (
        ROBUST,
        changed(SPLITS, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), **by_points(-85)),
    ),
    "the linear model diverges": (
        ROBUST,
        changed(SPLITS, some(algorithm="SN+Lin", num_epochs=20), test_accuracy=lambda r: np.inf),
    ),
    "another model is better in a row without privacy": (
        MODEL,
        changed(SPLITS, some(algorithm="SN+CNN", target_epsilon=INF, num_epochs=1), **by_points(2.2)),
    ),
    "no collapse": (COLLAPSE, changed(SPLITS, some(algorithm="CNN+RL", num_epochs=20), **by_points(40.0))),
    "no growth": (GROWS, changed(CLIENTS, some(algorithm="SN+CNN", num_clients=100), **by_points(-2.0))),
    "ten clients are closer with either batch": (
        CLOSER,
        changed(RUNS[CLOSER.text], some(algorithm="CNN+TS", num_clients=1), **by_points(-3.0)),
    ),
    "an example of several clients": (
        OVERLAP,
        changed(RUNS[OVERLAP.text], some(num_clients=25, seed=1), epsilon_worst=lambda r: 9.0),
    ),
    "the noise of the tables": (SOONER, CLIENTS.assign(noise_multiplier=0.957603)),
}


test_a_claim_fails_where_the_runs_speak_against_it = judged(NO, FAILING)


def test_every_claim_can_fail_on_every_data_set():
    """Accuracies turned upside down: what was the best is the worst, and what fell rises."""
    assert {claim.text for claim, _ in FAILING.values()} == {one.text for one in (*ON_MNIST, OVERLAP)}
    for claim in CLAIMS:
        runs = RUNS[claim.text]
        if claim is OVERLAP:
            runs = runs.assign(epsilon_worst=99.0)
        elif "sqrt(gamma)" in claim.text:
            runs = runs.assign(noise_multiplier=0.7)
        elif "distance of the accuracy" in claim.text:
            runs = changed(
                runs, lambda r: np.isfinite(r["target_epsilon"]), test_accuracy=lambda r: r["num_epochs"] / 40
            )
        elif "closer than" in claim.text:
            runs = changed(runs, lambda r: r["num_clients"] == 1, test_accuracy=lambda r: 0.01)
        elif "without privacy another" in claim.text:
            runs = runs.assign(test_accuracy=0.9 / runs["num_epochs"])
        elif "collapses" in claim.text:
            runs = runs.assign(test_accuracy=0.5)
        elif "loses fewer" in claim.text:
            least = runs["num_epochs"].where(runs["algorithm"] == "SN+Lin", 1)
            runs = runs.assign(test_accuracy=0.9 / least)
        else:
            runs = runs.assign(test_accuracy=1 - runs["test_accuracy"])
        found = judge(claim, runs)
        assert found.seen == NO, (claim.text, found)


def test_a_network_that_collapses_on_a_seed_is_compared_without_it():
    """With one run of ten it would be undecided; without it SN+Lin can still be found behind."""
    collapsed = some(algorithm="CNN+RL", target_epsilon=INF, num_epochs=1)
    first = RUNS[MODEL.text][RUNS[MODEL.text]["seed"] == 0]
    runs = pd.concat([first.assign(seed=seed) for seed in range(10)], ignore_index=True)
    runs = changed(runs, lambda r: collapsed(r) & (r["seed"] == 3), **by_points(-85.0))
    found = judge(MODEL, runs)
    assert found.seen == YES, found
    whole = judge(MODEL._replace(measure=partial(of_runs, dataset="MNIST")), runs)
    assert whole.seen == OPEN
    better = changed(runs, lambda r: collapsed(r) & (r["seed"] != 3), **by_points(20.0))
    assert judge(MODEL, better).seen == NO


def by_seed(points):
    """A change of the accuracy by so many points down in the first seed and up in the last: no change on average."""
    return {"test_accuracy": lambda rows: rows["test_accuracy"] + points / 100 * (rows["seed"] - 1)}


DOUBTFUL = {
    "always the best by chance": (ALWAYS, some(algorithm="CNN+TS", target_epsilon=1.2, num_epochs=2), 6.0),
    "the least lost by chance": (LEAST, some(algorithm="SN+CNN", target_epsilon=2.93, num_epochs=5), 20.0),
    "closer by chance": (CLOSER, some(algorithm="CNN+TS", num_clients=100), 5.0),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_claim_is_undecided_where_chance_may_turn_it(name):
    """The means are those of runs that bear it out, and the seeds are far apart."""
    claim, where, points = DOUBTFUL[name]
    found = judge(claim, changed(runs_of(claim), where, **by_seed(points)))
    assert found.seen == OPEN, found
    assert found.margin.value > 0
    assert found.margin.half > found.margin.value


OF_CHANCE = [claim for claim in CLAIMS if claim is not OVERLAP and "gamma" not in claim.text]
test_single_runs_decide_nothing = open_with_one(OF_CHANCE, runs_of)


def test_single_runs_decide_where_the_spread_is_known_from_cells_like_them():
    """At the smaller budget one run of each cell, at the larger three: the spread is 0.1 points, as made up."""
    runs = SPLITS[(SPLITS["target_epsilon"] != 1.2) | (SPLITS["seed"] == 0)]
    for claim in (FRAGILE, ROBUST, MODEL):
        assert judge(claim, runs).seen == YES
    far = changed(runs, some(algorithm="SN+Lin", target_epsilon=1.2, num_epochs=20), **by_points(-85.0))
    assert judge(ROBUST, far).seen == NO
    assert judge(ROBUST, far).margin.basis.startswith("spread pooled over ")


# What the runs at hand cannot decide.

MISSING = {
    "another data set alone": (CIFAR, lambda r: r[r["dataset"] != "CIFAR-10"], "no runs on CIFAR-10"),
    "not at the end": (
        [one for one in CLAIMS if one not in (OVERLAP, SOONER)],
        lambda r: r[r["rounds"] == 0],
        "has reached its last round",
    ),
    "a model missing": (
        [ALWAYS, FRAGILE],
        lambda r: r[r["algorithm"] != "CNN+TS"],
        "cells were not run: CNN+TS at epsilon 2.93 and epsilon 1.2 with E = 1, ",
    ),
    "no large batches": ([CLOSER], lambda r: r[r["batch_size"] != 256], "no run of one client with batches of 256"),
    "one client alone": ([OVERLAP, SOONER], lambda r: r[r["num_clients"] == 1], "no private run of several clients"),
}
test_a_claim_whose_runs_are_not_there_is_not_run = not_run(MISSING, runs_of)


def test_made_up_accuracies_are_near_the_published():
    for name in ("pfl_table2", "pfl_table5"):
        apart = pd.Series(as_claimed(name)) - pd.Series(paper(name))
        assert apart.abs().max() < 0.02
