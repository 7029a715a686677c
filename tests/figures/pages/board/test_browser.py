"""The page of the board in a real browser: filters, sorting, links to settings, a phone's width, no requests."""

import pytest
from browser import NEEDS_BROWSER, tried_in_browser

pytestmark = NEEDS_BROWSER

TRIES = """
  const choose = (name, value) => {
    const select = document.querySelector(`[data-filters=${name}]`);
    select.value = value;
    select.dispatchEvent(new Event("change"));
  };
  const visible = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.offsetHeight > 0);
  const methods = () => visible("#unit-user-add-or-remove-one tbody tr").map((row) => row.dataset.method);
  const state = () => [
    visible("[data-at]").map((one) => one.dataset.at),
    methods(),
    visible("#rows-table > tbody > tr").length,
    document.getElementById("rows-left").textContent,
  ];
  found.states = { start: state() };
  choose("epsilon", "4");
  found.states.epsilon = state();
  choose("outcome", "better");
  found.states.better = state();
  choose("outcome", "");
  choose("method", "DP-FedAvg");
  found.states.method = state();
  choose("method", "");
  choose("unit", "unit-point-replace-one");
  found.states.unit = state();
  choose("unit", "");
  const table = visible("#unit-user-add-or-remove-one [data-at='4'] table")[0];
  const button = table.tHead.rows[0].cells[2].querySelector("button");
  found.sorts = [];
  for (const _ of [1, 2]) { button.click(); found.sorts.push(methods()); }
  choose("epsilon", "1");
  const link = document.querySelector("[data-at='4'] a[href^='#shakespeare/user']");
  link.click();
  await new Promise((done) => setTimeout(done, 100));
  const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  const { top } = target.getBoundingClientRect();
  found.target = [target.open, target.closest("tr").offsetHeight > 0, Math.abs(top) < 400];
  document.querySelector("article .zoom").click();
  const dialog = document.querySelector("dialog");
  await loaded(dialog.querySelector("img"));
  found.enlarged = dialog.open;
"""


@pytest.fixture(scope="module")
def found(path):
    return tried_in_browser(path, TRIES)


def test_nothing_breaks_and_nobody_is_asked(found):
    assert "broken" not in found, found
    assert found["complaints"] == []
    assert found["requests"] == []
    assert len(found["pictures"]) == 3 * 2
    assert min(found["pictures"]) > 0
    assert found["enlarged"]


def test_filters(found):
    states = found["states"]
    assert states["start"] == [["1", "1"], ["Local learning", "Ditto", "DP-FedAvg"], 9, "9 of 27 rows"]
    assert states["epsilon"] == [["4", "4"], ["Ditto", "DP-FedAvg", "Local learning"], 9, "9 of 27 rows"]
    assert states["better"] == [["4", "4"], ["Ditto"], 3, "3 of 27 rows"]
    assert states["method"] == [["4", "4"], ["DP-FedAvg"], 2, "2 of 27 rows"]
    assert states["unit"] == [["4"], [], 3, "3 of 27 rows"]


def test_a_click_on_a_heading_sorts_scores(found):
    up, down = found["sorts"]
    assert up == ["Local learning", "DP-FedAvg", "Ditto"]
    assert down == up[::-1]


def test_a_link_opens_the_settings_also_of_a_row_that_is_filtered_out(found):
    assert found["target"] == [True, True, True]


def test_a_phone_has_nothing_that_sticks_out(path):
    found = tried_in_browser(path, "", width=390)
    assert found["width"][0] == 390
    assert found["width"][1] <= 390
    assert found["outside"] == []
    assert found["complaints"] == []
