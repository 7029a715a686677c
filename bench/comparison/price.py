"""The cost of a test run: communication, gradients, examples, and epsilon including the choice of its setting."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.algorithms.base import Method
from bench.comparison.columns import COSTS, TUNED
from bench.comparison.statements import releases_of
from bench.data.task import Task
from bench.privacy.selection import epsilon_of_best


def price(
    method: Method,
    tasks: Sequence[Task],
    args: Mapping[str, Any],
    *,
    rounds: int,
    releases: int,
    reading: str,
    target: float,
    delta: float,
    num_settings: int,
) -> dict[str, float]:
    """The cost columns of a test run.

    Args:
        method: the method.
        tasks: those for which the noise must suffice; costs are those of the first.
        args: all arguments, including the noise.
        rounds: rounds of a run.
        releases: releases of a run, as counted by the method's event.
        reading: the way of accounting that the noise was calibrated with.
        target: epsilon of one run.
        delta: of one run, and of the choice.
        num_settings: number of settings tried, which is taken as the mean of a random number of runs.

    Returns:
        floats_up, gradients, examples: totals of a run over all clients (`bench.Cost`); NaN where the method does not
            declare them. tuned_epsilon: epsilon of a private choice among settings drawn at random (Papernot and
            Steinke 2022), instead of the actual search, whose later settings depend on earlier scores; NaN where no
            result is known for the mechanism. It assumes that the scores are part of what a run releases. Those of a
            method that releases nothing else are not, and 0 is then without the choice: `report.table` leaves
            it out where there was one. (It stays in the rows of runs, by which earlier ones are recognised.)
    """
    cost = method.cost_of_round(tasks[0], **args)
    of_run = dict(zip(COSTS, cost.of_run(rounds)[:3] if cost else [math.nan] * 3, strict=True))
    if target in (0.0, math.inf):
        return of_run | {TUNED: target}
    of_tasks = [releases_of(method, task, delta, args)[reading] for task in tasks]
    return of_run | {TUNED: max(epsilon_of_best(release, releases, num_settings) for release in of_tasks)}
