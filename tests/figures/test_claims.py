"""Claims of any paper: what they have to say, what is judged, printed and written, and a check that stops."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from few import keep
from made_up_runs import digit_runs, judge, synthetic_runs, write

from bench.papers import PAPERS as NAMES
from figures import FIGURES, PAPERS, claims
from figures.ppsgd.claims import CLAIMS as ALL_CLAIMS
from figures.shared.margins import every, paired
from figures.shared.published import numbers
from figures.shared.verdicts import (
    AS_GIVEN,
    ERROR,
    GUESS,
    NO,
    OPEN,
    OTHER_DATA,
    OURS,
    PAPERS_OWN,
    YES,
    Claim,
    NotTestable,
    stand_in,
)

SYNTHETIC, DIGITS = synthetic_runs(), digit_runs()
SHORT = SYNTHETIC[SYNTHETIC["rounds"] <= 200]
EVERY = [(name, claim) for name, paper in PAPERS.items() for claim in paper.claims]


def test_every_paper_says_who_it_is():
    assert tuple(PAPERS) == NAMES
    for name, paper in PAPERS.items():
        assert paper.name == name
        assert all(figure.startswith(f"{name}_") for figure in paper.figures)
        assert all(words.strip() for words in paper[1:8])
        own = all(paper.cited in figure.about.replace("\n", " ") for figure in paper.figures.values())
        assert own or name in ("pfl", "server_steps")  # the figures of the last are of three papers, and name them
        package = f"figures.{name}"
        published = set(numbers(package)["figure"]) if (files(package) / "published.csv").is_file() else set()
        assert published <= set(paper.figures)
    assert len(FIGURES) == sum(len(paper.figures) for paper in PAPERS.values())


def test_every_claim_says_what_the_paper_states_and_where_or_is_ours():
    for name, claim in EVERY:
        here = f"{name}, {claim.text!r}"
        if claim.whose == OURS:
            assert claim.published is None, here
            assert claim.settings == AS_GIVEN, here
        else:
            assert claim.where.strip(), f"{here}: where does the paper state it?"
            assert claim.statement != claim.text, f"{here}: tell our reading from what the paper states"
        assert claim.text.strip(), here
        assert (claim.settings.words == "") == (claim.settings == AS_GIVEN), f"{here}: what stands in, or was guessed?"


def test_published_numbers_decide_by_themselves():
    found = [claim.in_print() for _, claim in EVERY if claim.published]
    assert len(found) > 30
    assert {deciding.value > 0 for deciding, *_ in found} == {True, False}


def test_face_value_is_that_of_the_same_comparisons():
    def cells(*values):
        return lambda runs=None: every(paired([value], "points") for value in values)

    claim = Claim("stated", "where", "text", "sweep", cells(1.0), lambda margin: margin)
    assert claim.in_print() == []
    deciding, *parts = claim._replace(published=cells(1.0, -2.0, 3.0)).in_print()
    assert (deciding.value, [part.value for part in parts]) == (-2.0, [1.0, -2.0, 3.0])


def verdicts(*rows):
    """A table of verdicts of one paper: (statement, seen, setting) of each claim, ours without statement."""
    table = pd.DataFrame(rows, columns=["statement", "seen", "setting"])
    return table.assign(paper="a", whose=[PAPERS_OWN if words else OURS for words in table["statement"]])


def test_a_statement_is_counted_once_where_its_weakest_claim_stands():
    table = verdicts(
        ("first", YES, "the paper's"),
        ("second", YES, OTHER_DATA),
        ("second", YES, "the paper's"),
        ("third", YES, GUESS),
        ("fourth", OPEN, OTHER_DATA),
        ("fourth", YES, OTHER_DATA),
        ("fifth", NO, "the paper's"),
        ("fifth", OPEN, OTHER_DATA),
        ("sixth", YES, OTHER_DATA),
        ("sixth", NO, OTHER_DATA),
        ("", NO, ""),
    )
    assert claims.tallies(table) == {
        "statements": 6,
        "seen in the paper's setting": 1,
        "seen on other data": 1,
        "seen under our guess": 1,
        "not seen in the paper's setting": 1,
        "not seen elsewhere": 1,
        "open": 1,
    }
    assert claims.counted(table.iloc[:3]) == "2 statements: 1 seen in the paper's setting, 1 seen on other data"
    other = table.assign(paper="b")  # of another paper, whose statements may have the same words
    assert claims.tallies(pd.concat([table, other]))["statements"] == 12


def test_a_claim_on_two_sweeps_has_the_runs_of_both():
    claim = Claim("stated", "where", "text", ("ppsgd_digits", "ppsgd_synthetic"), stops, stops)
    assert claims.runs_for(claim, {"ppsgd_digits": DIGITS}) is None
    both = claims.runs_for(claim, {"ppsgd_digits": DIGITS, "ppsgd_synthetic": SHORT})
    assert set(both["sweep"]) == {"ppsgd_digits", "ppsgd_synthetic"}
    assert len(both) == len(DIGITS) + len(SHORT)
    assert claims.judge(claim, None).why == "not run: no results of ppsgd_digits or ppsgd_synthetic"


def test_the_text_fits_a_terminal_and_says_everything(tmp_path, capsys):
    found = claims.findings("ppsgd", {"ppsgd_synthetic": SHORT, "ppsgd_digits": DIGITS})
    claims.check("ppsgd", found, tmp_path / "new")
    table = found.verdicts
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    flat = " ".join(text.split())
    for claim in ALL_CLAIMS:
        assert f"**: {claim.text}{f' ({claim.where})' * bool(claim.where)} - " in flat
        assert not claim.statement or f"- the paper states: {claim.statement} - " in flat
        assert not claim.settings.words or f": {claim.settings.words} - " in flat
    for seen, count in table["seen"].value_counts().items():
        assert text.count(f"**{seen}") == count
    assert f"Scale laptop. {claims.counted(table)}." in flat
    assert (tmp_path / "new" / "claims_ppsgd.md").read_text() == text
    written = pd.read_csv(tmp_path / "new" / "claims_ppsgd.csv", keep_default_na=False, dtype=str)
    pd.testing.assert_frame_equal(written, table, check_dtype=False)
    behind = pd.read_csv(tmp_path / "new" / "claims_ppsgd_comparisons.csv", keep_default_na=False, dtype=str)
    assert list(behind["row"].unique()) == [str(row) for row in table.index[table["estimate"] != ""]]


def test_the_facts_are_those_of_the_runs_that_a_claim_is_about(monkeypatch):
    def check(runs):
        raise NotTestable("too little")

    claim = Claim("stated", "where", "text", "ppsgd_digits", check, check)
    named = claim._replace(about=lambda runs: runs[runs["source"] == "the first"])
    keep(monkeypatch, [], [PAPERS["ppsgd"]._replace(claims=[claim, named])])
    first = DIGITS[DIGITS["noise_multiplier"] == 0].assign(source="the first")
    rows = first[(first["personalization"] == 0) | (first["seed"] < 2)]
    found, _ = claims.judged("ppsgd", {"ppsgd_digits": pd.concat([rows, DIGITS[DIGITS["noise_multiplier"] > 0]])})
    assert list(found["source"]) == ["MNIST by writer, made up, the first", "the first"]
    assert list(found["runs"]) == ["2 to 3", "2 to 3"]
    assert set(found["why"]) == {"not run: too little"}
    found, _ = claims.judged("ppsgd", {"ppsgd_digits": DIGITS})
    facts = ["source", "scale", "runs"]
    assert found[facts].to_numpy().tolist() == [["MNIST by writer, made up", "laptop", "3"], ["", "laptop", "0"]]
    assert set(found["seen"]) == {OPEN}
    found, _ = claims.judged("ppsgd", {})
    assert set(found["why"]) == {"not run: no results of ppsgd_digits"}
    assert found[facts].drop_duplicates().to_numpy().tolist() == [["", "", "0"]]


METRICS = {"excess_loss", "excess_risk", "objective", "test_accuracy", "test_error", "test_rmse", "train_loss"}
RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_no_check_stops_whatever_part_of_the_runs_there_is(paper):
    """Random parts of the committed runs, with random values lost."""
    rng, parts = np.random.default_rng(5), {}
    for sweep in sorted(PAPERS[paper].judged_by):
        whole = claims.read(RESULTS / "sweeps", [sweep], claims.UNREAD)
        parts[sweep] = [whole[whole["rounds"] < 0]]
        for share in (0.02, 0.3, 0.9):
            part = whole[rng.uniform(size=len(whole)) < share].copy()
            lost = rng.uniform(size=len(part)) < 0.2
            part.loc[lost, sorted(METRICS & set(part))] = rng.choice([np.nan, np.inf])
            parts[sweep].append(part)
    for claim in PAPERS[paper].claims:
        for number in range(4):
            judge(claim, claims.runs_for(claim, {sweep: parts[sweep][number] for sweep in claim.sweeps}))


def stops(runs):
    raise KeyError("a\nb")


def test_a_check_that_stops_is_an_error_and_no_verdict():
    broken = Claim("stated", "where", "text", "sweep", stops, stops)
    assert claims.judge(broken, DIGITS) == (ERROR, None, "the check failed: KeyError: 'a\\nb'")

    def cannot(runs):
        raise NotTestable("too little")

    assert claims.judge(broken._replace(measure=cannot), DIGITS) == (OPEN, None, "not run: too little")


def test_a_check_that_stops_is_named_the_others_are_written_and_the_status_is_1(command, tmp_path, monkeypatch):
    write(DIGITS, tmp_path, "laptop")
    good = next(claim for claim in ALL_CLAIMS if claim.text.startswith("Digits: without noise global"))
    broken = Claim("stated", "section 7", "a broken claim", "ppsgd_digits", stops, stops, stand_in("a for b"))
    keep(monkeypatch, [], [PAPERS["ppsgd"]._replace(figures={}, claims=[broken, good])])
    status, out, err = command("claims", "--results", tmp_path)
    named = "error: ppsgd, 'a broken claim' (section 7): the check failed: KeyError: 'a\\nb'"
    assert (status, err) == (1, [named])
    assert "- **error**: a broken claim (section 7)" in out
    written = pd.read_csv(tmp_path / "sweeps" / "figures" / "claims_ppsgd.csv", keep_default_na=False, dtype=str)
    assert list(written["seen"]) == [ERROR, YES]
    assert claims.counted(written) == "2 statements: 1 seen on other data, 1 error"
    status, out, err = command("report", "--results", tmp_path)
    assert (status, err[-1]) == (1, named)
    page = (tmp_path / "report" / "index.html").read_text()
    assert '<td class="verdict error">error</td>' in page
    assert '<option value="error">error</option>' in page
