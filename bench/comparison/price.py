"""What a tested run costs: communication, gradients, examples, and epsilon with the choice of its setting counted."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.algorithms.base import Method
from bench.comparison.statements import releases_of
from bench.data.task import Task
from bench.privacy.selection import epsilon_of_best

COSTS = ["floats_up", "gradients", "examples"]
TUNED = "tuned_epsilon"


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
    """The columns of a tested run.

    Args:
        method: what runs.
        tasks: on whose noise it must be enough; costs are those of the first.
        args: all arguments, the noise included.
        rounds: of a run.
        releases: of a run, as the method's event counts.
        reading: the way of accounting that it was calibrated by.
        target: epsilon of one run.
        delta: of one run, and of the choice.
        num_settings: that were tried: the mean number of runs, were it random.

    Returns:
        floats_up, gradients, examples: of a run, all clients together (`bench.Cost`); NaN where the method does not
        say. tuned_epsilon: of a private choice among settings drawn at random, by Papernot and Steinke (2022), in
        place of the search that was made, whose later settings follow from scores of earlier ones; NaN where nothing is
        known for the mechanism. It takes the scores as part of what a run releases.
    """
    cost = method.cost_of_round(tasks[0], **args)
    of_run = dict(zip(COSTS, cost.of_run(rounds)[:3] if cost else [math.nan] * 3, strict=True))
    if target in (0.0, math.inf):
        return of_run | {TUNED: target}
    of_tasks = [releases_of(method, task, delta, args)[reading] for task in tasks]
    return of_run | {TUNED: max(epsilon_of_best(release, releases, num_settings) for release in of_tasks)}
