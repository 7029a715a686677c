"""Numbers in the prose of the pages are those of the committed results."""

import json
from pathlib import Path

import pandas as pd
import pytest

from bench.errors import InputError
from figures import prose
from figures.docs import outdated, pages

ROOT = Path(__file__).parents[2]
TABLE = pd.DataFrame(
    {
        "series": ["a", "a", "b", "b"],
        "x": [1, 2, 1, 2],
        "y": [0.25, 0.5, 0.2, 0.1],
        "bound": [1.0, 2.0, 2.0, 4.0],
    }
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "figures").mkdir()
    TABLE.to_csv(tmp_path / "figures" / "one.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("value the one y .2f \"series == 'b' and x == 2\"", "0.10"),
        ("value the one y .0% \"series == 'a' and x == 1\"", "25"),
        ("value most one y .1f", "0.5"),
        ('value number one y .0f "y >= 0.2"', "3"),
        ("value least one bound/y .0f", "4"),
        ("apart the one y .2f \"series == 'a' and x == 2\" \"series == 'b' and x == 2\"", "0.40"),
        ("apart least one y .0% \"series == 'a'\" \"series == 'b'\" x", "5"),
        ("apart most one y x.1f \"series == 'a'\" \"series == 'b'\" x", "5.0"),
    ],
)
def test_a_number_is_that_of_the_table(words, number, folder):
    page = f"From <!-- = {words} -->?<!-- . --> on"
    assert prose.written_anew(page, folder) == f"From <!-- = {words} -->{number}<!-- . --> on"
    assert prose.without_comments(prose.written_anew(page, folder)) == f"From {number} on"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("value the one y .2f \"series == 'a'\"", "cannot be computed"),
        ("value the one nosuch .2f", "cannot be computed"),
        ('value the one y .2f "nosuch == 1"', "nosuch"),
        ("value the two y .2f", "two.csv is missing"),
        ("value the one y .2f \"series == 'a'", "quotes do not match"),
        ("apart the one y .2f \"series == 'a'\" \"series == 'b'\"", "cannot be computed"),
        ("nosuch", "number in the prose"),
        ("value", "cannot be computed"),
    ],
)
def test_a_number_that_cannot_be_computed_is_named(words, said, folder):
    with pytest.raises(InputError, match=said) as error:
        prose.number(folder, words)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_number_that_changes_makes_its_page_outdated(tmp_path):
    laptop, here = ROOT / "results" / "sweeps", tmp_path / "sweeps"
    here.mkdir()
    for path in (ROOT / "results").glob("perf*.json"):
        (tmp_path / path.name).symlink_to(path)
    for path in laptop.iterdir():
        (here / path.name).symlink_to(path)
    (here / "figures").unlink()
    (here / "figures").mkdir()
    for path in (laptop / "figures").glob("*.csv"):
        (here / "figures" / path.name).symlink_to(path)
    overlap = here / "figures" / "pfl_overlap.csv"
    table = pd.read_csv(overlap)
    overlap.unlink()
    table.assign(mean=2 * table["mean"]).to_csv(overlap, index=False)
    assert {page.name for page in outdated(ROOT, here / "figures")} == {"index.md", "is-your-dp-right.md", "pfl.md"}


def test_the_papers_pages_have_such_numbers():
    with_numbers = {page.name for page in pages(ROOT) if prose.NUMBER.search(page.read_text())}
    assert {"index.md", "ppsgd.md", "isrl.md", "p2p.md", "pfl.md", "reproducing.md"} <= with_numbers


def test_numbers_of_speed_are_those_of_the_file_of_perf(tmp_path):
    content = {
        "first": {
            "date": "2026-01-02",
            "lines": [{"what": "a round", "value": 0.25}, {"what": "memory", "value": 3e-3}],
            "shares_of_limit": {"net": {"1 core": 0.71, "2 cores": 0.6}},
        },
        "second": {"date": "2026-01-03", "lines": [{"what": "twice", "value": 1}] * 2, "shares_of_limit": {}},
    }
    with pytest.raises(InputError, match="run `python -m bench perf --out"):
        prose.number(tmp_path / "sweeps", "measured 'a round' .2f")
    (tmp_path / "perf.json").write_text(json.dumps(content))
    for words, number in {
        "measured 'a round' .1f": "0.2",
        "measured memory .0f 1000": "3",
        "measured 'share net, 1 core' .0%": "71",
        "measured 'date first' ''": "2026-01-02",
    }.items():
        assert prose.number(tmp_path / "sweeps", words) == number
    for wrong in ("measured 'no such' .1f", "measured twice .1f", "measured 'share net, 3 cores' .0%"):
        with pytest.raises(InputError, match="cannot be computed"):
            prose.number(tmp_path / "sweeps", wrong)
