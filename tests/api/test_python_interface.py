"""What a notebook sees: names to complete, short errors, parts of a table, an audit as text."""

import pandas as pd
import pytest

import bench
from bench.algorithms import ALGORITHMS
from bench.audit.findings import Bound, Finding
from bench.audit.report import Audit, TaskAudit
from bench.audit.subject import Subject
from bench.errors import InputError
from bench.privacy.events import full_gaussian
from bench.store import part_files


def test_the_public_names_are_offered_and_nothing_else():
    assert dir(bench) == sorted(bench.__all__)
    assert {"run", "load", "compare", "Method", "predict"} <= {*dir(bench)}


def test_a_notebook_shows_an_input_error_in_one_line_unless_asked(monkeypatch):
    monkeypatch.delenv("BENCH_TRACEBACK", raising=False)
    with pytest.raises(InputError) as raised:
        bench.run("ppsgd_synthetic", seeds=0)
    shown = raised.value._render_traceback_
    assert shown() == ["InputError: seeds is 0: it must be a whole number from 1 to 10,000"]
    monkeypatch.setenv("BENCH_TRACEBACK", "1")
    assert "Traceback (most recent call last):" in shown()


@pytest.fixture
def results(tmp_path, monkeypatch):
    rows = pd.DataFrame({"point": ["a", "b"], "trial": 0, "seed": 0, "rounds": 1, "loss": [0.5, 0.25]})
    rows = rows.assign(sweep="ppsgd_synthetic", algorithm="A", task="t")
    folder = tmp_path / "smoke" / "ppsgd_synthetic"
    folder.mkdir(parents=True)
    table = part_files.pa.Table.from_pandas(rows, preserve_index=False)
    content = part_files.as_file(table)
    part_files.write(part_files.part_path(folder, table, content), content)
    return tmp_path


def test_some_columns_and_some_rows_are_loaded(results):
    whole = bench.load("ppsgd_synthetic", results=results)
    some = bench.load("ppsgd_synthetic", results=results, columns=["loss", "point"], where="loss < 0.4 and trial == 0")
    pd.testing.assert_frame_equal(some, whole.loc[[1], ["loss", "point"]].reset_index(drop=True))
    assert bench.load("ppsgd_synthetic", results=results, columns="loss").columns.tolist() == ["loss"]
    with pytest.raises(InputError, match="no column of ppsgd_synthetic is called 'los'"):
        bench.load("ppsgd_synthetic", results=results, columns=["los"])
    with pytest.raises(InputError, match="did you mean loss"):
        bench.load("ppsgd_synthetic", results=results, where="los < 1")


def test_an_audit_is_readable_as_it_is():
    bounds = (Bound("game", 1e-5, 3.0, 1.25), Bound("other delta", 0.1, 1.0, 0.5))
    subject = Subject(ALGORITHMS["ppsgd"], "users", {"step_size": 0.5}, 1, 1e-5)
    finding = Finding("paper", full_gaussian(1.0, delta=1e-5), 3.0, bounds, family="users")
    found = Audit("mine", 300, 0.999, (TaskAudit(subject, 1, (finding,)),))
    assert str(found).startswith("inconclusive: nothing contradicts epsilon 3 (paper), but ")
    assert "reading" in str(found)
    assert found._repr_html_().startswith("<pre>inconclusive")
    frame = found.to_frame()
    assert frame[["family", "declared", "lower_bound"]].to_numpy().tolist() == [
        ["users", 3.0, 1.25],
        ["users", 3.0, 0.5],
    ]
