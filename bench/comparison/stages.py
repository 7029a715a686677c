"""A comparison in two stages: every method tuned on held-out data, then each run once more and tested."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.comparison.candidates import Candidate, Statement, calibrated
from bench.comparison.problems import Problem
from bench.comparison.search import settings
from bench.data.task import Task
from bench.errors import InputError
from bench.privacy.accounting import epsilon
from bench.sweeps import store
from bench.sweeps.run import run_sweep
from bench.sweeps.spec import Entry, Sweep

SCALE = "compare"  # where a sweep has its scale
TUNING_SEEDS = 1000  # the tuning runs of split t have the seed 1000 + t: no test run shares their randomness
LABELS = ["target_epsilon", "setting", "reading", "privacy_unit_compared", "neighbors_compared"]
SLACK = 1.001  # of epsilon: the calibration is a bisection


@dataclasses.dataclass(frozen=True)
class Only:
    """The metrics of a task but for all others; equal ones are one, so that tasks share a program."""

    metrics: Callable
    names: tuple[str, ...]

    def __call__(self, params, task: Task) -> dict:
        out = self.metrics(params, task)
        missing = [name for name in self.names if name not in out]
        if missing:
            raise InputError(f"task {task.name} measures {', '.join(out)}, not {missing[0]}")
        return {name: out[name] for name in self.names}


def _measured_by(make: Callable[[int], Task], name: str) -> Callable[[int], Task]:
    def made(trial: int) -> Task:
        task = make(trial)
        assert task.metrics is not None
        return dataclasses.replace(task, metrics=Only(task.metrics, (name,)))

    return made


class Plan(NamedTuple):
    """What is compared.

    problem, candidates: the task, and by the name in the legend the methods, with every argument given.
    statements: of each method, what it promises.
    epsilons: finite ones; without noise comes by itself.
    trials: settings that each method is tuned over at most.
    repetitions: splits of the data, each with randomness of its own.
    rounds: of methods that do not bring their own.
    """

    problem: Problem
    candidates: Mapping[str, Candidate]
    statements: Mapping[str, Statement]
    epsilons: Sequence[float]
    trials: int
    repetitions: int
    rounds: int

    def num_rounds(self, label: str) -> Callable[[Task, Mapping[str, Any]], int]:
        return self.candidates[label].num_rounds or (lambda task, args: self.rounds)


def _points(plan: Plan, label: str, task: Task, chosen: list[tuple[float, int, dict[str, Any]]]) -> pd.DataFrame:
    """Rows of (target epsilon, number of the setting, setting), with the noise for each."""
    candidate, statement = plan.candidates[label], plan.statements[label]
    rounds_of, releases_of = plan.num_rounds(label), candidate.releases
    rows = []
    for target, number, setting in chosen:
        args = {**candidate.args, **setting}
        whole = candidate.at_noise_one(args)
        candidate.method.fits(task, **whole)
        rounds = rounds_of(task, whole)
        count = releases_of(task, whole) if releases_of else rounds
        if min(rounds, count) < 1:
            raise InputError(
                f"{label} makes {rounds} rounds and {count} releases with these arguments: --set those that say how "
                f"many, of {', '.join(name for name in whole if name.startswith(('max_', 'num_', 'phase_', 'total_')))}"
            )
        noise, reading = calibrated(label, candidate.method, task, statement, args, target, count)
        labels = dict(zip(LABELS, (target, number, reading, *statement[:2]), strict=True))
        scaled = {candidate.method.noise: noise} if candidate.method.noise in whole else {}
        rows.append({**args, **scaled, **labels})
    return pd.DataFrame(rows)


def targets(plan: Plan, label: str, task: Task) -> list[float]:
    """The epsilons at which a method is run: 0 alone for one that says nothing, inf alone for one that promises
    nothing, all and inf for the others."""
    candidate, statement = plan.candidates[label], plan.statements[label]
    whole = candidate.at_noise_one(candidate.first)
    candidate.method.fits(task, **whole)
    said = candidate.method.readings(task, delta=statement.delta, **whole).values()
    if all(one.sampler == "nothing released" for one in said):
        return [0.0]
    if not any(one.sound and math.isfinite(epsilon(one, 1)) for one in said):
        return [math.inf]
    if candidate.method.noise not in whole:
        raise InputError(
            f"{label} has no argument {candidate.method.noise} to scale its noise by: give it one, or name the one it "
            "has, Method(..., noise=NAME)"
        )
    return [*plan.epsilons, math.inf]


def _sweep(plan: Plan, name: str, make, entries: Mapping[str, pd.DataFrame], pairs) -> Sweep:
    """The sweep over points by the name in the legend."""
    problem = plan.problem
    return Sweep(
        name=name,
        reproduces=f"methods compared on {problem.name}",
        tasks={problem.name: make},
        entries={
            label: Entry(plan.candidates[label].method, points, num_rounds=plan.num_rounds(label))
            for label, points in entries.items()
        },
        num_rounds=plan.rounds,
        eval_every=None,
        delta=next(iter(plan.statements.values())).delta,
        pairs=tuple(pairs),
        notes=problem.says,
    )


def tune(plan: Plan, name: str, out: Path, fresh: bool = False) -> pd.DataFrame:
    """Run every setting of every method at every epsilon on the tuning data.

    Returns:
        One row per run, at its end.
    """
    make = _measured_by(plan.problem.tuning, plan.problem.tuned_by)
    task, entries = make(0), {}
    for label, candidate in plan.candidates.items():
        tried = list(enumerate(settings(candidate.space, plan.trials)))
        at = targets(plan, label, task)
        entries[label] = _points(plan, label, task, [(target, *one) for target in at for one in tried])
    pairs = [(trial, TUNING_SEEDS + trial) for trial in range(plan.repetitions)]
    run_sweep(_sweep(plan, f"{name}/tuning", make, entries, pairs), scale=SCALE, out=out, fresh=fresh)
    rows = _ends(store.read(out / SCALE / name / "tuning"))
    return rows[rows["trial"] < plan.repetitions].reset_index(drop=True)


def _ends(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["rounds"] == rows["num_rounds"]].reset_index(drop=True)


def choose(plan: Plan, tuning: pd.DataFrame) -> pd.DataFrame:
    """The best setting of each method at each epsilon, for each split by the held-out data of that split.

    A run that diverged is never chosen while another did not. Of equals it is the first.

    Returns:
        algorithm, target_epsilon, trial, setting, one row each.
    """
    sign = 1.0 if plan.problem.best == "min" else -1.0
    score = (sign * tuning[plan.problem.tuned_by].astype(float)).replace(-np.inf, np.nan).fillna(np.inf)
    ordered = tuning.assign(score=score).sort_values(["score", "setting"], kind="stable")
    keys = ["algorithm", "target_epsilon", "trial"]
    return ordered.drop_duplicates(keys)[[*keys, "setting"]].sort_values(keys, ignore_index=True)


def measure(plan: Plan, name: str, chosen: pd.DataFrame, out: Path, fresh: bool = False) -> pd.DataFrame:
    """Run the chosen settings with fresh randomness, and measure each once on the test data.

    Returns:
        One row per run, at its end, with "spent": the epsilon that the run has cost by the proven reading.

    Raises:
        InputError: where a run released more than was calibrated for.
    """
    make = _measured_by(plan.problem.test, plan.problem.metric)
    task, whole, of_trial = make(0), {}, {}
    for label, candidate in plan.candidates.items():
        space = settings(candidate.space, plan.trials)
        mine = chosen[chosen["algorithm"] == label]
        pairs = mine[["target_epsilon", "setting"]].drop_duplicates().sort_values(["target_epsilon", "setting"])
        points = _points(plan, label, task, [(e, int(s), space[int(s)]) for e, s in pairs.itertuples(index=False)])
        whole[label] = points
        for trial, its in mine.groupby("trial"):
            keys = its[["target_epsilon", "setting"]]
            of_trial.setdefault(int(trial), {})[label] = points.merge(keys, on=["target_epsilon", "setting"])
    pairs = [(trial, trial) for trial in range(plan.repetitions)]
    everything = _sweep(plan, f"{name}/test", make, whole, pairs)
    for trial, entries in of_trial.items():
        part = _sweep(plan, f"{name}/test", make, entries, [(trial, trial)])
        run_sweep(part, whole=everything, scale=SCALE, out=out, fresh=fresh and trial == 0)
    rows = _ends(store.read(out / SCALE / name / "test"))
    current = chosen.rename(columns={"setting": "kept"})
    rows = rows.merge(current, on=["algorithm", "target_epsilon", "trial"])
    rows = rows[rows["setting"] == rows.pop("kept")].reset_index(drop=True)
    rows["spent"] = [_spent(row) for row in rows.to_dict("records")]
    over = rows[rows["spent"] > rows["target_epsilon"] * SLACK]
    if len(over):
        first = over.iloc[0]
        raise InputError(
            f"{first['algorithm']} spent epsilon {first['spent']:.4g} where {first['target_epsilon']:g} was wanted: it "
            "releases more often than once a round, say so in `releases`"
        )
    return rows


def _spent(row: Mapping[str, Any]) -> float:
    """The epsilon of a run by the reading that it was calibrated by; inf without noise."""
    if math.isinf(row["target_epsilon"]):
        return math.inf
    return row["epsilon" if row["reading"] == "paper" else f"epsilon_{row['reading']}"]
