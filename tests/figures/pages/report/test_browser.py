"""The page in a real browser: pictures, sorting, filters, a phone's width, dark mode, and no request to anybody."""

import re

import pytest
from browser import NEEDS_BROWSER, tried_in_browser
from made_up_report import beside

pytestmark = NEEDS_BROWSER

TRIES = """
  found.back = getComputedStyle(document.body).backgroundColor;
  found.card = getComputedStyle(document.querySelector(".zoom")).backgroundColor;
  const tables = [...document.querySelectorAll("#pfl_table5 details table")];
  const table = tables.find((one) => one.textContent.includes("published"));
  const column = [...table.tHead.rows[0].cells].findIndex((one) => one.textContent === "published");
  const heading = table.tHead.rows[0].cells[column];
  const values = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
  const read = () => [heading.getAttribute("aria-sort"), ...values()];
  found.sorts = [read()];
  for (const _ of [1, 2]) { heading.querySelector("button").click(); found.sorts.push(read()); }
  const shown = () => [...document.querySelectorAll("#claims-table tbody tr")].filter((row) => row.offsetHeight > 0);
  const choose = (name, value) => {
    const select = document.querySelector(`[data-filters=${name}]`);
    select.value = value;
    select.dispatchEvent(new Event("change"));
    return [shown().length, document.getElementById("claims-left").textContent];
  };
  found.filters = [choose("paper", ""), choose("paper", "ppsgd"), choose("verdict", "yes")];
  found.left = [...new Set(shown().map((row) => row.dataset.paper + " " + row.dataset.verdict))];
  document.querySelector("article .zoom").click();
  const dialog = document.querySelector("dialog");
  await loaded(dialog.querySelector("img"));
  found.enlarged = [dialog.open, dialog.querySelector("img").naturalWidth];
  dialog.click();
  found.closed = !dialog.open;
"""


def tried(path, **options):
    return tried_in_browser(path, TRIES, **options)


@pytest.fixture(scope="module")
def found(path):
    return tried(path)


def test_nothing_breaks_and_nobody_is_asked(path, found):
    assert "broken" not in found, found
    assert found["complaints"] == []
    assert all(address.startswith(beside(path).as_uri()) for address in found["requests"])


def test_every_picture_is_shown(found):
    assert len(found["pictures"]) > 5
    assert min(found["pictures"]) > 0
    assert found["enlarged"][0]
    assert found["enlarged"][1] in found["pictures"]
    assert found["closed"]


def test_a_click_on_a_heading_sorts_up_and_down(found):
    before, up, down = found["sorts"]
    assert (before[0], up[0], down[0]) == ("none", "ascending", "descending")
    values = [float(text) for text in up[1:]]
    assert values == sorted(values)
    assert [float(text) for text in down[1:]] == sorted(values, reverse=True)
    assert sorted(before[1:]) == sorted(up[1:])
    assert before[1:] != up[1:]


def test_claims_are_filtered_by_paper_and_verdict(found):
    (whole, said), (own, _), (holding, _) = found["filters"]
    assert said == f"{whole} of {whole} claims"
    assert 0 < holding < own < whole
    assert found["left"] == ["ppsgd yes"]


def test_light_and_dark(path, found):
    assert found["back"] == "rgb(255, 255, 255)"
    dark = tried(path, options=["--blink-settings=preferredColorScheme=0"])
    red = int(re.match(r"rgb\((\d+)", dark["back"])[1])
    assert red < 60
    assert dark["card"] == "rgb(255, 255, 255)"  # pictures are made for white


def test_a_phone_has_nothing_that_sticks_out(path):
    found = tried(path, width=390)
    assert found["width"][0] == 390
    assert found["width"][1] <= 390
    assert found["outside"] == []
