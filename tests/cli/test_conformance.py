"""The command: the template, answers that agree and differ, and what cannot be read in one line."""

import json

import pytest
from calling import caller

from bench import __main__ as command
from bench.conformance import VERSION, answers

EXACT = "one_release.full.add_or_remove.exact"
WEIGHTS = "logistic_dp_sgd.round_1.mean.weights"


@pytest.fixture
def bench(monkeypatch, capsys, tmp_path):
    """Runs a command line: status, standard output, lines of error."""
    monkeypatch.chdir(tmp_path)
    return caller("bench", command.main, monkeypatch, capsys)


@pytest.fixture
def check(bench, tmp_path):
    """Checks these answers, or this text."""

    def call(content):
        text = content if isinstance(content, str) else json.dumps({"version": VERSION, "answers": content})
        (tmp_path / "mine.json").write_text(text)
        return bench("conformance", "mine.json")

    return call


def test_the_template_has_every_id_and_is_filled_in(bench, check):
    status, written, lines = bench("conformance")
    assert (status, lines) == (0, [])
    content = json.loads(written)
    assert list(content["answers"]) == list(answers.numbers())
    assert set(content["answers"].values()) == {None}
    content["answers"] = {name: number.value.tolist() for name, number in answers.numbers().items()}
    status, written, lines = check(json.dumps(content))
    count = len(content["answers"])
    assert (status, lines) == (0, [])
    assert written == f"{count} of {count} numbers are answered: {count} agree, 0 differ.\n"


def test_some_answers_are_enough(check):
    status, written, _ = check({EXACT: 4.377, WEIGHTS: None})
    assert status == 0
    assert written.startswith("1 of ")
    assert "1 agree, 0 differ" in written


def test_what_differs_is_told_with_its_size_and_the_reading_it_is_of(check):
    right = answers.numbers()[WEIGHTS].value
    status, written, _ = check({EXACT: 9.997, WEIGHTS: (2 * right).tolist()})
    assert status == 1
    lines = written.splitlines()
    assert "0 agree, 2 differ" in lines[0]
    amount = "9.997, should be 4.37718 within 0.022; it is too large by 5.62 (+128.4%), which is safe, and loose"
    assert lines[1] == f"{EXACT}: {amount}"
    assert lines[2] == "    this is one_release.full.replace_one.exact"
    assert any(line.startswith(f"{WEIGHTS}: ") and " at [" in line for line in lines)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "mine.json is no valid JSON, line 1, column 2 ("),
        ("[" * 100_000, "nested too deeply"),
        ('{"version": 1, "answer": {}}', "no key of mine.json is called 'answer': did you mean answers?"),
        ('{"version": 1}', 'mine.json has no "answers"'),
        ('{"answers": {}}', "mine.json has the version None, and the set of this suite version 1"),
        ('{"version": true, "answers": {}}', "mine.json has the version True, and the set of this suite version 1"),
        ('{"version": 1, "answers": {}}', "mine.json has no answers: put numbers in place of null"),
        (
            f'{{"version": {VERSION + 1}, "answers": {{}}}}',
            f"has the version {VERSION + 1}.0, and the set of this suite version {VERSION}",
        ),
        ({"one_release.full.add_or_remove.exat": 1.0}, f"did you mean {EXACT}?"),
        ({EXACT: "4.377"}, f'{EXACT} has "4.377": give finite numbers without quotes'),
        ({EXACT: True}, f"{EXACT} has true: give finite numbers without quotes, or null for the whole answer"),
        (f'{{"version": 1, "answers": {{"{EXACT}": 1e999}}}}', f"{EXACT} has Infinity: give finite numbers"),
        (f'{{"version": 1, "answers": {{"{EXACT}": 1, "{EXACT}": 2}}}}', f"mine.json has '{EXACT}' twice"),
        ({WEIGHTS: [1, 2]}, f"{WEIGHTS} is a list of shape [2]: give a list of shape [3]"),
        ({WEIGHTS: [1, [2], 3]}, f"{WEIGHTS} is a list whose parts have different lengths: give a list of shape [3]"),
        ({WEIGHTS: [1, None, 3]}, f"{WEIGHTS} has null: give finite numbers"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_what_cannot_be_read_is_one_line(check, content, said):
    status, written, lines = check(content)
    assert status == 2
    assert written == ""
    (line,) = lines
    assert said in line


def test_a_file_that_is_none_is_one_line(bench, tmp_path):
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    for words, said in (
        (["none.json"], "none.json is no file: make one with python -m bench conformance > answers.json"),
        (["latin.json"], "latin.json is not in UTF-8: convert it"),
    ):
        status, written, (line,) = bench("conformance", *words)
        assert len(line) < 300
        assert (status, written) == (2, "")
        assert said in line
