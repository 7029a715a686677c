"""Edges of settings that were tuned one after another."""

import pandas as pd

from figures.shared import edges


def test_edges_of_both_settings_are_joined():
    rows = pd.DataFrame({"edge_of_tau": ["", "a", "", "a"], "edge": ["", "", "b", "b"], "loss": [1.0, 2.0, 3.0, 4.0]})
    found = edges.joined(rows, first="edge_of_tau")
    assert found["edge"].tolist() == ["", "a", "b", "a, b"]
    assert list(found) == ["edge", "loss"]
    assert list(rows) == ["edge_of_tau", "edge", "loss"]


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
