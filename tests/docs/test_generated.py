"""README and docs say of the claims what the claims give, and the committed results give the committed verdicts."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from method_table import PART
from method_table import written_anew as written_anew_methods

from bench.data.tasks.registry import TASKS
from bench.errors import InputError
from bench.store import part_files
from figures import FIGURES, PAPERS
from figures.claims import judged
from figures.docs import accelerators_part, measured_part, outdated, runs_part, verdicts, written_anew
from figures.shared.runs import runs_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "results" / "sweeps" / "figures"


def test_the_pages_are_what_the_claims_give():
    assert sorted(outdated(ROOT, FOLDER)) == [], "run `python -m figures docs`"


def test_every_paper_has_its_part_of_a_page():
    for name in PAPERS:
        assert f"<!-- claims {name} -->" in (ROOT / "docs" / "papers" / f"{name}.md").read_text()
    assert "<!-- papers -->" in (ROOT / "README.md").read_text()
    assert "<!-- papers in full -->" in (ROOT / "docs" / "papers" / "index.md").read_text()


def test_the_gallery_has_every_figure_with_its_command():
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert set(re.findall(r"/(\w+)\.png\)", page)) == set(FIGURES)
    assert set(re.findall(r"^    python -m figures (\w+)$", page, re.MULTILINE)) == set(FIGURES)


def test_the_table_of_methods_is_that_of_the_registry(monkeypatch):
    monkeypatch.delitem(TASKS, "tiny", raising=False)  # of the tests of comparisons
    page = (ROOT / "docs" / "methods" / "index.md").read_text()
    assert PART.search(page)
    assert written_anew_methods(page) == page, "run `PYTHONPATH=tests/helpers:. python -m method_table`"


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_the_committed_results_give_the_committed_verdicts(name, tmp_path):
    found = {sweep: runs_of(ROOT / "results", "laptop", (sweep,)) for sweep in PAPERS[name].judged_by}
    tables = judged(name, {sweep: pair[0] for sweep, pair in found.items() if pair})
    for table, file in zip(tables, (f"claims_{name}.csv", f"claims_{name}_comparisons.csv"), strict=True):
        table.to_csv(tmp_path / file, index=False)
        assert (tmp_path / file).read_text() == (FOLDER / file).read_text()


@pytest.fixture
def folder(tmp_path):
    """A copy of the committed verdicts and numbers, beside the committed runs."""
    copy = tmp_path / FOLDER.parent.name / FOLDER.name
    copy.mkdir(parents=True)
    for path in FOLDER.parent.iterdir():
        if path != FOLDER:
            (copy.parent / path.name).symlink_to(path)
    for path in FOLDER.parents[1].iterdir():
        if path != FOLDER.parent:
            (tmp_path / path.name).symlink_to(path)
    for path in FOLDER.glob("*.csv"):
        shutil.copy(path, copy)
    return copy


@pytest.mark.slow
def test_a_verdict_that_changes_makes_the_pages_outdated(folder):
    path = folder / "claims_isrl.csv"
    table = pd.read_csv(path, keep_default_na=False)
    table.loc[0, "seen"] = "yes" if table.loc[0, "seen"] == "no" else "no"
    table.to_csv(path, index=False)
    assert {page.name for page in outdated(ROOT, folder)} == {"README.md", "index.md", "isrl.md"}


def test_verdicts_on_other_claims_are_refused(folder):
    path = folder / "claims_isrl.csv"
    pd.read_csv(path, keep_default_na=False).iloc[1:].to_csv(path, index=False)
    with pytest.raises(InputError, match="has other claims than figures/isrl"):
        verdicts(PAPERS["isrl"], folder)
    path.unlink()
    with pytest.raises(InputError, match="is missing"):
        verdicts(PAPERS["isrl"], folder)


def test_a_part_about_no_paper_is_refused():
    with pytest.raises(InputError, match="no paper is called nosuch"):
        written_anew("<!-- claims nosuch -->\n<!-- end -->\n", FOLDER)


def test_what_benchmarks_measured_is_a_table(tmp_path):
    folder = tmp_path / "sweeps" / "figures"
    folder.mkdir(parents=True)
    with pytest.raises(InputError, match=r"perf\.json has no times of commands: run `python -m bench perf commands"):
        measured_part(folder, "commands")
    about = {"date": "2026-01-02", "cores": 2, "jax": "0.10"}
    names = {"a | b": 1.234, "a | b: processor": 2.5, "resident memory": 3.0}
    lines = [{"what": what, "value": value, "unit": "s"} for what, value in names.items()]
    users = about | {
        "lines": [{"what": "x: memory", "value": 1, "unit": "GB"}, {"what": "y", "value": 7, "unit": "ms"}]
    }
    content = {"commands": about | {"lines": lines, "shares_of_limit": {}}}
    content["users"] = users | {"shares_of_limit": {"net": {"1 core": 0.71}}}
    (tmp_path / "perf.json").write_text(json.dumps(content))
    part = measured_part(folder, "commands")
    assert part.startswith("Measured on 2026-01-02, 2 cores, jax 0.10:\n\n| workload | s | processor, s |\n")
    assert part.count("\n|") == 3
    assert "| 1.23 | 2.5 |" in part
    assert "| x | 1 |  |\n| y |  | 7 |\n" in measured_part(folder, "users")
    several = measured_part(folder, "users commands")
    assert "| y | 7 ms |" in several
    assert "| net: share of the machine's limit | 71 % |" in several
    assert "memory" not in several


def test_runs_are_counted_by_paper():
    part = runs_part(FOLDER)
    totals = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", part, re.MULTILINE))
    assert {"ppsgd", "isrl", "p2p", "pfl"} <= set(totals)
    runs = [part_files.read(FOLDER.parent / sweep, only=("rounds", "num_rounds")) for sweep in PAPERS["pfl"].sweeps]
    assert int(totals["pfl"].replace(",", "")) == sum(
        int((rows["rounds"] == rows["num_rounds"]).sum()) for rows in runs
    )


def test_what_an_accelerator_reaches_is_what_was_measured(tmp_path):
    folder = tmp_path / "sweeps" / "figures"
    folder.mkdir(parents=True)
    with pytest.raises(InputError, match=r"has no perf-\*\.json: run `python -m bench perf accelerator` there"):
        accelerators_part(folder)
    line = {"what": "a | b", "value": 256_200_000.0, "unit": "updates/s", "ms": 0.39, "share_of_limit": 0.092}
    about = {"device": "Chip 1", "date": "2026-01-02", "jax": "0.10", "peak_gflops": 4e5}
    opacus = {"what": "Opacus", "value": 1234.0, "unit": "examples/s"}
    content = about | {"measured": [line | {"limit": "moving data"}, opacus], "left_out": {"c": "no memory"}}
    (tmp_path / "perf-chip-1.json").write_text(json.dumps(content))
    part = accelerators_part(folder)
    assert part.startswith(
        "One Chip 1, measured on 2026-01-02 with jax 0.10; a product of two float32 matrices reaches 400 TF"
    )
    assert "| 256,000,000 updates/s | 0.39 | 9.2 % of moving data |" in part
    assert "| Opacus | 1,230 examples/s |  |  |" in part
    assert part.endswith("\nLeft out: c: no memory\n")
