"""The table that the board's page begins with: its content, the gains over learning alone, and its colours."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_board import add_task

from figures.pages.board import alone
from figures.pages.board.collect import collect
from figures.pages.board.collect import task as collect_task
from figures.pages.board.write import write

ROOT = Path(__file__).parents[4]
STEPS = len(alone.EDGES)


@pytest.fixture(scope="module")
def text(path):
    return path.read_text()


def part(text, epsilon):
    """The table of one epsilon: its headings, and for each row the class and the text of its cells."""
    (table,) = re.findall(rf'<div data-of-all="{epsilon}">(.*?)</table>', text, re.DOTALL)
    heads = [unescape(re.sub(r"<[^>]*>", "", one)) for one in re.findall(r"<th.*?</th>", table, re.DOTALL)]
    rows = []
    for row in re.findall(r"<tr><td.*?</tr>", table, re.DOTALL):
        cells = re.findall(r"<td([^>]*)>(.*?)</td>", row, re.DOTALL)
        looks = [(re.findall(r'class="([^"]*)"', attributes) or [None])[0] for attributes, _ in cells]
        rows.append(list(zip(looks, [unescape(re.sub(r"<[^>]*>", "", words)) for _, words in cells], strict=True)))
    return heads, rows


# ---- What it shows ----


def test_the_page_opens_on_it_with_tasks_of_users_first(text):
    assert text.index("<main") < text.index('id="all-tasks"') < text.index('id="about"')
    heads, _ = part(text, 4)
    assert heads[:3] == ["", "One user, add-or-remove one", "One point, replace one"]
    tasks = [words.split("\n")[0] for words in heads[3:]]
    assert tasks == ["method", "digits", "shakespeare", "movielens"]
    assert heads[4].split("\n")[1:] == ["test_accuracy,", "higher is better"]
    assert heads[6].split("\n")[1:] == ["test_rmse,", "lower is better"]


def test_a_cell_has_the_score_its_interval_and_the_gain_over_learning_alone(text):
    _, rows = part(text, 4)
    cells = {row[0][1]: row[1:] for row in rows}
    assert cells["DP-FedAvg"][0] == ("better-2", "0.6100\n[0.5852, 0.6348]\n+0.1000 ±0.0000")
    assert cells["Local learning"][0] == ("alone", "0.5100\n[0.4852, 0.5348]\nlearns alone")
    assert cells["DP-D-SGD"][2] == ("better-2", "0.39\n[0.365, 0.415]\n+0.1 ±0")


def test_methods_that_learn_alone_come_first_and_a_cell_without_a_run_is_empty(text):
    _, rows = part(text, "inf")
    names = [row[0][1] for row in rows]
    assert names == ["Local learning", "Ditto", "DP-FedAvg", "Coordinate descent (1 update)", "DP-D-SGD"]
    (new,) = (row for row in rows if row[0][1] == "Ditto")
    assert new[3:] == [("none", "")]


def test_what_diverged_is_said_and_has_the_colour_of_the_worst(tmp_path):
    both = [0.4, 0.4]
    shared = {1.0: [0.4, np.nan], 4.0: both, np.inf: both}
    add_task(tmp_path, "digits", {"Local learning": {0.0: [0.5, 0.5]}, "DP-FedAvg": shared})
    _, rows = part(write(tmp_path, None)[0].read_text(), 1)
    assert rows[1][1] == (f"worse-{STEPS}", "diverged")


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
