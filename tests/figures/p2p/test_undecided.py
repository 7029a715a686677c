"""Claims of Bellet et al. on made-up runs whose repetitions disagree, or of which there is one."""

import numpy as np
import pytest
from made_up_p2p import MAKE
from made_up_runs import at, changed, first_repetition, judge, undecidable

from figures.p2p.claims import CLAIMS
from figures.shared.verdicts import OPEN

RUNS = {name: make() for name, make in MAKE.items()}


def scattered(column: str, size: float) -> dict:
    """The column with repetitions that lie this far apart."""
    return {column: lambda r: r[column] + size * (r["seed"] - 1)}


UNDECIDED_BY = {
    "ends scatter against the best": (
        "ADMM at its best penalty",
        at(algorithm="CD", rounds=30),
        scattered("test_accuracy", 0.1),
    ),
    "CD ends as published on average": (
        "short descent ends as published",
        at(algorithm="CD", start="descent", rounds=30),
        scattered("objective", 0.1),
    ),
    "one T/n as published on average": (
        "Figure 2a ends as published: accuracy",
        at(start="constant", max_updates=4),
        scattered("test_accuracy", 0.03),
    ),
    "T/n just beyond the tolerance in one instance": (
        "Figure 2b ends as published: objective",
        at(start="propagation", max_updates=1, seed=0),
        {"objective": 1.2},
    ),
    "warm is lower on average": (
        "ends with a lower objective than the cold",
        at(start="propagation", max_updates=2),
        scattered("objective", 1),
    ),
    "no iteration is higher on average": (
        "than no iteration",
        at(start="constant", rounds=0),
        scattered("objective", 3),
    ),
    "the uneven split is lower on average": (
        "the split of Proposition 2",
        at(allocation="published", max_updates=4),
        scattered("objective", 1),
    ),
    "the rest is small on average": (
        "what is left of the gap",
        lambda r: (r["num_agents"] == 400) & (r["rounds"] == 8) & (r["seed"] == 1),
        {"objective": 1.5},
    ),
    "as published at a range on average": (
        "For some range of the inputs",
        lambda r: (r["num_features"] == 10) & (r["input_range"] < 1) & (r["instances"] == "test"),
        scattered("test_accuracy", 0.1),
    ),
    "the most are worst on average": ("highest at the largest", at(max_updates=8), scattered("objective", 3)),
    "the order is right on average": (
        "> epsilon 1.05 > 0.55 >",
        at(num_features=10, target_epsilon=0.1, instances="test"),
        scattered("test_accuracy", 0.1),
    ),
    "non-private as published on average": (
        "without privacy is within 0.015",
        at(algorithm="CD", num_features=75, instances="test"),
        scattered("test_accuracy", 0.02),
    ),
    "local is worse on average": (
        "Epsilon 0.15 beats",
        at(algorithm="local", solver="newton", num_features=2),
        scattered("test_accuracy", 0.1),
    ),
    "local is better by one solver": (
        "Epsilon 0.15 beats",
        at(algorithm="local", solver="descent", num_features=5),
        {"test_accuracy": 1.1},
    ),
    "noise of the right size may do": (
        "Gaussian, epsilon 0.15",
        lambda r: (r["algorithm"] == "private CD") & (r["clip_norm"] < np.inf) & (r["instances"] == "test"),
        scattered("test_accuracy", 0.2),
    ),
    "those with most data gain on average": (
        "All agents gain",
        at(num_features=100, target_epsilon=0.1, instances="test"),
        scattered("test_accuracy_m90", 0.2),
    ),
    "the least data gain more on average": (
        "the least data gain more",
        at(num_features=100, target_epsilon=1.0, instances="test"),
        scattered("test_accuracy_m10", 0.2),
    ),
    "perturbed is worse on average": (
        "Exact local models from perturbed",
        at(algorithm="local DP", num_features=100, target_epsilon=0.1),
        scattered("test_accuracy", 0.4),
    ),
    "RMSE as published on average": (
        "RMSE without privacy, mean",
        at(algorithm="CD", instances="test"),
        scattered("test_rmse", 0.01),
    ),
    "little is lost on average": (
        "RMSE at epsilon 1 is at most 0.003 (ours)",
        at(algorithm="private CD", budget=1.0, instances="test"),
        scattered("test_rmse", 0.01),
    ),
    "little is lost at any norm on average": (
        "RMSE at epsilon 1 is at most 0.003 above",
        at(algorithm="private CD", budget=1.0, instances="test"),
        scattered("test_rmse", 0.01),
    ),
    "RMSE grows on average": (
        "RMSE grows",
        at(algorithm="private CD", budget=0.5, instances="test"),
        scattered("test_rmse", 0.01),
    ),
}


@pytest.mark.parametrize("name", UNDECIDED_BY)
def test_a_claim_is_undecided_where_repetitions_disagree(name):
    words, where, values = UNDECIDED_BY[name]
    claim = next(claim for claim in CLAIMS if words in claim.text)
    found = judge(claim, changed(RUNS[claim.sweep], where, **values))
    assert found.seen == OPEN, found


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_one_repetition_decides_nothing_that_has_chance_in_it(claim):
    found = judge(claim, first_repetition(RUNS[claim.sweep]))
    assert undecidable(found), found
