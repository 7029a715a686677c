"""From how many users on does learning together pay? Methods run with the noise of a larger population.

With K times the users, the same share of them in a round and the same noise multiplier sigma, a round sums K times as
many updates, and the noise on their mean has std sigma C / (K Q) in place of sigma C / Q. That is all that changes
here: the run has the users that exist, Q of them in a round, and noise of std sigma C / K on their sum. Nothing but
K = 1 is measured, and the rows of every other K say so.

What this assumes, and what it leaves out:

- The further users are like those that exist.
- They are not drawn: the mean of a round still varies as that of Q users does, and what is learned is not learned from
  more of them. With K times as many actual users a method would do better in both.
- sigma, epsilon and delta are those of the users that exist, since the rate of sampling is the same. But delta should
  fall as the users grow: at delta / K the same noise has a larger epsilon, which stands beside it.
- Learning alone stays as it is. It is tuned among as many settings as on the board, more than the others have, so that
  nothing beats it for want of settings.

Simulators of federated learning scale the noise in this way to try settings of a large cohort on a small one. Numbers
from it are extrapolated.
"""

import dataclasses
import inspect
import math
from collections.abc import Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.algorithms.base import Method
from bench.algorithms.ranges import Positive
from bench.analysis import select
from bench.comparison.baselines import Variant
from bench.comparison.defaults import NUM_SETTINGS
from bench.comparison.plan import Candidate, Plan, in_legend, make_plan
from bench.comparison.problems import problem
from bench.comparison.request import EXTRAPOLATED, Request, make_request
from bench.comparison.result import Comparison
from bench.comparison.stages import run_plan
from bench.comparison.statements import releases_of
from bench.data.files import DataFiles
from bench.errors import InputError
from bench.execution.pool import Pool
from bench.privacy.accounting import epsilon as epsilon_of
from bench.ranking import gains_over

FACTOR = "users_factor"  # the argument, and the column: K, how many times the users there are
FACTORS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
SETTINGS, SPLITS = 12, 3  # fewer than on the board, so that seven populations take minutes
ALONE = "Local learning"  # in the legend, what the others are compared with
FURTHEST = 1e6  # factor


class Extrapolation(NamedTuple):
    """What is run: two requests for the same splits, and for each method in the plan of the first, what it is.

    request: of a problem with a baseline for each method and factor.
    alone: of learning alone, whose results serve every epsilon; None where the problem does not have it.
    runs_of: name in the plan -> (name in the legend, factor).
    """

    request: Request
    alone: Request | None
    runs_of: dict[str, tuple[str, float]]


def for_more_users(method: Method) -> Method:
    """Return the method with the argument `users_factor`, K, by which its noise is divided.

    Its releases, checks and costs are those of the method: the noise multiplier is that of the larger population.

    Raises:
        InputError: where it has no argument that scales noise.
    """
    make, noise = method.make, method.noise
    signature = inspect.signature(make, eval_str=True)
    if noise not in signature.parameters:
        raise InputError(f"{make.__name__} has no noise that a larger population would share: leave it out")

    @wraps(make)
    def extrapolated(task, **args):
        factor = args.pop(FACTOR)
        return make(task, **args | {noise: args[noise] / factor})

    def without_factor(function):
        return function and (lambda *given, **args: function(*given, **{k: v for k, v in args.items() if k != FACTOR}))

    factor = inspect.Parameter(FACTOR, inspect.Parameter.KEYWORD_ONLY, default=1.0, annotation=Positive)
    extrapolated.__name__ = f"extrapolated_{make.__name__}"
    extrapolated.__signature__ = signature.replace(parameters=[*signature.parameters.values(), factor])  # pyright: ignore
    functions = {name: without_factor(getattr(method, name)) for name in ("releases", "check", "cost")}
    return method._replace(make=extrapolated, **functions)


def extrapolation(
    task: str,
    methods: Sequence[str],
    epsilon: float,
    *,
    factors: Sequence[float] = FACTORS,
    num_settings: int = SETTINGS,
    seeds: int = SPLITS,
    rounds: int | None = None,
    out: Any = "results",
    fresh: bool = False,
    data_files: DataFiles | None = None,
) -> Extrapolation:
    """Plan runs of methods of a task at one epsilon, with the noise of populations of several sizes.

    Args:
        task: of users.
        methods: of the task, by their names in the legend or of the methods.
        epsilon: finite.
        factors: how many times as many users there are; 1, those that exist, is always among them.
        num_settings, seeds: settings tried for each method and factor, learning alone excepted, and data splits.
        rounds: default the task's.
        out: results folder; everything goes to out/extrapolated.
        fresh: whether earlier runs are moved aside.
        data_files: where data may come from.

    Raises:
        InputError: for what cannot be used.
    """
    on = problem(task, data_files)
    if on.privacy_unit != "user":
        raise InputError(f"{on.name} protects one {on.privacy_unit}: more users only help a task that protects a user")
    if not (isinstance(epsilon, int | float) and 0 < epsilon < math.inf):
        raise InputError(f"epsilon is {epsilon}: give a finite number above 0")
    wrong = [factor for factor in factors if not 1 <= factor <= FURTHEST]
    if wrong:
        raise InputError(f"a factor is {wrong[0]:g}: give how many times as many users there are, from 1 on")
    known = on.level.baselines(on.test_tasks()(0)) if on.baselines is None else on.baselines
    baselines: dict[str, Variant] = {}
    runs_of = {}
    names = list(dict.fromkeys(in_legend(name, known, on.name) for name in methods))
    if not [name for name in names if name != ALONE]:
        raise InputError("there is no method to extrapolate: name one, such as --methods dp_fedavg")
    for name in names:
        variant = known[name]
        if name == ALONE:
            continue
        if variant.args.get("clipping", "fixed") != "fixed":
            raise InputError(f"{name} also adds noise that the size of a round sets, not {FACTOR}: leave it out")
        method = for_more_users(variant.method)
        for factor in sorted({1.0, *map(float, factors)}):
            label = f"{name}, users × {factor:g}"
            args = {**variant.args, FACTOR: factor}
            baselines[label] = variant._replace(method=method, args=args, on_request=False)
            runs_of[label] = name, factor
    whole: dict[str, Any] = {"seeds": seeds, "rounds": rounds, "out": out, "fresh": fresh}

    def request_for(baselines: dict[str, Variant], **options) -> Request:
        request = make_request(task=dataclasses.replace(on, baselines=baselines), **whole | options)
        return request._replace(scale=EXTRAPOLATED, on_the_way=False)

    name = f"{on.name}_epsilon_{epsilon:g}"
    request = request_for(baselines, epsilons=[float(epsilon)], num_settings=num_settings, name=name)
    if ALONE not in known:
        return Extrapolation(request, None, runs_of)
    alone = {ALONE: known[ALONE]._replace(on_request=False)}
    name = f"{on.name}_learning_alone"
    return Extrapolation(request, request_for(alone, num_settings=NUM_SETTINGS, name=name), runs_of)


def run(planned: Extrapolation, pool: Pool | None = None) -> Comparison:
    """Tune and test the methods for every population. Repeat an interrupted run to continue.

    Without noise a method is the same for every population, and runs once, with the users that exist.

    Raises:
        InputError: for anything that cannot be used.
    """
    plan = make_plan(planned.request)
    candidates = {
        label: _once_without_noise(candidate, *planned.runs_of[label]) for label, candidate in plan.candidates.items()
    }
    alone = run_plan(make_plan(planned.alone), pool).evaluations if planned.alone else pd.DataFrame()
    compared = run_plan(Plan(planned.request, candidates, plan.unfit), pool)
    return compared._replace(evaluations=pd.concat([compared.evaluations, alone], ignore_index=True))


def _once_without_noise(candidate: Candidate, name: str, factor: float) -> Candidate:
    """Return the candidate at the epsilons at which it is run.

    Raises:
        InputError: for a method without a private epsilon.
    """
    private = [value for value in candidate.epsilons if math.isfinite(value)]
    if not any(private):
        raise InputError(f"{name} releases nothing, or declares no privacy: more users do not change its noise")
    return candidate if factor == 1 else candidate._replace(epsilons=private)


def table(planned: Extrapolation, compared: Comparison) -> pd.DataFrame:
    """Return one row per method and population, measured or extrapolated, and one of every method without noise.

    Returns:
        method, target_epsilon (inf without noise); users_factor, NaN without noise and for learning alone;
        extrapolated, False for the users that exist; users, and cohort, the users of a round; the metric with low, high
        and repetitions; gain over learning alone with gain_low and gain_high, paired by split
        (`bench.ranking.gains_over`); noise_multiplier, delta, and users_times_delta; epsilon_at_lower_delta, of the
        same noise at delta / users_factor; settings_tried, metric, best, problem, title, source, task, scale, commit.
    """
    request, runs = planned.request, compared.runs
    rows = [
        row
        for target in sorted({*runs["target_epsilon"]} - {0.0})
        for row in _rows_at(target, runs[runs["target_epsilon"].isin([0.0, target])], planned, compared)
    ]
    on = request.problem
    stated = {"metric": on.metric, "best": on.best, "problem": on.name, "title": on.title}
    found = pd.DataFrame(rows).assign(**stated, **select.where_from(runs))
    found["settings_tried"] = request.num_settings
    if planned.alone is not None:
        found.loc[found["method"] == ALONE, "settings_tried"] = planned.alone.num_settings
    return found.sort_values(["target_epsilon", "method", FACTOR], ignore_index=True)


def _rows_at(target: float, runs: pd.DataFrame, planned: Extrapolation, compared: Comparison) -> list[dict[str, Any]]:
    """Return the rows of one epsilon, of runs at their end."""
    on, metric = planned.request.problem, planned.request.problem.metric
    num_users, delta = on.test_tasks()(0).num_clients, planned.request.statement.delta
    means = select.interval(runs.assign(target_epsilon=target), by=["algorithm"], value=metric).set_index("algorithm")
    gains = pd.DataFrame(index=means.index, columns=["gain", "gain_low", "gain_high"], dtype=float)
    if ALONE in means.index:
        facts = {"test_ratio": on.test_ratio, "num_tests": on.num_tests}
        gains = gains_over(runs, metric, on.best, ALONE, [ALONE], **facts)[[*gains]]
    rows = []
    for label, scores in means[[metric, "low", "high", "repetitions"]].iterrows():
        name, factor = planned.runs_of.get(str(label), (ALONE, math.nan))
        row: dict[str, Any] = {"method": name, "target_epsilon": target, FACTOR: math.nan, "extrapolated": factor > 1}
        if name != ALONE and math.isfinite(target):
            own = runs[runs["algorithm"] == label]
            noise = own[compared.plan.candidates[str(label)].method.noise].max()
            row |= {FACTOR: factor, "users": num_users * factor, "noise_multiplier": noise, "delta": delta}
            if "num_sampled" in own:
                row["cohort"] = own["num_sampled"].iloc[0] * factor
            row["users_times_delta"] = delta * num_users * factor
            row["epsilon_at_lower_delta"] = _at_lower_delta(compared, str(label), own, factor)
        rows.append(row | scores.to_dict() | ({} if name == ALONE else gains.loc[str(label)].to_dict()))
    return rows


def _at_lower_delta(compared: Comparison, label: str, own: pd.DataFrame, factor: float) -> float:
    """Return the epsilon of a method's noise at a delta that falls as the users grow, the largest over splits."""
    candidate, spent = compared.plan.candidates[label], []
    task, delta = compared.plan.request.problem.test_tasks()(0), compared.plan.request.statement.delta / factor
    for row in own.to_dict("records"):
        args = {**candidate.args, **compared.tuning.settings[label][int(row["setting"])]}
        args[candidate.method.noise] = row[candidate.method.noise]
        release = releases_of(candidate.method, task, delta, args)[row["reading"]]
        spent.append(epsilon_of(release, candidate.num_releases(task, {**args})))
    return max(spent)


class Crossing(NamedTuple):
    """From which population on a method is ahead of learning alone, among those that were tried.

    factor: the smallest tried factor from which on it is ahead at every larger one too; None where it never is.
    between: the largest smaller one that was tried, at which it is behind; None where it is ahead from the first on.
    at: where the straight line between the two gains crosses 0, on a logarithmic scale of factors; None likewise.
    """

    factor: float | None
    between: float | None = None
    at: float | None = None


def crossing(factors: Sequence[float], gains: Sequence[float]) -> Crossing:
    """Find where gains over learning alone become positive. Gains that are NaN count as behind.

    Args:
        factors: ascending.
        gains: mean gain at each.
    """
    ahead = np.asarray(gains, float) > 0
    if not len(ahead) or not ahead[-1]:
        return Crossing(None)
    behind = np.flatnonzero(~ahead)
    if not len(behind):
        return Crossing(factors[0])
    last = int(behind[-1])
    low, high = gains[last], gains[last + 1]
    share = -low / (high - low) if np.isfinite(low) else 1.0
    at = math.exp((1 - share) * math.log(factors[last]) + share * math.log(factors[last + 1]))
    return Crossing(factors[last + 1], factors[last], at)


def said(found: pd.DataFrame) -> list[str]:
    """Return a sentence for each method on where it passes learning alone."""
    sentences = []
    for name, rows in found[found[FACTOR].notna()].groupby("method", sort=False):
        rows = rows.sort_values(FACTOR)
        if rows["gain"].isna().all():
            continue
        where = crossing(rows[FACTOR].tolist(), rows["gain"].tolist())
        most, users = rows[FACTOR].max(), float(rows["users"].iloc[0] / rows[FACTOR].iloc[0])
        if where.factor is None:
            whole = f"{most:g} times the users, {most * users:,.0f}"
            sentences.append(f"{name} is not ahead of learning alone with up to {whole}")
            continue
        at = rows[rows[FACTOR] == where.factor].iloc[0]
        clear = "an interval above 0" if at["gain_low"] > 0 else "an interval that includes 0"
        clear = f"with a gain that has {clear if np.isfinite(at['gain_low']) else 'no interval'}"
        if where.between is None or where.at is None:
            there = (
                f"with the {users:,.0f} users that exist" if where.factor == 1 else f"from {where.factor:g} times on"
            )
            sentences.append(f"{name} is ahead of learning alone {there}, {clear}")
            continue
        sentences.append(
            f"{name} is ahead of learning alone from {where.factor:g} times the users on, {where.factor * users:,.0f}, "
            f"{clear}, and behind it at {where.between:g} times: extrapolated, it passes it at about "
            f"{where.at * users:,.0f} users"
        )
    return sentences
