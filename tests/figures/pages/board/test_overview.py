"""The table that the board's page begins with: its content, the gains over learning alone, and its colours."""

import re
from html import unescape
from importlib.resources import files
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


def test_every_epsilon_has_its_part_and_one_of_them_is_selected(text):
    assert re.findall(r'data-of-all="([^"]*)"', text) == ["1", "4", "inf"]
    (options,) = re.findall(r'<select id="epsilon-of-all">(.*?)</select>', text)
    assert re.findall(r'<option value="1" selected>ε = 1</option>', options)
    assert options.count("selected") == 1


def test_what_diverged_is_said_and_has_the_colour_of_the_worst(tmp_path):
    both = [0.4, 0.4]
    shared = {1.0: [0.4, np.nan], 4.0: both, np.inf: both}
    add_task(tmp_path, "digits", {"Local learning": {0.0: [0.5, 0.5]}, "DP-FedAvg": shared})
    _, rows = part(write(tmp_path, None)[0].read_text(), 1)
    assert rows[1][1] == (f"worse-{STEPS}", "diverged")


def test_a_board_without_a_method_that_learns_alone_has_no_colours(tmp_path):
    add_task(
        tmp_path, "digits", {name: {key: [0.4, 0.4] for key in (1.0, 4.0, np.inf)} for name in ("DP-FedAvg", "Ditto")}
    )
    _, rows = part(write(tmp_path, None)[0].read_text(), 4)
    assert [row[1] for row in rows] == [(None, "0.4000\n[0.4000, 0.4000]")] * 2


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


def test_of_several_that_release_nothing_the_best_is_the_reference(tmp_path):
    scores = {
        "Local learning": {0.0: [0.8, 0.8]},
        "FedProx": {0.0: [0.3, 0.3]},
        "DP-FedAvg": {1.0: [0.5, 0.5], 4.0: [0.6, 0.6], np.inf: [0.6, 0.6]},
    }
    add_task(tmp_path, "digits", scores)
    assert set(collect(tmp_path).tasks[0].alone["alone"]) == {"Local learning"}


# ---- Its colours ----


@pytest.mark.parametrize(("times", "step"), [(1, 0), (1.009, 0), (1.02, -1), (1.2, -2), (2, -3), (9, -4)])
def test_steps_are_the_same_for_larger_and_smaller_errors(times, step):
    assert alone.step(times) == step
    assert alone.step(1 / times) == -step


def colors():
    """The colours of the page by scheme, light and dark: name -> red, green and blue in [0, 1]."""
    text = "".join((files("figures.pages") / "templates" / name).read_text() for name in ("page.css", "board.css"))
    dark_parts = re.findall(r"prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", text, re.DOTALL)
    light = re.sub(r"@media \(prefers-color-scheme: dark\).*?\}\s*\}", "", text, flags=re.DOTALL)

    def named(part):
        found = re.findall(r"--([\w-]+): #([0-9a-f]{6});", part)
        return {name: np.array([int(code[at : at + 2], 16) / 255 for at in (0, 2, 4)]) for name, code in found}

    return {"light": named(light), "dark": named(light) | named("".join(dark_parts))}


def linear(color):
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)


def luminance(color):
    return linear(color) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    """Of the Web Content Accessibility Guidelines 2.2."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


SEEN_BY = {  # Machado, Oliveira and Fernandes 2009, table 1, severity 1: on linear red, green and blue
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_are_readable_on_every_colour(scheme):
    named = colors()[scheme]
    for look in (f"{side}-{step}" for side in ("better", "worse") for step in range(1, STEPS + 1)):
        assert contrast(named["text"], named[look]) >= 4.5, look


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_grow_with_the_step_and_tell_better_from_worse_for_colour_blind_readers(scheme):
    named = colors()[scheme]
    away = 1 if scheme == "dark" else -1  # from the background
    for side in ("better", "worse"):
        steps = [luminance(named["back"]), *(luminance(named[f"{side}-{step}"]) for step in range(1, STEPS + 1))]
        assert (away * np.diff(steps) > 0).all(), side
    for matrix in SEEN_BY.values():
        for step in range(1, STEPS + 1):
            better, worse = (np.array(matrix) @ linear(named[f"{side}-{step}"]) for side in ("better", "worse"))
            blue, orange = (seen[2] - seen[:2].mean() for seen in (better, worse))
            assert blue > 0 > orange
