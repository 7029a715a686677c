"""The command: its table and page, how it goes on, and what it refuses."""

import math

import numpy as np
import pandas as pd
import pytest
import tiny_attacks
from calling import caller
from listed_tasks import put

from bench import __main__ as command
from bench.attacks import attack, whole
from bench.attacks.targets import targets
from bench.errors import InputError

FEW = {"runs": 8}


@pytest.fixture(scope="module", autouse=True)
def tiny():
    with pytest.MonkeyPatch.context() as patch:
        put(patch, "tiny", tiny_attacks.problem)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The results folder of attacks on all of the board, the rows, and what was said."""
    out, said = tmp_path_factory.mktemp("attacked"), []
    tiny_attacks.board(out)
    rows = attack("tiny", out=out, say=said.append, **FEW)
    return out, rows, said


@pytest.fixture
def never(monkeypatch):
    """A row that is computed fails the test."""

    def computed(one, *_, **__):
        pytest.fail(f"{one.declared} would be attacked again")

    monkeypatch.setattr(whole, "_row", computed)


def test_the_board_chooses_what_is_attacked(made):
    out, _, _ = made
    found = targets("tiny", [], [], board="board", out=out, split=0)
    assert [tuple(one.declared[name] for name in whole.KEY) for one in found.targets] == [
        ("DP-FedAvg", 1.0),
        ("DP-FedAvg", math.inf),
    ]
    private, bare = found.targets
    assert private.args["noise_multiplier"] == 6.0
    assert private.rounds == 4
    assert private.task.evaluation is None
    assert (private.declared["delta"], private.declared["neighbors"]) == (1e-4, "add-or-remove one")
    assert private.declared["protects_against"] == "everybody who sees the shared model"
    assert 0 < private.declared["epsilon"] < bare.declared["epsilon"] == math.inf
    assert found.silent_labels == ["Local learning"]


def test_a_row_has_the_rates_beside_the_declared_epsilon(made):
    _, rows, said = made
    assert len(rows) == 2
    for row in rows.to_dict("records"):
        for name in ("tpr_at_0.01", "tpr_at_0.001", "auc"):
            assert 0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1
        assert (row["runs"], row["split"], row["seed"]) == (8, 0, 0)
        assert row["commit"]
        assert row["privacy_unit"] == "user"
    private, bare = rows.to_dict("records")
    assert private["tpr_at_0.01_low"] <= private["tpr_at_0.01_allowed"] < 1
    assert bare["tpr_at_0.01_allowed"] == 1
    assert private["epsilon"] < bare["epsilon"] == math.inf
    assert [" left" in line for line in said if line.startswith("attack ")] == [True, False]
    assert "Local learning releases nothing, so there is nothing to attack" in said


def test_the_page_says_what_was_attacked_and_that_a_small_rate_is_no_proof(made):
    out, _, _ = made
    lines = (out / "board" / "tiny" / "attacks.md").read_text().splitlines()
    assert lines[0].startswith("Attacked was the membership of one user of tiny in the training data, by somebody who")
    assert lines[0].endswith("a small rate is no proof of privacy, since a stronger attack might find more.")
    text = "\n".join(lines)
    assert "| DP-FedAvg | no noise |" in text


@pytest.mark.usefixtures("never")
def test_what_is_there_is_not_computed_again(made):
    out, rows, _ = made
    said = []
    again = attack("tiny", out=out, say=said.append, **FEW)
    assert said == [f"{out / 'board' / 'tiny' / 'attacks.csv'} has all 2 of these attacks already"]
    numbers = rows.select_dtypes("number").columns
    np.testing.assert_allclose(again[numbers], rows[numbers])
    attack("tiny", ["DP-FedAvg"], epsilons=[1.0], out=out, **FEW)
    assert len(pd.read_csv(out / "board" / "tiny" / "attacks.csv")) == 2


def test_what_is_missing_and_what_is_of_other_settings_or_another_version_is_attacked(tmp_path, monkeypatch):
    tiny_attacks.board(tmp_path)
    row = {"task": "tiny", "commit": "0", "notes": "", "privacy_unit": "user", "units": 24, "seconds_per_run": 0.1}
    numbers = [
        f"{name}{end}" for name in ("tpr_at_0.01", "tpr_at_0.001", "auc") for end in ("", "_low", "_high", "_allowed")
    ]
    calls = []

    def made_up(one, of, options, report):
        calls.append((one.declared["target_epsilon"], one.point))
        version = {"version": one.method.version, "point": one.point}
        return {**row, **dict.fromkeys(numbers, 0.5), **options, **version, **one.declared}

    monkeypatch.setattr(whole, "_row", made_up)
    attack("tiny", epsilons=[1.0], out=tmp_path, **FEW)
    path = tmp_path / "board" / "tiny" / "attacks.csv"
    assert list(pd.read_csv(path)["target_epsilon"]) == [1.0]
    rows = attack("tiny", out=tmp_path, **FEW)
    assert calls == [(1.0, "0.5-1.0"), (math.inf, "0.5-inf")]
    assert list(rows["target_epsilon"]) == [1.0, math.inf]
    tiny_attacks.board(tmp_path, step_size=0.25)
    rows = attack("tiny", epsilons=[1.0], out=tmp_path, **FEW)
    assert calls[2:] == [(1.0, "0.25-1.0")]
    assert list(rows["point"]) == ["0.25-1.0", "0.5-inf"]
    path.write_text(path.read_text().replace("0.25-1.0", "0.5-1.0"))
    attack("tiny", epsilons=[1.0], out=tmp_path, **FEW)
    assert calls[3:] == [(1.0, "0.25-1.0")]
    rows = pd.read_csv(path).assign(version=99)
    rows.to_csv(path, index=False)
    attack("tiny", epsilons=[1.0], out=tmp_path, **FEW)
    assert calls[4:] == [(1.0, "0.25-1.0")]


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"split": 1}, "split is 1, but .* has splits 0 to 0"),
        ({"methods": ["Local learning"]}, "release nothing, so nothing can be attacked"),
        ({"epsilons": [3.0]}, "epsilon is 3, but .* has 1, inf"),
        ({"board": "nowhere"}, "nowhere/tiny is not the folder of a board's task"),
        ({"runs": 9}, "has attacks with runs = 8"),
    ],
)
def test_what_cannot_be_attacked_is_refused_in_one_line(made, options, said):
    with pytest.raises(InputError, match=said):
        attack("tiny", out=made[0], **FEW | options)


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "method,target_epsilon\nx,1\n"])
def test_a_damaged_table_is_never_overwritten(tmp_path, text):
    path = tiny_attacks.board(tmp_path) / "attacks.csv"
    path.write_text(text)
    with pytest.raises(InputError, match="is no whole table of attacks"):
        attack("tiny", out=tmp_path, **FEW)
    assert path.read_text() == text


def test_a_board_of_another_version_or_of_other_data_is_refused(tmp_path, monkeypatch):
    tiny_attacks.board(tmp_path, version=99)
    with pytest.raises(InputError, match="has version 99 of DP-FedAvg"):
        attack("tiny", out=tmp_path, **FEW)
    tiny_attacks.board(tmp_path)
    (part,) = (tmp_path / "board" / "tiny" / "test").glob("part-*")
    rows = pd.read_parquet(part).assign(checksum="another")
    part.unlink()
    tiny_attacks.put(tmp_path / "board" / "tiny" / "test", rows)
    with pytest.raises(InputError, match="run on data with another checksum"):
        attack("tiny", out=tmp_path, **FEW)


@pytest.mark.usefixtures("never")
def test_the_command_names_the_page_and_refuses_in_one_line(made, monkeypatch, capsys):
    bench = caller("bench", command.main, monkeypatch, capsys)
    out = made[0]
    status, written, _ = bench("attack", "tiny", "--runs", 8, "--out", out)
    assert (status, written.strip()) == (0, str(out / "board" / "tiny" / "attacks.md"))
    status, _, (line,) = bench("attack", "tiny", "--runs", "2", "--out", out)
    assert status == 2
    assert "runs is 2: give 8 to 10,000" in line
