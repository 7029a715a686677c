"""Claims of Bellet et al. whose runs are missing, or were not tuned, are not run, and say what is missing."""

import pytest
from made_up_p2p import MAKE, claim_of
from made_up_runs import NOT_RUN, judge

from figures.p2p.claims import CLAIMS

RUNS = {name: make() for name, make in MAKE.items()}


CONVERGENCE, PRIVATE, DIMENSIONS, PERTURBED, INPUTS, AGENTS, MOVIELENS = (
    [claim for claim in CLAIMS if claim.sweep == sweep] for sweep in MAKE
)
AS_PUBLISHED = claim_of("short descent ends as published")
AGAINST = [claim for claim in CONVERGENCE if claim is not AS_PUBLISHED]
SPLIT = claim_of("the split of Proposition 2")
MISSING = {
    "scale smoke": (CLAIMS, lambda r: r.assign(scale="smoke"), "cannot decide claims"),
    "no results": (CLAIMS, lambda r: None, "no results of p2p_"),
    "no ADMM": (AGAINST, lambda r: r[r["algorithm"] == "CD"], "no run of ADMM from"),
    "one start": (AGAINST, lambda r: r[r["start"] == "descent"], "from exact minimisers"),
    "CD ends early": ([AS_PUBLISHED], lambda r: r[r["rounds"] < 20], "no runs with iterations = 1500"),
    "no uneven split": ([SPLIT], lambda r: r[r["allocation"] == "equal"], "both splits are needed"),
    "composed by other sums": (
        [SPLIT],
        lambda r: r.assign(noise_multiplier=r["noise_multiplier"] + 2 * (r["allocation"] == "equal")),
        "no T/n at which both splits are composed alike",
    ),
    "nothing tried at a range": (INPUTS, lambda r: r[r["algorithm"] == "CD"], "algorithm = private CD"),
    "another p": (INPUTS, lambda r: r.assign(num_features=r["num_features"] + 1), "no runs with p = 3"),
    "one number of agents": (AGENTS, lambda r: r[r["num_agents"] == 25], "several numbers of agents"),
    "one T/n is missing": (
        [claim for claim in PRIVATE if claim is not SPLIT],
        lambda r: r[r["max_updates"] < 8],
        "no runs with T/n = 8",
    ),
    "no cold start": (
        [claim for claim in PRIVATE if "From either start" in claim.text or "than the cold start" in claim.text],
        lambda r: r[r["start"] != "constant"],
        "start = constant",
    ),
    "not as published": (
        [claim for claim in PRIVATE if claim is not SPLIT],
        lambda r: r[r["calibration"] == "clipped"],
        "no runs with T/n",
    ),
    "one p is missing": (
        [
            claim_of("> 0.55 >"),
            claim_of("without privacy is within 0.015"),
            claim_of("Epsilon 0.15 beats"),
            claim_of("Exact local models from perturbed"),
        ],
        lambda r: r[r["num_features"] != 50],
        "no runs with num_features = 50",
    ),
    "nothing to tune on": (
        [claim for claim in DIMENSIONS if "perturbed" not in claim.text] + PERTURBED + INPUTS + MOVIELENS,
        lambda r: r[r["instances"] == "test"],
        "instances = validation",
    ),
    "not p = 100": ([claim_of("All agents"), claim_of("least data")], lambda r: r[r["num_features"] < 100], "as many"),
    "no local models": (
        [
            claim_of("Epsilon 0.15 beats"),
            claim_of("All agents"),
            claim_of("Exact local models from perturbed"),
            *(claim for claim in MOVIELENS if "below that of exact local" in claim.text),
        ],
        lambda r: r[r["algorithm"] != "local"],
        "local|exact minimisers",
    ),
    "no Gaussian noise": (
        [claim_of("Gaussian, epsilon 0.15"), claim_of("a single smoothed release")],
        lambda r: r[r["calibration"] != "gaussian"],
        "gaussian",
    ),
    "before there was one release": (
        [claim_of("a single smoothed release")],
        lambda r: r[r["algorithm"] != "one release"],
        "clipped",
    ),
    "no repetition of both": (
        [claim_of("RMSE at epsilon 1 is at most 0.003 (ours)")],
        lambda r: r[(r["algorithm"] != "CD") | (r["instances"] != "test") | (r["seed"] == 0)].assign(
            seed=lambda r: r["seed"] + 9 * (r["algorithm"] == "CD")
        ),
        "no repetition has both sides",
    ),
    "nobody alone": (PERTURBED, lambda r: r[r["algorithm"] != "alone"], "algorithm = alone"),
    "another mu": (PERTURBED, lambda r: r[(r["mu"] != 0.04) | (r["algorithm"] == "alone")], "mu = 0.04"),
    "one budget": (MOVIELENS, lambda r: r[r["budget"].isin([1.0]) | r["budget"].isna()], "budget = 0.5, 0.1"),
    "no C = 10": (
        [claim for claim in MOVIELENS if "best clipping" not in claim.text],
        lambda r: r[r["clip_norm"] != 10],
        "clip_norm = 10",
    ),
    "a diverged row": (
        MOVIELENS,
        lambda r: r.assign(test_rmse=r["test_rmse"].where(r["algorithm"] != "CD")),
        "non-private diverged",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_claim_whose_runs_are_missing_is_not_run(name):
    chosen, change, said = MISSING[name]
    assert chosen
    runs = {sweep: change(RUNS[sweep]) for sweep in dict.fromkeys(claim.sweep for claim in chosen)}
    for claim in chosen:
        found = judge(claim, runs[claim.sweep])
        assert found.seen == NOT_RUN, (claim.text, found)
        assert any(words in found.why for words in said.split("|")), (claim.text, found)
