"""The cost model finds the line that made its measurements, and says how far it is from those that it was not shown."""

import numpy as np
import pytest

from bench.sweeps.counts import Counts
from bench.upkeep import cost
from bench.upkeep.cost import Cell


def cells(number, weights=(2e-9, 1e-5, 3e-4, 0, 0), disturbed=1.0):
    rng = np.random.default_rng(0)
    made = []
    for place in range(number):
        work = Counts(*rng.uniform(1e3, 1e6, 3))
        chunk = int(rng.integers(1, 100))
        seconds = float(cost.terms(work, chunk) @ np.array(weights))
        made.append(Cell(work, chunk, seconds * (disturbed if place == 0 else 1)))
    return made


def test_a_line_is_found_and_predicts_what_was_not_fitted():
    fitted, other = cells(21)[:20], cells(21)[20]
    assert cost.fit(fitted).seconds(other.work, other.chunk) == pytest.approx(other.seconds, rel=1e-6)
    assert cost.held_out(fitted) == pytest.approx(1, rel=1e-6)
    check = cost.check(fitted)
    assert check is not None
    assert (check.cells, check.within) == (20, 1)


def test_one_that_was_disturbed_is_off_and_the_others_are_not():
    ratios = cost.held_out(cells(20, disturbed=3.0))
    assert ratios[0] < 0.5
    check = cost.check(cells(20, disturbed=3.0))
    assert check is not None
    assert 0.5 < check.within < 1


def test_few_programs_are_fitted_by_their_operations_alone():
    (only,) = cells(1)
    model = cost.fit([only])
    assert model.seconds(only.work, only.chunk) == pytest.approx(only.seconds)
    twice = only.work._replace(flops=2 * only.work.flops, randoms=0.0)
    assert model.seconds(twice, 1) == pytest.approx(2 * only.seconds)
    assert cost.check([only]) is None


def test_no_term_is_negative():
    model = cost.fit(cells(20, weights=(2e-9, 1e-5, 3e-4, -1e-10, -1e-10)))
    assert (model.weights >= 0).all()
