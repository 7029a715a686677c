"""Every claim of Gao et al. can hold, fail, and be left open, on made-up runs."""

import numpy as np
import pandas as pd
import pytest
from made_up_runs import claim_of, judge, once_for_each
from made_up_silos import (
    LOCALIZED,
    MULTI_PASS,
    ONE_PASS,
    alike,
    error,
    heterogeneous_runs,
    nonsmooth_runs,
    odd_even_runs,
    risk,
    rounds_runs,
)

from figures import claims
from figures.isrl import errors
from figures.isrl.claims import CLAIMS
from figures.shared.verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED


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
    "isrl_nonsmooth": nonsmooth_runs(),
    "isrl_rounds": rounds_runs(),
    "isrl_heterogeneity": heterogeneous_runs(differing),
}
LOWER, LOWER_EXACT, LOWER_35, LOWER_WIDE, FALLS, PHASES, ALIKE = (
    claim_of(CLAIMS, words)
    for words in (
        "both with 192",
        "equal exact",
        "35 rounds",
        "larger search",
        "falls as",
        "Phases help",
        "Subgradients",
    )
)
FEWER, FEWER_IN_STAGES, GRADIENTS, RISK, RISK_EARLIER, RISK_APART, ONE_ORDER = (
    claim_of(CLAIMS, words)
    for words in (
        "Localized accelerated MB-SGD reaches one-pass MB-SGD's lowest risk in fewer",
        "Localized multi-stage",
        "fewer gradients",
        "than one-pass MB-SGD, at every n and",
        "earlier one-pass accelerated MB-SGD, at every n ",
        "earlier one-pass accelerated MB-SGD, at every distance",
        "at most 2 times",
    )
)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text[:40])
def test_a_claim_holds_where_the_runs_bear_it_out(claim):
    found = judge(claim, RUNS[claim.sweep])
    assert found.outcome == HOLDS, found


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
    "higher at one epsilon": (LOWER, shifted(LOCALIZED, 0.05, at=0.75)),
    "higher in one setting": (LOWER, shifted(LOCALIZED, 0.05, num_sampled=18)),
    "higher at equal exact epsilon": (LOWER_EXACT, only(shifted(LOCALIZED, 0.05, at=3.0), "exact")),
    "higher than 35 rounds": (LOWER_35, shifted(ONE_PASS, -0.1, rounds=35)),
    "higher though searched wider": (LOWER_WIDE, shifted(LOCALIZED, 0.05, at=18.0)),
    "one-pass rises": (FALLS, shifted(ONE_PASS, 0.03, at=18.0)),
    "localized rises": (FALLS, shifted(LOCALIZED, 0.03, at=3.0, num_sampled=18)),
    "multi-pass is better": (PHASES, shifted(MULTI_PASS, -0.05)),
    "multi-pass is as good": (PHASES, shifted(MULTI_PASS, -0.01)),
    "subgradients are worse": (
        ALIKE,
        nonsmooth_runs(lambda name, at, trial: alike(name, at, trial) + (0.05 if name == "Subgradients" else 0)),
    ),
    "Moreau is better at two epsilons": (
        ALIKE,
        nonsmooth_runs(lambda name, at, trial: alike(name, at, trial) - (0.05 if name[0] == "M" and at > 1 else 0)),
    ),
    "as many rounds": (
        FEWER,
        rounds_runs(lambda name, n, *rest: risk("One-pass MB-SGD" if n == 512 else name, n, *rest)),
    ),
    "never reached": (
        FEWER,
        rounds_runs(lambda name, *rest: risk(name, *rest) * (50 if name == "Localized accelerated" else 1)),
    ),
    "never reached in stages": (
        FEWER_IN_STAGES,
        rounds_runs(lambda name, *rest: risk(name, *rest) * (50 if name == "Localized multi-stage" else 1)),
    ),
    "methods on all records reach it with as few gradients": (
        GRADIENTS,
        rounds_runs(lambda name, *rest: risk(name, *rest) * (0.01 if name == "Accelerated" else 1)),
    ),
    "never reached with few gradients": (
        GRADIENTS,
        rounds_runs(
            lambda name, *rest: risk(name, *rest) * {"Localized accelerated": 50, "Accelerated": 0.5}.get(name, 1)
        ),
    ),
    "the earlier is better at one n": (
        RISK_EARLIER,
        rounds_runs(
            lambda name, n, *rest: risk(name, n, *rest) * (0.1 if (name, n) == ("One-pass accelerated", 512) else 1)
        ),
    ),
    "the earlier is better where silos are alike": (
        RISK_APART,
        heterogeneous_runs(
            lambda name, far, *rest: (
                differing(name, far, *rest) * (0.1 if (name, far) == ("One-pass accelerated", 0) else 1)
            )
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


@pytest.mark.parametrize("name", FAILING)
def test_a_claim_fails_where_the_runs_speak_against_it(name):
    claim, runs = FAILING[name]
    found = judge(claim, runs)
    assert found.outcome == FAILS, found


def test_every_claim_can_fail():
    assert {claim.text for claim, _ in FAILING.values()} == {claim.text for claim in CLAIMS}


OPEN = {
    "scale smoke": (CLAIMS, lambda runs: runs.assign(scale="smoke"), "cannot decide claims"),
    "no results": (CLAIMS, lambda runs: None, "no results of isrl_"),
    "one setting": ([LOWER, FALLS, PHASES], lambda runs: runs[runs["num_sampled"] == 25], "num_sampled = 18"),
    "no one-pass": (
        [LOWER, LOWER_EXACT, LOWER_35, LOWER_WIDE, FALLS, FEWER, FEWER_IN_STAGES, GRADIENTS, RISK],
        lambda runs: runs[runs["algorithm"] != ONE_PASS],
        "needed|no runs of",
    ),
    "no earlier method": (
        [RISK_EARLIER, RISK_APART],
        lambda runs: runs[runs["algorithm"] != "One-pass accelerated"],
        "there is no run of One-pass accelerated",
    ),
    "one-pass lacks an n": (
        [FEWER, FEWER_IN_STAGES, RISK],
        without(ONE_PASS, num_records=128),
        "there is no run of One-pass MB-SGD at n = 128",
    ),
    "localized lacks an n": (
        [FEWER, RISK, RISK_EARLIER],
        without("Localized accelerated", num_records=512),
        "there is no run of Localized accelerated at n = 512",
    ),
    "localized lacks a distance": (
        [RISK_APART, ONE_ORDER],
        without("Localized accelerated", spread=1.0),
        "Localized accelerated at n = 512, distance 1|Localized accelerated at distance 1",
    ),
    "no silos that are alike": ([ONE_ORDER], lambda runs: runs[runs["spread"] > 0], "with one distribution"),
    "no privacy": ([ONE_ORDER], lambda runs: runs[runs["calibration"] == "no noise"], "no private runs"),
    "one epsilon": ([FALLS], lambda runs: runs[runs["target_epsilon"] == 3.0], "at two epsilons are needed"),
    "no 35 rounds": ([LOWER_35], lambda runs: runs[runs["phase_rounds"] != 35], "no runs of"),
    "one method": ([ALIKE], lambda runs: runs[runs["algorithm"] == "Convolution"], "no runs of"),
    "not at the end": (CLAIMS, lambda runs: runs.assign(num_rounds=999), "reached its last round"),
}


CHANGES = {name: once_for_each(change) for name, (_, change, _) in OPEN.items()}


@pytest.mark.parametrize(("name", "claim"), [(name, claim) for name in OPEN for claim in OPEN[name][0]])
def test_a_claim_of_which_runs_are_missing_is_not_run(name, claim):
    said = OPEN[name][2]
    found = judge(claim, CHANGES[name](RUNS[claim.sweep]))
    assert found.outcome == NOT_RUN, found
    assert any(word in found.evidence for word in said.split("|")), found
    assert "the check failed" not in found.evidence, found


def noisy(loud, size=0.05):
    """The error with one method's moved up and down by trial."""

    def value(name, answering, epsilon, trial, rounds):
        return error(name, answering, epsilon, trial, rounds) + (size * (trial - 1) if name == loud else 0)

    return odd_even_runs(value)


UNCLEAR = {
    "localized varies": ([LOWER, LOWER_EXACT, LOWER_35, LOWER_WIDE, PHASES], noisy(LOCALIZED)),
    "a step that varies": (
        [FALLS],
        odd_even_runs(
            lambda name, s, at, trial, r: error(name, s, at, trial, r) + (0.05 * (trial - 1) if at == 3.0 else 0)
        ),
    ),
    "differences of the tolerance": (
        [ALIKE],
        nonsmooth_runs(
            lambda name, at, trial: alike(name, at, trial) - (0.02 * trial if (name[0], at) == ("M", 3) else 0)
        ),
    ),
    "risks that vary": (
        [FEWER, FEWER_IN_STAGES, GRADIENTS, RISK, RISK_EARLIER],
        rounds_runs(
            lambda name, n, *rest: (
                risk(name, n, *rest)
                * (9.0 ** (rest[-1] - 1) if name in ("Localized accelerated", "Localized multi-stage") else 1)
            )
        ),
    ),
    "risks that vary with the distance": (
        [RISK_APART, ONE_ORDER],
        heterogeneous_runs(
            lambda name, far, *rest: (
                differing(name, far, *rest) * (9.0 ** (rest[-1] - 1) if far and name == "Localized accelerated" else 1)
            )
        ),
    ),
}


@pytest.mark.parametrize(("name", "claim"), [(name, claim) for name in UNCLEAR for claim in UNCLEAR[name][0]])
def test_a_claim_is_undecided_where_chance_explains_the_runs(name, claim):
    found = judge(claim, UNCLEAR[name][1])
    assert found.outcome == UNDECIDED, found


def test_every_claim_can_be_undecided():
    assert {claim.text for claims, _ in UNCLEAR.values() for claim in claims} == {claim.text for claim in CLAIMS}


ONE_TRIAL = {name: runs[runs["trial"] == 0] for name, runs in RUNS.items()}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text[:30])
def test_one_trial_decides_nothing(claim):
    assert judge(claim, ONE_TRIAL[claim.sweep]).outcome == UNDECIDED


def test_the_evidence_counts_the_points_that_differ_by_more_than_chance():
    found = judge(LOWER, RUNS["isrl_odd_even"])
    assert "25 silos answer (2 settings against 4 settings): lower at 3 of 3 epsilons" in found.evidence
    assert "by more than the interval at 3, higher by more than it at 0" in found.evidence

    found = judge(LOWER, noisy(LOCALIZED))
    assert "by more than the interval at 0" in found.evidence


def test_settings_are_chosen_by_training_loss_in_each_trial():
    """Made-up runs at the other step size have a lower test error and a higher loss."""
    table = errors.FIGURE_2.table(RUNS["isrl_odd_even"])
    row = table[(table["series"] == LOCALIZED) & (table["calibration"] == "exact") & (table["target_epsilon"] == 3.0)]
    assert row["chosen_step_size"].item() == "1 1 1"
    np.testing.assert_allclose(row["test_error"], np.mean([error(LOCALIZED, 25, 3.0, t, 5) for t in range(3)]))
    np.testing.assert_allclose(row["std"], 0.001)
    np.testing.assert_allclose(row["epsilon_exact"], 3.0)


def test_rounds_are_judged_only_where_one_pass_has_its_lowest_risk_inside():
    found = judge(FEWER, RUNS["isrl_rounds"])
    assert "fewer beyond chance at 2 of 2, more beyond chance at 0" in found.evidence
    assert "left open, one-pass improves up to the most rounds tried: n = 128, epsilon inf" in found.evidence
    silent = RUNS["isrl_rounds"].query("calibration == 'no noise'")
    assert judge(FEWER, silent).outcome == NOT_RUN


def test_a_risk_that_is_lower_by_chance_is_told_from_one_that_is_lower():
    def noisy(name, n, epsilon, rounds, trial):
        spread = (0.2, 1.0, 4.0)[trial] if (name, n) == ("Localized accelerated", 128) else 1.0
        return risk(name, n, epsilon, rounds, trial) * spread

    assert "lower at 2 of 2, beyond chance at 2, higher" in judge(RISK, RUNS["isrl_rounds"]).evidence
    assert "lower at 2 of 2, beyond chance at 1, higher" in judge(RISK, rounds_runs(noisy)).evidence


@pytest.mark.slow
def test_a_claim_never_raises():
    rng = np.random.default_rng(5)
    for claim in CLAIMS:
        whole = RUNS[claim.sweep]
        metric = "excess_risk" if "excess_risk" in whole else "test_error"
        for share in rng.uniform(0, 1, 3):
            part = whole[rng.uniform(size=len(whole)) < share].copy()
            part.loc[rng.uniform(size=len(part)) < 0.3, metric] = rng.choice([np.nan, np.inf])
            claims.judge(claim, part)
        claims.judge(claim, whole[whole["rounds"] < 0])
