"""The audit of all built-in methods: what it writes, what it runs again, and what it reports."""

import shutil
import sys
from functools import cache, partial

import pandas as pd
import pytest

from bench.algorithms import ALGORITHMS
from bench.audit import audit, audit_all, whole
from bench.audit.subject import families_of
from bench.cli.app import app
from bench.cli.exits import exit_status
from bench.errors import InputError

QUICK = {"epsilon": 3.0, "delta": 1e-5, "rounds": 2, "runs": 600, "confidence": 0.999, "seed": 0}


audit_with_seed_0 = cache(partial(audit, seed=0))


def audit_once(name, *, seed, **how):
    """For tests of what is kept and what is run again, not of what is found: with every seed what seed 0 finds."""
    return audit_with_seed_0(name, **how)


@pytest.fixture
def few(monkeypatch):
    """Two private methods and one that declares nothing, at a commit that looks like a number."""
    return some_methods(monkeypatch)


def some_methods(monkeypatch) -> dict:
    monkeypatch.setattr(whole, "commit", lambda: "09351561e448")
    kept = {name: ALGORITHMS[name] for name in ("dp_fedavg", "minibatch_sgd", "admm")}
    monkeypatch.setattr(whole, "ALGORITHMS", kept)
    monkeypatch.setattr(whole, "families_of", lambda method: families_of(method)[:2])  # dp_fedavg has more
    return kept


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The folder of their table."""
    folder = tmp_path_factory.mktemp("audited")
    with pytest.MonkeyPatch.context() as patched:
        some_methods(patched)
        audited(folder, by=audit_once)
    return folder


@pytest.fixture
def folder(table, tmp_path):
    """A copy of that folder, for tests that change it."""
    shutil.copytree(table, tmp_path, dirs_exist_ok=True)
    return tmp_path


def status_of(monkeypatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench", "audit-all", *words])
    return exit_status(app)


def audited(folder, by=audit, **options):
    said = []
    return whole.audit_all(by, folder, say=said.append, **QUICK | options), said


def test_every_private_method_has_a_task_to_be_audited_on():
    found = {name: families_of(method) for name, method in ALGORITHMS.items()}
    assert all(found.values())
    assert found["admm"] == ["agents"]
    assert {"images", "convolutions", "copies"} <= set(found["dpsgd_fedavg"])


@pytest.mark.slow
def test_the_table_has_every_bound_and_the_summary_a_row_for_each_way_of_accounting(few, tmp_path):
    rows, said = audited(tmp_path)
    assert set(rows["method"]) == set(few)
    assert len(said) == 1 + len(rows[whole.KEY].drop_duplicates())
    assert said[0].startswith(f"{len(said) - 1} audits to make, 0 are in ")
    assert said[-1].endswith("; all done")
    private = rows[rows["reading"].notna()]
    assert (private["lower_bound"] <= private["declared_there"])[private["proven"].astype(bool)].all()
    assert {"game", "Gaussian", "other delta"} <= set(private["test"])
    assert rows[rows["reading"].isna()]["method"].tolist() == ["admm"]
    written = pd.read_csv(tmp_path / "audit.csv", dtype={"commit": str})
    pd.testing.assert_frame_equal(written, rows, check_dtype=False)
    text = (tmp_path / "audit.md").read_text().splitlines()
    assert len(text) == 2 + len(private[[*whole.KEY, "reading"]].drop_duplicates()) + 1 + 2
    assert "declares no privacy" in text[-3]
    audits = len(private[whole.KEY].drop_duplicates())
    assert f"confidence 0.999, those of all {audits} audits with at least {1 - 0.001 * audits:.3g}" in text[-1]
    assert rows["commit"].iloc[0] in text[-1]


def test_what_is_in_the_file_is_not_run_again_but_for_another_version(few, folder, monkeypatch):
    before = pd.read_csv(folder / "audit.csv", dtype={"commit": str})
    again, said = audited(folder)
    assert len(said) == 1
    assert "has all" in said[0]
    pd.testing.assert_frame_equal(again, before, check_dtype=False)
    monkeypatch.setitem(few, "minibatch_sgd", few["minibatch_sgd"]._replace(version=99))
    newer, said = audited(folder, by=audit_once)
    assert {line.split(", ")[1].split(" on ")[0] for line in said[1:]} == {"minibatch_sgd"}
    assert newer.loc[newer["method"] == "minibatch_sgd", "version"].eq(99).all()
    (folder / "audit.md").unlink()
    audited(folder)
    assert (folder / "audit.md").is_file()


def test_a_table_of_audits_with_other_options_is_kept(few, folder):
    before = (folder / "audit.csv").read_bytes()
    with pytest.raises(InputError, match="audits with seed = 0"):
        audited(folder, seed=1)
    assert (folder / "audit.csv").read_bytes() == before


def test_audits_of_other_code_are_named(few, folder, monkeypatch):
    monkeypatch.setattr(whole, "commit", lambda: "abcdef")
    _, said = audited(folder)
    assert said[-1].endswith("move it elsewhere to run them again at abcdef")


def test_an_interrupted_audit_goes_on(few, tmp_path, monkeypatch):
    few["dp_fedavg"] = few.pop("dp_fedavg")  # it comes last
    begun = []

    def until_the_last(name, **how):
        begun.append(name)
        if name == "dp_fedavg":
            raise KeyboardInterrupt
        return audit_once(name, **how)

    for asked in (["minibatch_sgd", "admm", "dp_fedavg"], ["dp_fedavg"]):
        begun.clear()
        with pytest.raises(KeyboardInterrupt):
            audited(tmp_path, by=until_the_last)
        assert list(dict.fromkeys(begun)) == asked
    assert set(pd.read_csv(tmp_path / "audit.csv")["method"]) == {"minibatch_sgd", "admm"}
    rows, said = audited(tmp_path, by=audit_once)
    assert "minibatch_sgd" not in " ".join(said)
    assert set(rows["method"]) == set(few)


def test_a_refuted_method_fails(few, tmp_path, monkeypatch, capsys):
    method = few["minibatch_sgd"]

    def too_little(task, *, delta, **args):
        return method.releases(task, delta=delta, **args | {"noise_multiplier": 5 * args["noise_multiplier"]})

    wrong = {"minibatch_sgd": method._replace(releases=too_little)}
    monkeypatch.setattr(whole, "ALGORITHMS", wrong)
    as_usual = whole.audit_all

    def audit_wrong(name, **how):
        return audit(wrong[name], **how)

    monkeypatch.setattr(whole, "audit_all", lambda by, out, **how: as_usual(audit_wrong, out, **how | {"runs": 2000}))
    assert status_of(monkeypatch, "--out", str(tmp_path)) == 1
    assert "refuted" in (tmp_path / "audit" / "audit.md").read_text()
    assert "FAILED" in capsys.readouterr().err


def test_options_out_of_range_are_refused(tmp_path):
    with pytest.raises(InputError, match="runs is 5: give 300 to"):
        audit_all(tmp_path, runs=5)
    assert list(tmp_path.iterdir()) == []


def test_an_audit_that_cannot_run_stops_no_other(few, tmp_path, monkeypatch):
    def but_the_first(name, **how):
        if name == "dp_fedavg":
            raise InputError("too few runs")
        return audit_once(name, **how)

    with pytest.raises(
        InputError, match="2 of 4 audits were not run, the others are kept; dp_fedavg on users: too few"
    ):
        audited(tmp_path, by=but_the_first)
    assert set(pd.read_csv(tmp_path / "audit.csv")["method"]) == {"minibatch_sgd", "admm"}


def test_a_table_that_was_cut_off_is_refused(few, folder):
    path = folder / "audit.csv"
    path.write_text(path.read_text()[:-60])
    with pytest.raises(InputError, match="no whole table"):
        audited(folder)


def test_a_folder_that_cannot_be_is_refused_before_anything_runs(few, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is in the way"):
        audited(tmp_path / "file" / "audit", by=None)
