"""The request for a comparison, with all its options checked."""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

from bench.algorithms.base import Method
from bench.algorithms.loading import load_method
from bench.algorithms.search_space import OWN_EPOCHS, OWN_STEPS, Interval, check_space
from bench.comparison.defaults import EPSILONS, LONGEST_NAME, NUM_SETTINGS
from bench.comparison.problem import Problem
from bench.comparison.problems import problem
from bench.comparison.protocol import Protocol
from bench.comparison.search import FURTHER_SEEDS, Space, searched
from bench.comparison.statements import Statement
from bench.data.task import Task
from bench.errors import InputError, shown
from bench.files import check_writable
from bench.inputs.values import as_float, parsed
from bench.privacy.events import check_delta

TUNING_SEEDS = 1000  # the tuning runs of split t have the seed 1000 + t, so that no test run shares their randomness
COMPARE, EXTRAPOLATED = "compare", "extrapolated"  # take the place of a sweep's scale, as BOARD does
MOST_USERS = 1e6  # times as many as exist
LATER = (OWN_STEPS, OWN_EPOCHS)  # roles that were not tuned where a protocol has no `space`
EARLIER: Mapping[str, Space] = {"few_images_dirichlet": {"step_size": Interval(0.03, 1.0)}}  # what it then was


class Request(NamedTuple):
    """A comparison as requested.

    problem: what the methods are compared on.
    methods: the requested methods, by their names in the legend.
    baselines: names of the problem's baselines to include; None means all except those on request.
    protocol: the conditions that are the same for every method.
    fixed: argument -> value, for every method that has it.
    tuned: argument -> what to tune over, for every method that has it; "METHOD:ARGUMENT" is for one method.
    name: of the folder for the results.
    out: the results folder.
    scale: the subfolder of the results folder, for comparisons or for the board.
    board: folder of a board whose methods are included without being run.
    population: how many times as many users set the noise as exist (`bench.comparison.population`).
    """

    problem: Problem
    methods: Mapping[str, Method]
    baselines: Sequence[str] | None
    protocol: Protocol
    fixed: Mapping[str, Any]
    tuned: Space
    name: str
    out: Path
    scale: str = COMPARE
    board: Path | None = None
    population: float = 1.0

    @property
    def folder(self) -> Path:
        """The folder that everything is written to."""
        return self.out / self.scale / self.name

    @property
    def statement(self) -> Statement:
        """The privacy statement that every method must make."""
        return Statement(self.protocol.unit, self.protocol.neighbors, self.protocol.delta)

    @property
    def own_first(self) -> bool:
        """Whether a method's own space comes before that of all methods, as on boards of earlier versions."""
        return not self.protocol.space

    @property
    def space(self) -> Space:
        """Role of an argument -> what it is tuned over, the same for all methods."""
        if not self.own_first:
            return self.protocol.space
        known = {role: tried for role, tried in self.problem.shared_space.items() if role not in LATER}
        return {**known, **EARLIER.get(self.protocol.task, {})}


def make_request(
    methods: str | Method | Callable | Sequence[str | Method | Callable] = (),
    *,
    task: str | Problem | Task | Callable[[int], Task] = "synthetic",
    epsilons: float | Sequence[float] = EPSILONS,
    seeds: int = 5,
    tuned: Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    num_settings: int = NUM_SETTINGS,
    rounds: int | None = None,
    baselines: Sequence[str] | None = None,
    neighbors: str | None = None,
    delta: float | None = None,
    population: float = 1.0,
    name: str | None = None,
    out: str | os.PathLike = "results",
) -> Request:
    """Build a request from the arguments of `bench.compare`.

    Texts in `fixed` are read as on the command line: several values, an interval, or METHOD:ARGUMENT is tuned over.

    Raises:
        InputError: for the first argument that cannot be used.
    """
    check_writable(Path(out))
    on = problem(task)
    rounds = on.rounds if rounds is None else rounds
    for what, number, most in (
        ("seeds", seeds, TUNING_SEEDS),
        ("num_settings", num_settings, 10**6),
        ("rounds", rounds, 10**6),
    ):
        if not (isinstance(number, Integral) and 1 <= number <= most):
            raise InputError(f"{what} is {number}: it must be a whole number from 1 to {most:,}")
    if delta is not None:
        check_delta("delta", delta)
    if not 1 <= population <= MOST_USERS:
        raise InputError(f"population is {population:g}: give how many times as many users there are, from 1 on")
    if population > 1 and on.privacy_unit != "user":
        raise InputError(f"{on.name}: more users only help methods that protect a user: leave population out")
    by_label = _methods(methods)
    several = {name: given for name, given in (fixed or {}).items() if ":" in name or _has_several(given)}
    fixed = parsed({name: given for name, given in (fixed or {}).items() if name not in several})
    several = {name: searched(given) if isinstance(given, str) else given for name, given in several.items()}
    tuned = {**several, **(tuned or {})}
    tuned = {name: tried if isinstance(tried, Interval) else as_list(tried) for name, tried in tuned.items()}
    check_space("the argument `tuned`", tuned)
    words = [on.name, *by_label, *([f"users_x_{population:g}"] if population > 1 else [])]
    return Request(
        problem=on,
        methods=by_label,
        baselines=None if baselines is None else as_list(baselines),
        protocol=Protocol(
            task=on.name,
            epsilons=_epsilons(epsilons),
            seeds=int(seeds),
            settings=int(num_settings),
            rounds=int(rounds),
            delta=delta or on.delta,
            neighbors=_relation(on, neighbors),
            unit=on.privacy_unit,
            further_seeds=FURTHER_SEEDS,
            space=dict(on.shared_space),
        ),
        fixed=fixed,
        tuned=tuned,
        name=_folder_name(name or re.sub(r"[^\w.-]+", "_", "_".join(words))),
        out=Path(out),
        scale=COMPARE if population == 1 else EXTRAPOLATED,
        population=population,
    )


def _has_several(given: Any) -> bool:
    """Return whether a text has several values, or an interval."""
    return isinstance(given, str) and ("," in given or given.startswith(("log:", "lin:")))


def as_list(given: Any) -> list:
    """Return one item or several, as a list; a string or a Method is one item."""
    several = isinstance(given, Iterable) and not isinstance(given, str | Method)
    return list(given) if several else [given]


def _methods(given: Any) -> dict[str, Method]:
    methods: dict[str, Method] = {}
    for target in as_list(given):
        label, method = load_method(target)
        if label in methods:
            raise InputError(f"two methods are called {label}: rename the factory of one")
        methods[label] = method
    return methods


def _epsilons(given: Any) -> list[float]:
    epsilons = sorted({as_float("an epsilon", value) for value in as_list(given)})
    if not epsilons or not all(0 < value < math.inf for value in epsilons):
        raise InputError(f"epsilons are {epsilons}: give finite numbers above 0; the noise-free case is always added")
    return epsilons


def _relation(on: Problem, neighbors: str | None) -> str:
    """Check that some baseline is proven under the neighbouring relation, and return it."""
    relation = neighbors or on.neighbors
    if relation not in (on.level.samplers or {on.neighbors}):
        raise InputError(f"nothing is proven on {on.name} under {relation!r}: leave neighbors out")
    return relation


def _folder_name(name: str) -> str:
    unusable = name in ("", ".", "..") or set(name) & set("/\\") or not name.isprintable()
    if unusable or len(name.encode()) > LONGEST_NAME:
        raise InputError(
            f"name {shown(name)} is not the name of a folder: give at most {LONGEST_NAME} letters without slashes, and "
            "choose the parent folder by --out"
        )
    return name
