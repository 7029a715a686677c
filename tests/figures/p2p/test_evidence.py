"""The numbers behind the verdicts on Bellet et al., and which runs they are of."""

import numpy as np
import pytest
from made_up_p2p import MAKE
from made_up_runs import at, changed, judge

from figures.p2p import claims_convergence, claims_private
from figures.p2p.claims import CLAIMS
from figures.shared.verdicts import HOLDS

RUNS = {name: make() for name, make in MAKE.items()}
BY_NAME = {claim.check.__name__ + (" " + claim.text[:40]): claim for claim in CLAIMS}
NAN, INF = np.nan, np.inf


CONVERGENCE, PRIVATE, DIMENSIONS, MOVIELENS = ([claim for claim in CLAIMS if claim.sweep == sweep] for sweep in MAKE)


def claim_of(words: str):
    (found,) = [claim for claim in CLAIMS if words in claim.text]
    return found


def changed_runs(claim, where, **values):
    return changed(RUNS[claim.sweep], where, **values)


def test_evidence_has_the_numbers():
    found = judge(CLAIMS[0], RUNS["p2p_convergence"])
    assert "penalty 0.05: always ahead" in found.evidence
    assert "always ahead at penalties: 0.05, 0.1" in found.evidence
    found = judge(claim_of("Fig. 2a ends as published: objective"), RUNS["p2p_private"])
    assert "T/n = 8 2.366 and 2.366" in found.evidence
    assert "0.000 at T/n" in found.evidence
    runs = changed(RUNS["p2p_dimensions"], at(algorithm="local", solver="newton", num_features=2), test_accuracy=1.05)
    assert "not ahead at p = 2" in judge(claim_of("local models by exact"), runs).evidence


def test_leads_at_equal_numbers_of_vectors():
    """CD sends 15 vectors where ADMM sends 8: after 400 vectors it has had 400 / 15 iterations."""
    runs = RUNS["p2p_convergence"]
    iterations = claims_convergence._leads(_of(runs), "iterations", "objective")
    vectors = claims_convergence._leads(_of(runs), "vectors_sent", "objective")
    cd, admm = (runs[(runs["algorithm"] == name) & (runs["start"] == "local")] for name in ("CD", "ADMM"))
    first = cd[(cd["seed"] == 0) & (cd["rounds"] <= 1)].sort_values("rounds")["objective"].to_numpy()
    other = admm.loc[at(seed=0, rounds=1, penalty=0.05)(admm), "objective"].item()
    assert iterations.loc[50, (0, 0)] == pytest.approx(other - first[1])
    assert vectors.loc[400, (0, 0)] == pytest.approx(other - np.interp(400 / 15, [0, 50], first))


def _of(runs):
    return claims_convergence._of_start(runs, "exact minimisers")


def test_only_the_published_calibration_decides_the_private_figures():
    other = changed(RUNS["p2p_private"], at(calibration="clipped"), objective=9, test_accuracy=0.1)
    other = changed(other, lambda r: r["allocation"] != "equal", objective=9, test_accuracy=0.1)
    for claim in PRIVATE:
        assert judge(claim, other).outcome == HOLDS
    table, _ = claims_private._ends(other, "cold", "objective")
    assert list(table.index) == ["T/n = 1", "T/n = 2", "T/n = 4", "T/n = 8"]
