"""Every claim of Bellet et al. on made-up runs of which it holds, and of which it fails."""

import numpy as np
import pytest
from made_up_p2p import MAKE, claim_of
from made_up_runs import at, changed, judge

from figures.p2p.claims import CLAIMS
from figures.shared.verdicts import FAILS, HOLDS

RUNS = {name: make() for name, make in MAKE.items()}
NAN, INF = np.nan, np.inf


def changed_runs(claim, where, **values):
    return changed(RUNS[claim.sweep], where, **values)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_a_claim_holds_where_the_runs_bear_it_out(claim):
    found = judge(claim, RUNS[claim.sweep])
    assert found.outcome == HOLDS, found


OBJECTIVE, ACCURACY = "CD is ahead of ADMM in objective", "CD is ahead of ADMM in accuracy"
AT_BEST = "with its best penalty ADMM is behind CD in"
FAILING = {
    "ADMM is ahead early": (
        f"{OBJECTIVE} at every point against iterations",
        at(algorithm="ADMM", rounds=1, start="local"),
        {"objective": 0.1},
    ),
    "CD diverges in one run": (
        f"{OBJECTIVE} at every point against vectors",
        at(algorithm="CD", seed=1, start="descent"),
        {"objective": lambda r: NAN},
    ),
    "ADMM is more accurate late": (
        f"{ACCURACY} at every point against iterations",
        at(algorithm="ADMM", rounds=30),
        {"test_accuracy": 1.2},
    ),
    "CD sends too much": (
        f"{ACCURACY} at every point against vectors",
        at(algorithm="CD"),
        {"vectors_sent": 30.0},
    ),
    "ADMM ends lower": ("at the penalty that fits", at(algorithm="ADMM", rounds=30), {"objective": 0.1}),
    "ADMM at its best is ahead early": (
        f"{AT_BEST} objective at every point against iterations",
        at(algorithm="ADMM", rounds=1, start="local", penalty=0.05),
        {"objective": 0.1},
    ),
    "CD diverges against ADMM at its best": (
        f"{AT_BEST} objective at every point against vectors",
        at(algorithm="CD", seed=1, start="descent"),
        {"objective": lambda r: NAN},
    ),
    "ADMM at its best is more accurate late": (
        f"{AT_BEST} accuracy at every point against iterations",
        at(algorithm="ADMM", rounds=30, penalty=0.05),
        {"test_accuracy": 1.2},
    ),
    "CD sends too much against ADMM at its best": (
        f"{AT_BEST} accuracy at every point against vectors",
        at(algorithm="CD"),
        {"vectors_sent": 30.0},
    ),
    "another penalty is the best": ("ADMM at its best penalty", at(algorithm="ADMM", penalty=0.1), {"objective": 0.1}),
    "CD stops early": (
        "CD ends as published",
        at(algorithm="CD", rounds=30, start="descent"),
        {"objective": lambda r: r["objective"] + 0.06},
    ),
    "too much noise cold": (
        "Fig. 2a ends as published: objective",
        at(start="constant", max_updates=4, rounds=20, calibration="published"),
        {"objective": 1.15},
    ),
    "diverged": (
        "Fig. 2a ends as published: accuracy",
        at(start="constant", max_updates=8, seed=0),
        {"test_accuracy": lambda r: NAN},
    ),
    "too little noise": (
        "Fig. 2b ends as published: objective",
        at(start="propagation", max_updates=1, allocation="equal"),
        {"objective": 0.85},
    ),
    "too accurate": (
        "Fig. 2b ends as published: accuracy",
        at(start="propagation", max_updates=1, allocation="equal"),
        {"test_accuracy": 1.06},
    ),
    "far off at the tuned mu": (
        "with mu tuned private accuracies",
        at(num_features=10, target_epsilon=0.5, calibration="published"),
        {"test_accuracy": 0.93},
    ),
    "twice the budget is noisier": (
        "twice the budget ends where Figure 2b does: objective",
        at(start="propagation", max_updates=8, target_epsilon=1.0),
        {"objective": 1.2},
    ),
    "twice the budget is less accurate": (
        "twice the budget ends where Figure 2b does: accuracy",
        at(start="propagation", max_updates=8, target_epsilon=1.0),
        {"test_accuracy": 0.95},
    ),
    "warm is no better": (
        "ends with a lower objective than the cold",
        at(start="propagation", max_updates=2, allocation="equal"),
        {"objective": 1.3},
    ),
    "warm is less accurate": (
        "ends with a higher accuracy",
        at(start="propagation", max_updates=4, allocation="equal"),
        {"test_accuracy": 0.8},
    ),
    "the constant is the lowest": (
        "than no iteration",
        at(start="constant", rounds=0),
        {"objective": 0.1},
    ),
    "the uneven split ends higher": (
        "the split of Proposition 2",
        at(allocation="published", max_updates=4),
        {"objective": 1.01},
    ),
    "many agents are slow": (
        "the rest of the gap",
        at(num_agents=400, rounds=8),
        {"objective": 1.5},
    ),
    "noise for smaller gradients at one p": (
        "For some range of the inputs",
        lambda r: (r["num_features"] == 10) & (r["input_range"] < 1),
        {"epsilon_true": 3.0},
    ),
    "the fewest are best": ("lowest at an intermediate", at(max_updates=1, start="propagation"), {"objective": 0.5}),
    "the most are best": ("lowest at an intermediate", at(max_updates=8, start="constant"), {"objective": 0.1}),
    "the fewest are worst": ("highest at the largest", at(max_updates=1, start="propagation"), {"objective": 9}),
    "two budgets in the wrong order": (
        "> epsilon 1.05 > 0.55 >",
        at(num_features=10, target_epsilon=0.1, calibration="published"),
        {"test_accuracy": 1.2},
    ),
    "non-private is off": (
        "without privacy is within .015",
        at(algorithm="CD", num_features=75),
        {"test_accuracy": 0.97},
    ),
    "private is off": (
        "Private accuracies are within .03",
        at(num_features=2, target_epsilon=0.5, calibration="published", mu=0.04),
        {"test_accuracy": 0.95},
    ),
    "local is better where p is small": (
        "local models by exact",
        at(algorithm="local", solver="newton", num_features=2),
        {"test_accuracy": 1.05},
    ),
    "local by descent is better": (
        "local models by short",
        at(algorithm="local", solver="descent", num_features=5),
        {"test_accuracy": 1.1},
    ),
    "noise of the right size drowns it": (
        "scaled to clipped gradients",
        lambda r: (r["algorithm"] == "private CD") & (r["clip_norm"] < INF) & (r["num_features"] == 100),
        {"test_accuracy": 0.9},
    ),
    "one release is too noisy": (
        "a single smoothed release",
        lambda r: (r["algorithm"] == "one release") & (r["budget"] > 1) & (r["num_features"] == 2),
        {"test_accuracy": 0.9},
    ),
    "those with most data lose": (
        "All agents gain",
        at(num_features=100, target_epsilon=0.1, calibration="published"),
        {"test_accuracy_m90": 0.8},
    ),
    "those with most data gain most": (
        "the least data gain more",
        at(num_features=100, target_epsilon=1.0, calibration="published"),
        {"test_accuracy_m90": 1.5},
    ),
    "perturbed is as good": (
        "Local models from perturbed inputs",
        at(algorithm="local DP", num_features=100, target_epsilon=0.1),
        {"test_accuracy": 1.5},
    ),
    "learning together helps at one p": (
        "Learning together from perturbed",
        at(algorithm="together", num_features=10, target_epsilon=1.0, mu=0.04),
        {"test_accuracy": 1.1},
    ),
    "learning together hurts at one epsilon": (
        "with mu tuned learning together",
        at(algorithm="together", target_epsilon=0.1, instances="test"),
        {"test_accuracy": 0.8},
    ),
    "RMSE is off": ("RMSE without privacy is within", at(algorithm="CD"), {"test_rmse": 1.02}),
    "much is lost": (
        "at most .003",
        at(algorithm="private CD", budget=1.0, instances="test"),
        {"test_rmse": 1.002},
    ),
    "more privacy, less error": (
        "RMSE grows",
        at(algorithm="private CD", budget=0.5, instances="test"),
        {"test_rmse": 1.2},
    ),
    "much is lost at any norm": (
        "no more than .003",
        at(algorithm="private CD", budget=1.0, instances="test"),
        {"test_rmse": 1.002},
    ),
    "local is as good": ("below that of local models", at(algorithm="local"), {"test_rmse": 0.75}),
    "local is as good at any norm": ("lower than that of local models", at(algorithm="local"), {"test_rmse": 0.75}),
    "users' means are as good": ("each user's mean", at(algorithm="local"), {"user_mean_rmse": 0.95}),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_claim_fails_where_the_runs_speak_against_it(name):
    words, where, values = FAILING[name]
    claim = claim_of(words)
    found = judge(claim, changed_runs(claim, where, **values))
    assert found.outcome == FAILS, found


def test_every_claim_can_fail():
    assert {claim_of(words).text for words, *_ in FAILING.values()} == {claim.text for claim in CLAIMS}


@pytest.mark.slow
def test_a_claim_never_stops_by_a_mistake():
    """Random parts of the runs, with random values lost."""
    rng = np.random.default_rng(5)
    metrics = ["objective", "test_accuracy", "test_rmse"]
    for sweep, whole in RUNS.items():
        parts = []
        for share in (0.02, 0.3, 0.7, 0.97):
            part = whole[rng.uniform(size=len(whole)) < share].copy()
            for metric in set(metrics) & set(part):
                part.loc[rng.uniform(size=len(part)) < 0.2, metric] = rng.choice([NAN, np.inf])
            parts.append(part)
        for claim in (claim for claim in CLAIMS if claim.sweep == sweep):
            for part in parts:
                judge(claim, part)
