"""Bands without what a repetition adds to all points of a panel."""

import numpy as np
import pandas as pd
import pytest

from figures.shared.bands import without_draws

WAYS = {"value": "loss", "panel": ["panel"], "point": ["x"]}


def made(points: int = 3, trials: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([["a", "b"], range(points), range(trials)], names=["panel", "x", "trial"])
    rows = rows.to_frame(index=False)
    common = 10.0 * rng.standard_normal((2, trials))
    own = rng.standard_normal(len(rows))
    rows["loss"] = rows["x"] + common[(rows["panel"] == "b").astype(int), rows["trial"]] + own
    return rows.assign(seed=rows["trial"])


def test_means_stay_and_what_is_left_varies_as_the_points_by_themselves_do():
    rows = made()
    found = without_draws(rows, **WAYS)
    by = ["panel", "x"]
    assert np.allclose(found.groupby(by)["loss"].mean(), rows.groupby(by)["loss"].mean())
    assert found.groupby(by)["loss"].std().to_numpy() == pytest.approx(1.0, rel=0.1)


def test_where_a_repetition_lacks_a_point_nothing_changes():
    rows = made(trials=3).iloc[1:]
    assert without_draws(rows, **WAYS)["loss"].equals(rows["loss"])
    alone = made(points=1, trials=3)
    assert without_draws(alone, **WAYS)["loss"].equals(alone["loss"])
