"""The page of everything: what is on it, that it is sound HTML, and that it asks the network for nothing."""

import re

import pandas as pd
from html_page import Page
from made_up_report import HARMLESS, beside
from markupsafe import escape
from PIL import Image

from figures import FIGURES, PAPERS
from figures.pages.report.facts import duration

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
    assert any(words.startswith("python -m figures ppsgd_fig1c") for words in commands)


def test_every_claim_is_a_row_with_its_verdict(page, text):
    rows = [attributes for attributes, _ in page.all("tr") if "data-verdict" in attributes]
    claims = [(paper.name, claim) for paper in PAPERS.values() for claim in paper.claims]
    assert [row["data-paper"] for row in rows] == [paper for paper, _ in claims]
    assert '<a href="#ppsgd_fig1a">section 6, Figure 1a</a>' in text
    assert '<a href="#isrl_fig2">section 4, Figures 2 and 3</a>' in text
    for _, claim in claims:
        assert escape(claim.text) in text
    assert {row["data-verdict"] for row in rows} == {"yes", "no", "open"}


def test_the_setting_of_every_claim_is_on_a_page_of_its_paper(path):
    for paper in PAPERS.values():
        own = (beside(path) / "claims" / f"{paper.name}.html").read_text()
        Page(own)
        for claim in paper.claims:
            assert escape(claim.text) in own
            assert escape(claim.settings.words) in own
        assert f'href="../../index.html#paper-{paper.name}"' in own


def test_the_first_screen_comes_first(page, text):
    """The papers that are reproduced in full with their verdicts and pictures, before any list of figures."""
    cards = [attributes for attributes, _ in page.all("article") if attributes.get("class") == "card"]
    assert len(cards) == 4
    first = text[: text.index('id="contents"')]
    for paper in PAPERS.values():
        assert escape(paper.found) in first
    assert "Protects all data of one user" in first
    assert "cards/ppsgd.png" in first
    theirs = {(name, claim.statement) for name, paper in PAPERS.items() for claim in paper.claims if claim.statement}
    assert f"{len(theirs)} statements: " in first


def test_what_stands_beside_a_result(text):
    article = re.search(r'<article id="ppsgd_fig1c">.*?</article>', text, re.DOTALL)[0]
    for words in ("2026-01-02", "commit 0123456789ab; jax 0.0.1", "1 x cpu", "laptop", "<dd>3</dd>", "Expected"):
        assert words in article
    single = 2 * 3 * (1 + 5 * 4)  # steps x repetitions x (local + curves x noises)
    assert f"{single} in {duration(single * 0.5)}, without compilation" in article


def test_numbers_can_be_saved(page, path):
    links = {a["download"]: a["href"] for a, _ in page.all("a") if "download" in a}
    names = {"claims.csv", "ppsgd_fig1c.csv", "pfl_table5.csv", "mine_comparison.csv", "mine_tuning.csv"}
    assert names <= set(links)
    for name, address in links.items():
        assert address == f"{beside(path).name}/{(path.parent / address).relative_to(beside(path))}"
        assert (path.parent / address).name == name
    assert (path.parent / links["ppsgd_fig1c.csv"]).read_bytes() == b"rounds,value\n1,0.5\n"
    assert len(pd.read_csv(path.parent / links["claims.csv"])) == sum(len(paper.claims) for paper in PAPERS.values())


def test_every_address_leads_somewhere(page, path):
    ids = {attributes["id"] for _, attributes, _ in page.elements if "id" in attributes}
    for attributes, _ in page.all("a"):
        address = attributes["href"]
        assert address[1:] in ids if address[0] == "#" else (path.parent / address).is_file(), address


# ---- That it is sound ----


def test_pictures_are_files_beside_the_page_and_described(page, path):
    pictures = page.all("img")
    assert len(pictures) > 5
    for attributes, _ in pictures:
        assert attributes["loading"] == "lazy"
        assert len(attributes["alt"]) > 20
        with Image.open(path.parent / attributes["src"]) as picture:
            assert picture.size == (int(attributes["width"]), int(attributes["height"]))


def test_nothing_comes_from_elsewhere(page, path):
    own = ("#", f"{beside(path).name}/")
    for _, attributes, _ in page.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert attributes.get(name, "#").startswith(own), attributes
    assert "link" not in {tag for tag, _, _ in page.elements}
    (style,) = [words for _, words in page.all("style")]
    assert "url(" not in style
    assert "@import" not in style
    (program,) = [words for _, words in page.all("script")]
    assert not re.search(r"fetch|XMLHttp|import|WebSocket|http", program)
    (policy,) = [a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; img-src 'self' data:; ")


def test_what_comes_from_results_is_escaped(text):
    assert HARMLESS not in text
    assert escape(HARMLESS) in text
    assert text.count("<script") == 1
