"""Table 1 of Bellet et al.: its rows, its cells, its files."""

import numpy as np
import pytest
from made_up_p2p import MAKE
from made_up_runs import at, changed

from figures.p2p import table1

RUNS = {name: make() for name, make in MAKE.items()}


def test_table1_has_a_row_a_variant_tuned_on_validation_ratings():
    runs = RUNS["p2p_movielens"]
    table = table1.table(runs).set_index(["series", "variant"])
    row = table.loc[("epsilon 1", "Laplace, C = 10, warm start within the budget")]
    assert (row["test_rmse"], row["published"], row["num_updates"]) == (pytest.approx(0.9527), 0.9527, 1)
    assert row["difference"] == pytest.approx(0, abs=1e-12)
    assert len(table) == 3 + 3 * 9
    assert len(table1.table(runs[runs["algorithm"] != "one release"])) == 3 + 3 * 6
    once = table.xs("Laplace, C = 10, one release, smoothed", level="variant")
    assert once["difference"].tolist() == pytest.approx([-0.0005] * 3)
    assert set(once["start_step_size"]) == {0.3}
    assert set(once["num_updates"]) == {0}
    assert set(table.xs("Laplace, C tuned, one release, smoothed", level="variant")["clip_norm"]) == {5}
    longer = changed(runs, at(algorithm="one release", instances="validation", step_size=1.0), test_rmse=0.9)
    moved = table1.table(longer)
    assert set(moved.loc[moved["variant"].str.contains("one release"), "start_step_size"]) == {1}
    assert table.loc[("user mean", "not in the paper"), "test_rmse"] == pytest.approx(1.03)
    assert np.isnan(table.loc[("user mean", "not in the paper"), "published"])
    tempting = changed(runs, at(instances="test", num_updates=8.0), test_rmse=0.5)
    assert (table1.table(tempting).set_index(["series", "variant"])["num_updates"].dropna() <= 1).all()
    loose = changed(runs, at(instances="validation", clip_norm=5.0), test_rmse=0.9)
    again = table1.table(loose).set_index(["series", "variant"])["clip_norm"]
    assert again["epsilon 1", "Laplace, C tuned, from user means"] == 5
    assert again["epsilon 1", "Laplace, C = 10, from user means"] == 10
