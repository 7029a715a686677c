"""Methods side by side on equal terms: the same task, the same statement of privacy, as many settings tried.

Every method's noise is found for each epsilon by an accountant that is proven for its sampler, and its arguments are
chosen on data that the test does not see. What the choice itself reveals of the data is not counted in epsilon, for
no method.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.algorithms.base import Method
from bench.comparison import stages
from bench.comparison.candidates import Candidate, NotComparable, Statement, blind, filled, reading
from bench.comparison.problems import Problem, problem
from bench.comparison.search import settings
from bench.data.files import DataFiles, with_files
from bench.data.task import Task
from bench.errors import InputError, unknown_name
from bench.outside import load_method
from bench.privacy.events import SENSITIVITY

TRIALS = 8
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


class Comparison(NamedTuple):
    """What a comparison found.

    runs: one row per method, epsilon and split: the tested run, at its end.
    tuning: the same of every setting that was tried, by the held-out data.
    plan: what was compared.
    folder: where the Parquet is.
    """

    runs: pd.DataFrame
    tuning: pd.DataFrame
    plan: stages.Plan
    folder: Path

    @property
    def baselines(self) -> list[str]:
        """The names of the methods that stand for what there is already."""
        return [label for label, one in self.plan.candidates.items() if not one.outside]

    @property
    def edges(self) -> list[str]:
        """Values that were chosen at the end of what was tried, in words: a better one may lie beyond."""
        said = []
        for label, one in self.plan.candidates.items():
            mine = self.runs[self.runs["algorithm"] == label]
            for argument, tried in one.space.items():
                numbers = [value for value in tried if isinstance(value, int | float) and math.isfinite(value)]
                if len(numbers) < 3:
                    continue
                for end in (min(numbers), max(numbers)):
                    count = int(np.isclose(mine[argument].astype(float), end).sum())
                    if 4 * count >= len(mine):
                        said.append(
                            f"{label}: {argument} = {end:g}, the end of its grid, in {count} of {len(mine)} runs"
                        )
        return said

    @property
    def diverged(self) -> list[str]:
        """Methods of which no chosen run ended with a finite score: what was tried does not show what they can do."""
        scores = self.runs[self.plan.problem.metric].astype(float).groupby(self.runs["algorithm"])
        return [label for label, mine in scores if not np.isfinite(mine).any()]

    @property
    def again(self) -> dict[str, list[str]]:
        """Methods that were asked for and stand behind baselines, too, with arguments of their own: the baselines."""
        made = {label: one.method.make for label, one in self.plan.candidates.items()}
        same = {label: [name for name in self.baselines if made[name] == make] for label, make in made.items()}
        return {label: names for label, names in same.items() if names and label not in self.baselines}

    @property
    def bare(self) -> list[str]:
        """Methods that promise nothing with these arguments, and so were run without noise alone."""
        finite = self.runs[np.isfinite(self.runs["target_epsilon"])]
        return [label for label in self.plan.candidates if label not in set(finite["algorithm"])]

    @property
    def tried(self) -> dict[str, int]:
        """How many settings of each method were tried."""
        return {label: len(settings(one.space, self.plan.trials)) for label, one in self.plan.candidates.items()}


def compare(
    methods: Sequence[str | Method | Callable],
    *,
    task: str = "digits",
    epsilons: Sequence[float] = EPSILONS,
    seeds: int = 5,
    tuned: Mapping[str, Sequence[Any]] | None = None,
    fixed: Mapping[str, Any] | None = None,
    trials: int = TRIALS,
    rounds: int | None = None,
    baselines: Sequence[str] | None = None,
    neighbors: str | None = None,
    delta: float | None = None,
    units: bool = False,
    name: str | None = None,
    out: str | Path = "results",
    fresh: bool = False,
    data_dir: str | Path | None = None,
    download: bool = False,
) -> Comparison:
    """Tune and test methods beside the baselines of a task. Interrupted, it goes on where it was.

    Args:
        methods: built-in names, FILE.py:NAME, or Methods and factories themselves; none compares the baselines alone.
        task: of `problems.PROBLEMS`, or a FILE.npz of clients.
        epsilons: finite ones; the same without noise is added.
        seeds: splits of the data, each with randomness of its own.
        tuned: argument -> values that every method that has it is tuned over; "METHOD:ARGUMENT" is of one alone.
        fixed: argument -> value, for every method that has it.
        trials: settings of each method, at most.
        rounds: communication rounds of methods that bring none of their own; default the task's.
        baselines: names in the legend; default all of the task, an empty list for none.
        neighbors: neighbouring relation; default the task's.
        delta: default the task's.
        units: also take methods that make another statement; the figures draw those in panels of their own.
        name: of the folder in out/compare; default the task and the methods.
        fresh: set earlier runs of that name aside.
        data_dir: folder with data files of your own; default the one that BENCH_DATA names, if any.
        download: whether the authors' addresses may be asked for data that nothing else has.

    Raises:
        InputError: for anything that cannot be used, before anything is run.
        NotComparable: (an InputError) for a method that makes another statement of privacy.
    """
    data_files, chosen = DataFiles(data_dir, download), problem(task)
    chosen = chosen._replace(test=with_files(chosen.test, data_files), tuning=with_files(chosen.tuning, data_files))
    relation = neighbors or chosen.neighbors
    epsilons, tuned = _numbers("epsilons", epsilons), _lists(tuned or {})
    _check(chosen, relation, epsilons, seeds, trials, rounds, delta)
    candidates = _candidates(chosen, methods, baselines)
    defaults = dict(chosen.defaults) | ({"sampler": chosen.samplers[relation]} if chosen.samplers else {})
    said: dict = {"defaults": defaults, "space": chosen.space, "fixed": fixed or {}, "tuned": tuned}
    candidates = {label: filled(label, one, **said) for label, one in candidates.items()}
    candidates = {
        label: one._replace(method=one.method._replace(make=blind(one.method.make)))
        for label, one in candidates.items()
    }
    _known(candidates, {**(fixed or {}), **tuned})
    wanted = Statement(chosen.privacy_unit, relation, delta or chosen.delta)
    plan = stages.Plan(
        problem=chosen,
        candidates=candidates,
        statements=dict.fromkeys(candidates, wanted),
        epsilons=sorted(set(epsilons)),
        trials=trials,
        repetitions=seeds,
        rounds=rounds or chosen.rounds,
    )
    first = chosen.test(0)
    plan = plan._replace(statements={label: _statement(plan, label, first, wanted, units) for label in candidates})
    name = name or _name(chosen, [label for label, one in candidates.items() if one.outside])
    tuning = stages.tune(plan, name, Path(out), fresh)
    runs = stages.measure(plan, name, stages.choose(plan, tuning), Path(out), fresh)
    return Comparison(runs, tuning, plan, Path(out) / stages.SCALE / name)


def _several(given) -> list:
    """One thing or several as a list; a word is one."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def _numbers(what: str, given) -> list[float]:
    """A number or several as a list.

    Raises:
        InputError: for what is no number.
    """
    try:
        return [float(one) for one in _several(given)]
    except (TypeError, ValueError):
        raise InputError(f"{what} are {given!r}: give numbers") from None


def _lists(tuned: Mapping[str, Any]) -> dict[str, list]:
    """The values to tune over as lists; one value is a list of one.

    Raises:
        InputError: for an empty list.
    """
    out = {name: _several(tried) for name, tried in tuned.items()}
    for name, tried in out.items():
        if not tried:
            raise InputError(f"{name} is tuned over no value: give at least one")
    return out


def _check(chosen: Problem, relation: str, epsilons, seeds: int, trials: int, rounds, delta) -> None:
    """Refuse numbers out of their range, and a relation that nothing on this task is proven for."""
    if not epsilons or not all(0 < value < math.inf for value in epsilons):
        raise InputError(f"epsilons are {list(epsilons)}: give finite numbers above 0; no noise comes by itself")
    for what, value, most in (
        ("seeds", seeds, stages.TUNING_SEEDS),
        ("trials", trials, 10**6),
        ("rounds", rounds, 10**6),
    ):
        if value is not None and not (isinstance(value, int) and 1 <= value <= most):
            raise InputError(f"{what} is {value}: it must be a whole number from 1 to {most:,}")
    if delta is not None and not 0 < delta < 1:
        raise InputError(f"delta is {delta}: it must be between 0 and 1")
    known = chosen.samplers or {chosen.neighbors: ""}
    if relation not in SENSITIVITY:
        raise unknown_name("neighbouring relation", relation, SENSITIVITY)
    if relation not in known:
        raise InputError(f"on {chosen.name} nothing is proven under {relation!r}: leave --neighbors out")


def _candidates(chosen: Problem, methods: Sequence, baselines: Sequence[str] | None) -> dict[str, Candidate]:
    """The baselines wanted and the methods asked for, by the name in the legend."""
    wanted = list(chosen.baselines) if baselines is None else list(baselines)
    for label in wanted:
        if label not in chosen.baselines:
            raise unknown_name(f"baseline on {chosen.name}", label, chosen.baselines)
    candidates = {label: chosen.baselines[label] for label in wanted}
    counted = {one.method.make: one for one in chosen.baselines.values()}  # how rounds and releases of it are counted
    for target in methods:
        label, method = load_method(target)
        if label in candidates:
            raise InputError(f"two methods are called {label}: rename the factory of one")
        like = counted.get(method.make, Candidate(method, {}, {}))
        candidates[label] = like._replace(method=method, args={}, space=method.space, outside=True)
    if not candidates:
        raise InputError("nothing to compare: name a method, or leave the baselines in")
    return candidates


def _known(candidates: Mapping[str, Candidate], names: Mapping[str, Any]) -> None:
    """Refuse a value for an argument that no method has."""
    there = {argument for one in candidates.values() for argument in (*one.args, *one.space)}
    noises = {one.method.noise for one in candidates.values()}
    for name in names:
        label, colon, argument = name.rpartition(":")
        if colon and label not in candidates:
            raise unknown_name("method here", label, candidates)
        if argument in noises:
            raise InputError(f"{argument} is found for each epsilon: leave it out")
        if argument not in there:
            raise unknown_name("argument of these methods", argument, there)


def _statement(plan: stages.Plan, label: str, task: Task, wanted: Statement, units: bool) -> Statement:
    """What a method promises: what is wanted, or, where any unit will do, what it does promise."""
    candidate = plan.candidates[label]
    if stages.targets(plan, label, task) in ([0.0], [math.inf]):
        return wanted
    try:
        reading(label, candidate.method, task, wanted, candidate.first, 1)
    except NotComparable:
        if not units:
            raise
        whole = candidate.at_noise_one(candidate.first)
        said = candidate.method.readings(task, delta=wanted.delta, **whole).values()
        own = next(one for one in said if one.sound)
        return Statement(own.privacy_unit, own.neighbors, wanted.delta)
    return wanted


def _name(chosen: Problem, outside: Sequence[str]) -> str:
    return re.sub(r"[^\w.-]+", "_", "_".join([chosen.name, *outside]))
