"""The table that the board's page begins with: its content, the gains over learning alone, and its colours."""

import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_board import FEW, USERS, add_task

from figures.pages.board import alone
from figures.pages.board.collect import collect
from figures.pages.board.collect import task as collect_task
from figures.pages.board.write import write

ROOT = Path(__file__).parents[4]
STEPS = len(alone.EDGES)


def part(text, unit="user-add-or-remove-one"):
    """The table of one unit at epsilon 1: for each method the class and the text of its cells."""
    section = re.search(rf'<section id="unit-{unit}".*?</section>', text, re.DOTALL)[0]
    (table,) = re.findall(r'<div data-at="1">(.*?)</table>', section, re.DOTALL)
    rows = {}
    for row in re.findall(r"<tr data-method.*?</tr>", table, re.DOTALL):
        cells = re.findall(r"<td([^>]*)>(.*?)</td>", row, re.DOTALL)
        looks = [(re.findall(r'class="([^"]*)"', attributes) or [None])[0] for attributes, _ in cells]
        words = [unescape(re.sub(r"<[^>]*>", "", each)) for _, each in cells]
        rows[words[0]] = list(zip(looks, words, strict=True))[1:]
    return rows


# ---- What it shows ----


def test_a_cell_beside_learning_alone_has_its_colour(text):
    rows = part(text)
    assert [look for look, _ in rows["DP-FedAvg"][1:]] == ["worse-2", "worse-2"]
    assert rows["Local learning"][1][0] == "alone"
    assert part(text, "point-replace-one")["DP-D-SGD"][1][1].split("\n")[-1] == "-0.0933 ±0.0287"


def test_ranks_are_over_tasks_that_all_methods_have(tmp_path):
    """Without one there is no mean rank, and the rank on the first task orders the rows."""
    add_task(tmp_path, "digits", FEW)
    folder = add_task(tmp_path, "shakespeare", USERS)
    board = collect(tmp_path)
    assert board.ranked(board.panels[0]) == ["shakespeare"]
    rows = part(write(tmp_path, None)[0].read_text())
    assert list(rows) == ["Local learning", "Ditto", "DP-FedAvg"]
    assert [cells[0][1].split()[0] for cells in rows.values()] == ["1.00", "2.00", "3.00"]
    shutil.rmtree(folder)
    add_task(tmp_path, "shakespeare", {name: USERS[name] for name in ("DP-FedAvg", "Ditto")})
    assert collect(tmp_path).ranked(board.panels[0]) == []
    text = write(tmp_path, None)[0].read_text()
    assert "No task has all methods of this unit" in text
    assert list(part(text)) == ["Local learning", "DP-FedAvg", "Ditto"]


def test_what_diverged_is_said_and_has_the_colour_of_the_worst(tmp_path):
    both = [0.4, 0.4]
    shared = {1.0: [0.4, np.nan], 4.0: both, np.inf: both}
    add_task(tmp_path, "digits", {"Local learning": {0.0: [0.5, 0.5]}, "DP-FedAvg": shared})
    rows = part(write(tmp_path, None)[0].read_text())
    look, words = rows["DP-FedAvg"][1]
    assert (look, words.split("\n")[0]) == (f"worse-{STEPS}", "diverged")


# ---- The gain over learning alone ----


def test_it_is_the_boards_own_gain_where_learning_alone_is_the_best_baseline(tmp_path):
    """Also with the intervals of splits that share their data, which are wider."""
    scores = {"Local learning": {0.0: [0.8, 0.81, 0.83]}, "DP-FedAvg": {}}
    scores["DP-FedAvg"] = {1.0: [0.5, 0.52, 0.57], 4.0: [0.6, 0.62, 0.63], np.inf: [0.6, 0.62, 0.63]}
    folder = add_task(tmp_path, "digits", scores)
    for test_ratio in (0.0, 0.25):
        rows = pd.read_csv(folder / "comparison.csv").assign(test_ratio=test_ratio, num_tests=0)
        rows.to_csv(folder / "comparison.csv", index=False)
        found = collect(tmp_path).tasks[0].alone.set_index(["algorithm", "target_epsilon"]).loc["DP-FedAvg", 1.0]
        gains = np.array([-0.3, -0.29, -0.26])
        half = 4.302653 * gains.std(ddof=1) * np.sqrt(1 / 3 + test_ratio)
        assert found["over_alone"] == pytest.approx(gains.mean())
        assert found["over_alone_high"] - found["over_alone"] == pytest.approx(half, rel=1e-5)
        assert found["times_alone"] == pytest.approx((1 - 0.53) / (1 - 2.44 / 3), rel=1e-5)


@pytest.mark.parametrize("name", ["few_images", "odd_even"])
def test_on_the_committed_board_it_is_the_gain_over_the_best_baseline_where_that_learns_alone(name):
    """With the test examples that all splits share on few_images."""
    task = collect_task(ROOT / "results" / "board" / name, [])
    both = task.rows.merge(task.alone, on=alone.PLACE)
    both = both[(both["best_baseline"] == both["alone"]) & (both["algorithm"] != both["alone"])]
    assert len(both) >= 8
    for end in ("", "_low", "_high"):
        np.testing.assert_allclose(both[f"over_alone{end}"], both[f"gain{end}"], rtol=2e-5)


# ---- Its colours ----


@pytest.mark.parametrize(("times", "step"), [(1, 0), (1.009, 0), (1.02, -1), (1.2, -2), (2, -3), (9, -4)])
def test_steps_are_the_same_for_larger_and_smaller_errors(times, step):
    assert alone.step(times) == step
    assert alone.step(1 / times) == -step
