"""Turns a request into a plan: every method with its arguments, its settings and its privacy statement."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial, wraps
from types import MappingProxyType
from typing import Any, NamedTuple

import jax

from bench.algorithms.base import Method, Role
from bench.comparison.baselines import Count, Variant
from bench.comparison.columns import check_free
from bench.comparison.population import FACTOR, for_more_users
from bench.comparison.request import Request
from bench.comparison.search import Setting, Space, first_of, first_settings
from bench.comparison.statements import SILENT, Statement, accounted, reading, releases_of
from bench.data.task import Task
from bench.errors import InputError, calling, check_name, nearest, unknown_name
from bench.privacy.accounting import epsilon
from bench.sweeps.engine import Program, start
from bench.sweeps.spec import arguments, defaults_of, parameters


class Candidate(NamedTuple):
    """A method in a comparison, with all its arguments determined.

    label: its name in the legend.
    method: the method to run, without access to the test data.
    args: its arguments that are the same in all runs.
    space: argument -> values that it is tuned over.
    settings: the combinations of these values that are tried first; later ones are close to the best of them.
    num_rounds: (task, arguments) -> communication rounds.
    num_releases: (task, arguments) -> number of releases of a run, as counted by the method's event.
    statement: its privacy statement.
    epsilons: those at which it is run: only 0 for a method that releases nothing, only inf for one that is not private,
        and the requested ones with inf for all others.
    against: the adversary for whom its noise is calibrated, in the words of its release; "" where there is no noise.
    roles: argument -> its role; momentum only where it is tuned over what all methods of the comparison share.
    """

    label: str
    method: Method
    args: Mapping[str, Any]
    space: Space
    settings: Sequence[Setting]
    num_rounds: Count
    num_releases: Count
    statement: Statement
    epsilons: Sequence[float]
    against: str
    roles: Mapping[str, Role] = MappingProxyType({})

    def applied(self, setting: Setting) -> dict[str, Any]:
        """Return all arguments at a setting, where steps are as long as the setting says with their momentum."""
        args = {**self.args, **setting}
        known = defaults_of(self.method) | args
        momenta = {name: known[role.momentum] for name, role in self.roles.items() if role.momentum}
        return args | {name: float(f"{args[name] * (1 - momentum):.4g}") for name, momentum in momenta.items()}


class Plan(NamedTuple):
    """What is run: the request, and the candidates by their names in the legend.

    unfit: the suite's methods for this privacy unit that do not fit the task, with the reason.
    """

    request: Request
    candidates: Mapping[str, Candidate]
    unfit: Mapping[str, str]


def make_plan(request: Request) -> Plan:
    """Determine all arguments of every method, on the tasks of the first split.

    Raises:
        InputError: for anything that cannot be used, such as a method with another privacy statement.
    """
    problem, task = request.problem, request.problem.test_tasks()(0)
    known = problem.level.baselines(task) if problem.baselines is None else problem.baselines
    usual = {label: variant for label, variant in known.items() if not variant.on_request}
    wanted = in_legend(usual if request.baselines is None else request.baselines, known, problem.name)
    unfit = _unfit(usual, request, task) if problem.baselines is None and request.baselines is None else {}
    baselines = {label: known[label] for label in wanted if label not in unfit}
    variants = baselines | {label: _asked_for(method, known.values()) for label, method in request.methods.items()}
    variants = {label: _as_compared(variant, request.population) for label, variant in variants.items()}
    for label in request.methods:
        if label in baselines:
            raise InputError(f"two methods are called {label}: rename one of the factories")
    if not variants:
        raise InputError("there is nothing to compare: name a method, or keep the baselines")
    arguments_of = {}
    for label, variant in variants.items():
        for group in variant.method.needs:
            task.need(group)
        arguments_of[label] = _settled(label, variant, request, task)
    _check_names(request, variants, arguments_of)
    candidates = {
        label: _candidate(label, variant, *arguments_of[label], request=request, task=task)
        for label, variant in variants.items()
    }
    tuning = problem.tuning_tasks()(0)
    problem.check_held_out(task, tuning)
    for measured in (task, tuning):
        for candidate in candidates.values():
            _check_measured(candidate, measured)
    return Plan(request, candidates, unfit)


def _as_compared(variant: Variant, population: float) -> Variant:
    """Return the variant with the accountant of a comparison and, if it has noise, with that of so many times the
    users."""
    variant = variant._replace(method=accounted(variant.method))
    if population == 1 or variant.method.noise not in parameters(variant.method)[0]:
        return variant
    return variant._replace(method=for_more_users(variant.method), args={**variant.args, FACTOR: population})


def in_legend(names: Iterable[str], known: Mapping[str, Variant], on: str) -> list[str]:
    """Return the names in the legend of baselines that a caller names so, or as identifiers: "DP-FedAvg" or
    "dp_fedavg". A name that has a comma may have been divided there.

    Raises:
        InputError: for another name.
    """
    label_of = {_as_identifier(label): label for label in known}
    left, found = list(names), []
    while left:
        name = left.pop(0)
        if left and (joined := f"{name}, {left[0]}") in known:
            name = joined
            del left[0]
        if _as_identifier(name) not in label_of:
            raise unknown_name(f"baseline on {on}", name, known)
        found.append(label_of[_as_identifier(name)])
    return found


def _as_identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()


def _unfit(known: Mapping[str, Variant], request: Request, task: Task) -> dict[str, str]:
    """Return the methods of the suite that do not fit a task, with the reasons that they give."""
    reasons, as_usual = {}, request._replace(fixed={}, tuned={})
    for label, variant in known.items():
        try:
            variant.method.fits(task, **_first(variant.method, *_settled(label, variant, as_usual, task)))
        except InputError as error:
            reasons[label] = str(error)
    return reasons


def _asked_for(method: Method, known: Iterable[Variant]) -> Variant:
    """Return the variant of a requested method; if it is the method of a baseline, rounds and releases count as for
    that."""
    baselines = [variant for variant in known if variant.method.make == method.make]
    count_rounds, count_releases = (baselines[-1].num_rounds, baselines[-1].num_releases) if baselines else (None, None)
    return Variant(method, {}, method.space, count_rounds, count_releases)


def _settled(label: str, variant: Variant, request: Request, task: Task) -> tuple[dict[str, Any], Space]:
    """Return the fixed and the tuned arguments of a method; all others have a default, or scale the noise.

    Arguments that the variant fixes cannot be changed. For all others, the caller's `fixed` and `tuned` come first,
    then the space of the request, which is the same for all methods, and then the variant's own.

    Raises:
        InputError: for an argument without a value.
    """
    problem, noise, (keywords, _) = request.problem, variant.method.noise, parameters(variant.method)
    fixed, tuned = request.fixed, request.tuned
    of_label = {name.partition(":")[2]: tried for name, tried in tuned.items() if name.startswith(f"{label}:")}
    shared = _shared(variant, request)
    space = {**shared, **variant.space, **({} if request.own_first else shared), **tuned, **of_label}
    given = {*variant.args, *fixed, noise}
    space = {name: tried for name, tried in space.items() if name in keywords and name not in given}
    defaults = {**problem.level.defaults(task), **problem.defaults}
    if problem.level.samplers:
        defaults["sampler"] = problem.level.samplers[request.statement.neighbors]
    args = {**defaults, **fixed}
    args = {name: value for name, value in args.items() if name in keywords and name not in {*space, noise}}
    args |= variant.args
    for name, parameter in keywords.items():
        if parameter.default is parameter.empty and name not in {*args, *space, noise}:
            near = nearest(name, {*request.space, *defaults} - {*keywords})
            raise InputError(
                f"{label} needs a value of {name}, which {problem.name} does not set: "
                + (f"did you mean {near}? Otherwise " if near else "")
                + f"give --set {name}=VALUE, or choose a task for methods of its kind"
            )
    return args, space


def roles_of(variant: Variant, fixed: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Role]:
    """Return the role of every argument of a method, by the values that are given before the search."""
    keywords, _ = parameters(variant.method)
    known = {**defaults_of(variant.method), **first_of(variant.space), **fixed, **variant.args}
    with calling(f"`roles` of {variant.method.make.__name__}"):
        roles = variant.method.roles(**known)
    for name, role in roles.items() if isinstance(roles, Mapping) else [("", roles)]:
        if name not in keywords or not isinstance(role, Role) or role.momentum not in ("", *keywords):
            raise InputError(
                f"`roles` of {variant.method.make.__name__} has {name!r}: {role!r}: return a dictionary from "
                "names of its arguments to Role(name), with a momentum that is an argument, if any"
            )
    return {name: Role(name) for name in keywords} | dict(roles)


def _shared(variant: Variant, request: Request) -> Space:
    """Return the arguments of a method for which all methods share what they are tuned over."""
    roles = {name: Role(name) if request.own_first else role for name, role in roles_of(variant, request.fixed).items()}
    return {name: tried for role, tried in request.space.items() for name in roles if roles[name].name == role}


def _check_names(request: Request, variants: Mapping[str, Variant], arguments_of: Mapping[str, tuple]) -> None:
    """Refuse values for arguments that no method has."""
    known = {argument for args, space in arguments_of.values() for argument in (*args, *space)}
    noises = {variant.method.noise for variant in variants.values()}
    for name in (*request.fixed, *request.tuned):
        label, colon, argument = name.rpartition(":")
        if argument in request.fixed and name in request.tuned:
            raise InputError(f"{argument} is given both fixed and to be tuned: leave one of them out")
        if colon and label not in variants:
            raise unknown_name("method here", label, variants)
        if argument in noises:
            raise InputError(f"{argument} is calibrated for each epsilon: leave it out")
        check_name("argument of these methods", argument, known)


def _first(method: Method, args: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Return all arguments of a method, given or default, with the first value of each tuned one, and with noise 1: for
    quantities that do not depend on the noise."""
    return arguments(method, {**args, **first_of(space), method.noise: 1.0})


def _candidate(
    label: str,
    variant: Variant,
    args: Mapping[str, Any],
    space: Space,
    *,
    request: Request,
    task: Task,
) -> Candidate:
    """Return a method with its settings and its privacy statement."""
    method = variant.method
    full_args = _first(method, args, space)
    check_free(f"{label} has an argument", full_args)
    if request.population > 1 and "adaptive" in f"{full_args.get('clipping')} {space.get('clipping')}":
        raise InputError(f"{label} also adds noise that the size of a round sets, not {FACTOR}: leave it out")
    method.fits(task, **full_args)
    releases = releases_of(method, task, request.statement.delta, full_args).values()
    epsilons, statement = [*request.protocol.epsilons, math.inf], request.statement._replace(against=variant.against)
    against = ""
    if all(release.sampler == SILENT for release in releases):
        epsilons = [0.0]
    elif not any(release.sound and math.isfinite(epsilon(release, 1)) for release in releases):
        epsilons = [math.inf]
    elif method.noise not in full_args:
        raise InputError(
            f"{label} has no argument {method.noise} that scales its noise: add one, or name the existing one, "
            "Method(..., noise=NAME)"
        )
    else:
        _, release = reading(label, method, task, statement, full_args, 1)
        against = release.protects_against
    num_rounds, shared = variant.num_rounds or (lambda task, args: request.protocol.rounds), _shared(variant, request)
    return Candidate(
        label=label,
        method=method._replace(make=without_test_data(method.make)),
        args=args,
        space=space,
        settings=first_settings(space, request.protocol.settings),
        num_rounds=num_rounds,
        num_releases=variant.num_releases or num_rounds,
        statement=statement,
        epsilons=epsilons,
        against=against,
        roles={
            name: role
            if name in space and space[name] is shared.get(name) and not request.own_first
            else Role(role.name)
            for name, role in roles_of(variant, request.fixed).items()
        },
    )


@cache
def without_test_data(make: Callable) -> Callable:
    """Return the factory, with test and tuning data removed from its task.

    A stream keeps its evaluation data, since they determine how its examples are drawn.
    """

    @wraps(make)
    def made(task: Task, **args):
        hidden = task if task.sample else replace(task, evaluation=None)
        return make(hidden, **args)

    return made


def _check_measured(candidate: Candidate, task: Task) -> None:
    """Refuse a metric that the task does not have or cannot compute from this method's parameters; only traces."""
    args = _first(candidate.method, candidate.args, candidate.space)
    program = Program(candidate.method.make, tuple(args.items()), num_rounds=1)
    jax.eval_shape(partial(start, program=program), task, jax.random.split(jax.random.key(0), 1), {})
