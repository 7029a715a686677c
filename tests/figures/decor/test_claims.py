"""The claims on shared noise hold, fail and are undecided where they should, and the figure has all its panels."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from made_up_points import crossed, finish, of_each, table
from made_up_runs import outcomes as outcomes_of

from figures.decor import PAPER
from figures.decor.noise import CENTRAL, FIGURE, GRAPHS, LOCAL, ONE, OUTSIDERS

SIZE = {LOCAL: 9.0, ONE: 5.0, OUTSIDERS: 3.0}  # of own models, in units of central noise, but where all are neighbours


def loss(algorithm, task, epsilon, step, ratio, trial):
    """Excess loss of agents' own models, and of their mean, of which every claim holds; step 1 and ratio 3 are best."""
    own = 1.0 if task == "gossip_complete" and algorithm != LOCAL else SIZE.get(algorithm, 1.0)
    mean = 9.0 if algorithm == LOCAL else 1.0
    worse = 1 + abs(np.log(step)) + abs(np.log((ratio or 3.0) / 3.0))
    chance = 1 + 0.2 * trial + 0.01 * ((3 * trial + len(algorithm)) % 4)
    return worse * chance * own / epsilon, worse * chance * mean / epsilon


def made(value=loss, trials=4) -> pd.DataFrame:
    kinds = [*product((ONE, OUTSIDERS), GRAPHS, (1.0, 3.0, 10.0)), *product((LOCAL,), GRAPHS, (0.0,))]
    kinds = table("algorithm task pair_noise_ratio", [*kinds, (CENTRAL, "gossip_none", np.nan)])
    rows = crossed(kinds, target_epsilon=(1.0, 10.0), step_size=(0.3, 1.0, 3.0), seed=range(trials))
    names = "algorithm task target_epsilon step_size pair_noise_ratio seed"
    found = of_each(rows.fillna({"pair_noise_ratio": 0.0}), value, names)
    rows = rows.assign(excess_loss=found.str[0], excess_loss_of_mean=found.str[1], epsilon=rows["target_epsilon"])
    return finish(rows, "decor_noise", source="generated", rounds=200, num_rounds=200, delta=1e-5)


outcomes = partial(outcomes_of, PAPER.claims)


def changed(algorithm: str, factor: float, place: int, task: str = ""):
    """`loss` with one method's multiplied, of own models (place 0) or their mean (1), on one graph or all."""

    def value(name, graph, *rest):
        both = list(loss(name, graph, *rest))
        both[place] *= factor if name == algorithm and task in ("", graph) else 1.0
        return tuple(both)

    return value


def test_they_hold_where_they_should():
    assert outcomes(made()) == ["yes"] * 6


@pytest.mark.parametrize(
    ("value", "failing"),
    [
        (changed(OUTSIDERS, 20.0, 1), {0, 4}),
        (changed(OUTSIDERS, 20.0, 0, "gossip_ring"), {1}),
        (changed(ONE, 3.0, 0, "gossip_grid"), {2}),
        (changed(OUTSIDERS, 3.0, 0, "gossip_complete"), {3}),
        (changed(OUTSIDERS, 3.0, 1, "gossip_ring"), {4}),
        (changed(OUTSIDERS, 0.2, 0, "gossip_grid"), {5}),
    ],
)
def test_they_fail_where_noise_does_what_they_deny(value, failing):
    found = outcomes(made(value))
    assert {number for number, outcome in enumerate(found) if outcome == "no"} == failing
    assert set(found) <= {"yes", "no"}


def test_chance_leaves_them_undecided():
    def noisy(algorithm, task, epsilon, step, ratio, trial):
        own, mean = loss(algorithm, task, epsilon, step, ratio, trial)
        factor = 100.0 if trial == 1 and algorithm in (ONE, OUTSIDERS) else 1.0
        return factor * own, factor * mean

    assert outcomes(made(noisy)) == ["open"] * 6


def test_what_is_not_there_is_not_run():
    runs = made()
    assert outcomes(runs.iloc[:0]) == ["not run"] * 6
    assert outcomes(runs[runs["algorithm"] == LOCAL]) == ["not run"] * 6
    without_ring = outcomes(runs[runs["task"] != "gossip_ring"])
    assert without_ring == ["not run"] * 3 + ["yes"] + ["not run"] * 2


def test_the_figure_has_a_panel_for_each_graph_and_metric_with_the_best_step_and_ratio():
    table = FIGURE.table(made())
    assert len(table) == 2 * 2 * (3 * 3 + 1)
    assert set(table["step_size"]) == {1.0}
    assert set(table.loc[table["algorithm"].isin([ONE, OUTSIDERS]), "pair_noise_ratio"]) == {3.0}
    picture = FIGURE.picture(table)
    assert len(picture.axes) == 6
    assert all(len(ax.lines) == 4 for ax in picture.axes)
