"""Every claim on made-up runs of which it holds, of which it fails, and which cannot decide it."""

import math

import numpy as np
import pandas as pd
import pytest
from made_up_runs import DIGIT_CURVES, accuracy, digit_runs, risk, synthetic_runs
from scipy import stats

from figures import claims
from figures import ppsgd_claims_digits as digits
from figures import ppsgd_claims_synthetic as synthetic
from figures.ppsgd_claims import CLAIMS
from figures.verdicts import FAILS, HOLDS, UNTESTABLE, Claim, NotTestable, Verdict, spread

INF = math.inf
SYNTHETIC, DIGITS = synthetic_runs(), digit_runs()
EARLY, FLOOR, PUBLISHED, CROSSING, ORDER, SILENT, PRIVATE, GAIN = CLAIMS


def judge(claim: Claim, runs: pd.DataFrame | None) -> Verdict:
    found = claims.judge(claim, runs)
    assert "mistake" not in found.evidence, found
    return found


def changed(runs: pd.DataFrame, where, **values) -> pd.DataFrame:
    """The runs with some values replaced; a number is a factor, a function makes values of the rows."""
    runs = runs.copy()
    rows = where(runs)
    assert rows.any()
    for name, value in values.items():
        runs.loc[rows, name] = value(runs[rows]) if callable(value) else runs.loc[rows, name] * value
    return runs


def at(**columns):
    """Condition: these columns have these values."""
    return lambda runs: np.logical_and.reduce([runs[name] == value for name, value in columns.items()])


def diverged(rows):
    return np.nan


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.check.__name__ + " " + claim.text[:30])
def test_a_claim_holds_where_the_runs_bear_it_out(claim):
    found = judge(claim, SYNTHETIC if claim.sweep == "ppsgd_synthetic" else DIGITS)
    assert found.outcome == HOLDS, found


QUIET, LOUD = at(noise_multiplier=0.0), at(noise_multiplier=10.0)
FAILING = {
    "two neighbours in the wrong order": (EARLY, changed(SYNTHETIC, at(personalization=1.0), excess_risk=0.5)),
    "in one of the two spreads": (EARLY, changed(SYNTHETIC, at(personalization=1.0, delta_std=0.01), excess_risk=0.5)),
    "at one round": (EARLY, changed(SYNTHETIC, at(personalization=INF, rounds=30), excess_risk=9)),
    "global diverges": (EARLY, changed(SYNTHETIC, at(personalization=INF, seed=1), excess_risk=diverged)),
    "global goes on": (FLOOR, changed(SYNTHETIC, at(personalization=INF), excess_risk=0.5)),
    "global stays above": (FLOOR, changed(SYNTHETIC, at(personalization=INF), excess_risk=1.2)),
    "one other stays above": (
        FLOOR,
        changed(SYNTHETIC, at(personalization=3.0), excess_risk=lambda r: r.excess_risk + 6e-6),
    ),
    "one other in one repetition": (
        FLOOR,
        changed(SYNTHETIC, at(personalization=3.0, seed=2), excess_risk=lambda r: r.excess_risk + 6e-6),
    ),
    "all others stay above": (
        PUBLISHED,
        changed(SYNTHETIC, lambda r: r.personalization < INF, excess_risk=lambda r: r.excess_risk + 3e-7),
    ),
    "too early": (CROSSING, changed(SYNTHETIC, at(personalization=0.0), excess_risk=0.05)),
    "always": (CROSSING, changed(SYNTHETIC, at(personalization=0.0), excess_risk=1e-6)),
    "never": (CROSSING, changed(SYNTHETIC, at(personalization=0.0), excess_risk=lambda r: 10.0)),
    "not in one repetition": (CROSSING, changed(SYNTHETIC, at(personalization=0.0, seed=1), excess_risk=50)),
    "behind again at the end": (CROSSING, changed(SYNTHETIC, at(personalization=0.0, rounds=990), excess_risk=1e9)),
    "local diverges": (CROSSING, changed(SYNTHETIC, at(personalization=0.0, seed=0), excess_risk=diverged)),
    "later with more noise": (
        ORDER,
        changed(SYNTHETIC, lambda r: (r.noise_multiplier == 30) & (r.personalization > 0), excess_risk=0.02),
    ),
    "never in the middle": (
        ORDER,
        changed(SYNTHETIC, lambda r: LOUD(r) & (r.personalization > 0), excess_risk=lambda r: 1e-12),
    ),
    "local is better": (SILENT, changed(DIGITS, at(personalization=0.0), test_accuracy=2.9)),
    "within the intervals": (
        SILENT,
        digit_runs(lambda a, s, seed: accuracy(a, s, seed) if a else 0.8 + 0.04 * seed),
    ),
    "global diverged": (SILENT, changed(DIGITS, at(personalization=INF, seed=0), test_accuracy=diverged)),
    "large a is best": (PRIVATE, changed(DIGITS, at(personalization=10.0), test_accuracy=1.7)),
    "small a diverged": (PRIVATE, changed(DIGITS, at(personalization=0.1), test_accuracy=diverged)),
    "local is best": (GAIN, changed(DIGITS, at(personalization=0.0), test_accuracy=3.2)),
    "global is best": (GAIN, changed(DIGITS, at(personalization=INF), test_accuracy=lambda r: 0.99)),
    "no more than the intervals": (
        GAIN,
        digit_runs(lambda a, s, seed: accuracy(a, s, seed) + (0.15 * (seed - 1) if 0 < a < INF else 0)),
    ),
    "all but global diverged": (
        GAIN,
        changed(DIGITS, lambda r: r.personalization.between(0.1, 100), test_accuracy=diverged),
    ),
    "only where there is no noise": (
        GAIN,
        digit_runs(lambda a, s, seed: 0.9 if a == 10 and s == 0 else 0.3 + 0.001 * seed),
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_claim_fails_where_the_runs_speak_against_it(name):
    claim, runs = FAILING[name]
    found = judge(claim, runs)
    assert found.outcome == FAILS, found


def test_every_claim_can_fail():
    assert {claim.text for claim, _ in FAILING.values()} == {claim.text for claim in CLAIMS}


SHORT = SYNTHETIC[SYNTHETIC["rounds"] <= 200]
OPEN = {
    "one repetition": (CLAIMS, lambda r: r[r["seed"] == 0], "two are needed"),
    "no global": (CLAIMS, lambda r: r[r["personalization"] < INF], "no runs with a = inf"),
    "no local": (CLAIMS, lambda r: r[r["personalization"] > 0], "no runs with a = 0"),
    "another clipping norm": (CLAIMS, lambda r: r.assign(clip_norm=1.0), "clip_norm = 10"),
    "another method": (CLAIMS, lambda r: r.assign(algorithm="other"), "no run of PPSGD"),
    "no results": (CLAIMS, lambda r: None, "no results of ppsgd_"),
    "a curve missing": (CLAIMS[:5], lambda r: r[r["personalization"] != 1.0], "no runs with a = 1"),
    "a curve missing at one noise": (
        [CROSSING, ORDER],
        lambda r: r[(r["personalization"] != 3) | (r["noise_multiplier"] != 10)],
        "no runs with a = 3 at sigma = 10",
    ),
    "too few rounds": ([FLOOR, PUBLISHED, CROSSING], lambda r: r[r["rounds"] <= 200], "the runs end after 200 rounds"),
    "no early evaluation": ([EARLY], lambda r: r[r["rounds"] % 100 == 0], "no evaluation in rounds 20 to 50"),
    "no such noise": ([CROSSING], lambda r: r[r["noise_multiplier"] != 10], "at sigma = 10"),
    "two noise levels": ([ORDER], lambda r: r[r["noise_multiplier"] < 30], "needs three noise levels"),
    "never passed": (
        [ORDER],
        lambda r: changed(r, at(personalization=0.0), excess_risk=lambda rows: 10.0),
        "fewer than two different moments",
    ),
    "other spreads": ([FLOOR, PUBLISHED], lambda r: r.assign(delta_std=0.5), "no runs with delta_std"),
    "no floor": ([FLOOR], lambda r: r.assign(global_floor=np.nan), "the floor of global learning is not"),
    "noise everywhere": ([SILENT], lambda r: r[(r["noise_multiplier"] > 0) | (r["personalization"] == 0)], "sigma = 0"),
    "no noise": ([PRIVATE], lambda r: r[r["noise_multiplier"] == 0], "no runs with noise"),
    "no noise either": ([GAIN], lambda r: r[r["noise_multiplier"] == 0], "no noise level has"),
    "epsilon far from 1": (
        [PRIVATE],
        lambda r: r[r["noise_multiplier"].isin([0, 0.5])],
        "the nearest epsilon to 1 is 10",
    ),
    "no small a": ([PRIVATE], lambda r: r[r["personalization"] != 0.1], "a below and above 1 are needed"),
    "nothing in between": ([GAIN], lambda r: r[r["personalization"].isin([0, INF])], "an a in between"),
    "no last round": ([SILENT, PRIVATE, GAIN], lambda r: r[r["rounds"] < 1000], "at the last round"),
    "several runs of a repetition": (
        [CROSSING],
        lambda r: pd.concat([r, r.assign(point="again", excess_risk=r["excess_risk"] * 2)]),
        "several runs of one repetition",
    ),
}


@pytest.mark.parametrize(("name", "claim"), [(name, claim) for name in OPEN for claim in OPEN[name][0]])
def test_a_claim_that_the_runs_cannot_decide_is_not_testable(name, claim):
    _, change, said = OPEN[name]
    found = judge(claim, change(SYNTHETIC if claim.sweep == "ppsgd_synthetic" else DIGITS))
    assert found.outcome == UNTESTABLE, found
    assert said in found.evidence


def test_a_claim_that_needs_few_rounds_holds_on_few():
    assert judge(EARLY, SHORT).outcome == HOLDS


def test_a_claim_never_raises():
    """Random parts of the runs, with random values lost; and tables that are no runs at all."""
    rng = np.random.default_rng(5)
    for claim in CLAIMS:
        whole = SHORT if claim.sweep == "ppsgd_synthetic" else DIGITS
        for share in rng.uniform(0, 1, 6):
            part = whole[rng.uniform(size=len(whole)) < share].copy()
            metric = "excess_risk" if "excess_risk" in part else "test_accuracy"
            part.loc[rng.uniform(size=len(part)) < 0.3, metric] = rng.choice([np.nan, INF, -INF])
            judge(claim, part)
        judge(claim, whole[whole["rounds"] < 0])
        for broken in (whole.drop(columns="personalization"), whole.drop(columns=metric)):
            found = claims.judge(claim, broken)
            assert found.outcome == UNTESTABLE
            assert "a mistake in it: " in found.evidence


# How the runs decide.


def test_crossings_by_repetition():
    """Local passes the other from a round of its own in each repetition; one falls back, one never, one always."""
    passed = {0: 30, 1: 60, 2: INF, 3: 10}

    def value(delta, a, sigma, rounds, seed):
        if seed == 1 and rounds == 50:
            return 1.0  # equal is not below
        if seed == 1 and rounds == 20:
            return 0.5 if a == 0 else 1.0  # ahead for a moment
        return 0.5 if a == 0 and rounds >= passed[seed] else 1.0

    runs = synthetic_runs(value, rounds=range(0, 101, 10), sigmas=(10.0,), deltas=(0.1,), repetitions=4)
    assert synthetic.crossings(runs, 0.1, 10.0).groupby("seed").first().to_dict() == passed
    at_least = synthetic.crossings(runs[runs["seed"] < 2], 0.1, 10.0)
    assert "45 [-146, 236], 30 to 60" in spread(at_least, ".0f")


def test_crossings_judge_a_repetition_at_the_step_that_is_best_on_average():
    """At the smaller step this repetition would not have crossed; the average chooses the larger for both."""
    runs = synthetic_runs(lambda d, a, s, t, seed: 1.0, rounds=(0, 10), sigmas=(10.0,), deltas=(0.1,), repetitions=2)
    local = runs["personalization"] == 0
    runs["excess_risk"] = np.where(local, np.where(runs["step_size"] == 0.1, 2.0, 0.5), 1.0)
    runs.loc[local & (runs["step_size"] == 0.5) & (runs["seed"] == 1), "excess_risk"] = 1.1
    assert list(synthetic.crossings(runs, 0.1, 10.0)) == [10, INF]


def test_noise_levels_may_be_alike_at_the_ends_only():
    """Never within these rounds for two, before the first evaluation for two others: still earlier and earlier."""

    def with_crossings(rounds_by_sigma):
        def value(delta, a, sigma, rounds, seed):
            if a == 0:
                return math.exp(-rounds / 50)
            return math.exp(-(rounds_by_sigma[sigma] - 5) / 50) if rounds_by_sigma[sigma] < INF else 1e-30

        return synthetic_runs(value, rounds=range(0, 101, 10), sigmas=rounds_by_sigma, deltas=(0.1,), repetitions=2)

    good = {0.1: INF, 0.3: INF, 1.0: 80, 3.0: 40, 10.0: 10, 30.0: 10}
    assert judge(ORDER, with_crossings(good)).outcome == HOLDS
    assert "0.1 at never to never" in judge(ORDER, with_crossings(good)).evidence
    for sigma, rounds in ((3.0, 80), (3.0, 90), (30.0, 20), (0.3, 70)):
        assert judge(ORDER, with_crossings(good | {sigma: rounds})).outcome == FAILS


def test_the_noise_nearest_to_epsilon_1_is_nearest_in_ratio():
    """0.6 and 1.5 are 0.4 and 0.5 away, but 1.5 is the nearer factor; there the small a is not the best."""
    runs = DIGITS[DIGITS["noise_multiplier"].isin([0.0, 1.0, 5.0])].copy()
    runs["epsilon"] = runs["epsilon"].mask(runs["noise_multiplier"] == 1, 1.5).mask(runs["noise_multiplier"] == 5, 0.6)
    runs["epsilon"] = runs["epsilon"].mask(runs["personalization"] == 0, 0.0)
    found = judge(PRIVATE, runs)
    assert "sigma 1, epsilon 1.50" in found.evidence
    assert found.outcome == FAILS
    assert judge(PRIVATE, runs[runs["noise_multiplier"] != 1]).outcome == HOLDS


def test_a_digit_claim_must_hold_with_both_ways_of_tuning():
    """The step that held-out data choose makes global learning worse than local; that of test data does not."""
    runs = changed(DIGITS, at(personalization=INF, step_size=0.5), test_accuracy=0.1)
    found = judge(SILENT, runs)
    assert found.outcome == FAILS
    assert "step by test: holds" in found.evidence
    assert "step by validation: fails" in found.evidence


def test_the_gap_is_between_intervals():
    """The gap is positive on the mean, and by repetition, but not once chance is counted."""
    base = {0.0: 0.3, INF: 0.5}

    def value(spread_out):
        return lambda a, s, seed: base.get(a, 0.2 if a != 1 else 0.55) + spread_out * (seed - 1)

    assert judge(GAIN, digit_runs(value(0.001))).outcome == HOLDS
    assert judge(GAIN, digit_runs(value(0.04))).outcome == FAILS


def test_evidence_has_the_interval_over_repetitions():
    table = digits._final_accuracy(DIGITS, "test").loc[(5.0, 0.1)]
    values = [accuracy(0.1, 5.0, seed) for seed in range(3)]
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (table["low"], table["high"]) == pytest.approx((low, high))
    said = f"{100 * np.mean(values):.2f} % [{100 * low:.2f}, {100 * high:.2f}]"
    assert said in judge(PRIVATE, DIGITS).evidence
    for claim in CLAIMS:
        assert judge(claim, SYNTHETIC if claim.sweep == "ppsgd_synthetic" else DIGITS).evidence.count("[") >= 1


def test_spread_is_the_t_interval():
    values = pd.Series([1.0, 2.0, 6.0, 7.0, 9.0])
    low, high = stats.t.interval(0.95, 4, loc=5, scale=stats.sem(values))
    assert spread(values, ".2f") == f"5.00 [{low:.2f}, {high:.2f}], 1.00 to 9.00"
    assert spread(pd.Series([1.0, INF]), ".0f", "never") == "1 to never"


def test_the_runs_are_made_as_the_claims_expect():
    """The made-up curves of the figure are all there, so that a missing one is what a test took away."""
    assert set(DIGITS["personalization"]) == set(DIGIT_CURVES)
    assert risk(0.1, INF, 0.0, 1000, 0) == pytest.approx(5e-6)


# What is printed and written.


def test_the_text_fits_a_terminal_and_says_everything(tmp_path, capsys):
    table = claims.check("ppsgd", {"ppsgd_synthetic": SHORT, "ppsgd_digits": DIGITS}, tmp_path / "new")
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    flat = " ".join(text.split())
    for claim in CLAIMS:
        assert f": {claim.text} ({claim.where})" in flat
    for outcome, count in table["verdict"].value_counts().items():
        assert text.count(f"**{outcome}**") == count
        assert f"{outcome} {count}" in text.splitlines()[-1]
    assert "Scale smoke" in text
    assert (tmp_path / "new" / "claims_ppsgd.md").read_text() == text
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "new" / "claims_ppsgd.csv"), table)


def test_a_mistake_in_a_check_does_not_hide(tmp_path):
    def check(runs):
        raise KeyError("a\nb")

    found = claims.judge(Claim("text", "where", "sweep", check), DIGITS)
    assert found.outcome == UNTESTABLE
    assert found.evidence == "the check itself stopped, which is a mistake in it: KeyError: 'a\\nb'"

    def cannot(runs):
        raise NotTestable("too little")

    assert claims.judge(Claim("text", "where", "sweep", cannot), DIGITS) == (UNTESTABLE, "too little")
