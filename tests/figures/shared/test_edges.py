"""Edges of settings that were tuned one after another."""

import pandas as pd

from figures.shared import edges


def test_edges_of_both_settings_are_joined():
    rows = pd.DataFrame({"edge_of_tau": ["", "a", "", "a"], "edge": ["", "", "b", "b"], "loss": [1.0, 2.0, 3.0, 4.0]})
    found = edges.joined(rows, first="edge_of_tau")
    assert found["edge"].tolist() == ["", "a", "b", "a, b"]
    assert list(found) == ["edge", "loss"]
    assert list(rows) == ["edge_of_tau", "edge", "loss"]
