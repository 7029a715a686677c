"""Figure 1a continued for 4,000 rounds: its numbers and its picture, on made-up runs."""

import numpy as np
import pytest
from made_up_runs import FLOORS, at, synthetic_runs

from bench.papers import SWEEPS
from figures.ppsgd import fig1a
from figures.ppsgd.longer import FIGURE


def runs_until(last: int):
    runs = synthetic_runs(deltas=(0.01,), sigmas=(0.0,), rounds=tuple(range(0, last + 1, last // 20)))
    return runs.assign(sweep="ppsgd_longer")


RUNS = runs_until(4000)


def test_the_numbers_are_those_of_figure_1a_without_noise():
    found = FIGURE.table(RUNS)
    assert set(found["noise_multiplier"]) == {0.0}
    assert found.equals(fig1a.table(RUNS, (0.0,)))
    assert found["global_floor"].unique() == pytest.approx(FLOORS[0.01])


def test_the_picture_has_every_curve_and_the_floor():
    numbers = FIGURE.table(RUNS)
    ax, second = FIGURE.draw(numbers).axes
    drawn = [line for line in ax.lines if len(np.asarray(line.get_xdata())) > 2]
    curves = numbers.groupby(["personalization", "tuned_on"])["excess_risk"].apply(sorted)
    np.testing.assert_allclose(sorted(sorted(line.get_ydata()) for line in drawn), sorted(curves))
    levels = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1 and line not in drawn]
    assert levels == pytest.approx([FLOORS[0.01]])
    late = [line for line in second.lines if len(np.asarray(line.get_xdata())) > 2]
    assert len(late) == len(drawn)
    assert all(min(line.get_xdata()) >= 2000 == max(line.get_xdata()) / 2 for line in late)


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_the_sweep_is_figure_1a_at_one_spread_without_noise(scale):
    longer, shown = SWEEPS["ppsgd_longer"](scale), SWEEPS["ppsgd_synthetic"](scale)
    points, all_points = longer.entries["PPSGD"].points, shown.entries["PPSGD"].points
    kept = at(delta_std=0.01, noise_multiplier=0.0, clip_norm=10.0)(all_points)
    assert points.reset_index(drop=True).equals(all_points[kept].reset_index(drop=True))
    assert longer.num_rounds == 4 * shown.num_rounds
