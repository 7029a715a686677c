"""`python -m figures`: what it draws, and one line with exit status 2 for what it cannot."""

import os
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from few import keep
from made_up_runs import digit_runs, synthetic_runs, write

from bench import processes
from figures import FIGURES, PAPERS
from figures.ppsgd.claims import CLAIMS
from figures.shared.figure import Figure
from figures.shared.runs import no_results

SOME = ["ppsgd_fig1a", "ppsgd_fig1c", "ppsgd_fig2_digits"]
ALL = sorted(FIGURES)
THEIRS = len({claim.statement for claim in CLAIMS} - {""})
DIGIT_FIGURES = ["ppsgd_fig1c", "ppsgd_fig2_digits"]


@pytest.fixture(scope="module")
def made_up():
    return synthetic_runs(rounds=(0, 20, 50, 200), deltas=(0.1,)), digit_runs()


@pytest.fixture(autouse=True)
def one_paper(monkeypatch):
    """Some figures and the claims of one paper are enough to test the command."""
    keep(monkeypatch, SOME, [PAPERS["ppsgd"]])


@pytest.fixture(scope="module")
def written(made_up, tmp_path_factory):
    """A folder of results of scale smoke, which no test may change."""
    folder = tmp_path_factory.mktemp("written")
    for runs in made_up:
        write(runs, folder)
    return folder


@pytest.fixture
def results(tmp_path, written):
    """A copy of those results."""
    return shutil.copytree(written, tmp_path / "results")


@pytest.fixture
def figures(command, results):
    """Runs a command line on the results: status, lines of output, lines of error."""
    return lambda *words, at=results: command(*words, "--results", at)


@pytest.fixture
def drawn(monkeypatch):
    """What would be written, without the pictures: name -> (folder, table)."""
    there = {}

    def save(figure, table, folder, name, alt):
        assert alt
        there[name] = folder, table
        return [folder / f"{name}.png"]

    monkeypatch.setattr(Figure, "picture", lambda figure, table, width: None)
    monkeypatch.setattr("figures.shared.figure.save_picture", save)
    return there


def test_all_figures_are_drawn_beside_the_results(figures, results):
    status, out, err = figures()
    assert (status, err) == (0, [])
    assert out == [str(results / "smoke" / "figures" / f"{name}.png") for name in SOME]
    files = {path.name for path in (results / "smoke" / "figures").iterdir()}
    assert files == {f"{name}.{kind}" for name in SOME for kind in ("png", "csv")} | {"drawn.json"}
    assert len(pd.read_csv(results / "smoke" / "figures" / "ppsgd_fig1c.csv")) > 10


@pytest.mark.parametrize("words", [[], ["ppsgd_fig2_digits", "ppsgd_fig1c"]])
def test_a_figure_whose_code_fails_is_named_the_others_are_drawn_and_the_status_is_1(
    figures, drawn, monkeypatch, words
):
    def fail(runs):
        raise RuntimeError("of this figure")

    monkeypatch.setitem(FIGURES, "ppsgd_fig1c", FIGURES["ppsgd_fig1c"]._replace(table=fail))
    monkeypatch.setattr("figures.FIGURES", {name: FIGURES[name] for name in SOME})
    status, out, (line,) = figures(*words)
    others = [name for name in SOME if name != "ppsgd_fig1c"] if not words else ["ppsgd_fig2_digits"]
    assert (status, len(out), list(drawn)) == (1, len(others), others)
    assert line.startswith("error: ppsgd_fig1c: its code fails, RuntimeError: of this figure: report this")


def test_list_names_each_figure_with_a_line_about_it(command):
    status, lines, _ = command("list")
    assert status == 0
    assert [line.split()[0] for line in lines] == SOME
    assert all(len(line.split()) > 3 for line in lines)


def test_what_is_no_smoke_run_is_the_default(figures, drawn, results, made_up):
    write(made_up[1], results, "laptop")
    (results / "sweeps" / "ppsgd_synthetic").mkdir(parents=True)  # begun, nothing in it yet
    made_up[1].head(0).to_parquet(results / "sweeps" / "ppsgd_synthetic" / "columns.parquet")
    assert figures()[0] == 0
    scales = {name: folder.parent.name for name, (folder, _) in drawn.items()}
    assert scales == {"ppsgd_fig1a": "smoke", "ppsgd_fig1c": "sweeps", "ppsgd_fig2_digits": "sweeps"}
    drawn.clear()
    assert figures("--scale", "smoke")[0] == 0
    assert {folder.parent.name for folder, _ in drawn.values()} == {"smoke"}
    assert {scale for _, table in drawn.values() for scale in table["scale"]} == {"smoke"}


def test_a_sweep_without_results_does_not_keep_the_others_from_being_drawn(figures, drawn, results):
    (part,) = (results / "smoke" / "ppsgd_synthetic").glob("part*")
    part.unlink()
    status, out, err = figures()
    assert (status, len(out), sorted(drawn)) == (0, 2, DIGIT_FIGURES)
    (line,) = err
    assert line.startswith("ppsgd_fig1a is left out: no results of ppsgd_synthetic")
    assert f"python -m bench run ppsgd_synthetic --out {results}" in line


def test_claims_of_all_papers_or_one(figures, results, tmp_path):
    status, out, err = figures("claims")
    assert (status, err) == (0, [])
    assert figures("claims", "ppsgd", "--out", tmp_path / "new") == (0, out, [])
    assert sum(line.startswith("- **") for line in out) == len(CLAIMS)
    assert out[-1] == f"Scale smoke. {THEIRS} statements: {THEIRS} open."
    for folder in (results / "smoke" / "figures", tmp_path / "new"):
        assert {path.name for path in folder.iterdir()} == {
            *("claims_ppsgd.csv", "claims_ppsgd_comparisons.csv", "claims_ppsgd.md", "judged.json")
        }


def test_claims_of_several_papers_are_in_one_table_as_well(figures, results, monkeypatch):
    paper, never = PAPERS["ppsgd"], [claim._replace(sweep="never") for claim in CLAIMS[:1]]
    others = [paper._replace(name="another", claims=CLAIMS[5:7]), paper._replace(name="unrun", claims=never)]
    keep(monkeypatch, SOME, [paper, *others])
    monkeypatch.setattr(processes, "cores", lambda: [0])  # other processes know nothing of these papers
    status, out, err = figures("claims")
    assert status == 0
    assert err == ["the claims of unrun are left out: " + str(no_results(results, None, ["never"]))]
    assert out[-3] == f"ppsgd: {THEIRS} statements: {THEIRS} open"
    assert out[-1] == "unrun: 1 statements: 1 open"
    table = pd.read_csv(results / "smoke" / "figures" / "claims.csv")
    assert list(table["paper"].unique()) == ["ppsgd", "another", "unrun"]
    assert len(table) == len(CLAIMS) + 3
    assert figures("claims", "another")[0] == 0
    again = pd.read_csv(results / "smoke" / "figures" / "claims.csv")
    assert list(again["paper"].unique()) == ["ppsgd", "another"]  # the one that was never run has left no table
    pd.testing.assert_frame_equal(again, table[table["paper"] != "unrun"])


def one_line(result, *said):
    status, out, err = result
    assert (status, out, len(err)) == (2, [], 1), result
    assert err[0].startswith("error: ")
    for words in said:
        assert words in err[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ppsgd_fig1b"], "no figure is called 'ppsgd_fig1b': did you mean ppsgd_fig1"),
        (
            ["ppsgd_fig1a", "claim"],
            "no figure is called 'claim': choose from ppsgd_fig1a, ppsgd_fig1c, ppsgd_fig2_digits",
        ),
        (["claims", "nonsense"], "no paper with claims is called 'nonsense': choose from ppsgd"),
        (["claims", "ppsgd", "pppsgd"], "did you mean ppsgd?"),
        (["--scale", "laptp"], "no scale is called 'laptp': did you mean laptop?"),
        (["claims", "--scale", "x"], "no scale is called 'x'"),
        (["ppsgd_fig1a", "--scale", "laptop"], "first run `python -m bench run ppsgd_synthetic --scale laptop --out "),
        (["claims", "--scale", "paper"], "first run `python -m bench run ppsgd_synthetic --scale paper --out "),
        (["ppsgd_fig1a", "--scale", "laptop"], "are in the project's repository, folder results"),
        (["--outt", "x"], "No such option: --outt"),
        (["ppsgd_fig1a", "--width", "0.5"], "width 0.5 is in inches: give one from 3 to 50"),
        (["--width", "5"], "--width 5 needs the name of a figure, as in `python -m figures ppsgd_fig1a --width 5`"),
    ],
)
def test_bad_input_is_one_line_and_status_2(figures, drawn, words, said):
    one_line(figures(*words), said)
    assert drawn == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["board", "--results", "nowhere"], "no board in nowhere: run `python -m bench board --out nowhere` first"),
        (["board", "digits"], "unexpected extra argument(s) (digits)"),
        (
            ["report", "--results", "nowhere"],
            "first run `python -m bench run all --out nowhere`",
        ),
        (["report", "--scale", "laptp"], "no scale is called 'laptp': did you mean laptop?"),
        (["report", "ppsgd"], "unexpected extra argument(s) (ppsgd)"),
        (["ppsgd_fig1a", "--scale"], "--scale"),
    ],
)
def test_bad_input_without_results_is_one_line_and_status_2(command, words, said):
    one_line(command(*words), said)


@pytest.mark.parametrize("words", [[], ["ppsgd_fig1c"], ["claims"], ["--scale", "smoke"]])
def test_no_results_says_how_to_make_some(figures, tmp_path, words):
    status, out, err = figures(*words, at=tmp_path / "nowhere")
    assert (status, out) == (2, [])
    assert "python -m bench run" in err[-1]
    assert len(err) == (1 if words and words[0] in ("claims", "ppsgd_fig1c") else 1 + len(SOME))


@pytest.mark.parametrize("words", [["ppsgd_fig1c"], ["claims", "ppsgd"]])
@pytest.mark.parametrize("place", ["taken", "taken/below"])
def test_an_out_that_cannot_be_written_is_one_line(figures, tmp_path, words, place, no_layout):
    (tmp_path / "taken").write_text("a file")
    status, _, err = figures(*words, "--out", tmp_path / place)
    assert (status, len(err)) == (2, 1)
    assert err[0].startswith(f"error: cannot write {tmp_path / 'taken'}")
    assert err[0].endswith("; choose another --out")


def test_the_command_as_a_person_runs_it(results, tmp_path):
    """A process of its own: the module can be run, and importing it draws nothing in a window."""
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    words = [sys.executable, "-m", "figures", "xxxx", "--results", str(results)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [f"error: no figure is called 'xxxx': choose from {', '.join(ALL)}."]


@pytest.mark.parametrize(
    "words",
    [
        ["ppsgd_fig1c"],
        ["draw", "ppsgd_fig1c"],
        ["--scale", "smoke", "ppsgd_fig1c"],
        ["draw", "--scale", "smoke", "ppsgd_fig1c"],
    ],
)
def test_draw_need_not_be_named(figures, drawn, words):
    assert figures(*words)[0] == 0
    assert list(drawn) == ["ppsgd_fig1c"]


def test_a_width_gives_a_pdf_of_that_width_alone(figures, tmp_path):
    status, out, err = figures("ppsgd_fig1c", "--width", "6.75", "--out", tmp_path / "print")
    assert (status, err) == (0, [])
    assert out == [str(tmp_path / "print" / "ppsgd_fig1c_6.75in.pdf")]
    assert [path.name for path in (tmp_path / "print").iterdir()] == ["ppsgd_fig1c_6.75in.pdf"]
