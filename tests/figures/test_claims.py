"""Claims of any paper: what is judged, printed and written, and a check that stops."""

import pandas as pd
from few import keep
from made_up_runs import digit_runs, synthetic_runs, write

from figures import PAPERS, claims
from figures.ppsgd.claims import CLAIMS as ALL_CLAIMS
from figures.shared.verdicts import ERROR, FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, NotTestable

SYNTHETIC, DIGITS = synthetic_runs(), digit_runs()
SHORT = SYNTHETIC[SYNTHETIC["rounds"] <= 200]
CLAIMS = ALL_CLAIMS[:9]


def test_the_text_fits_a_terminal_and_says_everything(tmp_path, capsys):
    table = claims.check("ppsgd", {"ppsgd_synthetic": SHORT, "ppsgd_digits": DIGITS}, tmp_path / "new")
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    flat = " ".join(text.split())
    for claim in CLAIMS:
        assert f": {claim.text} ({claim.where})" in flat
    for outcome, count in table["verdict"].value_counts().items():
        assert text.count(f"**{outcome}**") == count
        assert f"{outcome} {count}" in text.splitlines()[-1]
    assert "Scale laptop" in text
    assert (tmp_path / "new" / "claims_ppsgd.md").read_text() == text
    written = pd.read_csv(tmp_path / "new" / "claims_ppsgd.csv", keep_default_na=False, dtype={"repetitions": str})
    pd.testing.assert_frame_equal(written, table)


def test_the_brief_text_has_the_same_verdicts_and_the_same_files(tmp_path, capsys):
    printed, written = [], []
    for brief in (False, True):
        claims.check("ppsgd", {"ppsgd_synthetic": SHORT}, tmp_path, brief=brief)
        printed.append(capsys.readouterr().out)
        written.append((tmp_path / "claims_ppsgd.md").read_text())
    whole, short = ([line for line in text.splitlines() if line.startswith("- ")] for text in printed)
    assert whole == short
    assert ["margin:" in text for text in printed] == [True, False]
    assert written[0] == written[1]


def test_that_nothing_was_run_for_one_reason_is_said_once(tmp_path, capsys):
    smoke = {claim.sweep: SYNTHETIC.assign(scale="smoke") for claim in ALL_CLAIMS}
    table = claims.check("ppsgd", smoke, tmp_path)
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
    good = CLAIMS[5]
    broken = Claim("a broken claim", "section 7", "ppsgd_digits", stops, "how")
    keep(monkeypatch, [], [PAPERS["ppsgd"]._replace(figures={}, claims=[broken, good])])
    status, out, err = command("claims", "--results", tmp_path)
    named = "error: ppsgd, 'a broken claim' (section 7): the check failed: KeyError: 'a\\nb'"
    assert (status, err) == (1, [named])
    assert "- **error**: a broken claim (section 7)" in out
    written = pd.read_csv(tmp_path / "laptop" / "figures" / "claims_ppsgd.csv")
    assert list(written["verdict"]) == [ERROR, HOLDS]
    assert claims.summary(written).to_dict("records") == [
        {"paper": "ppsgd", HOLDS: 1, FAILS: 0, UNDECIDED: 0, NOT_RUN: 0, ERROR: 1}
    ]
    status, out, err = command("report", "--results", tmp_path)
    assert (status, err[-1]) == (1, named)
    page = (tmp_path / "report" / "index.html").read_text()
    assert '<td class="verdict error">error</td>' in page
    assert '<option value="error">error</option>' in page
