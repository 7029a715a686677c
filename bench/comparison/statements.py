"""What a method promises, and the noise with which it keeps that for an epsilon."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.algorithms.base import Method
from bench.data.task import Task
from bench.errors import InputError
from bench.privacy.accounting import epsilon, noise_multiplier
from bench.privacy.events import Release
from bench.sweeps.spec import arguments

SILENT = "nothing released"  # the sampler of a release of nothing


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


def releases_of(method: Method, task: Task, delta: float, args: Mapping[str, Any]) -> dict[str, Release]:
    """What a run releases, by way of accounting; args of the method, its defaults left out or not."""
    return method.readings(task, delta=delta, **arguments(method, args))


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
    releases = releases_of(method, task, statement.delta, typical)
    sound = {name: release for name, release in releases.items() if release.sound}
    for name, release in sound.items():
        if release.delta != statement.delta:
            raise NotComparable(
                f"{label} states {name} at delta {release.delta:g}, the comparison is at {statement.delta:g}: pass on "
                "the delta that `releases` is given"
            )
    silent = {name: release for name, release in sound.items() if release.sampler == SILENT}
    fitting = {
        name: release
        for name, release in sound.items()
        if release.privacy_unit == statement.privacy_unit and release.neighbors == statement.neighbors
    }
    if silent and not fitting:  # who says nothing makes every such statement
        return next(iter(silent.items()))
    if not fitting:
        promised = {f"one {release.privacy_unit} under {release.neighbors!r}" for release in sound.values()}
        raise NotComparable(
            f"{label} protects {' or '.join(sorted(promised)) or 'nothing that is proven'}, the comparison is about "
            f"one {statement.privacy_unit} under {statement.neighbors!r}: leave it out, or choose another --neighbors "
            "or --set sampler, or give --units to draw it in a panel of its own"
        )
    spent = {name: epsilon(release, count) for name, release in fitting.items()}
    name = min(spent, key=lambda name: math.inf if math.isnan(spent[name]) else spent[name])
    return name, fitting[name]


_noises: dict[tuple, float] = {}  # by what it is calibrated to: most settings of a method differ in other things


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
    if release.sampler == SILENT:
        return 0.0, name

    def at(noise: float) -> Release:
        return releases_of(method, task, statement.delta, {**args, method.noise: noise})[name]

    key = (release.event(count), release.neighbors, release.accountant, release.delta, target)
    if key not in _noises:
        little, much = (epsilon(at(noise), count) for noise in (0.5, 50.0))
        if not (much < little or math.isnan(little)):  # NaN: too much to compute
            raise InputError(
                f"`releases` of {label} says epsilon {little:.4g} with noise 0.5 and {much:.4g} with noise 50: it must "
                f"fall with {method.noise}"
            )
        try:
            _noises[key] = noise_multiplier(target, at, count)
        except InputError as why:
            raise InputError(f"{label} does not reach the target, {why}") from None
    return _noises[key], name
