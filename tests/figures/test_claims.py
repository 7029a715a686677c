"""Claims of any paper: what they have to say, what is judged, printed and written, and a check that stops."""

import pandas as pd
import pytest
from few import keep
from made_up_runs import digit_runs, synthetic_runs, write

from figures import PAPERS, claims
from figures.ppsgd.claims import CLAIMS as ALL_CLAIMS
from figures.shared.verdicts import (
    AS_GIVEN,
    CARRIES_OVER,
    CONTRADICTED,
    DOES_NOT_CARRY_OVER,
    ERROR,
    FAILS,
    GIVEN,
    HOLDS,
    NO_SETTINGS,
    NOT_RUN,
    UNDECIDED,
    Claim,
    NotTestable,
    at_face_value,
    not_given,
    stand_in,
)

SYNTHETIC, DIGITS = synthetic_runs(), digit_runs()
SHORT = SYNTHETIC[SYNTHETIC["rounds"] <= 200]
EVERY = [(name, claim) for name, paper in PAPERS.items() for claim in paper.claims]


def test_every_claim_says_what_the_paper_states_and_where_or_is_ours():
    for name, claim in EVERY:
        here = f"{name}, {claim.text!r}"
        if claim.ours:
            assert claim.statement == "", f"{here} is ours: say in `where` what it goes beyond"
            assert claim.published is None, here
        else:
            assert claim.statement.strip(), f"{here}: what does the paper state?"
            assert claim.where.strip(), f"{here}: where does the paper state it?"
            assert claim.statement != claim.text, f"{here}: tell our reading from what the paper states"
        assert claim.text.strip(), here
        assert claim.how.strip(), here
        assert (claim.settings.words == "") == (claim.settings.kind == GIVEN), (
            f"{here}: what stands in, or is not given?"
        )


def test_no_two_claims_of_a_paper_read_alike():
    for paper in PAPERS.values():
        assert len({claim.text for claim in paper.claims}) == len(paper.claims)


def test_published_numbers_decide_by_themselves():
    found = {claim.text: claim.published() for _, claim in EVERY if claim.published}
    assert len(found) > 30
    assert {one.outcome for one in found.values()} == {HOLDS, FAILS}
    assert all(one.evidence.startswith("met at ") for one in found.values())


def test_face_value():
    assert at_face_value({"a": 0.1, "b": 2}, "columns") == (HOLDS, "met at 2 of 2 columns", None)
    assert at_face_value({"a": 0.1, "b": 0}, "columns") == (FAILS, "met at 1 of 2 columns, not at b", None)
    assert at_face_value({"a": 0.1, "b": -1}, enough=1) == (HOLDS, "met at 1 of 2 comparisons", None)
    many = at_face_value(dict.fromkeys("abcdef", -1.0))
    assert many.evidence == "met at 0 of 6 comparisons, not at a, b, c, d and 2 more"


@pytest.mark.parametrize(
    ("settings", "ours", "says"),
    [
        (AS_GIVEN, False, (HOLDS, CONTRADICTED, UNDECIDED)),
        (stand_in("a for b"), False, (CARRIES_OVER, DOES_NOT_CARRY_OVER, UNDECIDED)),
        (not_given("the noise"), False, (NO_SETTINGS, NO_SETTINGS, NO_SETTINGS)),
        (AS_GIVEN, True, (HOLDS, FAILS, UNDECIDED)),
    ],
)
def test_what_an_outcome_says_of_a_paper(settings, ours, says):
    claim = Claim("text", "where", "sweep", stops, "how", ours=ours, settings=settings)
    assert tuple(map(claim.says, (HOLDS, FAILS, UNDECIDED))) == says
    assert (claim.says(NOT_RUN), claim.says(ERROR)) == (NOT_RUN, ERROR)


def test_a_paper_is_charged_only_with_what_its_settings_contradict():
    """Of ten claims that fail one contradicts it; the others are of other data, of settings not given, or ours."""
    kinds = [(AS_GIVEN, False), *[(stand_in("a"), False)] * 2, *[(not_given("a"), False)] * 3, *[(AS_GIVEN, True)] * 4]
    made = [Claim("text", "where", "sweep", stops, "how", settings=one, ours=ours) for one, ours in kinds]
    table = pd.DataFrame(
        [{"whose": one.whose, "verdict": one.says(FAILS), "outcome": FAILS, "published": ""} for one in made]
    )
    assert claims.tallies(table) == {
        "its claims": "1 is contradicted, 2 do not carry over",
        "on its own published numbers": "",
        "settings not given": "3 (3 fail here)",
        "our further claims": "4 fail",
    }


def test_a_claim_on_two_sweeps_has_the_runs_of_both():
    claim = Claim("text", "where", "ppsgd_digits", stops, "how", also=("ppsgd_synthetic",))
    assert claims.runs_for(claim, {"ppsgd_digits": DIGITS}) is None
    both = claims.runs_for(claim, {"ppsgd_digits": DIGITS, "ppsgd_synthetic": SHORT})
    assert set(both["sweep"]) == {"ppsgd_digits", "ppsgd_synthetic"}
    assert len(both) == len(DIGITS) + len(SHORT)
    assert claims.judge(claim, None).evidence == "no results of ppsgd_digits or ppsgd_synthetic"


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
        assert claim.ours or f"- settings: {claim.settings} - " in flat
    for outcome, count in table["verdict"].value_counts().items():
        assert text.count(f"**{outcome}") == count
    tally = flat[flat.index("Scale laptop.") :].replace("Its claims", "its claims")
    for name, words in claims.tallies(table).items():
        assert not words or f"{name}: {words}" in tally
    assert (tmp_path / "new" / "claims_ppsgd.md").read_text() == text
    written = pd.read_csv(tmp_path / "new" / "claims_ppsgd.csv", keep_default_na=False, dtype={"repetitions": str})
    pd.testing.assert_frame_equal(written, table)


def test_the_brief_text_has_the_same_verdicts_and_the_same_files(tmp_path, capsys):
    printed, written = [], []
    for brief in (False, True):
        claims.check("ppsgd", claims.findings("ppsgd", {"ppsgd_synthetic": SHORT}), tmp_path, brief=brief)
        printed.append(capsys.readouterr().out)
        written.append((tmp_path / "claims_ppsgd.md").read_text())
    whole, short = ([line for line in text.splitlines() if line.startswith("- ")] for text in printed)
    assert whole == short
    assert ["margin:" in text for text in printed] == [True, False]
    assert written[0] == written[1]


def test_that_nothing_was_run_for_one_reason_is_said_once(tmp_path, capsys):
    smoke = {sweep: SYNTHETIC.assign(scale="smoke") for claim in ALL_CLAIMS for sweep in claim.sweeps}
    found = claims.findings("ppsgd", smoke)
    claims.check("ppsgd", found, tmp_path)
    table = found.verdicts
    text = " ".join(capsys.readouterr().out.split())
    assert text.count(NOT_RUN) == 1
    assert f"all {len(table)} claims of ppsgd: scale smoke only shows" in text
    assert list(table["claim"]) == [claim.text for claim in ALL_CLAIMS]


def test_the_facts_are_those_of_the_runs_that_a_claim_is_about(monkeypatch):
    def check(runs):
        raise NotTestable("too little")

    claim = Claim("text", "where", "ppsgd_digits", check, "how")
    named = claim._replace(about=lambda runs: runs[runs["source"] == "the first"])
    keep(monkeypatch, [], [PAPERS["ppsgd"]._replace(claims=[claim, named])])
    first = DIGITS[DIGITS["noise_multiplier"] == 0].assign(source="the first")
    rows = first[(first["personalization"] == 0) | (first["seed"] < 2)]
    found = claims.judged("ppsgd", {"ppsgd_digits": pd.concat([rows, DIGITS[DIGITS["noise_multiplier"] > 0]])})
    assert list(found["source"]) == ["MNIST by writer, made up, the first", "the first"]
    assert list(found["repetitions"]) == ["2 to 3", "2 to 3"]
    assert set(found["evidence"]) == {"too little"}
    found = claims.judged("ppsgd", {"ppsgd_digits": DIGITS})
    assert found[["source", "scale", "repetitions"]].to_numpy().tolist() == [
        ["MNIST by writer, made up", "laptop", "3"],
        ["", "laptop", "0"],
    ]
    assert list(found["evidence"]) == ["too little", "too little"]
    assert set(found["verdict"]) == {NOT_RUN}
    found = claims.judged("ppsgd", {})
    assert set(found["evidence"]) == {"no results of ppsgd_digits"}
    assert found[["source", "scale", "repetitions"]].drop_duplicates().to_numpy().tolist() == [["", "", "0"]]


def stops(runs):
    raise KeyError("a\nb")


def test_a_check_that_stops_is_an_error_and_no_verdict():
    judged = claims.judge(Claim("text", "where", "sweep", stops, "how"), DIGITS)
    assert judged == (ERROR, "the check failed: KeyError: 'a\\nb'", None)

    def cannot(runs):
        raise NotTestable("too little")

    assert claims.judge(Claim("text", "where", "sweep", cannot, "how"), DIGITS) == (NOT_RUN, "too little", None)


def test_a_check_that_stops_is_named_the_others_are_written_and_the_status_is_1(command, tmp_path, monkeypatch):
    write(DIGITS, tmp_path, "laptop")
    good = next(claim for claim in ALL_CLAIMS if claim.text.startswith("Digits without noise: global"))
    broken = Claim("a broken claim", "section 7", "ppsgd_digits", stops, "how")
    keep(monkeypatch, [], [PAPERS["ppsgd"]._replace(figures={}, claims=[broken, good])])
    status, out, err = command("claims", "--results", tmp_path)
    named = "error: ppsgd, 'a broken claim' (section 7): the check failed: KeyError: 'a\\nb'"
    assert (status, err) == (1, [named])
    assert "- **error**: a broken claim (section 7)" in out
    written = pd.read_csv(tmp_path / "sweeps" / "figures" / "claims_ppsgd.csv")
    assert list(written["verdict"]) == [ERROR, CARRIES_OVER]
    (row,) = claims.summary(written).to_dict("records")
    assert (row["paper"], row["its claims"]) == ("ppsgd", "1 carries over, 1 has a check that failed")
    status, out, err = command("report", "--results", tmp_path)
    assert (status, err[-1]) == (1, named)
    page = (tmp_path / "report" / "index.html").read_text()
    assert '<td class="verdict error">error</td>' in page
    assert '<option value="error">error</option>' in page
