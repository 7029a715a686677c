"""`python -m figures report`."""

import os
import shutil

import pytest
from few import keep
from made_up_report import results

from figures import FIGURES, PAPERS
from figures.report.write import write
from figures.shared.drawn import RECORD


@pytest.fixture
def few(monkeypatch):
    """One figure and one paper, to be quick."""
    name = "ppsgd_fig2_digits"
    keep(monkeypatch, [name], [PAPERS["ppsgd"]._replace(figures={name: FIGURES[name]})])


@pytest.mark.usefixtures("few")
def test_the_command_says_where_the_page_is_and_how_large(command, tmp_path):
    results(tmp_path)
    status, out, err = command("report", "--results", tmp_path)
    assert status == 0
    page = tmp_path / "report" / "index.html"
    assert out == [f"{page} ({page.stat().st_size / 1e6:.1f} MB)"]
    drawn = tmp_path / "laptop" / "figures" / "ppsgd_fig2_digits.png"
    assert err == [f"ppsgd_fig2_digits is drawn for the report: {drawn} is missing or was not drawn from these runs"]
    assert not drawn.exists()
    assert [path.name for path in page.parent.iterdir()] == ["index.html"]


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_picture_that_was_drawn_from_the_runs_that_are_there_is_taken(command, tmp_path):
    """Also in a copy, whose files all have other times; not where a run is another, or the record does not know it."""
    first, copy = tmp_path / "first", tmp_path / "copy"
    results(first)
    words = ["report", "--results", copy, "--out", tmp_path / "b" / "x.html"]
    assert command("--results", first)[0] == 0
    assert command("report", "--results", first)[2] == []
    shutil.copytree(first, copy)
    (part,) = (copy / "laptop" / "ppsgd_digits").glob("part*")
    os.utime(part, (part.stat().st_atime, part.stat().st_mtime + 1000))
    assert command(*words)[2] == []
    (copy / "laptop" / "figures" / RECORD).unlink()
    assert "was not drawn from these runs" in command(*words)[2][0]
    assert (tmp_path / "b" / "x.html").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--results", "nowhere"], "no results in nowhere: first run `python -m bench run all --out nowhere`"),
        (["--scale", "laptp"], "no scale is called 'laptp': did you mean laptop?"),
        (["ppsgd"], "report takes no names"),
    ],
)
def test_bad_input_is_one_line_and_status_2(command, words, said):
    status, out, err = command("report", *words)
    assert (status, out, len(err)) == (2, [], 1)
    assert err[0].startswith("error: ")
    assert said in err[0]


@pytest.mark.usefixtures("few")
def test_an_out_that_cannot_be_written_leaves_nothing(command, tmp_path):
    results(tmp_path)
    (tmp_path / "taken").write_text("a file")
    status, out, err = command("report", "--results", tmp_path, "--out", tmp_path / "taken" / "index.html")
    assert (status, out) == (2, [])
    assert err[-1].startswith(f"error: cannot write {tmp_path / 'taken'}")
    status, _, err = command("report", "--results", tmp_path, "--out", tmp_path)
    assert status == 2
    assert "it is a folder; name a file" in err[-1]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("few")
def test_a_page_that_is_there_stays_whole_until_the_new_one_is(tmp_path, monkeypatch):
    results(tmp_path)
    out = tmp_path / "index.html"
    out.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, None, out)
    assert out.read_text() == "old"
    assert not list(tmp_path.glob(".index*"))


@pytest.mark.usefixtures("few")
@pytest.mark.slow
def test_a_damaged_picture_is_drawn_anew_and_a_record_that_is_a_folder_is_none(command, tmp_path):
    folder = results(tmp_path / "results") / "laptop" / "figures"
    assert command("--results", tmp_path / "results")[0] == 0
    picture = folder / "ppsgd_fig2_digits.png"
    picture.write_bytes(picture.read_bytes()[:200])
    status, _, err = command("report", "--results", tmp_path / "results")
    assert status == 0
    assert any("ppsgd_fig2_digits is drawn for the report" in line for line in err)
    (folder / "drawn.json").unlink()
    (folder / "drawn.json").mkdir()
    assert command("report", "--results", tmp_path / "results")[0] == 0
    place = tmp_path / "results" / "compare" / "mine"
    place.mkdir(parents=True)
    (place / "comparison.csv").write_text("method,score\nmine,0.9\n")
    (place / "comparison.png").write_bytes(b"no picture")
    status, _, err = command("report", "--results", tmp_path / "results")
    assert (status, err[-1]) == (2, f"error: {place / 'comparison.png'} is damaged: make the comparison again")
