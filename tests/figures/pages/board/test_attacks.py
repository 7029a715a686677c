"""The attacks on the page of the board: shown where they are, and left out by name where they cannot be used."""

import pandas as pd
import pytest
from html_page import Page
from made_up_board import FEW, add_task

from bench.errors import InputError
from figures.pages.board import attacks
from figures.pages.board.collect import collect
from figures.pages.board.write import write


def table(**changes) -> pd.DataFrame:
    """Attacks on one method at one epsilon."""
    row = {"task": "shakespeare", "method": "DP-FedAvg", "target_epsilon": 1.0, "point": "DP-FedAvg-1.0", "delta": 1e-4}
    row |= {"commit": "0123456789ab", "runs": 64, "units": 1000, "canaries": 100}
    for place, name in enumerate(attacks.SHOWN):
        row |= {name: 0.1 + place / 10, f"{name}_low": 0.05 + place / 10, f"{name}_high": 0.15 + place / 10}
    row |= {"tpr_at_0.01_allowed": 0.027, "tpr_at_0.001_allowed": 0.0028}
    return pd.DataFrame([row | changes])


@pytest.fixture
def folder(tmp_path):
    add_task(tmp_path, "digits", FEW)
    return add_task(tmp_path, "shakespeare", FEW)


def test_rows_that_were_attacked_have_the_numbers_and_others_are_empty(folder):
    table().to_csv(folder / "attacks.csv", index=False)
    path, board = write(folder.parent.parent, None)
    assert board.left_out == []
    rows = board.rows().set_index(["name", "algorithm", "target_epsilon"])
    assert rows.loc[("shakespeare", "DP-FedAvg", 1.0), "attack_auc"] == pytest.approx(0.3)
    assert rows["attack_auc"].notna().sum() == 1
    text = path.read_text()
    assert "0.1000 [0.0500, 0.1500] of 0.027" in text
    assert "ε estimated, every round" in text
    assert "A small rate is no proof of privacy" in text
    assert "It is an estimate, not a bound" in text
    assert Page(text)
    csv = pd.read_csv(folder.parent / "board.csv")
    assert csv["attack_tpr_at_0.01"].notna().sum() == 1
    assert "A small rate is no proof of privacy" in (folder.parent / "board.md").read_text()


def test_a_table_without_estimates_from_canaries_is_shown_as_well(folder):
    table().drop(columns=attacks.EARLIER).to_csv(folder / "attacks.csv", index=False)
    path, board = write(folder.parent.parent, None)
    assert board.left_out == []
    assert "It is an estimate, not a bound" not in path.read_text()
    assert "A small rate is no proof of privacy" in path.read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "attacks.csv cannot be read"),
        ("a,b\n1,2\n", "attacks.csv cannot be read"),
        (table(auc="x").to_csv(index=False), "attacks.csv cannot be read"),
        (pd.concat([table(), table()]).to_csv(index=False), "several of one method and epsilon"),
        (
            table(point="elsewhere").to_csv(index=False),
            r"of other settings than the runs in test \(DP-FedAvg at epsilon 1\)",
        ),
        (table(task="digits").to_csv(index=False), "of other settings"),
        (table(delta=1e-6).to_csv(index=False), "of other settings"),
    ],
)
def test_attacks_that_cannot_be_used_are_named_and_left_out(folder, content, said):
    (folder / "attacks.csv").write_text(content)
    with pytest.raises(InputError, match=said):
        attacks.read(folder / "attacks.csv", 1e-4, {"DP-FedAvg-1.0"})
    board = collect(folder.parent.parent)
    assert [task.name for task in board.tasks] == ["digits", "shakespeare"]
    (why,) = board.left_out
    assert "attacks.csv" in why
    assert "run `python -m bench attack shakespeare` again" in why
    assert not any(name.startswith("attack") for name in board.rows())
