"""`python -m figures report`."""

import pytest
from few import keep
from made_up_report import beside, results
from made_up_runs import digit_runs
from made_up_runs import write as write_runs

from bench.analysis import style
from bench.files import record
from figures import FIGURES, PAPERS
from figures.claims import check, findings, judged_from, recall
from figures.pages.report.write import write
from figures.shared.drawn import JUDGED
from figures.shared.runs import read


@pytest.fixture
def few(monkeypatch):
    """One figure, which is an empty panel, and some claims of one paper, to be quick."""
    name = "ppsgd_fig2_digits"
    monkeypatch.setitem(FIGURES, name, FIGURES[name]._replace(draw=lambda _: style.subplots(figsize=(2, 1))[0]))
    claims = [claim for claim in PAPERS["ppsgd"].claims if claim.sweep == "ppsgd_digits"]
    keep(monkeypatch, [name], [PAPERS["ppsgd"]._replace(figures={name: FIGURES[name]}, claims=claims)])


@pytest.mark.usefixtures("few")
def test_the_command_says_where_the_page_is_and_how_large(command, tmp_path):
    results(tmp_path)
    status, out, err = command("report", "--results", tmp_path)
    assert status == 0
    page = tmp_path / "report" / "index.html"
    whole = sum(file.stat().st_size for file in beside(page).rglob("*") if file.is_file())
    sizes = f"{page.stat().st_size / 1e6:.1f} MB, and {whole / 1e6:.1f} MB of files in {beside(page).name}"
    assert out == [f"{page} ({sizes})"]
    drawn = tmp_path / "sweeps" / "figures" / "ppsgd_fig2_digits.png"
    assert err[0] == "ppsgd is judged for the report: no verdicts were written on these runs"
    assert err[1:] == [
        f"ppsgd_fig2_digits is drawn for the report: {drawn} is missing or was not drawn from these runs"
    ]
    assert not drawn.exists()
    assert {path.name for path in page.parent.iterdir()} == {"index.html", beside(page).name}


@pytest.mark.usefixtures("few")
def test_a_figure_whose_code_fails_does_not_cost_the_page_and_the_status_is_1(command, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("of this figure")

    results(tmp_path / "results")
    monkeypatch.setattr(type(FIGURES["ppsgd_fig2_digits"]), "picture", fail)
    status, _, err = command("report", "--results", tmp_path / "results")
    said = "its code fails, RuntimeError: of this figure"
    assert status == 1
    assert err[-1].startswith(f"error: ppsgd_fig2_digits: {said}")
    assert said in (tmp_path / "results" / "report" / "index.html").read_text()


@pytest.mark.usefixtures("few")
def test_files_of_an_earlier_page_are_removed_and_those_of_others_are_not(tmp_path):
    results(tmp_path)
    out = tmp_path / "page" / "index.html"
    for name in ("index-0123456789abcdef", ".17-index-0123456789abcdef", "index-mine", "other-0123456789abcdef"):
        (out.parent / name).mkdir(parents=True)
    _, folder, _ = write(tmp_path, None, out, None)
    assert {path.name for path in out.parent.iterdir()} == {
        *("index.html", folder.name, "index-mine", "other-0123456789abcdef")
    }
    (folder / "claims" / "claims.csv").unlink()
    assert write(tmp_path, None, out, None)[1] == folder
    assert (folder / "claims" / "claims.csv").is_file()


@pytest.mark.usefixtures("few")
def test_what_is_committed_comes_first_and_what_was_run_here_beside_it(tmp_path, capsys):
    """Runs of another scale, and of the same scale in another folder, which decide claims as well."""
    repository, mine = results(tmp_path / "repository"), tmp_path / "mine"
    write_runs(digit_runs(rounds=(0, 1000)).assign(num_epochs=1, date="2026-02-03"), repository, "smoke")
    committed = write(repository, "laptop", tmp_path / "a.html", repository)
    smoke = write(repository, "smoke", tmp_path / "b.html", repository)
    texts = [page.read_text() for page, _, _ in (committed, smoke)]
    assert list(committed[2].claims["seen"]) == list(smoke[2].claims["seen"])
    assert set(smoke[2].claims["here"]) == {""}
    assert [page.count('<section id="here">') for page in texts] == [0, 1]
    assert [page.count("decides no claim") for page in texts] == [0, 1]
    assert "committed with the repository" in texts[0]
    for folder in ("figures", "here"):
        assert (smoke[1] / folder / "ppsgd_fig2_digits.png").is_file()
    assert not (committed[1] / "here").exists()
    write_runs(digit_runs(rounds=(0, 1000), repetitions=2).assign(num_epochs=1), mine, "laptop")
    page, _, shown = write(mine, None, tmp_path / "c.html", repository)
    verdicts = shown.claims
    assert list(verdicts["seen"]) == list(committed[2].claims["seen"])
    assert {"yes", "no"} & set(verdicts["here"])
    assert "as committed" in page.read_text()
    assert "run here" in page.read_text()


@pytest.mark.slow
def test_verdicts_are_taken_as_written_only_where_they_are_of_these_runs(tmp_path, monkeypatch, capsys):
    name = "ppsgd_fig2_digits"
    claims = [claim for claim in PAPERS["ppsgd"].claims if claim.sweep == "ppsgd_digits"][:2]
    paper = PAPERS["ppsgd"]._replace(figures={name: FIGURES[name]}, claims=claims)
    keep(monkeypatch, [name], [paper])
    folder = results(tmp_path) / "sweeps" / "figures"

    def judged_anew():
        write(tmp_path, None, None, None)
        return "is judged for the report" in capsys.readouterr().err

    assert judged_anew()
    found = findings("ppsgd", {"ppsgd_digits": read(tmp_path / "sweeps", ["ppsgd_digits"])})
    check("ppsgd", found, folder)
    places = {"ppsgd_digits": tmp_path / "sweeps"}
    record(folder / JUDGED, "ppsgd", judged_from("ppsgd", places))
    assert not judged_anew()
    assert list(recall("ppsgd", places, folder)[0]["seen"]) == list(found.verdicts["seen"])
    keep(monkeypatch, [name], [paper._replace(claims=[claims[0]._replace(where="otherwise"), claims[1]])])
    assert judged_anew()
    keep(monkeypatch, [name], [paper])
    (part,) = (tmp_path / "sweeps" / "ppsgd_digits").glob("part*")
    part.unlink()
    write_runs(digit_runs(rounds=(0, 1000), repetitions=2).assign(num_epochs=1), tmp_path, "laptop")
    assert judged_anew()
