"""The record of what figures were drawn from."""

import shutil

import pytest
from made_up_report import results

from bench.files import record, recorded
from figures import FIGURES
from figures.shared.drawn import RECORD, digest


def test_a_digest_is_of_the_runs_that_a_figure_shows(tmp_path):
    shows, another = FIGURES["ppsgd_fig2_digits"], FIGURES["pfl_table5"]
    results(tmp_path)
    folder = tmp_path / "sweeps"
    before = digest(folder, shows), digest(folder, another)
    assert before[0] != before[1]
    (part,) = (folder / "ppsgd_digits").glob("part*")
    content = part.read_bytes()
    part.write_bytes(content[:99] + bytes([content[99] ^ 1]) + content[100:])  # of the same size
    assert digest(folder, shows) != before[0]
    part.write_bytes(content)
    (folder / "ppsgd_digits" / ".lock").touch()
    assert (digest(folder, shows), digest(folder, another)) == before
    shutil.copy(part, part.with_name("part-more.parquet"))
    assert digest(folder, shows) != before[0]


def test_the_record_keeps_other_figures_and_stays_whole(tmp_path, monkeypatch):
    path = tmp_path / RECORD
    record(path, "b", "1")
    record(path, "a", "2")
    record(path, "b", "3")
    assert recorded(path) == {"a": "2", "b": "3"}
    with monkeypatch.context() as patched:
        patched.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            record(path, "a", "4")
    assert recorded(path) == {"a": "2", "b": "3"}
    assert [path.name for path in tmp_path.iterdir()] == [RECORD]
    path.write_text("<<<<<<< ")
    assert recorded(path) == {}
