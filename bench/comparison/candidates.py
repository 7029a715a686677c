"""A method as a comparison runs it: its fixed arguments, what it is tuned over, what it costs in privacy."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, wraps
from typing import Any, NamedTuple

from bench.algorithms.base import Method
from bench.comparison.search import Space
from bench.data.task import Task
from bench.errors import InputError
from bench.privacy.accounting import epsilon, noise_multiplier
from bench.privacy.events import Release
from bench.sweeps.spec import arguments, parameters

Count = Callable[[Task, Mapping[str, Any]], int]


class Candidate(NamedTuple):
    """A method in a comparison.

    method: what runs.
    args: its arguments that are the same in all runs.
    space: argument -> values that it is tuned over.
    num_rounds: (task, arguments) -> communication rounds, where they follow from the arguments; None is the
        comparison's.
    releases: (task, arguments) -> how often a run releases something, as the method's event counts; None: every round.
    outside: it was asked for by name, and so is not one of the baselines.
    """

    method: Method
    args: Mapping[str, Any]
    space: Space
    num_rounds: Count | None = None
    releases: Count | None = None
    outside: bool = False

    @property
    def first(self) -> dict[str, Any]:
        """Its arguments with the first of the values that it is tuned over."""
        return {**self.args, **{name: tried[0] for name, tried in self.space.items()}}

    def at_noise_one(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments of the method, those given and its defaults, with noise 1: for what does not depend on it."""
        return arguments(self.method, {**args, self.method.noise: 1.0})


@cache
def blind(make: Callable) -> Callable:
    """The factory with a task whose test and tuning data it cannot read, and mistakes in it as bad input.

    A stream keeps its evaluation, since its examples are drawn by what that holds.
    """

    @wraps(make)
    def made(task: Task, **args):
        hidden = task if task.sample else replace(task, evaluation=None)
        algorithm = _answered(make, f"{make.__name__} stops on {task.name}")(hidden, **args)
        parts = {part: getattr(algorithm, part) for part in ("init", "round", "params")}
        return algorithm._replace(
            **{part: _answered(one, f"`{part}` of {make.__name__} stops on {task.name}") for part, one in parts.items()}
        )

    return made


def _answered(function: Callable, what: str) -> Callable:
    """The function, with one line where it raises something."""

    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except InputError:
            raise
        except Exception as error:
            first = str(error).partition("\n")[0]
            raise InputError(f"{what}: {type(error).__name__}: {first}") from error

    return call


class Statement(NamedTuple):
    """What every method of a panel promises.

    privacy_unit: "user", "record", "example" or "point".
    neighbors: "add-or-remove one" or "replace one".
    delta: of (epsilon, delta)-DP.
    """

    privacy_unit: str
    neighbors: str
    delta: float


class NotComparable(InputError):
    """A method does not promise what the others do."""


def filled(
    label: str,
    candidate: Candidate,
    *,
    defaults: Mapping[str, Any],
    space: Space,
    fixed: Mapping[str, Any],
    tuned: Space,
) -> Candidate:
    """The candidate with every argument either fixed, or tuned, or the method's own default.

    What the candidate fixes makes it what it is, and stays. Else what the caller says counts first, then the
    candidate's own space, then the task's.

    Args:
        defaults, space: of the task: values, and values to tune over, of whichever method has the argument.
        fixed, tuned: the same of the caller; "LABEL:NAME" is what one method alone is tuned over.

    Raises:
        InputError: for an argument that nothing gives a value.
    """
    keywords, _ = parameters(candidate.method)
    noise = candidate.method.noise
    own = {name.partition(":")[2]: tried for name, tried in tuned.items() if name.partition(":")[0] == label}
    mine = {**space, **candidate.space, **tuned, **own}
    mine = {n: tried for n, tried in mine.items() if n in keywords and n not in {*candidate.args, *fixed, noise}}
    args = {n: given for n, given in {**defaults, **fixed}.items() if n in keywords and n not in {*mine, noise}}
    args |= candidate.args
    missing = [
        name
        for name, parameter in keywords.items()
        if parameter.default is parameter.empty and name not in {*args, *mine, noise}
    ]
    if missing:
        raise InputError(f"{label} needs a value of {missing[0]}: give --set {missing[0]}=VALUE, or --tune it")
    return candidate._replace(args=args, space=mine)


def reading(
    label: str, method: Method, task: Task, statement: Statement, args: Mapping[str, Any], count: int
) -> tuple[str, Release]:
    """The way of accounting, proven for this method and its sampler, in which it makes the statement.

    Where there are several, the one that says the least epsilon: each of the sound ones is a promise by itself.

    Args:
        args: all arguments but the noise.
        count: releases of the run.

    Raises:
        NotComparable: where none makes the statement, with what the method does promise.
    """
    typical = {**args, method.noise: math.sqrt(max(count, 1))}  # a few units of epsilon
    said = method.readings(task, delta=statement.delta, **arguments(method, typical))
    sound = {name: one for name, one in said.items() if one.sound}
    for name, one in sound.items():
        if one.delta != statement.delta:
            raise NotComparable(
                f"{label} states {name} at delta {one.delta:g}, the comparison is at {statement.delta:g}: pass on the "
                "delta that `releases` is given"
            )
    silent = {name: one for name, one in sound.items() if one.sampler == "nothing released"}
    fitting = {
        name: one
        for name, one in sound.items()
        if one.privacy_unit == statement.privacy_unit and one.neighbors == statement.neighbors
    }
    if silent and not fitting:  # who says nothing makes every such statement
        return next(iter(silent.items()))
    if not fitting:
        promised = {f"one {one.privacy_unit} under {one.neighbors!r}" for one in sound.values()}
        raise NotComparable(
            f"{label} protects {' or '.join(sorted(promised)) or 'nothing that is proven'}, the comparison is about "
            f"one {statement.privacy_unit} under {statement.neighbors!r}: leave it out, or choose another --neighbors "
            "or --set sampler, or give --units to draw it in a panel of its own"
        )
    spent = {name: epsilon(one, count) for name, one in fitting.items()}
    name = min(spent, key=lambda name: math.inf if math.isnan(spent[name]) else spent[name])
    return name, fitting[name]


_found: dict[tuple, float] = {}  # noise by what it is calibrated to: most settings of a method differ in other things


def calibrated(
    label: str, method: Method, task: Task, statement: Statement, args: Mapping[str, Any], target: float, count: int
) -> tuple[float, str]:
    """The smallest noise with which a run costs the target at most, and the name of the reading that says so.

    Args:
        args: all arguments but the noise.
        target: epsilon; inf is no noise.
        count: releases of the run.

    Raises:
        NotComparable: as `reading`.
        InputError: where no noise reaches the target.
    """
    if math.isinf(target):
        return 0.0, ""
    name, release = reading(label, method, task, statement, args, count)
    if release.sampler == "nothing released":
        return 0.0, name

    def at(noise: float) -> Release:
        said = method.readings(task, delta=statement.delta, **arguments(method, {**args, method.noise: noise}))
        return said[name]

    key = (release.event(count), release.neighbors, release.accountant, release.delta, target)
    if key not in _found:
        little, much = (epsilon(at(noise), count) for noise in (0.5, 50.0))
        if not (much < little or math.isnan(little)):  # NaN: too much to compute
            raise InputError(
                f"`releases` of {label} says epsilon {little:.4g} with noise 0.5 and {much:.4g} with noise 50: it must "
                f"fall with {method.noise}"
            )
        try:
            _found[key] = noise_multiplier(target, at, count)
        except InputError as why:
            raise InputError(f"{label} does not reach the target, {why}") from None
    return _found[key], name
