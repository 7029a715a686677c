"""The board: run once, joined by methods that are run alone, and refused where it was run otherwise."""

import contextlib
import json
import math
import shutil
from functools import partial
from pathlib import Path

import crafted_boards as crafted
import numpy as np
import pandas as pd
import pytest
from tiny_comparison import renamed, under_another_name

from bench import audit as audits
from bench import board, compare
from bench.algorithms import ALGORITHMS
from bench.analysis.drawn_users import names
from bench.api.comparisons import add_to_board
from bench.comparison import board as boards
from bench.comparison import protocol as protocols
from bench.comparison.columns import KEYS
from bench.comparison.entries import fault, write_entry
from bench.comparison.plan import make_plan
from bench.comparison.problems import problem_named
from bench.comparison.report import figure
from bench.comparison.result import at_end
from bench.comparison.run import compare as compared
from bench.comparison.stages import choose, with_spent
from bench.errors import InputError
from bench.store import part_files

RESULTS = Path(__file__).parents[2] / "results"
SMALL: dict = {"epsilons": [1.0, 4.0], "seeds": 2, "num_settings": 8, "rounds": 5}
FIXED = {"personalization": math.inf}


@pytest.fixture(scope="module")
def out(tmp_path_factory, tiny):
    """Results with a board of the small problem."""
    out = tmp_path_factory.mktemp("board")
    with pytest.MonkeyPatch.context() as patch:
        with patch.context() as without_pictures:  # which have tests of their own
            for name in ("draw", "draw_convergence", "save_picture"):
                without_pictures.setattr(figure, name, lambda *_, **__: None)
            (folder,) = board("tiny", out=out, workers=1, **SMALL)
        assert folder == out / "board" / "tiny"
        yield out


@pytest.fixture(scope="module")
def joined(out):
    """A built-in method under another name beside the board: its table, and the parts of the board before and after."""
    parts = {path: path.stat().st_mtime_ns for path in (out / "board").rglob("*.parquet")}
    table = compare(renamed(ALGORITHMS["ppsgd"]), task="tiny", board="board", fixed=FIXED, out=out, workers=1)
    assert parts == {path: path.stat().st_mtime_ns for path in (out / "board").rglob("*.parquet")}
    return table


@pytest.fixture(scope="module")
def small(out):
    """The board with an entry, made without its audit."""
    rest = {"task": "tiny", "out": out, "fixed": FIXED}
    found = compared(boards.request_on_board("board", renamed(ALGORITHMS["ppsgd"]), **rest))
    folder = shutil.copytree(out / "board" / "tiny", out / "with_entry" / "tiny")
    write_entry(folder, "renamed", found)
    return crafted.Small(folder, make_plan(boards.request_on_board("board", "ppsgd", **rest)))


@pytest.mark.parametrize("some", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_an_entry_that_breaks_the_protocol_is_named_and_ranked_nowhere(some, small, tmp_path):
    every = crafted.WRONG | crafted.FINE
    faults = {}
    for place, what in enumerate(list(every)[some::2]):
        (tmp_path / str(place)).mkdir()
        faults[what] = crafted.wrong(small, what, crafted.crafted(small, every[what], tmp_path / str(place)))
    assert len(faults) > 10
    assert set(faults.values()) == {None}, faults


def test_an_entry_is_named_before_anything_is_run(small, tmp_path, caplog, monkeypatch):
    folder = crafted.crafted(small, crafted.WRONG["delta"], tmp_path)
    monkeypatch.setattr("bench.comparison.run.run_plan", lambda *_: pytest.fail("it was run"))
    with pytest.raises(pytest.fail.Exception, match="it was run"):
        compare("ppsgd", task="tiny", board=folder.parent, fixed={"personalization": 1.0}, out=tmp_path)
    assert "entries/renamed, of the board, is left out: in its tuning runs delta is 0.5, but " in caplog.text


def test_a_method_of_the_board_that_breaks_its_protocol_is_left_out(small, monkeypatch):
    read, changed = boards.part_files.read, {"epsilon_tight": 1e6}

    def altered(folder, **options):
        rows = read(folder, **options)
        return rows.assign(**changed) if folder.parent == small.folder and folder.name == "test" else rows

    monkeypatch.setattr(boards.part_files, "read", altered)
    found = boards.read_board(small.folder, small.plan)
    assert found.left_out == {"Global private SGD": "it spent epsilon 1e+06 at the target 1"}
    assert set(found.evaluations["algorithm"]) == {"Local learning", "renamed"}
    for name in ("excess_risk", "target_epsilon", "version"):
        changed.clear()
        changed[name] = "best"
        with pytest.raises(InputError, match=rf"no method whose runs follow .*{name} is 'best', which is no number"):
            boards.read_board(small.folder, small.plan)
    monkeypatch.setattr(boards.part_files, "read", lambda folder, **options: read(folder, **options)[:0])
    with pytest.raises(InputError, match=r"no method whose runs follow its protocol \(test: no rows\)"):
        boards.read_board(small.folder, small.plan)


def overstating():
    """The same method, which says that it adds eight times its noise."""
    original = ALGORITHMS["ppsgd"]

    def overstating(task, **args):
        return original.make(task, **args)

    def releases(task, *, noise_multiplier, **args):
        return original.releases(task, noise_multiplier=8 * noise_multiplier, **args)

    return original._replace(make=under_another_name(original.make, overstating), releases=releases)


@pytest.fixture
def quick(monkeypatch):
    """The audit with fewer runs."""
    monkeypatch.setattr(audits, "audit", partial(audits.audit, runs=4000))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_an_entry_stands_on_the_board_of_whoever_compares_with_it(joined, out, tmp_path):
    folder = shutil.copytree(out / "board", tmp_path / "board")
    entry = add_to_board(renamed(ALGORITHMS["ppsgd"]), "tiny", board=folder, fixed=FIXED, out=tmp_path, workers=1)
    assert entry == folder / "tiny" / "entries" / "renamed"
    assert sorted(path.parent.name for path in entry.rglob("*.parquet")) == ["test", "tuning"]
    assert protocols.read_protocol(entry) == protocols.read_protocol(folder / "tiny")
    table = compare("ppsgd", task="tiny", board=folder, fixed={"personalization": 1.0}, out=tmp_path, workers=1)
    assert {"renamed", "Global private SGD", "Local learning", "ppsgd"} == set(table["algorithm"])
    ours, theirs = (rows[rows["algorithm"] == "renamed"].set_index("target_epsilon") for rows in (table, joined))
    np.testing.assert_array_equal(ours["excess_risk"], theirs["excess_risk"])
    with pytest.raises(InputError, match="renamed is on the board already"):
        compare(renamed(ALGORITHMS["ppsgd"]), task="tiny", board=folder, fixed=FIXED, out=tmp_path)
    (part,) = (entry / "test").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-9])
    table = compare("ppsgd", task="tiny", board=folder, fixed={"personalization": 1.0}, out=tmp_path, workers=1)
    assert "renamed" not in set(table["algorithm"])
    assert "entries/renamed, of the board, is left out" in (tmp_path / "compare/tiny_ppsgd/comparison.md").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("quick", "joined")
def test_a_method_that_its_audit_refutes_is_no_entry(out, tmp_path):
    with pytest.raises(InputError, match=r"the audit refutes .* of overstating: .*declares epsilon .* but"):
        add_to_board(overstating(), "tiny", board=out / "board", fixed=FIXED, out=tmp_path, workers=1)
    assert not (out / "board" / "tiny" / "entries").exists()


def test_what_every_method_got_is_written_down(out):
    protocol = protocols.read_protocol(out / "board" / "tiny")
    assert protocol == protocols.Protocol(
        task="tiny",
        epsilons=[1.0, 4.0],
        seeds=2,
        settings=8,
        rounds=5,
        delta=1e-4,
        neighbors="add-or-remove one",
        unit="user",
        further_seeds=2,
        space=problem_named("tiny").shared_space,
    )


COMMITTED = sorted(path.parent for path in (RESULTS / "board").glob("*/protocol.json"))


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: folder.name)
def test_the_accountant_of_a_committed_protocol_is_that_of_its_runs(folder):
    """Their column `accountant` is that of the column epsilon, by which the noise was not calibrated."""
    assert protocols.read_protocol(folder).accountant == "pld"
    runs = at_end(part_files.read(folder / "test"))
    runs = runs[np.isfinite(runs["target_epsilon"]) & (runs["target_epsilon"] > 0)]
    assert len(runs)
    assert (with_spent(runs)["spent"] / runs["target_epsilon"]).between(0.999, 1).all()
    by_rdp = runs[runs["reading"].eq("tight") & runs["accountant"].eq("rdp")]
    assert (by_rdp["epsilon"] > 1.05 * by_rdp["target_epsilon"]).all()


def test_a_board_by_another_accountant_is_refused(out, tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    said = json.loads((out / "board" / "tiny" / "protocol.json").read_text())
    (folder / "protocol.json").write_text(json.dumps(said))
    request = boards.request_on_board(tmp_path, "ppsgd", task="tiny", out=out, fixed=FIXED)
    assert request.protocol == protocols.read_protocol(folder)
    (folder / "protocol.json").write_text(json.dumps(said | {"accountant": "rdp"}))
    with pytest.raises(InputError, match=r"accountant: Input should be 'pld'"):
        boards.request_on_board(tmp_path, "ppsgd", task="tiny", out=out, fixed=FIXED)


def test_the_board_keeps_the_scores_on_drawn_users_at_the_end_alone(out):
    """They are used there alone, and would be nine tenths of what is stored."""
    rows = part_files.read(out / "board" / "tiny" / "test")
    drawn = rows[names("excess_risk")].notna()
    assert (rows["rounds"] < rows["num_rounds"]).any()
    assert not drawn[rows["rounds"] < rows["num_rounds"]].any(axis=None)
    assert drawn[rows["rounds"] == rows["num_rounds"]].all(axis=None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"epsilons": [2.0]}, "epsilons is [2.0], but the board was run with [1.0, 4.0]: leave it out"),
        ({"seeds": 3}, "seeds is 3, but the board was run with 2: leave it out"),
        ({"baselines": ["PPSGD"]}, "baselines is ['PPSGD'], but the board was run with []"),
        ({"board": "nowhere"}, "nowhere/tiny is not the folder of a board's task, as it has no protocol.json"),
    ],
)
def test_other_options_than_the_boards_are_refused(out, options, said):
    with pytest.raises(InputError) as error:
        compare(renamed(ALGORITHMS["ppsgd"]), task="tiny", fixed=FIXED, out=out, **{"board": "board"} | options)
    assert said in str(error.value)


def test_results_by_another_protocol_are_never_mixed_in(out):
    with pytest.raises(InputError, match="was run with seeds 2"):
        board("tiny", out=out, **SMALL | {"seeds": 3})
    with pytest.raises(InputError, match="no task of the board is called 'nosuch'"):
        board("nosuch", out=out)


@pytest.mark.parametrize(
    ("column", "said"),
    [("version", "of Global private SGD version is 99.0, but"), ("checksum", "checksum is 'other', but it should be")],
)
def test_results_of_another_version_or_of_other_data_are_refused(out, monkeypatch, column, said):
    read = boards.part_files.read

    def altered(folder, **options):
        rows = read(folder, **options)
        return rows.assign(**{column: 99.0 if column == "version" else "other"})

    monkeypatch.setattr(boards.part_files, "read", altered)
    with pytest.raises(InputError) as error:
        compare(renamed(ALGORITHMS["ppsgd"]), task="tiny", board="board", fixed=FIXED, out=out)
    assert said in str(error.value)
    assert "run `python -m bench board tiny` again" in str(error.value)


def test_a_method_whose_runs_are_not_all_there_is_left_out_by_name(out, monkeypatch):
    read = boards.part_files.read

    def fewer(folder, **options):
        rows = read(folder, **options)
        gone = (rows["algorithm"] == "Global private SGD") & (rows["trial"] == 1) & (rows["target_epsilon"] == 4)
        return rows[~gone]

    monkeypatch.setattr(boards.part_files, "read", fewer)
    request = boards.request_on_board("board", [], task="tiny", out=out)
    plan = make_plan(request._replace(methods={"renamed": renamed(ALGORITHMS["ppsgd"])}, fixed=FIXED))
    found = boards.read_board(out / "board" / "tiny", plan)
    assert list(found.left_out) == ["Global private SGD"]
    assert "has missing runs" in found.left_out["Global private SGD"]
    assert set(found.evaluations["algorithm"]) == {"Local learning"}


@pytest.mark.parametrize("task", ["synthetic", "linear_p2p"])
def test_every_method_of_a_task_fits_it(task, tmp_path):
    plan = make_plan(boards.board_request(task, out=tmp_path))
    assert plan.unfit == {}
    assert len(plan.candidates) >= 5
    adversaries = {candidate.against for candidate in plan.candidates.values()} - {""}
    assert adversaries <= set(plan.request.problem.level.adversaries)
    assert plan.request.folder == tmp_path / "board" / task


def test_who_protects_against_outsiders_alone_is_not_ranked_among_the_others(tmp_path):
    plan = make_plan(boards.board_request("linear_p2p", out=tmp_path))
    assert "DP-D-SGD" in plan.candidates
    assert not any("DECOR" in label for label in plan.candidates)


class NothingLeft(Exception):
    """Ends a board whose remaining runs are those of methods that were not on it."""


@pytest.mark.slow
@pytest.mark.parametrize("task", ["synthetic", "linear_p2p"])
def test_the_committed_board_has_nothing_left_to_run_on_this_machine(task, tmp_path, monkeypatch):
    """Its settings come from logarithms and its noise from calibrations, whose last digits differ between machines."""
    shutil.copytree(RESULTS / "board" / task, tmp_path / "board" / task)
    parts = sorted(path.name for path in tmp_path.rglob("part-*.parquet"))

    tested = set(pd.read_parquet(RESULTS / "board" / task / "test", columns=["algorithm"])["algorithm"].astype(str))

    def run(driver):
        again = {str(point.algorithm) for block in driver.queue.blocks for point in block.points} & tested
        assert not again, f"runs of {', '.join(sorted(again))} would be made again"
        raise NothingLeft  # but for methods that are newer than the committed board

    monkeypatch.setattr("bench.execution.run._Driver.submit", run)
    with contextlib.suppress(NothingLeft):
        board(task, out=tmp_path, workers=1)
    assert sorted(path.name for path in tmp_path.rglob("part-*.parquet")) == parts
    assert not list(tmp_path.rglob("_stale"))


@pytest.mark.parametrize("task", ["few_images", "linear_p2p", "school"])
def test_the_committed_boards_follow_their_protocols(task):
    folder, on = RESULTS / "board" / task, problem_named(task)
    tuning, tested = pd.concat(boards._looks(folder)), part_files.read(folder / "test")
    for label, runs in tested.groupby("algorithm"):
        tried = tuning[tuning["algorithm"] == label]
        chosen = choose(tried, metric=on.tuned_by, best=on.best)
        assert not fault(tried, runs.merge(chosen, on=KEYS), protocols.read_protocol(folder), on, {"algorithm": label})


# ---- The copy of the board that a wheel has ----


@pytest.fixture
def installed(out, tmp_path, monkeypatch):
    """The board as if it were installed with the suite."""
    shutil.copytree(out / "board", tmp_path / "installed")
    monkeypatch.setattr(boards, "INSTALLED", tmp_path / "installed")
    return tmp_path / "installed"


def test_the_installed_board_is_taken_where_the_results_have_no_such_task(installed, out, tmp_path):
    assert boards.board_with("board", "tiny", out) == out / "board"
    assert boards.board_with("board", "tiny", tmp_path) == installed
    assert boards.board_with("board", "other", tmp_path) == tmp_path / "board"  # whose error names what to run
    assert boards.board_with(out / "board", "tiny", tmp_path) == out / "board"


@pytest.mark.usefixtures("installed")
def test_nothing_is_added_to_the_installed_board(tmp_path):
    with pytest.raises(InputError, match=rf"{tmp_path / 'board' / 'tiny'} is not the folder of a board's task"):
        add_to_board(renamed(ALGORITHMS["ppsgd"]), "tiny", out=tmp_path)
