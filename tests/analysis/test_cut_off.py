"""A picture says where a panel cuts something off, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from bench.analysis import style
from bench.analysis.cut_off import goes_beyond

X = np.array([1.0, 2.0, 3.0])
TABLE = pd.DataFrame({"x": X, "y": [1.0, 2.0, 3.0], "low": [0.9, 1.8, 2.0], "high": [1.1, 2.2, 9.0], "repetitions": 5})
FACTS = {"source": "made up", "task": "none", "scale": "smoke"}


@pytest.fixture
def ax():
    with style.applied():
        _, axes = style.subplots(figsize=(4, 3))
        yield axes


def test_an_interval_that_stretches_no_axis_goes_beyond(ax):
    style.curve(ax, TABLE, "x", "y", color="k")
    assert goes_beyond(ax)
    ax.set_ylim(0, 10)
    assert not goes_beyond(ax)


def test_a_bar_and_a_line_count_and_what_lies_beside_the_panel_does_not(ax):
    ax.plot(X, X)
    assert not goes_beyond(ax)
    ax.set_ylim(0, 2.5)
    assert goes_beyond(ax)
    ax.set_xlim(1, 2)
    assert not goes_beyond(ax)
    ax.vlines([1.5], [0.0], [4.0])
    ax.set_ylim(0, 2.5)
    assert goes_beyond(ax)


@pytest.mark.parametrize(("value", "beyond"), [(1e-9, True), (0.0, True), (1e-7, False), (1e-5, False)])
def test_on_a_logarithmic_axis_small_values_count_as_they_are_drawn(ax, value, beyond):
    ax.plot(X, [1.0, value, 2.0])
    ax.set_yscale("log")
    ax.set_ylim(1e-7, 3)
    assert goes_beyond(ax) == beyond


@pytest.mark.parametrize("top", [5.0, 10.0])
def test_the_footer_says_so(ax, top):
    style.curve(ax, TABLE, "x", "y", color="k")
    ax.set_ylim(0, top)
    style.footer(ax.figure, TABLE.assign(**FACTS))
    assert (style.CUT in ax.figure.notes) == (top < 9)
