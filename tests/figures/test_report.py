"""The page of everything: what is on it, that it is sound HTML, and that it asks the network for nothing."""

import base64
import os
import re
import shutil
import sys
from html.parser import HTMLParser
from io import BytesIO

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from made_up_report import HARMLESS, made, results
from PIL import Image

from bench.analysis.select import span
from figures import FIGURES
from figures import __main__ as command
from figures.claims import CLAIMS
from figures.report import html
from figures.report.facts import duration, facts_of
from figures.report.pictures import small
from figures.report.write import write
from figures.shared.drawn import RECORD, digest, record, recorded

VOID = {"meta", "img", "link", "br", "input", "hr"}


class Page(HTMLParser):
    """Elements in order, each with its attributes and the text directly within; complains of what is not balanced."""

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self._open.append((tag, self.elements[-1]))

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        if self._open:
            self._open[-1][1][2].append(data)

    def all(self, tag):
        return [(attributes, "".join(text)) for name, attributes, text in self.elements if name == tag]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return made(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def text(path):
    return path.read_text()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


# ---- What is on it ----


def test_every_figure_is_there_drawn_or_listed_as_not_run(page):
    ids = [attributes["id"] for _, attributes, _ in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert set(FIGURES) <= set(ids)
    drawn = {attributes["id"] for attributes, _ in page.all("article") if attributes.get("id") in FIGURES}
    missing = {attributes["id"] for attributes, _ in page.all("li") if attributes.get("id") in FIGURES}
    assert drawn | missing == set(FIGURES)
    assert drawn & missing == set()
    assert {"ppsgd_fig1c", "ppsgd_fig2_digits", "pfl_table5", "isrl_table1"} <= drawn
    assert {"ppsgd_fig1a", "isrl_fig2", "p2p_fig1", "pfl_table2"} <= missing
    commands = [words for _, words in page.all("code")]
    assert "python -m bench run ppsgd_synthetic --scale laptop --out " in " ".join(commands)
    assert any(words.startswith("python -m figures ppsgd_fig1c --scale laptop") for words in commands)


def test_figures_stand_in_their_papers_order(page):
    shown = [attributes["id"] for attributes, _ in page.all("article") if attributes.get("id") in FIGURES]
    papers = list(dict.fromkeys(name.split("_")[0] for name in shown))
    assert papers == [paper for paper in CLAIMS if paper in papers]
    for paper in papers:
        own = [name for name in shown if name.split("_")[0] == paper]
        assert own == [name for name in FIGURES if name in own]


def test_every_claim_is_a_row_with_its_verdict(page, text):
    rows = [attributes for attributes, _ in page.all("tr") if "data-verdict" in attributes]
    claims = [(paper, claim) for paper, found in CLAIMS.items() for claim in found]
    assert [row["data-paper"] for row in rows] == [paper for paper, _ in claims]
    for _, claim in claims:
        assert html.escape(claim.text) in text
        assert html.escape(claim.how) in text
    assert {row["data-verdict"] for row in rows} == {"holds", "not testable at this scale"}


def test_what_stands_beside_a_result(text):
    article = re.search(r'<article id="ppsgd_fig1c">.*?</article>', text, re.DOTALL)[0]
    for words in ("2026-01-02", "commit 0123456789ab; jax 0.0.1", "1 x cpu", "laptop", "<dd>3</dd>", "To expect"):
        assert words in article
    single = 2 * 3 * (1 + 5 * 4)  # steps x repetitions x (local + curves x noises)
    assert f"{single} in {duration(single * 0.5)}, and 2.0 s of compilation" in article


def test_published_numbers_stand_beside_ours(page, text):
    article = re.search(r'<article id="pfl_table5">.*?</article>', text, re.DOTALL)[0]
    heads = re.findall(r'<button type="button">([^<]*)</button>', article)
    assert {"published", "difference", "test_accuracy"} <= set(heads)


def test_numbers_can_be_saved(page):
    links = {a["download"]: a["href"] for a, _ in page.all("a") if "download" in a}
    assert {"claims.csv", "ppsgd_fig1c.csv", "pfl_table5.csv", "mine_comparison.csv", "mine_tuning.csv"} <= set(links)
    head, content = links["ppsgd_fig1c.csv"].split(",")
    assert head == "data:text/csv;charset=utf-8;base64"
    assert base64.b64decode(content) == b"rounds,value\n1,0.5\n"


def test_comparisons_are_in_the_last_section(page):
    sections = [attributes["id"] for attributes, _ in page.all("section")]
    assert sections == ["claims", *(f"paper-{paper}" for paper in CLAIMS), "comparisons"]
    assert any(words == "mine: comparison" for _, words in page.all("caption"))


# ---- That it is sound ----


def test_pictures_are_in_the_page_and_described(page):
    pictures = page.all("img")
    assert len(pictures) > 5
    for attributes, _ in pictures:
        assert attributes["src"].startswith("data:image/png;base64,")
        assert len(attributes["alt"]) > 20
        picture = Image.open(BytesIO(base64.b64decode(attributes["src"].split(",")[1])))
        assert picture.size == (int(attributes["width"]), int(attributes["height"]))


def test_nothing_comes_from_elsewhere(page, text):
    for _, attributes, _ in page.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert attributes.get(name, "#").startswith(("#", "data:")), attributes
    assert "link" not in {tag for tag, _, _ in page.elements}
    (style,) = [words for _, words in page.all("style")]
    assert "url(" not in style
    assert "@import" not in style
    (program,) = [words for _, words in page.all("script")]
    assert not re.search(r"fetch|XMLHttp|import|WebSocket|http", program)
    (policy,) = [a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def test_what_comes_from_results_is_escaped(text):
    assert HARMLESS not in text
    assert html.escape(HARMLESS) in text
    assert text.count("<script") == 1


def test_headings_tables_and_buttons_are_for_everybody(page):
    assert [words for _, words in page.all("h1")] == ["Private federated learning, benchmarked"]
    for attributes, _ in page.all("th"):
        assert attributes == {"scope": "col", "aria-sort": "none"}
    assert len(page.all("table")) == len(page.all("caption")) == len(page.all("thead"))
    (viewport,) = [a["content"] for a, _ in page.all("meta") if a.get("name") == "viewport"]
    assert viewport == "width=device-width, initial-scale=1"
    assert [a["lang"] for a, _ in page.all("html")] == ["en"]


def test_the_parser_of_these_tests_finds_what_is_not_balanced():
    for wrong in ("<p><b></p></b>", "<p>", '<p id="a" id="b"></p>'):
        with pytest.raises(AssertionError):
            Page(wrong)


# ---- Its pieces ----


def test_formulas_become_what_a_browser_shows():
    assert html.formula(r"$N^{1/2} \min(n, \varepsilon_1)$ a<b") == ("N<sup>1/2</sup> min(n, ε<sub>1</sub>) a&lt;b")
    assert html.formula("5 $ and <b>") == "5 $ and &lt;b&gt;"


def test_cells_sort_by_their_numbers_and_escape():
    text = html.table(pd.DataFrame({"a": [float("nan"), 1e-5, float("inf")], "b<": ["1,234 x", "<i>", "word"]}), "t")
    assert re.findall(r'data-number="([^"]*)"', text) == ["1234", "1e-05", "inf"]
    assert "b&lt;" in text
    numbers = html.table(pd.DataFrame({"a": [0.12345, 12345.6, 7.0, -1e-7]}), "t")
    assert re.findall(r">([^<>]+)</td>", numbers) == ["0.1235", "12,346", "7", "-1e-07"]
    assert "<i>" not in text


def test_a_small_picture_is_the_same_picture():
    figure, ax = plt.subplots(figsize=(3, 2))
    ax.plot([0, 1], color="#c8443c", linewidth=3)
    out = BytesIO()
    figure.savefig(out, format="png")
    plt.close(figure)
    content, width, height = small(out.getvalue())
    assert len(content) <= len(out.getvalue())
    before, after = (Image.open(BytesIO(one)).convert("RGB") for one in (out.getvalue(), content))
    assert before.size == after.size == (width, height)
    apart = [abs(a - b) for a, b in zip(before.tobytes(), after.tobytes(), strict=True)]
    assert sum(apart) / len(apart) < 1


def test_facts_count_runs_once_and_compilations_once():
    runs = pd.DataFrame(
        {
            "sweep": "s",
            "point": ["a", "a", "a", "b"],
            "trial": 0,
            "seed": [0, 0, 1, 0],
            "rounds": [0, 1, 1, 1],
            "algorithm": "x",
            "source": "generated",
            "scale": "laptop",
            "wall_s": [1.0, 1.0, 2.0, 4.0],
            "compile_s": [3.0, 3.0, 3.0, 5.0],
            "date": ["2026-01-01", "2026-01-01", "2026-02-01", "2025-12-01"],
        }
    )
    facts = facts_of(runs)
    assert (facts.num_runs, facts.wall_s, facts.compile_s) == (3, 7.0, 8.0)
    assert (facts.repetitions, facts.newest) == ((1, 2), "2026-02-01")
    assert (facts.commits, facts.devices) == ((), ())
    assert [duration(seconds) for seconds in (2, 90, 7200)] == ["2.0 s", "1.5 min", "2.0 h"]
    assert [span((3, 3)), span((1, 5))] == ["3", "1 to 5"]


# ---- The command ----


@pytest.fixture
def figures(monkeypatch, capsys):
    def call(*words):
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["figures", *map(str, words)])
        status = command.run()
        out, err = capsys.readouterr()
        return status, out.splitlines(), err.splitlines()

    return call


@pytest.fixture
def few(monkeypatch):
    """One figure and one paper, to be quick."""
    for known, kept in ((FIGURES, ["ppsgd_fig2_digits"]), (CLAIMS, ["ppsgd"])):
        for name in [name for name in known if name not in kept]:
            monkeypatch.delitem(known, name)


@pytest.mark.usefixtures("few")
def test_the_command_says_where_the_page_is_and_how_large(figures, tmp_path):
    results(tmp_path)
    with plt.rc_context({"savefig.dpi": 40}):
        status, out, err = figures("report", "--results", tmp_path)
    assert status == 0
    page = tmp_path / "report" / "index.html"
    assert out == [f"{page} ({page.stat().st_size / 1e6:.1f} MB)"]
    drawn = tmp_path / "laptop" / "figures" / "ppsgd_fig2_digits.png"
    assert err == [f"ppsgd_fig2_digits is drawn for the report: {drawn} is missing or was not drawn from these runs"]
    assert not drawn.exists()
    assert [path.name for path in page.parent.iterdir()] == ["index.html"]


@pytest.mark.usefixtures("few")
def test_a_picture_that_was_drawn_from_the_runs_that_are_there_is_taken(figures, tmp_path):
    """Also in a copy, whose files all have other times; not where a run is another, or the record does not know it."""
    first, copy = tmp_path / "first", tmp_path / "copy"
    results(first)
    words = ["report", "--results", copy, "--out", tmp_path / "b" / "x.html"]
    with plt.rc_context({"savefig.dpi": 40}):
        assert figures("--results", first)[0] == 0
        assert figures("report", "--results", first)[2] == []
        shutil.copytree(first, copy)
        (part,) = (copy / "laptop" / "ppsgd_digits").glob("part*")
        os.utime(part, (part.stat().st_atime, part.stat().st_mtime + 1000))
        assert figures(*words)[2] == []
        (copy / "laptop" / "figures" / RECORD).unlink()
        assert "was not drawn from these runs" in figures(*words)[2][0]
    assert (tmp_path / "b" / "x.html").is_file()


def test_a_digest_is_of_the_runs_that_a_figure_shows_and_of_how_it_was_tuned(tmp_path):
    shows, another = FIGURES["ppsgd_fig2_digits"], FIGURES["pfl_table5"]
    results(tmp_path)
    folder = tmp_path / "laptop"
    before = digest(folder, shows), digest(folder, another)
    assert before[0] != before[1]
    assert digest(folder, shows, "paper") != before[0]
    assert digest(folder, another, "paper") == before[1]  # has one way of tuning
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
    record(tmp_path, "b", "1")
    record(tmp_path, "a", "2")
    record(tmp_path, "b", "3")
    assert recorded(tmp_path) == {"a": "2", "b": "3"}
    with monkeypatch.context() as patched:
        patched.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            record(tmp_path, "a", "4")
    assert recorded(tmp_path) == {"a": "2", "b": "3"}
    assert [path.name for path in tmp_path.iterdir()] == [RECORD]
    (tmp_path / RECORD).write_text("<<<<<<< ")
    assert recorded(tmp_path) == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--results", "nowhere"], "no results in nowhere: first run `python -m bench run all --out nowhere`"),
        (["--scale", "laptp"], "no scale is called 'laptp': did you mean laptop?"),
        (["ppsgd"], "report takes no names"),
    ],
)
def test_bad_input_is_one_line_and_status_2(figures, words, said):
    status, out, err = figures("report", *words)
    assert (status, out, len(err)) == (2, [], 1)
    assert err[0].startswith("error: ")
    assert said in err[0]


@pytest.mark.usefixtures("few")
def test_an_out_that_cannot_be_written_leaves_nothing(figures, tmp_path):
    results(tmp_path)
    (tmp_path / "taken").write_text("a file")
    with plt.rc_context({"savefig.dpi": 40}):
        status, out, err = figures("report", "--results", tmp_path, "--out", tmp_path / "taken" / "index.html")
        assert (status, out) == (2, [])
        assert err[-1].startswith(f"error: cannot write {tmp_path / 'taken'}")
        status, _, err = figures("report", "--results", tmp_path, "--out", tmp_path)
    assert status == 2
    assert "it is a folder; name a file" in err[-1]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("few")
def test_a_page_that_is_there_stays_whole_until_the_new_one_is(tmp_path, monkeypatch):
    results(tmp_path)
    out = tmp_path / "index.html"
    out.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with plt.rc_context({"savefig.dpi": 40}), pytest.raises(KeyboardInterrupt):
        write(tmp_path, None, out)
    assert out.read_text() == "old"
    assert not list(tmp_path.glob(".index*"))
