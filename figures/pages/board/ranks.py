"""Mean ranks over tasks, with intervals by a paired bootstrap over splits.

Within each task, n - 1 of its n splits are drawn with replacement. The same draw is used for all methods and all
epsilons of the task, which were run on the same splits and stay paired. Every draw gives mean scores, the mean scores
give ranks, and the ranks are averaged over tasks. An interval is the middle 95 % of the draws. With n - 1 of n splits
drawn, a mean over splits varies by its standard error (Rao and Wu 1988); with n it would vary too little, by a tenth
for five splits. Draws of different tasks are independent.

An interval covers the choice of the splits. The tasks are those of the board and are not resampled.
"""

import math

import numpy as np
import pandas as pd

from bench.analysis.measured import PANEL
from figures.pages.board.collect import Board, Task

DRAWS = 2000
EVERY = -1.0  # stands for "every epsilon": the mean over the private epsilons
OF_A_TASK = ["target_epsilon", "algorithm"]


def mean_ranks(board: Board, panel: tuple[str, str]) -> pd.DataFrame:
    """Mean ranks of the methods of one unit of privacy, at each epsilon and over all.

    At one epsilon a method's mean is over the tasks in which it was run there; over all epsilons (`EVERY`) it is first
    the mean over the private epsilons of each task, then over tasks. A method that diverged ranks behind all others;
    equal scores share the better rank.

    Returns:
        Columns algorithm, target_epsilon, mean_rank, low and high (NaN where a task has one split), tasks (the number
        of tasks with this method) and of (the number of tasks with any method); methods with the most tasks first, and
        among them the best first.
    """
    drawn: dict[tuple[float, str], list[np.ndarray]] = {}
    tasks_at: dict[float, set[str]] = {}
    narrow = set()
    for task in board.tasks:
        if panel not in task.panels:
            continue
        ranks, single = ranks_of(task, panel)
        private: dict[str, list[np.ndarray]] = {}
        for (epsilon, method), of_draws in ranks.items():
            drawn.setdefault((epsilon, method), []).append(of_draws)
            tasks_at.setdefault(epsilon, set()).add(task.name)
            narrow |= {epsilon, EVERY} if single else set()
            if math.isfinite(epsilon):
                private.setdefault(method, []).append(of_draws)
        for method, of_epsilons in private.items():
            drawn.setdefault((EVERY, method), []).append(np.mean(of_epsilons, axis=0))
            tasks_at.setdefault(EVERY, set()).add(task.name)
    rows = []
    for (epsilon, method), of_tasks in drawn.items():
        mean = np.mean(of_tasks, axis=0)
        low, high = (np.nan, np.nan) if epsilon in narrow else np.quantile(mean[1:], [0.025, 0.975])
        counts = {"tasks": len(of_tasks), "of": len(tasks_at[epsilon])}
        rows.append(
            {"algorithm": method, "target_epsilon": epsilon, "mean_rank": mean[0], "low": low, "high": high} | counts
        )
    table = pd.DataFrame(rows).sort_values(
        ["target_epsilon", "tasks", "mean_rank", "algorithm"], ascending=[True, False, True, True]
    )
    return table.reset_index(drop=True)


def ranks_of(task: Task, panel: tuple[str, str]) -> tuple[dict[tuple[float, str], np.ndarray], bool]:
    """Ranks on one task by (epsilon, method): for the splits as they are, then for `DRAWS` draws of them.

    Also returns whether there is a single split, which cannot be resampled.
    """
    here = task.rows.loc[(task.rows[PANEL] == list(panel)).all(axis=1), OF_A_TASK]
    scores = here.merge(task.scores, on=OF_A_TASK).pivot(index=OF_A_TASK, columns="trial", values="score")
    values = task.sign * scores.to_numpy(float)
    values = np.where(np.isfinite(values), values, -np.inf)
    num_splits = values.shape[1]
    as_they_are = np.arange(num_splits)
    draws = np.random.default_rng([*task.name.encode()]).integers(num_splits, size=(DRAWS, max(num_splits - 1, 1)))
    means = np.array([values[:, of_draw].mean(axis=1) for of_draw in (as_they_are, *draws)]).T
    epsilons = scores.index.get_level_values("target_epsilon")
    ranks = {}
    for epsilon in epsilons.unique():
        at_epsilon = means[epsilons == epsilon]
        better = (at_epsilon[None] > at_epsilon[:, None]).sum(axis=1)
        for method, of_draws in zip(scores.index[epsilons == epsilon], 1.0 + better, strict=True):
            ranks[epsilon, method[1]] = of_draws
    return ranks, num_splits == 1
