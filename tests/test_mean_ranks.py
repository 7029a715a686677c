"""Mean ranks, and their bootstrap, paired within a task and independent between tasks."""

import collections
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from bench import ranking
from bench.ranking import EVERY, drawn_ranks
from figures.pages.board.curves import bar, open_ends

EPSILONS = (1.0, 4.0, math.inf)


@pytest.fixture(autouse=True)
def many_draws(monkeypatch):
    """So many that quantiles over a few outcomes are theirs."""
    monkeypatch.setattr(ranking, "DRAWS", 4000)


@pytest.fixture
def scores():
    """A table of scores, as a list of rows that `add_task` adds to."""
    return []


def add_task(scores, name, by_method, *, best="max", unit="user"):
    """Add the scores of a task: method -> epsilon -> a score for each split; 0 is of what reveals nothing."""
    scores += [
        {"task": name, "epsilon": epsilon, "method": method, "split": split, "score": score, "best": best}
        | {"privacy_unit": unit}
        for method, by_epsilon in by_method.items()
        for target, of_splits in by_epsilon.items()
        for epsilon in (EPSILONS if target == 0 else [target])
        for split, score in enumerate(of_splits)
    ]


def found(scores, unit="user"):
    table = ranking.mean_ranks(pd.DataFrame(scores))
    return {(row.method, row.epsilon): row for row in table[table["privacy_unit"] == unit].itertuples()}


def at_one(**scores):
    return {method: {1.0: list(values), 4.0: list(values)} for method, values in scores.items()}


def test_a_mean_rank_is_the_mean_of_ranks(scores):
    """Over tasks; and over epsilons within a task first."""
    add_task(scores, "a", {"Shared": {1.0: [1, 1], 4.0: [1, 1]}, "B": {1.0: [2, 2], 4.0: [0, 0]}})
    add_task(scores, "b", {"Shared": {1.0: [5, 5], 4.0: [5, 5]}, "B": {1.0: [6, 6], 4.0: [6, 6]}})
    rows = found(scores)
    assert {key: row.mean_rank for key, row in rows.items()} == {
        **{("Shared", 1.0): 2, ("Shared", 4.0): 1.5, ("Shared", EVERY): 1.75},
        **{("B", 1.0): 1, ("B", 4.0): 1.5, ("B", EVERY): 1.25},
    }
    assert (rows["B", 1.0].low, rows["B", 1.0].high) == (1, 1)


def test_splits_stay_paired(scores):
    """What is better by a little on every split is better in every draw, however much splits differ."""
    base = np.array([0.1, 0.5, 0.9, 0.3, 0.7])
    add_task(scores, "a", at_one(Shared=base, B=base + 0.001))
    row = found(scores)["B", EVERY]
    assert (row.mean_rank, row.low, row.high) == (1, 1, 1)


def test_the_same_method_under_two_names_shares_its_rank(scores):
    same = [0.1, 0.5, 0.9]
    add_task(scores, "a", at_one(Shared=same, B=same, C=[0.0, 0.0, 0.0]))
    rows = found(scores)
    for method in ("Shared", "B"):
        assert (rows[method, 1.0].mean_rank, rows[method, 1.0].low, rows[method, 1.0].high) == (1, 1, 1)
    assert rows["C", 1.0].mean_rank == 3


SPREAD = {"Shared": [0.5, 0.5, 0.5, 0.5], "B": [0.2, 0.6, 0.6, 0.6], "C": [0.9, 0.45, 0.45, 0.45]}


def counted_out():
    """The ranks that all ways to draw three of the four splits of `SPREAD` with replacement give, and how often."""
    values = np.array(list(SPREAD.values()))
    means = [values[:, list(draw)].mean(axis=1) for draw in itertools.product(range(4), repeat=3)]
    return collections.Counter(tuple(1 + (one[None] > one[:, None]).sum(axis=1)) for one in means), len(means)


def drawn(scores):
    """The ranks of the three methods in every draw, a task after another."""
    of_tasks = [dict(drawn_ranks(task, of_task)) for task, of_task in pd.DataFrame(scores).groupby("task")]
    return [np.array([of_task[1.0, method][1:] for method in SPREAD], int).T for of_task in of_tasks]


def test_draws_are_as_often_as_counted_out(scores):
    """All splits but one, with replacement: with all of them other ranks would come as often."""
    add_task(scores, "a", at_one(**SPREAD))
    found, (exact, number) = collections.Counter(map(tuple, drawn(scores)[0].tolist())), counted_out()
    assert set(found) == set(exact)
    for outcome, times in exact.items():
        share = times / number
        assert abs(found[outcome] / ranking.DRAWS - share) < 4 * math.sqrt(share * (1 - share) / ranking.DRAWS)


def test_tasks_are_drawn_independently(scores):
    for name in ("a", "b"):
        add_task(scores, name, at_one(**SPREAD))
    one, other = drawn(scores)
    firsts = (one[:, 1] == 1).astype(float), (other[:, 1] == 1).astype(float)
    assert abs(np.corrcoef(*firsts)[0, 1]) < 4 / math.sqrt(ranking.DRAWS)


def test_an_interval_is_the_middle_of_the_draws(scores):
    for name in ("a", "b"):
        add_task(scores, name, at_one(**SPREAD))
    rows, means = found(scores), np.mean(drawn(scores), axis=0)
    for place, method in enumerate(SPREAD):
        row = rows[method, 1.0]
        assert (row.low, row.high) == tuple(np.quantile(means[:, place], [0.025, 0.975]))
        assert (row.low < row.high) == (method != "Shared")  # which is second in every draw


def test_an_interval_that_ends_at_the_first_or_the_last_rank_is_one_sided(scores):
    """Of B and C, which change places, neither can be before the first nor behind the last; of four, D always is."""
    add_task(scores, "a", at_one(**SPREAD, D=[0.0, 0.0, 0.0, 0.0]))
    rows = found(scores)
    assert {method: open_ends(row._asdict()) for (method, epsilon), row in rows.items() if epsilon == 1.0} == {
        "Shared": (False, False),
        "B": (True, False),
        "C": (True, False),
        "D": (False, True),
    }
    assert {row.last for row in rows.values()} == {4}


def test_the_last_rank_is_a_mean_over_tasks_and_over_epsilons_first(scores):
    add_task(scores, "a", at_one(Shared=[0.1, 0.2], B=[0.3, 0.4], C=[0.5, 0.6]))
    add_task(scores, "b", {"Shared": {1.0: [0.1, 0.2], 4.0: [0.1, 0.2]}, "B": {4.0: [0.3, 0.4]}})
    rows = found(scores)
    assert (rows["Shared", 1.0].last, rows["Shared", 4.0].last, rows["Shared", EVERY].last) == (2, 2.5, 2.25)
    assert (rows["C", EVERY].last, rows["B", 1.0].last) == (3, 3)


def test_an_end_on_the_first_rank_is_drawn_without_a_cap():
    ax = Figure().subplots()
    for low, high, caps in ((1.0, 2.0, [2.0]), (1.5, 2.0, [1.5, 2.0]), (1.5, 3.0, [1.5]), (1.0, 3.0, [])):
        bar(ax, {"x": 1.0, "low": low, "high": high, "last": 3.0}, "black")
        drawn, ends = ax.lines[-2:]
        assert list(drawn.get_ydata()) == [low, high]
        assert list(ends.get_ydata()) == caps


def test_what_diverged_stands_behind(scores):
    for name, best, wrong in (("up", "max", math.nan), ("down", "min", math.inf)):
        better = [0.2, 0.3] if best == "max" else [-0.2, -0.3]
        add_task(scores, name, at_one(Shared=[0.1, 0.1], B=[0.9, wrong], C=better), best=best)
    rows = found(scores)
    assert {method: rows[method, 1.0].mean_rank for method in ("Shared", "B", "C")} == {"Shared": 2, "B": 3, "C": 1}


def test_what_was_not_on_all_tasks_stands_below_and_says_so(scores):
    add_task(scores, "a", at_one(Shared=[0.1, 0.2], B=[0.3, 0.4]))
    add_task(scores, "b", at_one(Shared=[0.1, 0.2]))
    table = ranking.mean_ranks(pd.DataFrame(scores))
    every = table[table["epsilon"] == EVERY]
    assert list(every["method"]) == ["Shared", "B"]
    assert list(every["mean_rank"]) == [1.5, 1.0]
    assert list(zip(every["tasks"], every["of"], strict=True)) == [(2, 2), (1, 2)]


def test_what_reveals_nothing_is_ranked_at_every_epsilon(scores):
    add_task(scores, "a", {"Alone": {0.0: [0.5, 0.5]}, "B": {1.0: [0.4, 0.4], 4.0: [0.6, 0.6], math.inf: [0.7, 0.7]}})
    rows = found(scores)
    assert [rows["Alone", epsilon].mean_rank for epsilon in (1.0, 4.0, math.inf, EVERY)] == [1, 2, 2, 1.5]


def test_units_are_ranked_apart(scores):
    add_task(scores, "a", at_one(Shared=[0.1, 0.2]))
    add_task(scores, "b", at_one(Shared=[0.1, 0.2], B=[0.3, 0.4]), unit="point")
    assert {method for method, _ in found(scores)} == {"Shared"}
    assert found(scores, "point")["Shared", 1.0].mean_rank == 2


def test_of_one_split_there_is_no_interval(scores):
    add_task(scores, "a", at_one(Shared=[0.1], B=[0.2]))
    assert all(np.isnan([row.low, row.high]).all() for row in found(scores).values())
