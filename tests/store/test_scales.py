"""A scale is a choice of points: what one has run counts for the others, and smoke runs stand apart."""

import pytest
from made_sweeps import made
from tiny_sweeps import table, walks

from bench.api.runs import load
from bench.api.runs import run as run_sweeps
from bench.papers import SWEEPS
from bench.store import SCALES, of_scale, together_with
from bench.upkeep.status import check, statuses

POINTS = {"smoke": (0.1,), "laptop": (0.1, 0.2), "paper": (0.1, 0.2, 0.3)}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks(steps=POINTS[scale], seeds=1 if scale == "smoke" else 2))


def test_a_larger_scale_goes_on_where_a_smaller_one_ended_and_a_smaller_one_leaves_it_in_place(tiny, tmp_path, capfd):
    for scale, said in (("laptop", "4 runs to do, 0 in"), ("paper", "2 runs to do, 4 in"), ("laptop", "0 runs to do")):
        run_sweeps("tiny", scale, out=tmp_path)
        told = capfd.readouterr().err
        assert said in told
        assert "set aside" not in told
    rows = table(of_scale(tmp_path, "paper", "tiny"))
    assert rows.groupby("step_size")["scale"].unique().map(list).to_dict() == {
        0.1: ["laptop"],
        0.2: ["laptop"],
        0.3: ["paper"],
    }
    for scale, others in (("paper", 0), ("laptop", 2)):
        (found,) = statuses(SWEEPS, ["tiny"], scale, tmp_path)
        assert (found.total.missing, found.other_runs) == (0, others)
        assert check(SWEEPS, ["tiny"], scale, tmp_path) == []


def test_smoke_runs_have_a_folder_of_their_own(tiny, tmp_path):
    run_sweeps("tiny", "smoke", out=tmp_path)
    run_sweeps("tiny", "laptop", out=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"smoke", "sweeps"}
    assert set(load("tiny", results=tmp_path)["scale"]) == {"laptop"}
    assert set(load("tiny", "smoke", results=tmp_path)["scale"]) == {"smoke"}


def test_scales_that_share_a_folder():
    assert [together_with(scale) for scale in SCALES] == [["smoke"], ["laptop", "paper"], ["paper", "laptop"]]


@pytest.mark.parametrize("name", sorted({*SWEEPS} - {"scaffold_steps"}))
def test_laptop_is_a_part_of_paper(name):
    """So its runs are never outdated; scaffold_steps says why it is the exception."""
    laptop, paper = made(name, "laptop"), made(name, "paper")
    for label, entry in laptop.entries.items():
        other = paper.entries[label]
        columns = [str(column) for column in entry.free]
        merged = entry.free.merge(other.free[columns].drop_duplicates(), how="left", on=columns, indicator=True)
        assert (merged["_merge"] == "both").all(), label
        assert set(laptop.repetitions(entry)) <= set(paper.repetitions(other))
    assert (laptop.delta, laptop.eval_every, laptop.at_start) == (paper.delta, paper.eval_every, paper.at_start)
