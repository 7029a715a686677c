"""Results on disk: whole or not at all, one row per run and evaluation, nothing of others touched, nothing lost."""

import errno
import os
import random
import stat

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.errors import InputError
from bench.sweeps import part_files
from bench.sweeps.part_files import point_id
from bench.sweeps.store import Store


def rows(point: str, seeds=(0, 1), **columns) -> pd.DataFrame:
    """Three evaluations of each seed of a point, with a metric that names its place."""
    index = pd.MultiIndex.from_product([[point], [0], seeds, [0, 5, 10]], names=["point", "trial", "seed", "rounds"])
    frame = index.to_frame(index=False).assign(sweep="s", algorithm="A", task="t")
    return frame.assign(risk=frame["seed"] + frame["rounds"] / 100, **columns)


def fill(folder, *points):
    with Store(folder) as opened:
        opened.open_parts(points)
        return [opened.write(rows(point)) for point in points]


def parts(folder):
    return sorted(path.name for path in folder.glob("part-*.parquet"))


def opened_runs(folder, *points):
    """What a store says is there, and its notes."""
    with Store(folder) as opened:
        return set(opened.open_parts(points).itertuples(index=False, name=None)), opened.notes


def ordered(frame):
    return frame.sort_values(["point", "trial", "seed", "rounds"], ignore_index=True)


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
            opened.open_parts("abcd")
            for index in order:
                opened.write(frames[index])
        whole = ordered(pd.concat(frames))
        for read in (pd.read_parquet, part_files.read):
            table = ordered(read(folder))
            assert set(table) == set(whole)
            pd.testing.assert_frame_equal(table[list(whole)], whole, check_dtype=False)


def test_columns_that_no_part_has_any_more_leave_the_table(tmp_path):
    with Store(tmp_path) as opened:
        opened.open_parts("a")
        opened.write(rows("a", steps=3))
    with Store(tmp_path) as opened:
        opened.open_parts("b")
        opened.write(rows("b"))
    assert set(pd.read_parquet(tmp_path)) == set(rows("b"))


def test_text_and_numbers_in_one_column_are_refused_in_words(tmp_path):
    with Store(tmp_path) as opened:
        opened.open_parts("ab")
        opened.write(rows("a", label="x"))
        with pytest.raises(InputError, match=r"of two kinds .*label"):
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


def test_a_copied_part_is_refused(tmp_path):
    (path,) = fill(tmp_path, "a")
    (tmp_path / "copy.parquet").write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="holds some runs twice"):
        opened_runs(tmp_path, "a")


def damage(path, how):
    content = path.read_bytes()
    broken = {
        "truncated": content[: len(content) // 2],
        "without its end": content[:-1],
        "empty": b"",
        "zeros": bytes(len(content)),
        "random": random.Random(0).randbytes(len(content)),
        "text": b"point,seed\n1,2\n",
    }
    path.write_bytes(broken[how])


@pytest.mark.parametrize("how", ["truncated", "without its end", "empty", "zeros", "random", "text"])
def test_a_damaged_part_is_named_and_set_aside_and_the_rest_stays(tmp_path, how):
    first, second = fill(tmp_path, "a", "b")
    damage(first, how)
    broken = first.read_bytes()
    with pytest.raises(InputError, match=f"{first} is damaged: run the sweep again"):
        part_files.read(tmp_path)
    runs, notes = opened_runs(tmp_path, "a", "b")
    assert {point for point, _, _ in runs} == {"b"}
    aside = tmp_path / "_corrupt" / first.name
    assert notes == [f"{first} is damaged: set aside as {aside}, its runs are done again"]
    assert aside.read_bytes() == broken
    assert parts(tmp_path) == [second.name]
    assert set(pd.read_parquet(tmp_path)["point"]) == {"b"}


def test_one_flipped_byte_of_the_data_is_found(tmp_path):
    """Page checksums: no value that was not written is ever read. The file's footer has no checksum."""
    (path,) = fill(tmp_path, "a")
    content, table = path.read_bytes(), part_files.read_part(path)
    footer = int.from_bytes(content[-8:-4], "little")
    found = 0
    for at in range(4, len(content) - footer - 8, 3):
        flipped = bytearray(content)
        flipped[at] ^= 0x10
        path.write_bytes(flipped)
        read = part_files.read_part(path)
        assert read is None or read.equals(table), at
        found += read is None
    assert found > 50


def test_a_damaged_list_of_columns_is_made_anew(tmp_path):
    fill(tmp_path, "a")
    (tmp_path / part_files.COLUMNS).write_bytes(b"")
    runs, notes = opened_runs(tmp_path, "a")
    assert len(runs) == 2
    assert notes == []
    assert len(pd.read_parquet(tmp_path)) == 6


def test_rows_of_other_settings_are_set_aside_and_the_others_of_their_part_stay(tmp_path):
    with Store(tmp_path) as opened:
        opened.open_parts("ab")
        path = opened.write(pd.concat([rows("a"), rows("b")]))
    runs, notes = opened_runs(tmp_path, "b")
    assert runs == {("b", 0, 0), ("b", 0, 1)}
    aside = tmp_path / "_stale" / path.name
    assert notes == [f"2 runs of other settings, data or code versions are set aside as {aside}"]
    assert set(pq.read_table(aside).to_pandas()["point"]) == {"a", "b"}
    pd.testing.assert_frame_equal(ordered(pd.read_parquet(tmp_path)), rows("b"), check_dtype=False)
    assert opened_runs(tmp_path, "b") == (runs, [])


def test_what_is_set_aside_twice_is_kept_twice(tmp_path):
    for _ in range(3):
        fill(tmp_path, "a")
        with Store(tmp_path) as opened:
            opened.clear()
            assert len(opened.notes) == 1
            assert opened.open_parts("a").empty
    assert len(list((tmp_path / "_stale").iterdir())) == 3
    with pytest.raises(InputError, match=r"no results in .*first run `python -m bench run"):
        part_files.read(tmp_path)
    assert not list(tmp_path.glob("*.parquet"))


def test_a_foreign_file_stops_everything_before_anything_is_touched(tmp_path):
    """Also what would be set aside otherwise: a damaged part, and rows that are stale."""
    first, _ = fill(tmp_path, "a", "b")
    damage(first, "truncated")
    pq.write_table(pa.table({"stripes": [1, 2]}), tmp_path / "zebra.parquet")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    said = r"zebra.parquet is not a part of these results \(no column 'point'\): move it elsewhere$"
    with pytest.raises(InputError, match=said):
        opened_runs(tmp_path, "c")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_named_like_a_part_is_refused(tmp_path):
    fill(tmp_path, "a")
    (tmp_path / "x.parquet").mkdir()
    with pytest.raises(InputError, match=r"x.parquet cannot be read"):
        opened_runs(tmp_path, "a")


def fail(code):
    def raising(*_, **__):
        raise OSError(code, os.strerror(code))

    return raising


def test_a_part_that_cannot_be_opened_is_not_called_damaged(tmp_path, monkeypatch):
    (path,) = fill(tmp_path, "a")
    monkeypatch.setattr("pathlib.Path.read_bytes", fail(errno.EACCES))
    with pytest.raises(InputError, match=f"{path} cannot be read .Permission denied.: make it readable"):
        opened_runs(tmp_path, "a")
    assert parts(tmp_path) == [path.name]


@pytest.mark.parametrize("where", ["write_table", "fsync", "replace"])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(tmp_path, monkeypatch, where):
    fill(tmp_path, "a")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with Store(tmp_path) as opened:
        opened.open_parts("ab")
        module = pq if where == "write_table" else os
        with monkeypatch.context() as patched:
            patched.setattr(module, where, fail(errno.ENOSPC))
            with pytest.raises(InputError, match=r"cannot write .*: the disk is full; everything finished .* is kept"):
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


@pytest.mark.parametrize(
    ("code", "said"), [(errno.EACCES, "no permission"), (errno.EROFS, "it is read-only"), (errno.EIO, "Input/output")]
)
def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, monkeypatch, code, said):
    monkeypatch.setattr("pathlib.Path.mkdir", fail(code))
    with pytest.raises(InputError, match=f"cannot write {tmp_path}/new: {said}"), Store(tmp_path / "new"):
        pass


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_write_permission_is_one_line(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(InputError, match="no permission"), Store(tmp_path / "new"):
        pass
    tmp_path.chmod(stat.S_IRWXU)


def test_a_file_where_the_folder_should_be_is_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=f"cannot write {folder}"), Store(folder):
            pass
    assert (tmp_path / "file").read_text() == "mine"


def test_one_writer_at_a_time(tmp_path):
    with Store(tmp_path), pytest.raises(InputError, match="is in use by another run: wait for it, or choose --out"):
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


def test_a_points_id_is_stable_and_follows_from_every_setting():
    """The id is what old results are recognised by: this literal may change only when all results are to be redone."""
    settings = {"algorithm": "A", "args": {"step_size": 0.1, "clip_norm": float("inf")}, "shapes": [(3, 4)]}
    assert point_id(settings) == point_id(dict(reversed(settings.items())))
    assert point_id(settings) == point_id({**settings, "args": {"step_size": np.float64(0.1), "clip_norm": np.inf}})
    assert point_id(settings) != point_id({**settings, "args": {"step_size": 0.1000001, "clip_norm": np.inf}})
    assert point_id(settings) == "a9a76f697ebabf23"
