"""`python -m figures` on results of Bellet et al. that are partial, or missing."""

import pandas as pd
import pytest
from made_up_p2p import MAKE
from made_up_runs import digit_runs, write

from figures import FIGURES, PAPERS

NAMES = [name for name in FIGURES if name.startswith("p2p")]
RUNS = {name: make() for name, make in MAKE.items()}


def runs_of(name: str) -> pd.DataFrame:
    return RUNS[FIGURES[name].sweeps[0]]


# The command line.


@pytest.fixture
def figures(command, tmp_path):
    """Runs a command line on made-up results: status, lines of output, lines of error."""
    return lambda *words: command("--results", tmp_path / "results", *words)


@pytest.mark.slow
def test_a_figure_that_partial_results_cannot_make_is_left_out_and_says_the_command(figures, tmp_path, monkeypatch):
    monkeypatch.setattr("figures.FIGURES", {name: FIGURES[name] for name in ("p2p_fig4", "p2p_table1")})
    dimensions, movielens = RUNS["p2p_dimensions"], RUNS["p2p_movielens"]
    local = movielens[movielens["algorithm"] == "local"].dropna(axis="columns", how="all")
    for part in (dimensions, local):
        write(part, tmp_path / "results", "laptop")
    status, out, err = figures()
    assert (status, len(out)) == (0, 1)
    assert out[0].endswith("p2p_fig4.png")
    said = "no run of p2p_movielens with algorithm = CD: run the whole sweep, without --where (`python -m bench run "
    (line,) = err
    assert line.startswith(f"p2p_table1 is left out: {said}")
    assert line.endswith(f"p2p_movielens --scale laptop --out {tmp_path / 'results'}`)")
    status, out, err = figures("p2p_fig4", "p2p_table1", "--scale", "laptop")
    assert (status, len(out)) == (2, 1)
    assert err == [line.replace("p2p_table1 is left out", "error")]
    status, out, err = figures("claims", "p2p")
    assert (status, err) == (0, [])
    assert any(words.startswith("- p2p_table1 is left out: no run of p2p_movielens") for words in out)


def test_a_paper_without_results_does_not_keep_the_claims_of_others_back(figures, tmp_path):
    write(digit_runs(), tmp_path / "results")
    status, out, err = figures("claims")
    assert status == 0
    on_it = [claim for claim in PAPERS["ppsgd"].claims if claim.sweep == "ppsgd_synthetic"]
    assert sum("no results of ppsgd_synthetic" in line for line in out) == len(on_it) > 5
    assert any(line.startswith("the claims of p2p are left out: no results of p2p_convergence") for line in err)
    assert all(" are left out: no results of " in line for line in err)
    status, out, err = figures("claims", "p2p")
    assert (status, out) == (2, [])
    assert "python -m bench run p2p_convergence" in err[0]
