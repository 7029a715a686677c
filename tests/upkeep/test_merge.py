"""Results joined: every run checked, there once, in few files; and killed at any moment none lost, none doubled."""

import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
from killing import WRITES, Killed, killed_at
from made_up_parts import put
from tiny_sweeps import assert_same_rows, run, table, walks

from bench.errors import InputError
from bench.execution.run import run_sweep
from bench.papers import SWEEPS
from bench.store import part_files, store
from bench.store.requests import GridRequest, prepare
from bench.sweeps.spec import select
from bench.upkeep.merge import merge


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", lambda scale: walks())


@pytest.fixture
def halves(tmp_path):
    """Two folders of results, each with a part of the sweep, a run in common, and a file for every point."""
    for name, where in (("a", "step_size < 0.35"), ("b", "step_size > 0.25")):
        run_sweep(select(walks(), where), full_sweep=walks(), scale="smoke", out=tmp_path / name, most=1)
    return [tmp_path / "a", tmp_path / "b"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The sweep, run in one go."""
    return run(walks(), tmp_path_factory.mktemp("undisturbed"))


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_two_halves_make_the_whole_in_one_file_and_stay_as_they_are(halves, tmp_path, undisturbed):
    before = [files(half) for half in halves]
    (done,), left_out, notes = merge(SWEEPS, halves, tmp_path / "out")
    assert_same_rows(table(tmp_path / "out" / "smoke" / "tiny"), undisturbed)
    assert (done.added, done.twice, done.runs, done.parts) == (8, 2, 8, 1)
    assert (left_out, notes) == ([], [])
    assert [files(half) for half in halves] == before
    assert len(part_files.read(tmp_path / "out" / "smoke" / "tiny")) == len(undisturbed)


@pytest.mark.parametrize("place", ["", "smoke", "smoke/tiny"])
def test_a_folder_of_results_of_a_scale_and_of_a_sweep_are_told_apart(halves, tmp_path, place):
    (done,), _, _ = merge(SWEEPS, [halves[0] / place], tmp_path / "out")
    assert (done.folder, done.added) == (tmp_path / "out" / "smoke" / "tiny", 6)


def test_merging_again_changes_nothing_and_a_run_goes_on(halves, tmp_path, undisturbed):
    merge(SWEEPS, halves[:1], tmp_path / "out")
    before = files(tmp_path / "out")
    (done,), _, _ = merge(SWEEPS, [halves[0], tmp_path / "out"], tmp_path / "out")
    assert (done.added, done.twice) == (0, 6)
    assert files(tmp_path / "out") == before
    assert_same_rows(run(walks(), tmp_path / "out"), undisturbed)


def test_a_folder_merged_with_itself_is_compacted_and_loses_copies(halves, tmp_path):
    folder = halves[0] / "smoke" / "tiny"
    rows = table(folder)
    one = part_files.parts_in(folder)[0]
    put(folder, one.read_bytes())
    with pytest.raises(InputError, match="has runs that another part already has"):
        part_files.read(folder)
    (done,), left_out, _ = merge(SWEEPS, [halves[0]], halves[0])
    assert (done.twice, done.parts, done.before, left_out) == (1, 1, 7, [])
    pd.testing.assert_frame_equal(table(folder), rows)


def test_what_does_not_belong_is_left_out_and_named(halves, tmp_path, undisturbed):
    folder = halves[0] / "smoke" / "tiny"
    parts = part_files.parts_in(folder)
    parts[0].write_bytes(parts[0].read_bytes()[:-40])
    rows = [pq.read_table(path).to_pandas() for path in parts[1:3]]
    other = put(folder, rows[0].assign(point="0" * 16, step_size=7.0))
    cut = put(folder, rows[1][rows[1]["rounds"] > 0])
    for path in parts[1:3]:
        path.unlink()
    pd.DataFrame({"x": [1]}).to_parquet(folder / "mine.parquet")
    (done,), left_out, _ = merge(SWEEPS, halves, tmp_path / "out")
    said = "\n".join(left_out)
    assert f"{parts[0]} is damaged" in said
    assert f"{other}: 1 runs of other settings, data or code versions" in said
    assert f"{cut}: 1 runs with missing, duplicate or other rows" in said
    assert "mine.parquet is not a part of these results" in said
    assert done.runs >= 5
    assert_same_rows(run(walks(), tmp_path / "out"), undisturbed)


def test_results_of_no_sweep_are_named(halves, tmp_path):
    rows = pq.read_table(part_files.parts_in(halves[1] / "smoke" / "tiny")[0]).to_pandas()
    for name, changes in (("x", {"sweep": "nosuch"}), ("y", {"scale": "../../up"}), ("z", {"sweep": "../up"})):
        folder = tmp_path / "odd" / "smoke" / name
        folder.mkdir(parents=True)
        put(folder, rows.assign(**changes))
    done, left_out, _ = merge(SWEEPS, [tmp_path / "odd"], tmp_path / "out")
    assert done == []
    assert len(left_out) == 3
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("")])
def test_a_folder_without_results_is_one_line(tmp_path, make):
    make(tmp_path / "empty")
    with pytest.raises(InputError, match=r"give .*of results or of a sweep"):
        merge(SWEEPS, [tmp_path / "empty"], tmp_path / "out")


def test_own_grids_are_merged_by_the_request_beside_them(tmp_path):
    from bench.execution.chosen import requested

    request = GridRequest("tiny", "smoke", {"step_size": [0.5, 0.6]})
    for number, where in enumerate(("step_size == 0.5", "step_size == 0.6")):
        sweep = requested(SWEEPS, request, "mine")
        prepare(tmp_path / str(number) / "smoke" / "mine", request)
        run_sweep(select(sweep, where), full_sweep=sweep, scale="smoke", out=tmp_path / str(number))
    (done,), left_out, _ = merge(SWEEPS, [tmp_path / "0", tmp_path / "1"], tmp_path / "out")
    assert (done.added, left_out) == (4, [])
    assert set(table(done.folder)["step_size"]) == {0.5, 0.6}
    (tmp_path / "1" / "smoke" / "mine" / "_request.json").unlink()
    _, left_out, _ = merge(SWEEPS, [tmp_path / "1"], tmp_path / "out")
    assert "need the file _request.json" in left_out[0]
    other = tmp_path / "2" / "smoke" / "mine"
    prepare(other, GridRequest("tiny", "smoke", {"step_size": [0.5]}, rounds=10))
    shutil.copy(part_files.parts_in(tmp_path / "0" / "smoke" / "mine")[0], other)
    _, left_out, _ = merge(SWEEPS, [tmp_path / "2"], tmp_path / "out")
    assert "holds results over other values" in left_out[0]


def test_a_folder_in_use_is_refused(halves, tmp_path):
    with store.Store(tmp_path / "out" / "smoke" / "tiny"), pytest.raises(InputError, match="in use by another run"):
        merge(SWEEPS, halves, tmp_path / "out")


@pytest.mark.slow
def test_dying_anywhere_loses_nothing(halves, tmp_path, monkeypatch, undisturbed):
    """At every call that changes the disk, and again. Runs may be there twice then, which a reader says."""
    for number in range(100):
        out = tmp_path / f"out{number}"
        shutil.copytree(halves[1], out)
        through = False
        for further in (number, number % 3):
            with monkeypatch.context() as patched:
                killed_at(patched, further, WRITES)
                try:
                    merge(SWEEPS, halves[:1], out)
                    through = through or further == number
                except Killed:
                    pass
            parts = map(part_files.read_part, part_files.parts_in(out / "smoke" / "tiny"))
            rows = pd.concat([part.to_pandas() for part in parts]).drop_duplicates([*part_files.IDENTITY, "rounds"])
            runs = rows.drop_duplicates(part_files.IDENTITY)
            assert len(rows) == 5 * len(runs)
            assert len(runs) in (4, 8)
        merge(SWEEPS, halves[:1], out)
        assert_same_rows(table(out / "smoke" / "tiny"), undisturbed)
        assert len(part_files.parts_in(out / "smoke" / "tiny")) == 1
        left = {path.name for path in (out / "smoke" / "tiny").iterdir()}
        assert not {name for name in left if name.startswith("_")}
        if through:
            break
    assert number > 8
