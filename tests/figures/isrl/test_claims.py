"""Every claim of Gao et al. can hold, fail, and be left open, on made-up runs."""

import numpy as np
import pandas as pd
from made_up_silos import (
    LOCALIZED,
    MULTI_PASS,
    ONE_PASS,
    error,
    heterogeneous_runs,
    odd_even_runs,
    risk,
    rounds_runs,
)
from worlds import holds, judged, not_run, open_with_one

from figures.isrl import errors
from figures.isrl.claims import CLAIMS
from figures.shared.derived import derived
from figures.shared.verdicts import NO, OPEN


def differing(name, spread, *rest):
    """A risk that grows a little with the distance of the silos' models."""
    return risk(name, 512, *rest) * (1 + 0.1 * spread)


def without(algorithm, **at):
    """Remove one method's runs at one place, where the other methods keep theirs."""

    def change(runs):
        kept = runs["algorithm"] != algorithm
        for column, value in at.items():
            kept |= runs[column] != value
        return runs[kept]

    return change


RUNS = {
    "isrl_odd_even": odd_even_runs(),
    "isrl_rounds": rounds_runs(),
    "isrl_heterogeneity": heterogeneous_runs(differing),
}
LOWER, ONE_ORDER, LOWER_EXACT, PHASES, RISK, RISK_EARLIER = CLAIMS


def runs_of(claim):
    return RUNS[claim.sweep]


test_a_claim_holds_where_the_runs_bear_it_out = holds(CLAIMS, runs_of)


def shifted(algorithm, by, *, at=None, num_sampled=None, trial=None, rounds=None):
    """The error with one part of it moved."""

    def value(name, answering, epsilon, which, number):
        hit = name == algorithm and (at is None or epsilon == at) and (num_sampled in (None, answering))
        hit = hit and trial in (None, which) and rounds in (None, number)
        return error(name, answering, epsilon, which, number) + (by if hit else 0)

    return odd_even_runs(value)


def only(runs, calibration):
    """Only one calibration spoiled: the other keeps the errors of which the claims hold."""
    return pd.concat(
        [runs[runs["calibration"] == calibration], RUNS["isrl_odd_even"].query("calibration != @calibration")]
    )


FAILING = {
    "higher under both guesses": (LOWER, shifted(LOCALIZED, 0.5, at=0.75)),
    "higher in one setting": (LOWER, shifted(LOCALIZED, 0.5, num_sampled=18)),
    "higher at equal exact epsilon": (LOWER_EXACT, only(shifted(LOCALIZED, 0.05, at=3.0), "exact")),
    "multi-pass is better": (PHASES, shifted(MULTI_PASS, -0.05)),
    "the earlier is better at one n": (
        RISK_EARLIER,
        rounds_runs(
            lambda name, n, *rest: risk(name, n, *rest) * (0.1 if (name, n) == ("One-pass accelerated", 512) else 1)
        ),
    ),
    "a risk that grows with the distance": (
        ONE_ORDER,
        heterogeneous_runs(lambda name, far, *rest: differing(name, far, *rest) * (1 + far)),
    ),
    "a higher risk": (
        RISK,
        rounds_runs(
            lambda name, n, *rest: risk(name, n, *rest) * (20 if (name, n) == ("Localized accelerated", 128) else 1)
        ),
    ),
}


test_a_claim_fails_where_the_runs_speak_against_it = judged(NO, FAILING)


def test_every_claim_can_fail():
    assert {claim.text for claim, _ in FAILING.values()} == {claim.text for claim in CLAIMS}


MISSING = {
    "one-pass lacks an n": ([RISK], without(ONE_PASS, num_records=128), "no run of One-pass MB-SGD at n 128"),
    "no privacy": ([ONE_ORDER], lambda runs: runs[runs["calibration"] == "no noise"], "no private runs"),
    "no 35 rounds": ([LOWER], lambda runs: runs[runs["phase_rounds"] != 35], "no run of"),
    "not at the end": (CLAIMS, lambda runs: runs.assign(num_rounds=999), "reached its last round"),
}
test_a_claim_of_which_runs_are_missing_is_not_run = not_run(MISSING, runs_of)


def noisy(loud, size=0.05):
    """The error with one method's moved up and down by trial."""

    def value(name, answering, epsilon, trial, rounds):
        return error(name, answering, epsilon, trial, rounds) + (size * (trial - 1) if name == loud else 0)

    return odd_even_runs(value)


UNCLEAR = {f"localized varies, {claim.text}": (claim, noisy(LOCALIZED)) for claim in (LOWER, LOWER_EXACT, PHASES)}
UNCLEAR["higher under one guess"] = LOWER, shifted(LOCALIZED, 0.05, at=0.75)
test_a_claim_is_undecided_where_chance_explains_the_runs = judged(OPEN, UNCLEAR)
test_one_trial_decides_nothing = open_with_one(CLAIMS, runs_of, derived(lambda runs: runs[runs["trial"] == 0]))


def test_settings_are_chosen_by_training_loss_in_each_trial():
    """Made-up runs at the other step size have a lower test error and a higher loss."""
    table = errors.FIGURE_2.table(RUNS["isrl_odd_even"])
    row = table[(table["series"] == LOCALIZED) & (table["calibration"] == "exact") & (table["target_epsilon"] == 3.0)]
    assert row["chosen_step_size"].item() == "1 1 1"
    np.testing.assert_allclose(row["test_error"], np.mean([error(LOCALIZED, 25, 3.0, t, 5) for t in range(3)]))
    np.testing.assert_allclose(row["std"], 0.001)
    np.testing.assert_allclose(row["epsilon_exact"], 3.0)
