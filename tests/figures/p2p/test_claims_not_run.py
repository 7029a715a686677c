"""Claims of Bellet et al. whose runs are missing, or were not tuned, are not run, and say what is missing."""

import pytest
from made_up_p2p import MAKE, claim_of
from made_up_runs import judge

from figures.p2p.claims import CLAIMS
from figures.shared.verdicts import NOT_RUN

RUNS = {name: make() for name, make in MAKE.items()}


CONVERGENCE, PRIVATE, DIMENSIONS, PERTURBED, INPUTS, AGENTS, MOVIELENS = (
    [claim for claim in CLAIMS if claim.sweep == sweep] for sweep in MAKE
)
AS_PUBLISHED = claim_of("CD ends as published")
AGAINST = [claim for claim in CONVERGENCE if claim is not AS_PUBLISHED]
AT_BEST = [claim for claim in AGAINST if "best penalty" in claim.text]
SPLIT = claim_of("the split of Proposition 2")
OPEN = {
    "scale smoke": (CLAIMS, lambda r: r.assign(scale="smoke"), "cannot decide claims"),
    "no results": (CLAIMS, lambda r: None, "no results of p2p_"),
    "no ADMM": (AGAINST, lambda r: r[r["algorithm"] == "CD"], "no run of ADMM from"),
    "no last ADMM": (AT_BEST, lambda r: r[(r["rounds"] < 30) | (r["algorithm"] == "CD")], "no run of ADMM"),
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
            claim_of("without privacy is within .015"),
            claim_of("local models by exact"),
            claim_of("Local models from perturbed"),
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
            claim_of("local models by exact"),
            claim_of("All agents"),
            claim_of("Local models from perturbed"),
            claim_of("below that of lo"),
        ],
        lambda r: r[r["algorithm"] != "local"],
        "local",
    ),
    "no Gaussian noise": (
        [claim_of("scaled to clipped"), claim_of("a single smoothed release")],
        lambda r: r[r["calibration"] != "gaussian"],
        "no runs with gaussian noise",
    ),
    "before there was one release": (
        [claim_of("a single smoothed release")],
        lambda r: r[r["algorithm"] != "one release"],
        "no runs with clipped noise, one release",
    ),
    "no repetition of both": (
        [claim_of("at most .003")],
        lambda r: r[(r["algorithm"] != "CD") | (r["instances"] != "test") | (r["seed"] == 0)].assign(
            seed=lambda r: r["seed"] + 9 * (r["algorithm"] == "CD")
        ),
        "no repetition has both sides of the comparison",
    ),
    "nobody alone": (PERTURBED, lambda r: r[r["algorithm"] != "alone"], "algorithm = alone"),
    "another mu": (PERTURBED, lambda r: r[(r["mu"] != 0.04) | (r["algorithm"] == "alone")], "mu = 0.04"),
    "one budget": (MOVIELENS, lambda r: r[r["budget"].isin([1.0]) | r["budget"].isna()], "budget = 0.5, 0.1"),
    "no C = 10": (
        [claim for claim in MOVIELENS if "tuned clipping" not in claim.text],
        lambda r: r[r["clip_norm"] != 10],
        "clip_norm = 10",
    ),
    "a diverged row": (
        MOVIELENS,
        lambda r: r.assign(test_rmse=r["test_rmse"].where(r["algorithm"] != "CD")),
        "non-private diverged",
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_a_claim_whose_runs_are_missing_is_not_run(name):
    chosen, change, said = OPEN[name]
    assert chosen
    runs = {sweep: change(RUNS[sweep]) for sweep in dict.fromkeys(claim.sweep for claim in chosen)}
    for claim in chosen:
        found = judge(claim, runs[claim.sweep])
        assert found.outcome == NOT_RUN, (claim.text, found)
        assert said in found.evidence, (claim.text, found)
