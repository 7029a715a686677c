"""Results on disk: whole or not at all, one row per run and evaluation, nothing lost."""

import errno
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from made_up_parts import damage, fail, fill, opened_runs, ordered, rows, shapes

from bench.errors import InputError
from bench.store import part_files
from bench.store.complete_runs import point_id
from bench.store.store import Store


def test_pandas_reads_the_folder_as_one_table_and_so_does_read(tmp_path):
    fill(tmp_path, "a", "b", "c")
    whole = ordered(pd.concat([rows("a"), rows("b"), rows("c")]))
    pd.testing.assert_frame_equal(ordered(pd.read_parquet(tmp_path)), whole, check_dtype=False)
    pd.testing.assert_frame_equal(ordered(part_files.read(tmp_path)), whole, check_dtype=False)


def test_parts_with_different_columns_are_one_table_with_all_of_them(tmp_path):
    """Whatever the order of their names; a column that a part has not is NaN there, whole numbers next to broken."""
    frames = [rows("a"), rows("b", steps=3), rows("c", label="x"), rows("d", steps=0.5, other=1.0)]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        folder = tmp_path / str(order)
        with Store(folder) as opened:
            opened.open_parts(shapes("abcd"))
            for index in order:
                opened.write(frames[index])
        whole = ordered(pd.concat(frames))
        for read in (pd.read_parquet, part_files.read):
            table = ordered(read(folder))
            assert set(table) == set(whole)
            pd.testing.assert_frame_equal(table[list(whole)], whole, check_dtype=False)


def test_text_as_categories_is_the_same_table_and_comes_in_alphabetical_order(tmp_path):
    frames = [rows("b", label="x"), rows("a", label="c"), rows("c")]
    with Store(tmp_path) as opened:
        opened.open_parts(shapes("abc"))
        for frame in frames:
            opened.write(frame)
    plain, table = part_files.read(tmp_path), part_files.read(tmp_path, categories=True)
    text = [name for name, column in plain.items() if pd.api.types.is_string_dtype(column.dtype)]
    assert {"point", "label"} <= set(text)
    for name in text:
        assert list(table[name].cat.categories) == sorted(plain[name].dropna().unique())
        table[name] = table[name].astype(plain[name].dtype)
    pd.testing.assert_frame_equal(table, plain)


def test_columns_that_no_part_has_any_more_leave_the_table(tmp_path):
    with Store(tmp_path) as opened:
        opened.open_parts(shapes("a"))
        opened.write(rows("a", steps=3))
    with Store(tmp_path) as opened:
        opened.open_parts(shapes("b"))
        opened.write(rows("b"))
    assert set(pd.read_parquet(tmp_path)) == set(rows("b"))


def test_text_and_numbers_in_one_column_are_refused_in_words(tmp_path):
    with Store(tmp_path) as opened:
        opened.open_parts(shapes("ab"))
        opened.write(rows("a", label="x"))
        with pytest.raises(InputError, match=r"new rows does not fit .* Field label has incompatible"):
            opened.write(rows("b", label=3.0))
    assert len(pd.read_parquet(tmp_path)) == 6


def test_the_runs_that_are_there(tmp_path):
    fill(tmp_path, "a", "b")
    runs, notes = opened_runs(tmp_path, "a", "b", "c")
    assert runs == {(point, 0, seed) for point in "ab" for seed in (0, 1)}
    assert notes == []


def test_the_same_runs_written_twice_are_there_once(tmp_path):
    fill(tmp_path, "a")
    fill(tmp_path, "a")
    pd.testing.assert_frame_equal(ordered(pd.read_parquet(tmp_path)), rows("a"), check_dtype=False)


@pytest.mark.parametrize("name", [".lock", "_corrupt"])
def test_what_lies_where_the_store_writes_is_named(tmp_path, name):
    (path,) = fill(tmp_path, "a")
    damage(path, "truncated")
    (tmp_path / ".lock").unlink()
    if name == ".lock":
        (tmp_path / name).mkdir()
    else:
        (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"cannot write {tmp_path}/{name}: "):
        opened_runs(tmp_path, "a")


def test_a_folder_that_vanishes_ends_the_run_in_one_line(tmp_path):
    folder = tmp_path / "sweep"
    with Store(folder) as opened:
        opened.open_parts(shapes("a"))
        shutil.rmtree(folder)
        with pytest.raises(InputError, match=f"cannot write {folder}"):
            opened.write(rows("a"))


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path, monkeypatch, where):
    fill(tmp_path, "a")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with Store(tmp_path) as opened:
        opened.open_parts(shapes("ab"))
        with monkeypatch.context() as patched:
            patched.setattr(os, where, fail(errno.ENOSPC))
            with pytest.raises(InputError, match=r"cannot write .*: the disk is full; everything finished"):
                opened.write(rows("b"))
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        opened.write(rows("b"))
    assert set(pd.read_parquet(tmp_path)["point"]) == {"a", "b"}


def test_ctrl_c_in_the_middle_of_writing_leaves_nothing_half_written(tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stopped)
    with Store(tmp_path) as opened, pytest.raises(KeyboardInterrupt):
        opened.write(rows("a"))
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.mkdir", fail(errno.EROFS))
    with (
        pytest.raises(InputError, match=f"cannot write {tmp_path}/new: Read-only file system"),
        Store(tmp_path / "new"),
    ):
        pass


def test_a_file_where_the_folder_should_be_is_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=f"cannot write {folder}: "), Store(folder):
            pass
    assert (tmp_path / "file").read_text() == "mine"


def test_one_writer_at_a_time(tmp_path):
    with Store(tmp_path), pytest.raises(InputError, match="is in use by another run"):
        Store(tmp_path).__enter__()
    with Store(tmp_path):
        pass


def test_what_a_killed_writer_left_is_cleared_and_was_never_read(tmp_path):
    fill(tmp_path, "a")
    leftover = tmp_path / ".part-0123.parquet.4711"
    leftover.write_bytes(b"half")
    assert len(pd.read_parquet(tmp_path)) == 6
    opened_runs(tmp_path, "a")
    assert not leftover.exists()


def test_a_points_id_follows_from_every_setting_that_is_not_a_default():
    asked = {"algorithm": "A", "step_size": 0.1, "clip_norm": float("inf"), "label": float("nan")}
    one = point_id(asked)
    assert point_id(dict(reversed(asked.items()))) == one
    assert point_id({**asked, "step_size": np.float64(0.1), "clip_norm": np.inf, "label": None}) == one
    assert point_id({**asked, "step_size": 0.1000001}) != one
    assert point_id({**asked, "later": 2}) != one
    assert point_id({**asked, "later": 2}, {"later": 2}) == one
