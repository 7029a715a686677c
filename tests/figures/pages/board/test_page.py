"""The page of the board: what is on it, that it is sound HTML, and that it asks the network for nothing."""

import base64
import io
import re
from html import unescape
from urllib.parse import unquote

import pandas as pd
import pytest
from made_up_board import COSTS, HARMLESS
from markupsafe import escape

UNITS = ["unit-user-add-or-remove-one", "unit-point-replace-one"]


def part(text, epsilon, unit="user-add-or-remove-one"):
    """The table of a unit of privacy at one epsilon."""
    section = re.search(rf'<section id="unit-{unit}".*?</section>', text, re.DOTALL)[0]
    return re.search(rf'<div data-at="{epsilon}">.*?</table>', section, re.DOTALL)[0]


def lines(table):
    """Its rows, as lists of words."""
    rows = re.findall(r"<tr data-method.*?</tr>", table, re.DOTALL)
    cells = [re.findall(r"<td.*?</td>", row, re.DOTALL) for row in rows]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in cells]


# ---- What is on it ----


def test_each_unit_of_privacy_has_its_own_tables(page, text):
    sections = [a["id"] for a, _ in page.all("section")]
    assert sections == ["about", *UNITS, "tasks", "how", "rows"]
    heads = re.findall(r'<button type="button">([^<]*)</button>', part(text, 4))
    score = "test_accuracy, in percent, larger is better"
    assert heads == ["method", "mean rank\nof digits, shakespeare", f"digits\n{score}", f"shakespeare\n{score}"]
    heads = re.findall(r'<button type="button">([^<]*)</button>', part(text, 4, "point-replace-one"))
    assert heads == ["method", "mean rank\nof movielens", "movielens\ntest_rmse, smaller is better"]


def test_a_table_is_sorted_by_mean_rank_and_has_score_interval_rank_and_gain_over_learning_alone(text):
    first, second, third = lines(part(text, 4))
    assert [row[0] for row in (first, second, third)] == ["Ditto", "DP-FedAvg", "Local learning"]
    assert first[1] == "1.00 [1.00, 1.00]"
    assert first[2].startswith("70.00\n[67.52, 72.48]\nrank 1*\n+19.00 ")
    assert second[2] == "61.00\n[58.52, 63.48]\nrank 2\n+10.00 ±0.00"
    assert third[2].endswith("rank 3*\nlearns alone")


def test_every_score_leads_to_its_settings(page, text):
    ids = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(set(ids)) == len(ids)
    links = [unquote(a["href"][1:]) for a, _ in page.all("a") if a.get("href", "").startswith("#")]
    assert set(links) <= set(ids)
    places = [a["id"] for a, _ in page.all("details")]
    rows = 3 * 9
    assert len(places) == rows
    assert set(places) <= set(links)
    details = re.search(r'<details id="digits/user/add-or-remove_one/DP-FedAvg/4">.*?</details>', text, re.DOTALL)[0]
    for words in ('<th scope="row">step_size</th><td>0.1</td><td>0.2</td><td>0.3</td>', "batch_size = 10, "):
        assert words in details
    for words in ("python -m bench board digits --out ", "python -m bench compare NAME --task digits --against board"):
        assert text.count(words) == 1


def numbers_after(text, place):
    """What the cells of a row are sorted by, from its settings on."""
    row = text.split(f'<details id="{place}">')[1].split("<tr data-unit")[0]
    return re.findall(r'data-number="([^"]*)"', row)


def test_cost_and_epsilon_with_tuning_are_shown_where_they_are_known(text):
    costs = [str(COSTS[name]) for name in COSTS]
    assert numbers_after(text, "digits/user/add-or-remove_one/DP-FedAvg/4")[-4:] == [*costs, "8.0"]
    assert numbers_after(text, "digits/user/add-or-remove_one/DP-FedAvg/inf")[-4:] == [*costs, "Infinity"]
    assert not set(numbers_after(text, "shakespeare/user/add-or-remove_one/DP-FedAvg/4")) & {*costs, "8.0"}
    for words in ("numbers sent up", "gradients computed", "examples touched", "ε with tuning counted"):
        assert f'<button type="button">{words}</button>' in text


def test_the_protocol_is_stated(text):
    plain = unescape(re.sub(r"<[^>]*>", "", text))
    for words in (
        *("everything that one user holds", "one data point of one agent", "no ranking mixes them"),
        *("Not counted in ε", "any wrong asterisk is at most 5 %", "paired bootstrap draws", "held-out data"),
    ):
        assert words in plain
    article = re.search(r'<article id="task-movielens">.*?</article>', text, re.DOTALL)[0]
    for words in ("test_rmse, smaller is better", "one point, replace one", "0.0001", "1, 4", "16", "60"):
        assert f"<dd>{words}</dd>" in article


def test_all_numbers_can_be_saved(page, path):
    links = {a["download"]: a["href"] for a, _ in page.all("a") if "download" in a}
    assert set(links) == {"board.csv", "ranks_unit-point-replace-one.csv", "ranks_unit-user-add-or-remove-one.csv"}
    saved = base64.b64decode(links["board.csv"].split(",")[1])
    assert saved == path.with_name("board.csv").read_bytes()
    table = pd.read_csv(io.BytesIO(saved)).set_index(["task", "algorithm", "target_epsilon"])
    assert len(table) == 27
    row = table.loc["digits", "DP-FedAvg", 4.0]
    assert row["score"] == pytest.approx(0.61)
    assert row["chosen"] == "step_size = 0.1, 0.2, 0.3; clip_norm = 2.0, 2.0, 2.0"


# ---- That it is sound ----


def test_nothing_comes_from_elsewhere(page):
    for _, attributes, _ in page.elements:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert attributes.get(name, "#").startswith(("#", "data:")), attributes
    (policy,) = [a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def test_what_comes_from_results_is_escaped(text):
    assert HARMLESS not in text
    assert escape(HARMLESS) in text
    assert text.count("<script") == 1
