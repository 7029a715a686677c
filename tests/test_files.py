"""Files that are there whole or not at all, several of them together, and readable by whoever may read the folder."""

import os
import stat

import pytest

from bench.files import open_lock, write_whole, written_whole


def test_a_file_has_the_mode_that_files_have_here(tmp_path):
    """Where a cache is shared, files of mode 0600 shut everybody else out."""
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "file", b"content")
        descriptor = open_lock(tmp_path / "lock")
    finally:
        os.umask(before)
    os.close(descriptor)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "lock")] == [0o644, 0o644]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    write_whole(tmp_path / "file", b"before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"before"


def test_a_lock_follows_no_link_and_empties_nothing(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(OSError, match=r"symbolic|links"):
        open_lock(tmp_path / "lock")
    os.close(open_lock(precious))
    assert precious.read_text() == "kept"


def test_several_files_appear_together_in_folders_that_were_not_there(tmp_path):
    paths = [tmp_path / "a" / "x.png", tmp_path / "b" / "y.csv"]
    with written_whole(paths) as files:
        for number, file in enumerate(files):
            file.write_text(str(number))
        assert [file.suffix for file in files] == [".png", ".csv"]
        assert not any(path.exists() for path in paths)
    assert [path.read_text() for path in paths] == ["0", "1"]
    assert len(list(tmp_path.rglob("*"))) == 4


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_after_an_error_all_is_as_before(tmp_path, error):
    paths = [tmp_path / "x.png", tmp_path / "y.csv"]
    paths[0].write_text("old")

    def write():
        with written_whole(paths) as files:
            files[0].write_text("new")
            raise error

    with pytest.raises(error):
        write()
    assert paths[0].read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]


def test_a_text_is_replaced(tmp_path):
    for text in ("old", "new ε"):
        write_whole(tmp_path / "new" / "text.md", text)
    assert (tmp_path / "new" / "text.md").read_text(encoding="utf-8") == "new ε"
