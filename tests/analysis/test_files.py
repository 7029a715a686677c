"""Files that are there whole or not at all, several of them together."""

import pytest

from bench.analysis.files import write_whole, written_whole


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
