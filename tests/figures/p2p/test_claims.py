"""Every claim of Bellet et al. on made-up runs of which it holds, of which it fails, and which cannot decide it."""

from functools import partial

import numpy as np
from made_up_p2p import MAKE, claim_of
from made_up_runs import at, changed
from worlds import holds, judged, not_run, open_with_one

from figures.p2p.claims import CLAIMS
from figures.shared.verdicts import NO, OPEN

RUNS = {name: make() for name, make in MAKE.items()}
NAN, INF = np.nan, np.inf


def runs_of(claim):
    return RUNS[claim.sweep]


def worlds(cases):
    """Name -> the claim with these words, and what changes the runs of which it holds."""
    claims = {name: claim_of(words) for name, (words, _, _) in cases.items()}
    return {
        name: (claims[name], partial(changed, runs_of(claims[name]), where, **values))
        for name, (_, where, values) in cases.items()
    }


test_a_claim_holds_where_the_runs_bear_it_out = holds(CLAIMS, runs_of)

BELOW_LOCAL, BELOW_LOCAL_AT_BEST = (f"at every epsilon, with Laplace noise at the {norm}" for norm in ("paper", "best"))
FAILING = {
    "another penalty is the best": ("ADMM at its best penalty", at(algorithm="ADMM", penalty=0.1), {"objective": 0.1}),
    "CD stops early": (
        "short descent ends as published",
        at(algorithm="CD", rounds=30, start="descent"),
        {"objective": lambda r: r["objective"] + 0.06},
    ),
    "too much noise cold": (
        "Figure 2a ends as published: objective",
        at(start="constant", max_updates=4, rounds=20, calibration="published"),
        {"objective": 1.15},
    ),
    "diverged": (
        "Figure 2a ends as published: accuracy",
        at(start="constant", max_updates=8, seed=0),
        {"test_accuracy": lambda r: NAN},
    ),
    "too little noise": (
        "Figure 2b ends as published: objective",
        at(start="propagation", max_updates=1, allocation="equal"),
        {"objective": 0.85},
    ),
    "too accurate": (
        "Figure 2b ends as published: accuracy",
        at(start="propagation", max_updates=1, allocation="equal"),
        {"test_accuracy": 1.06},
    ),
    "twice the budget is noisier": (
        "Twice the budget",
        at(start="propagation", max_updates=8, target_epsilon=1.0),
        {"objective": 1.2},
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
        "what is left of the gap",
        at(num_agents=400, rounds=8),
        {"objective": 1.5},
    ),
    "noise for smaller gradients at one p": (
        "For some range of the inputs",
        lambda r: (r["num_features"] == 10) & (r["input_range"] < 1),
        {"epsilon_true": 3.0},
    ),
    "the fewest are worst": ("highest at the largest", at(max_updates=1, start="propagation"), {"objective": 9}),
    "two budgets in the wrong order": (
        "> epsilon 1.05 > 0.55 >",
        at(num_features=10, target_epsilon=0.1, calibration="published"),
        {"test_accuracy": 1.2},
    ),
    "non-private is off": (
        "without privacy is within 0.015",
        at(algorithm="CD", num_features=75),
        {"test_accuracy": 0.97},
    ),
    "private is off": (
        "Private accuracies are within 0.03",
        at(num_features=2, target_epsilon=0.5, calibration="published", mu=0.04),
        {"test_accuracy": 0.95},
    ),
    "local is better by either solver": (
        "Epsilon 0.15 beats",
        at(algorithm="local", num_features=2),
        {"test_accuracy": 1.1},
    ),
    "noise of the right size drowns it": (
        "Gaussian, epsilon 0.15",
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
        "Exact local models from perturbed",
        at(algorithm="local DP", num_features=100, target_epsilon=0.1),
        {"test_accuracy": 1.5},
    ),
    "learning together helps at one p": (
        "Coordinate descent on perturbed",
        at(algorithm="together", num_features=10, target_epsilon=1.0, mu=0.04),
        {"test_accuracy": 1.1},
    ),
    "RMSE is off": ("RMSE without privacy, mean", at(algorithm="CD"), {"test_rmse": 1.02}),
    "much is lost": (
        "RMSE at epsilon 1 is at most 0.003 (ours)",
        at(algorithm="private CD", budget=1.0, instances="test"),
        {"test_rmse": 1.002},
    ),
    "more privacy, less error": (
        "RMSE grows",
        at(algorithm="private CD", budget=0.5, instances="test"),
        {"test_rmse": 1.2},
    ),
    "much is lost at any norm": (
        "RMSE at epsilon 1 is at most 0.003 above",
        at(algorithm="private CD", budget=1.0, instances="test"),
        {"test_rmse": 1.002},
    ),
    "local is as good": (BELOW_LOCAL, at(algorithm="local"), {"test_rmse": 0.75}),
    "local is as good at any norm": (BELOW_LOCAL_AT_BEST, at(algorithm="local"), {"test_rmse": 0.75}),
}


test_a_claim_fails_where_the_runs_speak_against_it = judged(NO, worlds(FAILING))


def test_every_claim_can_fail():
    assert {claim_of(words).text for words, *_ in FAILING.values()} == {claim.text for claim in CLAIMS}


def scattered(column: str, size: float) -> dict:
    """The column with repetitions that lie this far apart."""
    return {column: lambda r: r[column] + size * (r["seed"] - 1)}


UNDECIDED_BY = {
    "T/n just beyond the tolerance in one instance": (
        "Figure 2b ends as published: objective",
        at(start="propagation", max_updates=1, seed=0),
        {"objective": 1.2},
    ),
    "as published at a range on average": (
        "For some range of the inputs",
        lambda r: (r["num_features"] == 10) & (r["input_range"] < 1) & (r["instances"] == "test"),
        scattered("test_accuracy", 0.1),
    ),
    "the order is right on average": (
        "> epsilon 1.05 > 0.55 >",
        at(num_features=10, target_epsilon=0.1, instances="test"),
        scattered("test_accuracy", 0.1),
    ),
    "local is better by one solver": (
        "Epsilon 0.15 beats",
        at(algorithm="local", solver="descent", num_features=5),
        {"test_accuracy": 1.1},
    ),
}


test_a_claim_is_undecided_where_repetitions_disagree = judged(OPEN, worlds(UNDECIDED_BY))
test_one_repetition_decides_nothing_that_has_chance_in_it = open_with_one(CLAIMS, runs_of)

MOVIELENS = [claim for claim in CLAIMS if claim.sweep == "p2p_movielens"]
MISSING = {
    "composed by other sums": (
        [claim_of("the split of Proposition 2")],
        lambda r: r.assign(noise_multiplier=r["noise_multiplier"] + 2 * (r["allocation"] == "equal")),
        "no T/n at which both splits are composed alike",
    ),
    "nothing to tune on": (MOVIELENS, lambda r: r[r["instances"] == "test"], "instances = validation"),
    "no repetition of both": (
        [claim_of("RMSE at epsilon 1 is at most 0.003 (ours)")],
        lambda r: r[(r["algorithm"] != "CD") | (r["instances"] != "test") | (r["seed"] == 0)].assign(
            seed=lambda r: r["seed"] + 9 * (r["algorithm"] == "CD")
        ),
        "no repetition has both sides",
    ),
    "a diverged row": (
        MOVIELENS,
        lambda r: r.assign(test_rmse=r["test_rmse"].where(r["algorithm"] != "CD")),
        "non-private diverged",
    ),
}
test_a_claim_whose_runs_are_missing_is_not_run = not_run(MISSING, runs_of)
