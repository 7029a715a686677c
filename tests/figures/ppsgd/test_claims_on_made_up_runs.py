"""Every claim on made-up runs of which it holds, of which it fails, and which cannot decide it."""

import math

import numpy as np
import pandas as pd
from made_up_runs import accuracy, at, changed, claim_of, digit_runs, synthetic_runs
from worlds import holds, judged, not_run, open_with_one

from figures.ppsgd.claims import CLAIMS as ALL_CLAIMS
from figures.shared.verdicts import NO, OPEN

INF = math.inf
SYNTHETIC, DIGITS = synthetic_runs(), digit_runs()
LESS_NOISE = SYNTHETIC[SYNTHETIC["noise_multiplier"] < 30]
CLAIMS = [  # of the first two experiments; the others are in a module of their own
    claim_of(ALL_CLAIMS, words)
    for words in (
        "Without noise global learning is ahead of every",
        "With noise of sigma 1 to 100 global",
        "of the floor that differing users set it",
        "With noise of sigma 1 to 100, at the printed",
        "Without noise some alpha Q in (0, 1]",
        "With sigma = 10",
        "stays ahead of global learning comes earlier",
        "Digits: without noise global",
        "Digits: without noise, also",
        "Digits: the smallest alpha Q",
        "Digits: at some epsilon of 10 or less",
        "Digits: at every noise",
    )
]
FASTEST, NOISY, STOPS, LATER, SMALL, CROSSING, SPREAD, SILENT, BETWEEN, PRIVATE, GAIN, ALWAYS = CLAIMS


def runs_of(claim):
    """Runs of which the claim holds. With the most noise global learning is not the fastest in the made-up runs."""
    runs = SYNTHETIC if claim.sweep == "ppsgd_synthetic" else DIGITS
    return LESS_NOISE if claim is NOISY else runs


def diverged(rows):
    return np.nan


test_a_claim_holds_where_the_runs_bear_it_out = holds(CLAIMS, runs_of)

LOUD = at(noise_multiplier=10.0)
FAILING = {
    "another is the fastest": (FASTEST, changed(SYNTHETIC, at(personalization=3.0, rounds=30), excess_risk=0.5)),
    "another is the fastest at one noise": (
        NOISY,
        changed(SYNTHETIC, at(personalization=0.3, noise_multiplier=10.0, rounds=30), excess_risk=0.3),
    ),
    "global learning does not stop": (
        STOPS,
        changed(SYNTHETIC, at(personalization=INF, delta_std=0.01), excess_risk=0.5),
    ),
    "small alpha stays above at one noise": (
        LATER,
        changed(
            SYNTHETIC,
            lambda r: r.personalization.between(0.1, 1) & LOUD(r),
            excess_risk=lambda r: r.excess_risk + 1,
        ),
    ),
    "small alpha stays above without noise": (
        SMALL,
        changed(SYNTHETIC, lambda r: r.personalization.between(0.1, 1), excess_risk=lambda r: r.excess_risk + 3e-5),
    ),
    "never below where users differ more": (
        SPREAD,
        changed(
            SYNTHETIC,
            lambda r: (r.delta_std == 0.1) & (r.personalization < INF),
            excess_risk=lambda r: r.excess_risk + 1,
        ),
    ),
    "too early": (CROSSING, changed(SYNTHETIC, at(personalization=0.0), excess_risk=0.05)),
    "always": (CROSSING, changed(SYNTHETIC, at(personalization=0.0), excess_risk=1e-6)),
    "local diverges": (CROSSING, changed(SYNTHETIC, at(personalization=0.0, seed=0), excess_risk=diverged)),
    "local is better": (SILENT, changed(DIGITS, at(personalization=0.0), test_accuracy=2.9)),
    "global is as good": (BETWEEN, changed(DIGITS, at(personalization=INF), test_accuracy=1.06)),
    "large a is best": (PRIVATE, changed(DIGITS, at(personalization=10.0), test_accuracy=1.7)),
    "local is best at one noise": (
        ALWAYS,
        digit_runs(lambda a, s, seed: accuracy(a, s, seed) + (0.6 if a == 0 else 0.3 * (s < 5))),
    ),
    "local is best": (GAIN, changed(DIGITS, at(personalization=0.0), test_accuracy=3.2)),
    "only at an epsilon above 10": (
        GAIN,
        digit_runs(lambda a, s, seed: 0.9 if a == 10 and s == 0.1 else 0.3 + 0.001 * seed, sigmas=(0.0, 0.1, 0.5, 1.0)),
    ),
    "only where there is no noise": (
        GAIN,
        digit_runs(lambda a, s, seed: 0.9 if a == 10 and s == 0 else 0.3 + 0.001 * seed),
    ),
}


test_a_claim_fails_where_the_runs_speak_against_it = judged(NO, FAILING)


def test_every_claim_can_fail():
    assert {claim.text for claim, _ in FAILING.values()} == {claim.text for claim in CLAIMS}


UNCLEAR = {
    "small alpha below global with one spread of the users": (
        SMALL,
        changed(
            SYNTHETIC,
            lambda r: r.personalization.between(0.1, 1) & (r.delta_std == 0.01),
            excess_risk=lambda r: r.excess_risk + 3e-7,
        ),
    ),
    "crossings on both sides of the range": (
        CROSSING,
        changed(SYNTHETIC, at(personalization=0.0, seed=1), excess_risk=0.05),
    ),
    "gains that vary at every noise": (
        ALWAYS,
        digit_runs(lambda a, s, seed: accuracy(a, s, seed) + (0.15 * (seed - 1) if 0 < a < INF else 0)),
    ),
}


test_a_claim_is_undecided_where_chance_explains_the_runs = judged(OPEN, UNCLEAR)
test_one_repetition_decides_nothing = open_with_one(CLAIMS, runs_of)

MISSING = {
    "scale smoke": (CLAIMS, lambda r: r.assign(scale="smoke"), "cannot decide claims"),
    "another clipping norm": (CLAIMS, lambda r: r.assign(clip_norm=1.0), "clip_norm = 10"),
    "no results": (CLAIMS, lambda r: None, "no results of ppsgd_"),
    "a curve missing at one noise": (
        [CROSSING],
        lambda r: r[(r["personalization"] != 3) | (r["noise_multiplier"] != 10)],
        "no runs with alpha Q = 3 at sigma = 10",
    ),
    "too few rounds": (
        [STOPS, SMALL, LATER, SPREAD, CROSSING],
        lambda r: r[r["rounds"] <= 200],
        "the runs end after 200 rounds",
    ),
    "no such noise": ([CROSSING], lambda r: r[r["noise_multiplier"] != 10], "at sigma = 10"),
    "no floor": ([STOPS], lambda r: r.assign(global_floor=np.nan), "the floor of global learning is not"),
    "epsilon far from 1": (
        [PRIVATE],
        lambda r: r[r["noise_multiplier"].isin([0, 0.5])],
        "the nearest epsilon to 1 is 10",
    ),
    "nothing in between": (
        [PRIVATE, BETWEEN, GAIN, ALWAYS],
        lambda r: r[r["personalization"].isin([0, INF])],
        "an alpha Q below it are needed|nothing between",
    ),
    "several runs of a repetition": (
        [CROSSING],
        lambda r: pd.concat([r, r.assign(point="again", excess_risk=r["excess_risk"] * 2)]),
        "several runs of the same repetition",
    ),
}
test_a_claim_of_which_runs_are_missing_is_not_run = not_run(MISSING, runs_of)
