"""What is damaged, foreign, incomplete or there twice is named and set aside; nothing of others is touched."""

import errno

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up_parts import damage, fill, opened_runs, ordered, parts, put, rows, shapes

from bench.errors import InputError
from bench.store import part_files
from bench.store.complete_runs import Shape
from bench.store.part_files import UnusablePart
from bench.store.store import Store


def test_a_copied_part_is_named_and_set_aside(tmp_path):
    (path,) = fill(tmp_path, "a")
    copy = put(tmp_path, path.read_bytes(), 2**64 - 1)
    with pytest.raises(InputError, match=f"{copy} has runs that another part already has"):
        part_files.read(tmp_path)
    runs, notes = opened_runs(tmp_path, "a")
    aside = tmp_path / "_corrupt" / copy.name
    assert notes == [f"{copy} has 2 runs that are duplicates: set aside as {aside}"]
    assert len(runs) == 2
    pd.testing.assert_frame_equal(ordered(pd.read_parquet(tmp_path)), rows("a"), check_dtype=False)


@pytest.mark.parametrize("how", ["truncated", "without its end", "empty", "zeros", "random", "text"])
def test_a_damaged_part_is_named_and_set_aside_and_the_rest_stays(tmp_path, how):
    first, second = fill(tmp_path, "a", "b")
    damage(first, how)
    broken = first.read_bytes()
    with pytest.raises(InputError, match=f"{first} is damaged"):
        part_files.read(tmp_path)
    runs, notes = opened_runs(tmp_path, "a", "b")
    assert {point for point, _, _ in runs} == {"b"}
    aside = tmp_path / "_corrupt" / first.name
    assert notes == [f"{first} is damaged: set aside as {aside}, its runs are done again"]
    assert aside.read_bytes() == broken
    assert parts(tmp_path) == [second.name]
    assert set(pd.read_parquet(tmp_path)["point"]) == {"b"}


def test_every_flipped_byte_is_found(tmp_path):
    """Those of the footer too, in which a flipped bit may rename a column and has no checksum in Parquet."""
    (path,) = fill(tmp_path, "a")
    content = path.read_bytes()
    for at in range(len(content)):
        flipped = bytearray(content)
        flipped[at] ^= 0x10
        path.write_bytes(flipped)
        with pytest.raises(UnusablePart, match="is damaged"):
            part_files.read_part(path)


def test_a_file_without_a_digest_in_its_name_is_no_part(tmp_path):
    """Nothing would show whether its columns and values are those that were written."""
    (path,) = fill(tmp_path, "a")
    mine = tmp_path / "part-0123456789abcdef.parquet"
    pq.read_table(path).rename_columns({"risk": "accuracy"}).to_pandas().to_parquet(mine)
    with pytest.raises(InputError, match="its name has no digest of its content"):
        part_files.read(tmp_path)
    runs, (note,) = opened_runs(tmp_path, "a")
    assert len(runs) == 2
    assert note.startswith(f"{mine} is not a part of these results (its name has no digest of its content")
    assert (tmp_path / "_foreign" / mine.name).exists()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda r: r[r["rounds"] == 0], "2 runs with missing, duplicate or other rows"),
        (lambda r: r[(r["rounds"] != 5) | (r["seed"] == 0)], "1 runs with missing, duplicate or other rows"),
        (lambda r: pd.concat([r, r]), "2 runs with missing, duplicate or other rows"),
        (lambda r: r.drop(columns="risk"), "2 runs with missing, duplicate or other rows"),
    ],
)
def test_runs_that_are_not_whole_are_set_aside_and_done_again(tmp_path, spoil, said):
    path = put(tmp_path, spoil(rows("a")))
    with Store(tmp_path) as opened:
        runs = opened.open_parts({"a": Shape(3, frozenset({"risk"}))})
        assert opened.notes == [f"{path} has {said}: set aside as {tmp_path / '_corrupt' / path.name}"]
    assert len(runs) == 2 - int(said[0])
    if len(runs):
        assert len(part_files.read(tmp_path)) == 3 * len(runs)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda r: r.drop(columns="seed"), "no column 'seed'"),
        (lambda r: r.assign(point=1.5), "column 'point' has double"),
        (lambda r: r.assign(seed=[[1]] * len(r)), "column 'seed' has list"),
    ],
)
def test_a_part_whose_columns_do_not_name_its_runs_is_named_and_set_aside(tmp_path, spoil, why):
    path = put(tmp_path, spoil(rows("a")))
    said = f"{path} is not a part of these results ({why}"
    with pytest.raises(InputError) as raised:
        part_files.read(tmp_path)
    assert str(raised.value).startswith(said)
    runs, (note,) = opened_runs(tmp_path, "a")
    assert not runs
    assert note.startswith(said)
    assert (tmp_path / "_foreign" / path.name).exists()


def test_parts_whose_columns_differ_in_kind_are_named(tmp_path):
    fill(tmp_path, "a")
    other = put(tmp_path, rows("b").assign(risk="small"), 2**64 - 1)
    with pytest.raises(InputError) as raised:
        part_files.read(tmp_path)
    assert f"{other} does not fit the others" in str(raised.value)
    with pytest.raises(InputError, match="Field risk has incompatible types"):
        opened_runs(tmp_path, "a", "b")


def test_a_damaged_list_of_columns_is_made_anew(tmp_path):
    fill(tmp_path, "a")
    (tmp_path / part_files.COLUMNS).write_bytes(b"")
    runs, notes = opened_runs(tmp_path, "a")
    assert len(runs) == 2
    assert notes == []
    assert len(pd.read_parquet(tmp_path)) == 6


def test_rows_of_other_settings_are_set_aside_and_the_others_of_their_part_stay(tmp_path):
    with Store(tmp_path) as opened:
        opened.open_parts(shapes("ab"))
        path = opened.write(pd.concat([rows("a"), rows("b")]))
    runs, notes = opened_runs(tmp_path, "b")
    assert runs == {("b", 0, 0), ("b", 0, 1)}
    aside = tmp_path / "_stale" / path.name
    assert notes == [f"{path} has 2 runs of other settings, data or code versions: set aside as {aside}"]
    assert set(pq.read_table(aside).to_pandas()["point"]) == {"a", "b"}
    pd.testing.assert_frame_equal(ordered(pd.read_parquet(tmp_path)), rows("b"), check_dtype=False)
    assert opened_runs(tmp_path, "b") == (runs, [])


def test_what_is_set_aside_twice_is_kept_twice(tmp_path):
    for _ in range(3):
        fill(tmp_path, "a")
        assert opened_runs(tmp_path, "b")[0] == set()
    assert len(list((tmp_path / "_stale").iterdir())) == 3
    with pytest.raises(InputError, match=r"no results in .*first run `python -m bench run"):
        part_files.read(tmp_path)
    assert not list(tmp_path.glob("*.parquet"))


def test_a_file_that_cannot_be_opened_stops_everything_before_anything_is_touched(tmp_path, monkeypatch):
    """Also what would be set aside otherwise: a damaged part, and rows that are stale."""
    first, second = fill(tmp_path, "a", "b")
    damage(first, "truncated")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    reads = part_files.Path.read_bytes

    def refused(path):
        if path == second:
            raise OSError(errno.EACCES, "Permission denied")
        return reads(path)

    with monkeypatch.context() as patched:
        patched.setattr("pathlib.Path.read_bytes", refused)
        with pytest.raises(InputError, match=f"{second} cannot be read"):
            opened_runs(tmp_path, "c")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_is_not_a_part_is_named_and_set_aside(tmp_path):
    fill(tmp_path, "a")
    pq.write_table(pa.table({"point": ["a"], "stripes": [1]}), tmp_path / "u.parquet")
    why = "is not a part of these results (its name has no digest of its content)"
    with pytest.raises(InputError, match=r"u\.parquet is not a part of these results"):
        part_files.read(tmp_path)
    runs, notes = opened_runs(tmp_path, "a")
    assert len(runs) == 2
    assert notes == [f"{tmp_path}/u.parquet {why}: set aside as {tmp_path}/_foreign/u.parquet"]
    assert [path.name for path in (tmp_path / "_foreign").iterdir()] == ["u.parquet"]
