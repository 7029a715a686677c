"""The numbers behind the verdicts on Bellet et al., and which runs they are of."""

import numpy as np
import pandas as pd
import pytest
from made_up_p2p import MAKE, claim_of
from made_up_runs import at, changed, judge

from figures.p2p import claims_convergence, claims_private, fig1, pairs
from figures.p2p.claims import CLAIMS
from figures.p2p.published import published
from figures.shared.verdicts import FAILS, HOLDS, NotTestable

RUNS = {name: make() for name, make in MAKE.items()}
NAN, INF = np.nan, np.inf


PRIVATE = [claim for claim in CLAIMS if claim.sweep == "p2p_private"]


def changed_runs(claim, where, **values):
    return changed(RUNS[claim.sweep], where, **values)


def test_evidence_has_the_numbers():
    found = judge(claim_of("CD is ahead of ADMM in objective at every point against it"), RUNS["p2p_convergence"])
    assert "penalty 0.1: always ahead" in found.evidence
    assert "always ahead at penalties: 0.05, 0.1" in found.evidence
    found = judge(claim_of("Fig. 2a ends as published: objective"), RUNS["p2p_private"])
    assert "T/n = 8 2.366 and 2.366" in found.evidence
    assert "0.000 at T/n" in found.evidence
    runs = changed(RUNS["p2p_dimensions"], at(algorithm="local", solver="newton", num_features=2), test_accuracy=1.05)
    assert "not ahead at p = 2" in judge(claim_of("local models by exact"), runs).evidence


def test_leads_at_equal_numbers_of_vectors():
    """CD sends 15 vectors where ADMM sends 8: after 400 vectors it has had 400 / 15 iterations."""
    runs = RUNS["p2p_convergence"]
    pair = claims_convergence._of_start(runs, "exact minimisers", best=True)
    iterations, vectors = (
        pairs.leads(*claims_convergence._after_start(pair, x, "objective"), x, "objective")
        for x in ("iterations", "vectors_sent")
    )
    cd, admm = (runs[(runs["algorithm"] == name) & (runs["start"] == "local")] for name in ("CD", "ADMM"))
    first = cd[(cd["seed"] == 0) & (cd["rounds"] <= 1)].sort_values("rounds")["objective"].to_numpy()
    other = admm.loc[at(seed=0, rounds=1, penalty=0.05)(admm), "objective"].item()
    assert iterations.loc[50, (0, 0)] == pytest.approx(other - first[1])
    assert vectors.loc[400, (0, 0)] == pytest.approx(other - np.interp(400 / 15, [0, 50], first))


def like_published(r):
    """Objective of ADMM as its published curve has it."""
    line = published("p2p_fig1").query("series == 'ADMM' and x_name == 'iterations' and y_name == 'objective'")
    return np.interp(50 * r["rounds"], line["x"], line["y"])


@pytest.mark.parametrize("penalty", [0.05, 0.1])
def test_the_penalty_that_fits_is_the_one_closest_to_the_published_curves(penalty):
    where = at(algorithm="ADMM", start="descent", penalty=penalty)
    runs = changed(RUNS["p2p_convergence"], where, objective=like_published)
    assert fig1.fitting_penalty(runs) == penalty
    elsewhere = at(algorithm="ADMM", start="local")  # where the published curves do not start
    assert fig1.fitting_penalty(changed(runs, elsewhere, objective=3.0)) == penalty
    lost = changed(runs, lambda r: where(r) & (r["seed"] == 2) & (r["rounds"] == 3), objective=lambda r: NAN)
    assert fig1.fitting_penalty(lost) != penalty
    diverged = changed(RUNS["p2p_convergence"], at(algorithm="ADMM"), objective=lambda r: NAN, test_accuracy=np.inf)
    with pytest.raises(NotTestable, match="has any of the published points"):
        fig1.fitting_penalty(diverged)


def test_a_claim_of_the_paper_has_the_fitting_penalty_and_one_of_ours_the_best():
    where = at(algorithm="ADMM", start="descent", penalty=0.1)
    runs = changed(RUNS["p2p_convergence"], where, objective=like_published)
    runs = changed(runs, at(algorithm="ADMM", penalty=0.05, rounds=1), objective=0.1)
    runs = changed(runs, at(algorithm="ADMM", penalty=0.05, rounds=30), objective=0.8)  # the best, and above CD
    theirs, ours = (
        claim_of("CD is ahead of ADMM in objective at every point against it"),
        claim_of("ADMM is behind CD in objective at every point against it"),
    )
    assert (theirs.ours, ours.ours) == (False, True)
    assert fig1.fitting_penalty(runs) == 0.1
    found = judge(theirs, runs)
    assert (found.outcome, found.margin.edges) == (HOLDS, ("penalty = 0.1, the largest tried",))
    found = judge(ours, runs)
    assert (found.outcome, found.margin.edges) == (FAILS, ("penalty = 0.05, the smallest tried",))


def test_a_claim_says_the_edges_of_grids_that_it_rests_on():
    order, runs = claim_of("> 0.55 >"), RUNS["p2p_dimensions"]
    both = ("mu = 0.04, the largest tried", "num_updates = 8, the largest tried")  # and 1 update, which is no edge
    assert judge(order, runs).margin.edges == both
    assert judge(order, runs[(runs["mu"] == 0.04)]).margin.edges == both[1:]
    assert judge(claim_of("local models by exact"), runs).margin.edges == both[:1]
    assert judge(claim_of("without privacy is within .015"), runs).margin.edges == both[:1]
    assert judge(claim_of("the least data gain more"), runs).margin.edges == both
    assert judge(claim_of("Local models from perturbed"), runs).margin.edges == ()
    assert {judge(claim, RUNS["p2p_private"]).margin.edges for claim in PRIVATE} == {()}
    once = judge(claim_of("a single smoothed release"), runs)
    assert once.margin.edges == ("clip_norm = 1, the smallest tried", "mu = 0.04, the largest tried")


def test_edges_of_the_ratings_are_those_of_runs_with_the_same_start():
    runs = RUNS["p2p_movielens"]
    assert judge(claim_of("RMSE grows"), runs).margin.edges == ()
    far = changed(runs, at(algorithm="private CD", start="propagation", num_updates=8.0), test_rmse=0.9)
    warm = far["start"] == "propagation"
    steps = [far.assign(start_step_size=far["start_step_size"].where(~warm, step)) for step in (0.3, 1.0)]
    steps[0].loc[warm, "test_rmse"] += 0.1
    shares = pd.concat([steps[1], steps[0][warm]], ignore_index=True)
    found = judge(claim_of("RMSE grows"), shares)
    assert found.margin.edges == ("num_updates = 8, the largest tried", "start_step_size = 1, the largest tried")


def test_only_the_published_calibration_decides_the_private_figures():
    other = changed(RUNS["p2p_private"], at(calibration="clipped"), objective=9, test_accuracy=0.1)
    other = changed(other, lambda r: r["allocation"] != "equal", objective=9, test_accuracy=0.1)
    for claim in (claim for claim in PRIVATE if "the split of Proposition 2" not in claim.text):
        assert judge(claim, other).outcome == HOLDS
    rows = claims_private._ends(other, "cold")
    assert sorted(rows["max_updates"].unique()) == [1, 2, 4, 8]
    assert len(rows) == 4 * 3


def test_a_claim_on_a_tuned_mu_says_that_it_is_the_smallest_tried():
    words, runs = "with mu tuned learning together", RUNS["p2p_perturbed"]
    assert judge(claim_of(words), runs).margin.edges == ()
    larger = runs[(runs["algorithm"] == "alone") | (runs["mu"] >= 0.01)]
    assert judge(claim_of(words), larger).margin.edges == ("mu = 0.01, the smallest tried",)
