"""Privacy statements of methods, and noise calibration for an epsilon."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.algorithms.base import Method
from bench.data.task import Task
from bench.errors import InputError
from bench.privacy.accounting import epsilon, noise_multiplier, pld_knows
from bench.privacy.events import Release
from bench.sweeps.spec import arguments

SILENT = "nothing released"  # sampler of a method that releases nothing
ANY_SCHEDULE = "any schedule"  # sampler of a reading without amplification
PLD, RDP, WIDE = "pld", "rdp", "rdp_wide"  # accountants; the last is Renyi DP at all orders


class Statement(NamedTuple):
    """The privacy statement that all methods of a comparison make.

    privacy_unit: "user", "record", "example" or "point".
    neighbors: "add-or-remove one" or "replace one".
    delta: of (epsilon, delta)-DP.
    against: the adversary, in the words of `Release.protects_against`; "" for all that a method names, so that the
        statement holds against the strongest of them.
    """

    privacy_unit: str
    neighbors: str
    delta: float
    against: str = ""


def accounted(method: Method) -> Method:
    """Return the method as a comparison accounts for it, so that no method has less noise by a better accountant.

    A proven reading by Renyi DP is by its privacy loss distribution, where that is known, unless the method itself
    offers a tighter reading of the same statement. Where Renyi DP stays, as for samples of a fixed size, it is that at
    all orders. The closed forms and balls in bins keep the accountants that are proven for them.
    """

    def by(release: Release, tighter: set[tuple[str, ...]]) -> Release:
        if not release.sound or release.accountant not in (PLD, RDP, WIDE) or _promise(release) in tighter:
            return release
        return release._replace(accountant=PLD if pld_knows(release) else WIDE)

    def releases(task: Task, **args: Any) -> dict[str, Release]:
        readings = method.readings(task, **args)
        amplified = [each for each in readings.values() if each.sound and each.sampler != ANY_SCHEDULE]
        tighter = {_promise(each) for each in amplified if each.accountant not in (RDP, WIDE)}
        return {name: by(each, tighter) for name, each in readings.items()}

    return method._replace(releases=releases)


def _promise(release: Release) -> tuple[str, ...]:
    return release.privacy_unit, release.neighbors, release.protects_against


def releases_of(method: Method, task: Task, delta: float, args: Mapping[str, Any]) -> dict[str, Release]:
    """Way of accounting -> release of a run; `args` may leave out the method's defaults."""
    return method.readings(task, delta=delta, **arguments(method, args))


def reading(
    label: str, method: Method, task: Task, statement: Statement, args: Mapping[str, Any], count: int
) -> tuple[str, Release]:
    """Return the way of accounting, proven for this method and its sampler, that yields the statement.

    Of several for the same adversary, the one with the smallest epsilon, since each sound one is a valid statement. Of
    several adversaries, the one against whom epsilon is the largest, unless the statement names one.

    Args:
        args: all arguments except the noise.
        count: number of releases of the run.

    Raises:
        InputError: where none yields the statement; the message says what the method does protect.
    """
    typical = {**args, method.noise: math.sqrt(max(count, 1))}  # gives an epsilon of a few units
    releases = releases_of(method, task, statement.delta, typical)
    sound = {name: release for name, release in releases.items() if release.sound}
    for name, release in sound.items():
        if release.delta != statement.delta:
            raise InputError(
                f"{label} states {name} at delta {release.delta:g}, but the comparison is at delta "
                f"{statement.delta:g}: use the delta that is passed to `releases`"
            )
    silent = {name: release for name, release in sound.items() if release.sampler == SILENT}
    fitting = {
        name: release
        for name, release in sound.items()
        if release.privacy_unit == statement.privacy_unit
        and release.neighbors == statement.neighbors
        and statement.against in ("", release.protects_against)
    }
    if silent and not fitting:  # a method that releases nothing satisfies every such statement
        return next(iter(silent.items()))
    if not fitting:
        promised = {f"one {release.privacy_unit} under {release.neighbors!r}" for release in sound.values()}
        raise InputError(
            f"{label} protects {' or '.join(sorted(promised)) or 'nothing that is proven'}, but the comparison "
            f"protects one {statement.privacy_unit} under {statement.neighbors!r}"
            f"{statement.against and f' against {statement.against}'}: leave it out, or choose a task that "
            "protects the same (`list` says what), other neighbors or --set sampler"
        )
    spent = {name: epsilon(release, count) for name, release in fitting.items()}
    spent = {name: math.inf if math.isnan(value) else value for name, value in spent.items()}
    least: dict[str, str] = {}  # adversary -> way of accounting with the smallest epsilon
    for name in sorted(fitting, key=spent.__getitem__):
        least.setdefault(fitting[name].protects_against, name)
    name = max(least.values(), key=spent.__getitem__)
    return name, fitting[name]


# By what the calibration depends on: most settings of a method only differ in other arguments.
_noises: dict[tuple, float] = {}


def calibrated(
    label: str, method: Method, task: Task, statement: Statement, args: Mapping[str, Any], target: float, count: int
) -> tuple[float, str]:
    """Return the smallest noise with which a run costs at most the target, and the way of accounting that was used.

    Args:
        args: all arguments except the noise.
        target: epsilon; inf means no noise.
        count: number of releases of the run.

    Raises:
        InputError: as `reading`, and where no noise reaches the target.
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
        if not (much < little or math.isnan(little)):  # NaN: too large to be computed
            raise InputError(
                f"`releases` of {label} says epsilon {little:.4g} with noise 0.5 and {much:.4g} with noise 50: it must "
                f"decrease as {method.noise} grows"
            )
        try:
            _noises[key] = noise_multiplier(target, at, count)
        except InputError as why:
            raise InputError(f"{label} cannot reach the target: {why}") from None
    return _noises[key], name
