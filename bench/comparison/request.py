"""What a caller wants compared, every word of it looked up and checked."""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.algorithms.base import Method
from bench.comparison.problem import Problem
from bench.comparison.problems import problem
from bench.comparison.search import Choices, Space
from bench.comparison.statements import Statement
from bench.data.files import DataFiles
from bench.data.task import Task
from bench.defaults import EPSILONS, NUM_SETTINGS
from bench.errors import InputError, unknown_name
from bench.outside import load_method
from bench.privacy.events import SENSITIVITY
from bench.values import Interval

TUNING_SEEDS = 1000  # the tuning runs of split t have the seed 1000 + t: no test run shares their randomness
COMPARE, BOARD = "compare", "board"  # where a sweep has its scale


class Request(NamedTuple):
    """What is wanted.

    problem: what the methods are compared on.
    methods: those asked for, by the name in the legend.
    baselines: names of those of the problem that are wanted; None: all but those on request.
    statement: what every method is to promise.
    any_unit: whether methods that make another statement take part, in panels of their own.
    epsilons: finite ones, ascending; without noise comes by itself.
    num_splits: splits of the data, each with randomness of its own.
    num_settings: settings that each method is tuned over at most.
    num_rounds: of methods that do not bring their own.
    fixed: argument -> value, for every method that has it.
    tuned: argument -> what every method that has it is tuned over; "METHOD:ARGUMENT" is of one method.
    name: of the folder of results.
    out: the results folder.
    fresh: whether earlier runs of that name are set aside.
    scale: the folder in the results: of comparisons, or of the board.
    against: folder of a board whose methods stand beside those of the request, without being run.
    """

    problem: Problem
    methods: Mapping[str, Method]
    baselines: Sequence[str] | None
    statement: Statement
    any_unit: bool
    epsilons: Sequence[float]
    num_splits: int
    num_settings: int
    num_rounds: int
    fixed: Mapping[str, Any]
    tuned: Space
    name: str
    out: Path
    fresh: bool
    scale: str = COMPARE
    against: Path | None = None

    @property
    def folder(self) -> Path:
        """Where everything is written."""
        return self.out / self.scale / self.name


def make_request(
    methods: str | Method | Callable | Sequence[str | Method | Callable] = (),
    *,
    task: str | Problem | Task | Callable[[int], Task] = "digits",
    epsilons: float | Sequence[float] = EPSILONS,
    seeds: int = 5,
    tuned: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    num_settings: int = NUM_SETTINGS,
    rounds: int | None = None,
    baselines: Sequence[str] | None = None,
    neighbors: str | None = None,
    delta: float | None = None,
    units: bool = False,
    name: str | None = None,
    out: str | os.PathLike = "results",
    fresh: bool = False,
    data_files: DataFiles | None = None,
) -> Request:
    """The request of these arguments, those of `bench.comparing.compare`; data_files are where data may come from.

    Raises:
        InputError: for the first that cannot be used.
    """
    on = problem(task, data_files)
    for what, value, most in (
        ("seeds", seeds, TUNING_SEEDS),
        ("num_settings", num_settings, 10**6),
        ("rounds", rounds, 10**6),
    ):
        if value is not None and not (isinstance(value, int) and 1 <= value <= most):
            raise InputError(f"{what} is {value}: it must be a whole number from 1 to {most:,}")
    if delta is not None and not 0 < delta < 1:
        raise InputError(f"delta is {delta}: it must be between 0 and 1")
    by_label = _methods(methods)
    return Request(
        problem=on,
        methods=by_label,
        baselines=None if baselines is None else _list(baselines),
        statement=Statement(on.privacy_unit, _relation(on, neighbors), delta or on.delta),
        any_unit=units,
        epsilons=_epsilons(epsilons),
        num_splits=seeds,
        num_settings=num_settings,
        num_rounds=rounds or on.rounds,
        fixed=dict(fixed or {}),
        tuned=_lists(tuned or {}),
        name=_folder_name(name or re.sub(r"[^\w.-]+", "_", "_".join([on.name, *by_label]))),
        out=Path(out),
        fresh=fresh,
    )


def _list(given: Any) -> list:
    """One thing or several as a list; a word and a Method are one."""
    several = isinstance(given, Iterable) and not isinstance(given, str | Method)
    return list(given) if several else [given]


def _methods(given: Any) -> dict[str, Method]:
    methods: dict[str, Method] = {}
    for target in _list(given):
        label, method = load_method(target)
        if label in methods:
            raise InputError(f"two methods are called {label}: rename the factory of one")
        methods[label] = method
    return methods


def _epsilons(given: Any) -> list[float]:
    try:
        epsilons = sorted({float(value) for value in _list(given)})
    except (TypeError, ValueError):
        raise InputError(f"epsilons are {given!r}: give numbers") from None
    if not epsilons or not all(0 < value < math.inf for value in epsilons):
        raise InputError(f"epsilons are {epsilons}: give finite numbers above 0; no noise comes by itself")
    return epsilons


def _lists(tuned: Mapping[str, Any]) -> dict[str, Choices]:
    """The values to tune over as lists, intervals apart; one value is a list of one."""
    lists: dict[str, Choices] = {
        name: values if isinstance(values, Interval) else _list(values) for name, values in tuned.items()
    }
    for name, values in lists.items():
        if not isinstance(values, Interval) and not values:
            raise InputError(f"{name} is tuned over no value: give at least one")
    return lists


def _relation(on: Problem, neighbors: str | None) -> str:
    """The neighbouring relation, for which something can be proven on the problem."""
    relation = neighbors or on.neighbors
    if relation not in SENSITIVITY:
        raise unknown_name("neighbouring relation", relation, SENSITIVITY)
    if relation not in (on.samplers or {on.neighbors}):
        raise InputError(f"on {on.name} nothing is proven under {relation!r}: leave --neighbors out")
    return relation


def _folder_name(name: str) -> str:
    if name in ("", ".", "..") or set(name) & set("/\\\0"):
        raise InputError(f"name {name!r} is no name of a folder: give one without slashes, and another place by --out")
    return name
