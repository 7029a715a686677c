"""A comparison small enough for a test: twelve clients, two baselines, three settings, five rounds."""

import dataclasses
import inspect
import math
from functools import partial

import numpy as np
import pandas as pd
from made_up_points import finish

from bench.comparison.problem import Problem
from bench.comparison.problems import problem_named
from bench.comparison.report.table import table
from bench.comparison.request import make_request
from bench.comparison.result import Comparison
from bench.comparison.run import compare
from bench.data.tasks.synthetic import synthetic
from bench.privacy.events import ADD_OR_REMOVE

TASK = partial(synthetic, num_clients=12, num_features=6, by_user=True)
SMALL: dict = {"task": "tiny", "epsilons": [1.0, 4.0], "seeds": 2, "num_settings": 3, "rounds": 5}
TWIN: dict = {"fixed": {"personalization": math.inf}, "num_settings": 8, "name": "twin"}  # enough for closer looks


def problem() -> Problem:
    """One that compiles in a moment."""
    whole = problem_named("synthetic")
    assert whole.baselines is not None
    baselines = {name: whole.baselines[name] for name in ("Global private SGD", "Local learning")}
    defaults = dict(whole.defaults) | {"num_sampled": 4, "batch_size": 3}
    return dataclasses.replace(whole, name="tiny", test=TASK, defaults=defaults, baselines=baselines)


def compared(methods=(), **options) -> Comparison:
    """A comparison on the problem called "tiny", unless the options say otherwise."""
    return compare(make_request(methods, **(SMALL | options)))


def under_another_name(make, wrapper):
    """A factory that takes what another one takes."""
    wrapper.__signature__ = inspect.signature(make, eval_str=True)
    return wrapper


def renamed(method):
    """The same method with another factory, called "renamed"."""

    def renamed(task, **args):
        return method.make(task, **args)

    return method._replace(make=under_another_name(method.make, renamed))


def runs_of(scores, target=1.0, unit="user"):
    """Made-up runs: one row per method and split, with these scores; "local" releases nothing."""
    cells = [(name, trial, score) for name, values in scores.items() for trial, score in enumerate(values)]
    rows = pd.DataFrame(cells, columns=["algorithm", "seed", "score"])
    rows["target_epsilon"] = np.where(rows["algorithm"] == "local", 0.0, target)
    known = {"privacy_unit_compared": unit, "neighbors_compared": ADD_OR_REMOVE, "delta": 1e-4}
    return finish(rows, "none", task="none", scale="compare", **known)


def table_of(comparison: Comparison, baselines: list[str]) -> pd.DataFrame:
    """The table of a comparison, against these baselines."""
    stated = comparison.plan.request.problem
    return table(
        comparison.runs,
        problem=stated.name,
        title=stated.title,
        metric=stated.metric,
        best=stated.best,
        baselines=baselines,
        num_settings=comparison.tuning.num_settings,
        against=comparison.adversaries,
    )


def table_of_scores(runs, best="max", baselines=("old", "older", "local"), weaker=(), tried=3, **overlap):
    """The table of made-up runs, such as those of `runs_of`."""
    return table(
        runs,
        problem="made up",
        title="made up: of tests",
        metric="score",
        best=best,
        baselines=baselines,
        num_settings=dict.fromkeys(runs["algorithm"], tried),
        against=dict.fromkeys(runs["algorithm"], "everybody") | dict(weaker),
        **overlap,
    )
