"""Files that several processes share: whole or not at all, and readable by whoever may read the folder."""

import os
import stat

import pytest

from bench import files as locking


def test_a_file_has_the_mode_that_files_have_here(tmp_path):
    """Where a cache is shared, files of mode 0600 shut everybody else out."""
    before = os.umask(0o022)
    try:
        locking.write_whole(tmp_path / "file", b"content")
        descriptor = locking.open_lock(tmp_path / "lock")
    finally:
        os.umask(before)
    os.close(descriptor)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "lock")] == [0o644, 0o644]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch):
    locking.write_whole(tmp_path / "file", b"before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        locking.write_whole(tmp_path / "file", b"after")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"before"


def test_a_lock_follows_no_link_and_empties_nothing(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(OSError, match=r"symbolic|links"):
        locking.open_lock(tmp_path / "lock")
    os.close(locking.open_lock(precious))
    assert precious.read_text() == "kept"
