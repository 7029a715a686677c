"""Edges of settings that were tuned one after another."""

import pandas as pd

from figures.shared import edges


def test_edges_of_settings_tuned_one_after_another_are_joined():
    steps = {"group": [0, 0, 1, 1, 2, 2, 2], "step": [1, 2, 1, 2, 1, 2, 3], "loss": [1, 2, 1, 2, 2, 1, 2]}
    rows = pd.DataFrame(steps).assign(edge=["", "", "a", "b", "", "c", ""], trial=0, seed=0)
    found = edges.tuned_next(rows, ["group"], "step", "loss")
    smallest = "step = 1, the smallest tried"
    assert found["edge"].tolist() == [smallest, f"a, {smallest}", "c"]
    assert set(found) == set(rows)


TRIED = pd.DataFrame({"group": ["a"] * 3 + ["b"] * 3, "step": [1.0, 2.0, 4.0] * 2, "updates": [1, 2, 4] * 2})


def test_settings_are_edges_unless_nothing_lies_beyond():
    chosen = pd.DataFrame({"group": ["a", "b"], "step": [4.0, 2.0], "updates": [1, 4]})
    found = edges.of_settings(chosen, TRIED, ["group"], ["step", "updates"], {"updates": 1})
    assert found["edge"].tolist() == ["step = 4, the largest tried", "updates = 4, the largest tried"]
    found = edges.of_settings(chosen, TRIED, ["group"], ["step", "updates"], {"other": 1})
    assert found["edge"][0] == "step = 4, the largest tried; updates = 1, the smallest tried"


def test_the_edges_of_rows_are_named_once():
    rows = pd.DataFrame({"edge": ["x; y", "", "x", None]})
    assert edges.distinct(rows) == ["x", "y"]
