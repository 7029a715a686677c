"""A comparison in two stages: every method tuned on held-out data, then each run once more and tested."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from bench.comparison.convergence import rounds_between
from bench.comparison.plan import Candidate, Plan
from bench.comparison.price import price
from bench.comparison.request import TUNING_SEEDS
from bench.comparison.result import Comparison, Tuning, at_end
from bench.comparison.search import CLOSER, Setting, near, portions, size
from bench.comparison.statements import calibrated
from bench.data.task import Task
from bench.errors import InputError
from bench.sweeps import part_files
from bench.sweeps.execution.pool import Pool
from bench.sweeps.run import run_sweep
from bench.sweeps.spec import Entry, Sweep, arguments

LABELS = ["target_epsilon", "setting", "reading", "privacy_unit_compared", "neighbors_compared"]
KEYS = ["algorithm", "target_epsilon", "trial", "setting"]  # what names a run of a stage
TUNING = "tuning"
SLACK = 1.001  # of epsilon: the calibration is a bisection


def run_plan(plan: Plan, pool: Pool | None = None) -> Comparison:
    """Tune and test the methods of a plan. Interrupted, it goes on where it was.

    Args:
        plan: what is compared.
        pool: the workers; default one of each stage's own.

    Raises:
        InputError: where a run released more than was calibrated for, or the results cannot be written.
    """
    problem, tuning = plan.request.problem, tune(plan, pool)
    chosen = choose(tuning.runs, metric=problem.tuned_by, best=problem.best)
    return Comparison(plan, tuning, test(plan, tuning, chosen, pool))


def tune(plan: Plan, pool: Pool | None = None) -> Tuning:
    """Search for the best setting of every method at every epsilon and split, by the held-out data of that split.

    All splits and epsilons share the first settings. Those after them lie near the best one of the same split and
    epsilon: no split learns anything from the held-out data of another, which may be in its own test.
    """
    request, make = plan.request, plan.request.problem.tuning_tasks()
    settings = {label: list(candidate.settings) for label, candidate in plan.candidates.items()}
    task, splits = make(0), range(request.num_splits)
    points = {
        label: _points(
            candidate, [task], settings[label], list(product(candidate.epsilons, range(len(settings[label]))))
        )
        for label, candidate in plan.candidates.items()
    }
    sweep = _sweep(plan, TUNING, make, points, [(split, TUNING_SEEDS + split) for split in splits])
    run_sweep(sweep, scale=request.scale, out=request.out, fresh=request.fresh, pool=pool)
    runs = at_end(part_files.read(request.folder / TUNING))
    runs = runs[runs["trial"] < request.num_splits].assign(look=0)
    _, later = portions(request.num_settings)
    for look, (half, number) in enumerate(zip(CLOSER, later, strict=False), start=1):
        wanted = _nearer(plan, runs, settings, half, number)
        if wanted.empty:
            break
        rows = _run_wanted(plan, f"{TUNING}_{look}", make, [task], settings, wanted, TUNING_SEEDS, pool)
        runs = pd.concat([runs, at_end(rows).assign(look=look)], ignore_index=True)
    return Tuning(runs.reset_index(drop=True), settings)


def _nearer(
    plan: Plan, runs: pd.DataFrame, settings: dict[str, list[Setting]], half: float, number: int
) -> pd.DataFrame:
    """Settings near the best so far, as rows of `KEYS`; new ones are added to the lists of `settings`."""
    problem = plan.request.problem
    rows = []
    tried = runs.groupby(KEYS[:-1])["setting"].agg(list)
    for *where, best in choose(runs, metric=problem.tuned_by, best=problem.best).itertuples(index=False, name=None):
        known, space = settings[where[0]], plan.candidates[where[0]].space
        if size(space) <= plan.request.num_settings:
            continue  # all there are have been tried
        for setting in near(space, known[best], half, number, [known[place] for place in tried[tuple(where)]]):
            if setting not in known:
                known.append(setting)
            rows.append((*where, known.index(setting)))
    return pd.DataFrame(rows, columns=KEYS)


def choose(tuning: pd.DataFrame, *, metric: str, best: str) -> pd.DataFrame:
    """The best setting of each method at each epsilon, for each split by the held-out data of that split.

    A run that diverged is never chosen while another did not. Of equals it is the first.

    Args:
        tuning: of `tune`.
        metric: the column to choose by.
        best: "max" or "min".

    Returns:
        algorithm, target_epsilon, trial, setting, one row each.
    """
    sign = 1.0 if best == "min" else -1.0
    score = (sign * tuning[metric].astype(float)).replace(-np.inf, np.nan).fillna(np.inf)
    ordered = tuning.assign(score=score).sort_values(["score", "setting"], kind="stable")
    return ordered.drop_duplicates(KEYS[:-1])[KEYS].sort_values(KEYS, ignore_index=True)


def test(plan: Plan, tuning: Tuning, chosen: pd.DataFrame, pool: Pool | None) -> pd.DataFrame:
    """Run the chosen settings with fresh randomness, and measure each once on the test data.

    Args:
        plan: what is compared.
        tuning: of `tune`.
        chosen: of `choose`.
        pool: the workers; None: one of this call's own.

    Returns:
        One row per run and evaluation, with "spent": the epsilon that the run has cost by the proven reading.

    Raises:
        InputError: where a run released more than was calibrated for.
    """
    request, make = plan.request, plan.request.problem.test_tasks()
    tasks = [make(0)]
    if tasks[0].peers is not None:
        tasks += [make(split) for split in range(1, request.num_splits)]
    tried = max(tuning.num_settings.values())
    rows = with_spent(_run_wanted(plan, "test", make, tasks, tuning.settings, chosen, 0, pool, num_settings=tried))
    over = rows[rows["spent"] > rows["target_epsilon"] * SLACK]
    if len(over):
        first = over.iloc[0]
        raise InputError(
            f"{first['algorithm']} spent epsilon {first['spent']:.4g} where {first['target_epsilon']:g} was wanted: it "
            "releases more often than once a round, say so in `releases`"
        )
    return rows


def _run_wanted(
    plan: Plan,
    stage: str,
    make: Callable[[int], Task],
    tasks: Sequence[Task],
    settings: Mapping[str, Sequence[Setting]],
    wanted: pd.DataFrame,
    first_seed: int,
    pool: Pool | None,
    *,
    num_settings: int = 0,
) -> pd.DataFrame:
    """Run settings that differ between splits.

    Args:
        stage: the folder.
        make: trial -> task.
        tasks: that the noise must be enough for.
        settings: by the name in the legend; a setting's number is its place.
        wanted: rows of `KEYS`.
        first_seed: of the first split.
        num_settings: how many were tried for each, of runs that are tested, which are evaluated on their way; 0: tried
            runs, which are evaluated at their end, and of which it is left out what they cost.

    Returns:
        One row per run and evaluation.
    """
    request, names = plan.request, ["target_epsilon", "setting"]
    points = {}
    for label in wanted["algorithm"].unique():
        pairs = _distinct(wanted.loc[wanted["algorithm"] == label, names])
        points[label] = _points(plan.candidates[label], tasks, settings[label], pairs, num_settings=num_settings)
    splits = range(request.num_splits)
    every = rounds_between if num_settings else None
    whole = _sweep(plan, stage, make, points, [(split, first_seed + split) for split in splits], every)
    for split in splits:
        of_split = wanted[wanted["trial"] == split]
        part = {
            label: rows.merge(of_split.loc[of_split["algorithm"] == label, names], on=names)
            for label, rows in points.items()
        }
        part = {label: rows for label, rows in part.items() if len(rows)}
        sweep = _sweep(plan, stage, make, part, [(split, first_seed + split)], every)
        run_sweep(
            sweep, whole=whole, scale=request.scale, out=request.out, fresh=request.fresh and split == 0, pool=pool
        )
    return part_files.read(request.folder / stage).merge(wanted, on=KEYS)


def _distinct(pairs: pd.DataFrame) -> list[tuple[float, int]]:
    """(target epsilon, number of the setting), each once, in order."""
    return sorted({(float(target), int(number)) for target, number in pairs.itertuples(index=False)})


def _points(
    candidate: Candidate,
    tasks: Sequence[Task],
    settings: Sequence[Setting],
    tried: Sequence[tuple[float, int]],
    *,
    num_settings: int = 0,
) -> pd.DataFrame:
    """Points of a sweep, one for each (target epsilon, number of the setting), with the noise for it on every task: on
    other graphs of peers the same noise may hide less. With num_settings, how many were tried, also what each costs."""
    task = tasks[0]
    method, statement = candidate.method, candidate.statement
    rows = []
    for target, number in tried:
        args = {**candidate.args, **settings[number]}
        whole = arguments(method, {**args, method.noise: 1.0})
        method.fits(task, **whole)
        rounds, releases = candidate.num_rounds(task, whole), candidate.num_releases(task, whole)
        if min(rounds, releases) < 1:
            counts = [name for name in whole if name.startswith(("max_", "num_", "phase_", "total_"))]
            raise InputError(
                f"{candidate.label} makes {rounds} rounds and {releases} releases with these arguments: --set those "
                f"that say how many, of {', '.join(counts)}"
            )
        noise, reading = max(
            calibrated(candidate.label, method, one, statement, args, target, releases) for one in tasks
        )
        labels = dict(zip(LABELS, (target, number, reading, *statement[:2]), strict=True))
        scaled = {method.noise: noise} if method.noise in whole else {}
        if num_settings:
            labels |= price(
                method,
                tasks,
                {**whole, **scaled},
                rounds=rounds,
                releases=releases,
                reading=reading,
                target=target,
                delta=statement.delta,
                num_settings=num_settings,
            )
        rows.append({**args, **scaled, **labels})
    return pd.DataFrame(rows)


def _sweep(
    plan: Plan,
    stage: str,
    make: Callable[[int], Task],
    points: Mapping[str, pd.DataFrame],
    pairs: Sequence[tuple[int, int]],
    eval_every: Callable[[int], int] | None = None,
) -> Sweep:
    """The sweep over points by the name in the legend, repeated as the pairs (trial, seed) say."""
    request = plan.request
    return Sweep(
        name=f"{request.name}/{stage}",
        reproduces=f"methods compared on {request.problem.name}",
        tasks={request.problem.name: make},
        entries={
            label: Entry(plan.candidates[label].method, rows, plan.candidates[label].num_rounds, eval_every)
            for label, rows in points.items()
        },
        num_rounds=request.num_rounds,
        eval_every=None,
        delta=request.statement.delta,
        pairs=tuple(pairs),
        notes=request.problem.held_out,
    )


def with_spent(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with "spent": epsilon by the reading that each was calibrated by; inf without noise."""
    return runs.assign(spent=[_spent(row) for row in runs.to_dict("records")])


def _spent(row: Mapping[Any, Any]) -> float:
    if math.isinf(row["target_epsilon"]):
        return math.inf
    return row["epsilon" if row["reading"] == "paper" else f"epsilon_{row['reading']}"]
