"""The numbers behind the verdicts on Bellet et al., and which runs they are of."""

import numpy as np
import pytest
from made_up_p2p import MAKE, claim_of
from made_up_runs import at, changed, judge

from figures.p2p import fig1
from figures.p2p.claims import CLAIMS
from figures.p2p.published import published
from figures.shared.verdicts import YES, NotTestable

RUNS = {name: make() for name, make in MAKE.items()}
NAN = np.nan


PRIVATE = [claim for claim in CLAIMS if claim.sweep == "p2p_private"]


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


def edges_of(claim, runs):
    """The edges that a claim rests on, without what they are of."""
    return {edge.split(": ")[-1] for edge in judge(claim, runs).margin.edges}


def test_a_claim_says_the_edges_of_grids_that_it_rests_on():
    order, runs = claim_of("> 0.55 >"), RUNS["p2p_dimensions"]
    both = {"mu = 0.04, the largest tried", "num_updates = 8, the largest tried"}  # and 1 update, which is no edge
    assert edges_of(order, runs) == both
    assert edges_of(order, runs[(runs["mu"] == 0.04)]) == {"num_updates = 8, the largest tried"}
    assert edges_of(claim_of("without privacy is within 0.015"), runs) == {"mu = 0.04, the largest tried"}
    assert edges_of(claim_of("the least data gain more"), runs) == both
    assert edges_of(claim_of("Exact local models from perturbed"), runs) == set()
    assert all(edges_of(claim, RUNS["p2p_private"]) == set() for claim in PRIVATE)
    once = edges_of(claim_of("a single smoothed release"), runs)
    assert once == {"clip_norm = 1, the smallest tried", "mu = 0.04, the largest tried"}


def test_only_the_published_calibration_decides_the_private_figures():
    other = changed(RUNS["p2p_private"], at(calibration="clipped"), objective=9, test_accuracy=0.1)
    other = changed(other, lambda r: r["allocation"] != "equal", objective=9, test_accuracy=0.1)
    for claim in (claim for claim in PRIVATE if "the split of Proposition 2" not in claim.text):
        assert judge(claim, other).seen == YES
