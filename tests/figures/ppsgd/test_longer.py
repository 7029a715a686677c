"""Figure 1a continued for 4,000 rounds: the points of its sweep."""

import pytest
from made_up_runs import at

from bench.papers import SWEEPS


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_the_sweep_is_figure_1a_at_one_spread_without_noise(scale):
    longer, shown = SWEEPS["ppsgd_longer"](scale), SWEEPS["ppsgd_synthetic"](scale)
    points, all_points = longer.entries["PPSGD"].points, shown.entries["PPSGD"].points
    kept = at(delta_std=0.01, noise_multiplier=0.0, clip_norm=10.0)(all_points)
    assert points.reset_index(drop=True).equals(all_points[kept].reset_index(drop=True))
    assert longer.num_rounds == 4 * shown.num_rounds
