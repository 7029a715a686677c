"""What the README shows works."""

from pathlib import Path

import pytest

from bench.sweeps import store

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.usefixtures("quick_compilation")
def test_the_new_method_of_the_readme_runs_beside_ppsgd(tmp_path, monkeypatch):
    """And both see the same users, examples and noise: without momentum and local models they are the same."""
    code = README.read_text().split("```python\n")[1].split("```")[0]
    code = code.replace("momentum=0.5", "momentum=0.0").replace("personalization=1.0", "personalization=float('inf')")
    code = code.replace("num_rounds=100", "num_rounds=20").replace("seeds=3", "seeds=1")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    rows = store.read(tmp_path / "my_results" / "laptop" / "mine")
    risk = rows.pivot(index=["step_size", "rounds"], columns="algorithm", values="excess_risk")
    assert len(risk) == 2 * 3
    assert risk["momentum"].to_numpy() == pytest.approx(risk["PPSGD"].to_numpy(), rel=1e-5)
    assert risk["PPSGD"].nunique() > 4
    spent = rows.groupby(["algorithm", "rounds"])["epsilon"].first().unstack("algorithm")
    assert (spent["momentum"] == spent["PPSGD"]).all()
