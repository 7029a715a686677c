"""The two stages of a comparison: tune every method on held-out data, then rerun and test the best settings.

Without noise the best step sizes lie at the edge of what converges: the best setting of one tuning run may diverge with
the next seed. There the best settings are therefore tuned with further seeds of the same split, and the best mean is
chosen. With noise, larger steps cost accuracy long before they diverge, and one run decides.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.analysis import drawn_users
from bench.analysis.measured import over_target, spent
from bench.comparison.columns import COSTS, KEYS, LABELS, TUNED
from bench.comparison.plan import Candidate, Plan
from bench.comparison.protocol import BOARD
from bench.comparison.report.convergence import rounds_between
from bench.comparison.request import TUNING_SEEDS
from bench.comparison.result import Comparison, Tuning, at_end
from bench.comparison.search import CLOSER, FINALISTS, FURTHER_SEEDS, Setting, near, portions, size
from bench.comparison.statements import calibrated, releases_of
from bench.data.task import Task
from bench.errors import InputError
from bench.execution.pool import Pool
from bench.execution.run import run_sweep
from bench.privacy.selection import epsilon_of_best
from bench.store import part_files
from bench.sweeps.spec import Entry, Sweep, arguments
from bench.upkeep.merge import compact

TUNING, TEST = "tuning", "test"


def run_plan(plan: Plan, pool: Pool | None = None) -> Comparison:
    """Tune and test the methods of a plan. Repeat an interrupted comparison to continue.

    Args:
        plan: what to compare.
        pool: the workers; by default each stage starts its own.

    Raises:
        InputError: where a run released more than the noise was calibrated for, or the results cannot be written.
    """
    problem, tuning = plan.request.problem, tune(plan, pool)
    chosen = choose(tuning.runs, metric=problem.tuned_by, best=problem.best)
    comparison = Comparison(plan, tuning, test(plan, tuning, chosen, pool))
    for folder in sorted(plan.request.folder.glob(f"{TUNING}*/")):
        compact(folder)
    compact(plan.request.folder / TEST, partial(_without_draws_on_the_way, metric=problem.metric))
    return comparison


def _without_draws_on_the_way(part: pa.Table, *, metric: str) -> pa.Table:
    """Return a part of test runs with the scores on drawn users at their end alone, since others are not used."""
    done = part["rounds"].to_numpy() == part["num_rounds"].to_numpy()
    for name in drawn_users.names(metric):
        if name in part.column_names and part[name].to_pandas()[~done].notna().any():
            kept = part[name].to_pandas().where(done)
            part = part.set_column(
                part.column_names.index(name), name, pa.array(kept, part[name].type, from_pandas=True)
            )
    return part


def tune(plan: Plan, pool: Pool | None = None) -> Tuning:
    """Search for the best setting of every method at every epsilon and split, on the held-out data of that split.

    All splits and epsilons share the first settings. Later settings lie near the best one of the same split and
    epsilon, since the held-out data of another split may be in this split's test data. Without noise the best settings
    are run with further seeds.
    """
    problem, protocol = plan.request.problem, plan.request.protocol
    (_, later), pieces = portions(protocol.settings), []
    settings = {label: list(candidate.settings) for label, candidate in plan.candidates.items()}

    def look(wanted: pd.DataFrame, number: int, first_seeds: Sequence[int] = (TUNING_SEEDS,)) -> pd.DataFrame:
        """Run settings; return the runs of this look and those before, at their end."""
        stage = f"{TUNING}_{number}" if number else TUNING
        rows = _run_settings(plan, stage, settings, wanted, first_seeds, pool)
        pieces.append(at_end(rows).assign(look=number))
        return pd.concat(pieces, ignore_index=True)

    every = [
        (label, epsilon, split, number)
        for label, candidate in plan.candidates.items()
        for epsilon, split, number in product(candidate.epsilons, range(protocol.seeds), range(len(settings[label])))
    ]
    runs = look(pd.DataFrame(every, columns=KEYS), 0)
    for number, (width, count) in enumerate(zip(CLOSER, later, strict=False), start=1):
        wanted = _nearer(plan, runs, settings, width, count)
        if wanted.empty:
            break
        runs = look(wanted, number)
    wanted = _finalists(runs, metric=problem.tuned_by, best=problem.best)
    if len(wanted):
        runs = look(wanted, len(later) + 1, [(2 + number) * TUNING_SEEDS for number in range(FURTHER_SEEDS)])
    return Tuning(runs, settings)


def _nearer(
    plan: Plan, runs: pd.DataFrame, settings: dict[str, list[Setting]], half: float, number: int
) -> pd.DataFrame:
    """Settings near the best so far, as rows of `KEYS`; new settings are appended to the lists in `settings`."""
    problem = plan.request.problem
    rows = []
    tried = runs.groupby(KEYS[:-1])["setting"].agg(list)
    for *where, best in choose(runs, metric=problem.tuned_by, best=problem.best).itertuples(index=False, name=None):
        known, space = settings[where[0]], plan.candidates[where[0]].space
        if size(space) <= plan.request.protocol.settings:
            continue  # all combinations have been tried
        for setting in near(space, known[best], half, number, [known[place] for place in tried[tuple(where)]]):
            if setting not in known:
                known.append(setting)
            rows.append((*where, known.index(setting)))
    return pd.DataFrame(rows, columns=KEYS)


def _finalists(tuning: pd.DataFrame, *, metric: str, best: str) -> pd.DataFrame:
    """Return the best settings without noise of each method and split that has several, as rows of `KEYS`."""
    ranked = _ranked(tuning[np.isinf(tuning["target_epsilon"])], metric=metric, best=best)
    places = ranked.groupby(KEYS[:-1])
    return ranked[(places.cumcount() < FINALISTS) & (places["setting"].transform("size") > 1)][KEYS].reset_index(
        drop=True
    )


def _ranked(tuning: pd.DataFrame, *, metric: str, best: str) -> pd.DataFrame:
    """Return one row of `KEYS` per method, epsilon, split and setting, the best mean over seeds first; only settings
    with as many seeds as any of the same method, epsilon and split. Diverged runs come last, ties by setting."""
    sign = 1.0 if best == "min" else -1.0
    score = (sign * tuning[metric].astype(float)).replace(-np.inf, np.nan).fillna(np.inf)
    means = tuning[KEYS].assign(score=score).groupby(KEYS)["score"].agg(["mean", "size"]).reset_index()
    most = means.groupby(KEYS[:-1])["size"].transform("max")
    return means[means["size"] == most].sort_values(["mean", "setting"], kind="stable", ignore_index=True)


def choose(tuning: pd.DataFrame, *, metric: str, best: str) -> pd.DataFrame:
    """Return the best setting of each method at each epsilon and split, by the held-out data of that split.

    Where settings were run with further seeds, the best mean over seeds among these. A diverged run is chosen only if
    all runs diverged. Ties go to the first setting.

    Args:
        tuning: from `tune`.
        metric: the column to choose by.
        best: "max" or "min".

    Returns:
        One row per choice: algorithm, target_epsilon, trial, setting.
    """
    ranked = _ranked(tuning, metric=metric, best=best)
    return ranked.drop_duplicates(KEYS[:-1])[KEYS].sort_values(KEYS, ignore_index=True)


def test(plan: Plan, tuning: Tuning, chosen: pd.DataFrame, pool: Pool | None) -> pd.DataFrame:
    """Run the chosen settings with fresh randomness, and measure each once on the test data.

    Args:
        plan: what to compare.
        tuning: from `tune`.
        chosen: from `choose`.
        pool: the workers; None starts new ones for this call.

    Returns:
        One row per run and evaluation, with "spent": the epsilon of the run by the proven way of accounting.

    Raises:
        InputError: where a run released more than the noise was calibrated for.
    """
    tried = max(tuning.num_settings.values())
    rows = with_spent(_run_settings(plan, TEST, tuning.settings, chosen, [0], pool, num_settings=tried))
    if len(over := over_target(rows)):
        first = over.iloc[0]
        raise InputError(
            f"{first['algorithm']} spent epsilon {first['spent']:.4g} instead of {first['target_epsilon']:g}: it "
            "releases more than once per round, so declare that in `releases`"
        )
    return rows


def _run_settings(
    plan: Plan,
    stage: str,
    settings: Mapping[str, Sequence[Setting]],
    wanted: pd.DataFrame,
    first_seeds: Sequence[int],
    pool: Pool | None,
    *,
    num_settings: int = 0,
) -> pd.DataFrame:
    """Run settings, which may differ between splits.

    The folder of a comparison keeps the runs of earlier ones with other options or another version of a method. On a
    board these are set aside, since its readers take all runs that they find.

    Args:
        stage: the folder; settings of the first stage are those of all splits.
        settings: name in the legend -> list of settings; a setting's number is its index.
        wanted: rows of `KEYS`.
        first_seeds: seeds of the first split; each further split has the next ones.
        num_settings: number of settings tried for each method, for test runs, which are also evaluated on the way;
            0 for tuning runs, which are evaluated at the end and have no cost columns.

    Returns:
        One row per run and evaluation.
    """
    request, names, splits = plan.request, ["target_epsilon", "setting"], range(plan.request.protocol.seeds)
    make = request.problem.test_tasks() if num_settings else request.problem.tuning_tasks()
    tasks, points = [make(0)], {}
    if num_settings and tasks[0].peers is not None:  # the noise must suffice on every graph
        tasks += [make(split) for split in splits[1:]]
    for label in wanted["algorithm"].unique():
        of_method = wanted.loc[wanted["algorithm"] == label, names]
        tried = sorted({(float(target), int(number)) for target, number in of_method.itertuples(index=False)})
        points[label] = _points(plan.candidates[label], tasks, settings[label], tried, num_settings=num_settings)

    def sweep_of(points: Mapping[str, pd.DataFrame], splits: Iterable[int]) -> Sweep:
        return Sweep(
            name=f"{request.name}/{stage}",
            reproduces=f"methods compared on {request.problem.name}",
            tasks={request.problem.name: make},
            entries={
                label: Entry(
                    plan.candidates[label].method,
                    rows,
                    plan.candidates[label].num_rounds,
                    rounds_between if num_settings else None,
                    computed=tuple(sorted({plan.candidates[label].method.noise, *COSTS, TUNED} & {*rows})),
                )
                for label, rows in points.items()
            },
            num_rounds=request.protocol.rounds,
            eval_every=None,
            delta=request.protocol.delta,
            pairs=tuple((split, first + split) for split in splits for first in first_seeds),
            notes=f"tuned on {request.problem.held_out}",
            at_start=num_settings > 0,
        )

    def of_split(split: int) -> Sweep:
        mine = wanted[wanted["trial"] == split]
        rows_of = {
            label: rows.merge(mine.loc[mine["algorithm"] == label, names], on=names) for label, rows in points.items()
        }
        return sweep_of({label: rows for label, rows in rows_of.items() if len(rows)}, [split])

    whole, options = sweep_of(points, splits), {"scale": request.scale, "out": request.out, "pool": pool}
    sweeps, ids = [whole] if stage == TUNING else map(of_split, splits), set()
    for sweep in sweeps:
        ids |= run_sweep(
            sweep, full_sweep=whole, keep_others=request.scale != BOARD, shared_sizes=sweep is not whole, **options
        )
    rows = part_files.read(request.folder / stage)
    return rows[rows["point"].isin(list(ids)) & rows["trial"].isin(splits)].merge(wanted, on=KEYS)


def _points(
    candidate: Candidate,
    tasks: Sequence[Task],
    settings: Sequence[Setting],
    tried: Sequence[tuple[float, int]],
    *,
    num_settings: int = 0,
) -> pd.DataFrame:
    """Return the points of a sweep, one per (target epsilon, number of the setting), with noise that suffices on every
    task, since the same noise may hide less on other graphs of peers. With num_settings, the number tried, also the
    cost of each."""
    task = tasks[0]
    method, statement = candidate.method, candidate.statement
    rows = []
    for target, number in tried:
        args = candidate.applied(settings[number])
        full_args = arguments(method, {**args, method.noise: 1.0})
        method.fits(task, **full_args)
        rounds, releases = candidate.num_rounds(task, full_args), candidate.num_releases(task, full_args)
        if min(rounds, releases) < 1:
            raise InputError(
                f"{candidate.label} makes {rounds} rounds and {releases} releases with these arguments: --set those "
                "that determine them"
            )
        noise, reading = max(
            calibrated(candidate.label, method, task, statement, args, target, releases) for task in tasks
        )
        labels = dict(zip(LABELS, (target, number, reading, *statement[:2]), strict=True))
        scaled = {method.noise: noise} if method.noise in full_args else {}
        if num_settings:
            labels |= cost_columns(candidate, tasks, {**full_args, **scaled}, reading, target, num_settings)
        rows.append({**args, **scaled, **labels})
    return pd.DataFrame(rows)


def with_spent(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with "spent": epsilon by the way of accounting that each was calibrated with; inf without
    noise."""
    return runs.assign(spent=spent(runs))


def cost_columns(
    candidate: Candidate, tasks: Sequence[Task], args: Mapping[str, Any], reading: str, target: float, num_settings: int
) -> dict[str, float]:
    """Return the cost columns of a test run.

    Args:
        candidate: the method.
        tasks: those for which the noise must suffice; costs are those of the first.
        args: all arguments, including the noise.
        reading: the way of accounting that the noise was calibrated with.
        target: epsilon of one run.
        num_settings: number of settings tried, which is taken as the mean of a random number of runs.

    Returns:
        floats_up, gradients, examples: totals of a run over all clients (`bench.Cost`); NaN where the method does not
            declare them. tuned_epsilon: epsilon of a private choice among settings drawn at random (Papernot and
            Steinke 2022), instead of the actual search, whose later settings depend on earlier scores; NaN where no
            result is known for the mechanism. It assumes that the scores are part of what a run releases. Those of a
            method that releases nothing else are not, and 0 is then without the choice: `report.table` leaves
            it out where there was one. (It stays in the rows of runs, by which earlier ones are recognised.)
    """
    method, task = candidate.method, tasks[0]
    cost = method.cost_of_round(task, **args)
    of_run = cost.of_run(candidate.num_rounds(task, args))[:3] if cost else [math.nan] * 3
    tuned = target
    if target not in (0.0, math.inf):
        of_tasks = [releases_of(method, task, candidate.statement.delta, args)[reading] for task in tasks]
        count = candidate.num_releases(task, args)
        tuned = max(epsilon_of_best(release, count, num_settings) for release in of_tasks)
    return dict(zip([*COSTS, TUNED], (*of_run, tuned), strict=True))
