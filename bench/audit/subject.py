"""The subject of an audit: a method on a task that fits it, with its arguments and calibrated noise."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, Method, State
from bench.algorithms.search_space import Interval
from bench.audit.tasks import BESIDES, FAMILIES, NETWORKS, OVERFLOW, canary
from bench.data.task import Task
from bench.errors import InputError, in_one_line, unknown_name
from bench.privacy import accounting
from bench.privacy.events import Release
from bench.sweeps import engine
from bench.sweeps.spec import argument, arguments, parameters

TRIED_NOISE = 2.0  # a multiplier at which every accountant gives a number, to find out which epsilons are finite
CHUNK = 1000  # runs at once
RELEASED = "released"  # what `round` reports of the number of releases
ABSENT, ZERO, KEPT = "absent", "zero", "kept"  # what a removed canary is
LITTLE, STILL = 1e-7, 1e-3  # a noise multiplier that is next to nothing, and what it moves nothing by


class Stops(InputError):
    """A method stops on a task; the arguments are the task's family and what is wrong."""

    @property
    def reason(self) -> str:
        """What is wrong, without the task."""
        return self.args[1]

    def __str__(self) -> str:
        return f"on the task for {self.args[0]}, {self.args[1]}"


class TooManyCanaries(InputError):
    """A method that can be audited by the game refuses the larger task of the one run."""


class Subject(NamedTuple):
    """A method with its arguments.

    family: its name in `tasks.FAMILIES`.
    args: of the method; those that a sweep may vary are floats.
    rounds: rounds of a run.
    delta: the delta at which epsilon is declared.
    canaries: number of canaries in the task.
    """

    method: Method
    family: str
    args: dict[str, Any]
    rounds: int
    delta: float
    canaries: int = 1

    @property
    def task(self) -> Task:
        """The family's task with so many canaries."""
        return _task(self.family, self.canaries)

    def readings(self, **changes) -> dict[str, Release]:
        """Return the method's releases, with some arguments changed."""
        return self.method.readings(self.task, delta=self.delta, **self.args | changes)

    def canary(self, shape: str) -> np.ndarray:
        """Return one canary of a shape in `tasks.SHAPES`, or OVERFLOW, [1, feature], on the family's task."""
        family = FAMILIES[self.family]
        return canary(shape, family.features) if shape != OVERFLOW else np.full((1, family.features), np.inf)

    @property
    def scales_noise(self) -> bool:
        """Whether the method has the argument that it declares as the scale of its noise."""
        return self.method.noise in self.args


def subject_of(method: Method, *, family: str | None, rounds: int, delta: float, given: Mapping[str, Any]) -> Subject:
    """Return the first family of tasks that the method accepts and whose units it protects.

    Args:
        family: a name in FAMILIES; None tries all.
        given: arguments of the method, which take precedence over those of the family and the method's own defaults.

    Raises:
        InputError: unknown names, a missing argument, or no task that fits, with the method's message for each.
    """
    keywords, _ = parameters(method)
    for name in given:
        if name not in keywords:
            raise unknown_name(f"argument of {method.make.__name__}", name, keywords)
    if family is not None and family not in FAMILIES:
        raise unknown_name("family of tasks", family, FAMILIES)
    for name, value in given.items():  # out of its range on any task
        argument(method, name, value)
    refused: dict[str, list[str]] = {}  # reason -> families
    of_given: list[InputError] = []  # of tasks that the method accepts, but not with the given values
    for name in [family] if family else FAMILIES:
        try:
            found = _on(name, method, keywords, rounds, delta, given)
            if family or _protects_a_canary(found):
                return found
            units = {release.privacy_unit for release in found.readings().values()}
            reason = f"a canary is no {' and no '.join(sorted(units))}"
        except InputError as error:
            if given and _fits(name, method, rounds, delta):
                of_given.append(error)
            reason = str(error).rstrip(".")
        refused.setdefault(reason, []).append(name)
    if of_given:
        raise of_given[0]
    why = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in refused.items())
    raise InputError(f"{method.make.__name__} fits no audit task ({why}): give its arguments with --set, or --family")


def _protects_a_canary(subject: Subject) -> bool:
    units = {release.privacy_unit for release in subject.readings().values()}
    return bool(units & set(FAMILIES[subject.family].units))


def _fits(family: str, method: Method, rounds: int, delta: float) -> bool:
    """Return whether the method accepts the family's task with the arguments that the audit has for it."""
    try:
        return _protects_a_canary(_on(family, method, parameters(method)[0], rounds, delta, {}))
    except InputError:
        return False


def families_of(method: Method) -> list[str]:
    """Return the families whose tasks the method accepts, with the arguments that the audit has for them, and whose
    canary is a unit that it protects, but only the first of those in `BESIDES`; one of them where it declares no
    privacy on any.
    """
    fitting, declares = [], False
    for name, family in FAMILIES.items():
        try:
            readings = _on(name, method, parameters(method)[0], 1, 1e-5, {}).readings().values()
        except InputError:
            continue
        if {release.privacy_unit for release in readings} & set(family.units):
            fitting.append(name)
            declares |= any(release.sound and spent(release, 1) < math.inf for release in readings)
    for several in BESIDES.values():  # the first one stands for the others
        first = next((name for name in several if name in fitting), None)
        fitting = [name for name in fitting if name not in several or name == first]
    return fitting if declares else fitting[:1]


def _task(family: str, canaries: int) -> Task:
    return _smallest(family) if canaries == 1 else _made(family, canaries)


@cache  # an audit asks for it a hundred times; larger ones may take much memory
def _smallest(family: str) -> Task:
    return _made(family, 1)


def _made(family: str, canaries: int) -> Task:
    return FAMILIES[family].task(jnp.eye(canaries, max(canaries, FAMILIES[family].features)), jnp.ones(canaries, bool))


def _on(family: str, method: Method, keywords, rounds: int, delta: float, given) -> Subject:
    task = _task(family, 1)
    known = FAMILIES[family].arguments(task, rounds) | {method.noise: TRIED_NOISE} | given
    values = {key: value for key, value in known.items() if key in keywords}
    missing = [key for key, parameter in keywords.items() if parameter.default is parameter.empty and key not in values]
    for key in [key for key in missing if key in method.space]:  # any value that a comparison would try
        tried = method.space[key]
        values[key] = tried.at(0.5) if isinstance(tried, Interval) else tried[0]
        missing.remove(key)
    if missing:
        raise InputError(f"no value for {', '.join(missing)}: {' '.join(f'--set {key}=VALUE' for key in missing)}")
    args = arguments(method, values)
    method.fits(task, **args)
    return Subject(method, family, args, rounds, delta)


def for_canaries(subject: Subject, number: int) -> Subject:
    """Return the same subject on the task with `number` canaries; arguments that depend on a task's size grow with it.

    Raises:
        TooManyCanaries: where the method refuses it.
    """
    many = _resized(subject, subject._replace(canaries=number))
    try:
        many.method.fits(_task(many.family, number), **many.args)
    except InputError as error:
        raise TooManyCanaries(f"{str(error).rstrip('.')}; for the game alone give --canaries 0") from None
    return many


def on_family(subject: Subject, family: str, rounds: int) -> Subject:
    """Return the same subject on the task of another family, in so many rounds; arguments that depend on a task's size
    shrink or grow with it.

    Raises:
        InputError: where the method refuses it.
    """
    other = _resized(subject, subject._replace(family=family, rounds=rounds))
    other.method.fits(_task(family, 1), **other.args)
    return other


def _resized(subject: Subject, other: Subject) -> Subject:
    """Return the other subject with the arguments of this one, each in the proportion in which its family has it."""
    here, there = (
        FAMILIES[each.family].arguments(_task(each.family, each.canaries), each.rounds) for each in (subject, other)
    )
    args = subject.args | {
        name: max(1, round(subject.args[name] * there[name] / here[name]))
        for name in here
        if isinstance(subject.args.get(name), int) and there[name] != here[name]
    }
    return other._replace(args=args)


class Views(NamedTuple):
    """What is public in runs, and what methods report besides.

    seen: the changes of what is public from round to round, float32 [run, 1 + round, number], the first what is public
        before the first round. The last number is `released`, if the method reports it: the epsilon of a run depends on
        it, so it is public.
    released: the most releases of any run.
    info: name -> the other numbers that `round` reports, which are not public, [run, round].
    counts: whether the last number of `seen` is `released`.
    finite: in which runs everything that is public is finite, [run]; `seen` has 0 for numbers that are not.
    """

    seen: np.ndarray
    released: int
    info: dict[str, np.ndarray]
    counts: bool
    finite: np.ndarray


def views(subject: Subject, canaries, seed: int, *, present: np.ndarray | None = None, chunk: int = CHUNK) -> Views:
    """Return what is public in independent runs.

    Args:
        canaries: of each run, [run, canary, feature]; see `tasks.Family`.
        seed: of all the runs.
        present: which canaries are there, [run, canary]; None: those that are not 0.
        chunk: runs at once; the last chunk is filled up, so that all use one compiled program.

    Raises:
        InputError: where what is public is not finite.
    """
    keys = jax.random.split(jax.random.key(seed), len(canaries))
    ran = run(subject, canaries, keys, present=present, chunk=chunk)
    if not ran.finite.all():
        name = subject.method.make.__name__
        raise InputError(
            f"what {name} makes public is not finite in {np.sum(~ran.finite):,} of {len(canaries):,} runs: take "
            "smaller steps (--set), or look for what overflows"
        )
    return ran


def run(subject: Subject, canaries, keys, *, present=None, chunk: int = CHUNK, start: float = 0.0) -> Views:
    """Compute `views` with given keys [run], also where what is public is not finite.

    Args:
        start: added to the model at the start.

    Raises:
        InputError: where the method stops on the task.
    """
    try:
        present = np.any(np.asarray(canaries) != 0, axis=-1) if present is None else present
        return _in_chunks(subject, canaries, present, keys, chunk=chunk, start=start)
    except Exception as error:
        wrong = (
            str(error)
            if isinstance(error, InputError)
            else f"{subject.method.make.__name__} fails: {in_one_line(error)}"
        )
        raise Stops(subject.family, wrong) from error


def _in_chunks(subject: Subject, canaries, present, keys, *, chunk: int, start: float) -> Views:
    traced = parameters(subject.method)[1]
    static = tuple((name, value) for name, value in subject.args.items() if name not in traced)
    hypers = {name: jnp.float32(subject.args[name]) for name in sorted(traced)}
    of_run = _of_run(subject.family, start)
    program = engine.Program(subject.method.make, static, subject.rounds, False, of_run, _look, engine.nothing)
    places = np.minimum(np.arange(-(-len(canaries) // chunk) * chunk), len(canaries) - 1).reshape(-1, chunk)
    task, parts = _smallest(subject.family), []
    for rows in places:
        given = jnp.asarray(canaries[rows], jnp.float32), jnp.asarray(present[rows])
        parts.append(jax.device_get(_run(task, (keys[rows], given), hypers, program=program)))
    # From [round, run, ...] of each chunk to [run, round, ...] of all.
    first, seen, info = jax.tree.map(
        lambda *leaves: np.concatenate(leaves, axis=1)[:, : len(canaries)].swapaxes(0, 1), *parts
    )
    with np.errstate(invalid="ignore", over="ignore"):  # of numbers that are not finite
        changes = np.concatenate([first, np.diff(np.concatenate([first, seen], axis=1), axis=1)], axis=1)
    most, released = subject.rounds, info.pop(RELEASED, None)
    if released is not None:
        most = int(np.rint(released.sum(axis=1).max()))
        counted = np.pad(released, [(0, 0), (1, 0)])
        changes = np.concatenate([changes, counted[..., None]], axis=2)
    finite = np.asarray(np.isfinite(changes).all(axis=(1, 2)))
    changes = changes if finite.all() else np.nan_to_num(changes, nan=0.0, posinf=0.0, neginf=0.0)
    return Views(changes, most, info, released is not None, finite)


@cache  # one function for each, by which a compiled program is known
def _of_run(family: str, start: float) -> Callable:
    """Return (task, (canaries, present)) -> the task of a run, whose model starts from other numbers by `start`."""

    def task_of(_: Task, given: tuple[Any, Any]) -> Task:
        task = FAMILIES[family].task(*given)
        if start:
            task = dataclasses.replace(task, init_params=jax.tree.map(lambda leaf: leaf + start, task.init_params))
        return task

    return task_of


def _seen(_: Task, algorithm: Algorithm, state: State) -> jax.Array:
    """Return all numbers that are public, [number]."""
    public = (algorithm.public or algorithm.params)(state)
    leaves = [jnp.ravel(jnp.asarray(leaf)).astype(jnp.float32) for leaf in jax.tree.leaves(public)]
    return jnp.concatenate([jnp.zeros(0), *leaves])


def _look(task: Task, algorithm: Algorithm, state: State, info: dict[str, Any]):
    return _seen(task, algorithm, state), {name: jnp.asarray(value, jnp.float32) for name, value in info.items()}


@partial(jax.jit, static_argnames="program")
def _run(task: Task, runs, hypers, *, program: engine.Program):
    """Return what is public at the start [1, run, number] and after each round, and what the rounds report."""
    state, _ = engine.start(task, runs, hypers, program=program)
    first = engine.scored(program, task, runs, hypers, state, _seen)
    _, (seen, info), _ = engine.advance(task, runs, hypers, state, 0, program=program)
    return first[None], seen, info


def unseen_state(subject: Subject) -> list[str]:
    """Return the names of the parts of a method's state that `public` leaves out."""
    traced = parameters(subject.method)[1]
    args = {name: jnp.float32(value) if name in traced else value for name, value in subject.args.items()}
    task = _task(subject.family, 1)
    state = jax.eval_shape(lambda key: subject.method.make(task, **args).init(key), jax.random.key(0))
    paths, structure = jax.tree_util.tree_flatten_with_path(state)

    def public(*leaves):
        algorithm = subject.method.make(task, **args)
        return (algorithm.public or algorithm.params)(structure.unflatten(leaves))

    program = jax.make_jaxpr(public)(*(leaf for _, leaf in paths)).jaxpr
    used = {id(variable) for equation in program.eqns for variable in equation.invars}
    used |= {id(variable) for variable in program.outvars}
    return [
        jax.tree_util.keystr(path).lstrip(".")
        for (path, leaf), variable in zip(paths, program.invars, strict=True)
        if id(variable) not in used and leaf.size
    ]


def count_releases(subject: Subject) -> int:
    """Return the number of releases in a run, for which an epsilon is declared."""
    data = subject.canary("axis")
    return run(
        subject, np.broadcast_to(data, (CHUNK, *data.shape)), jax.random.split(jax.random.key(0), CHUNK)
    ).released


def removal(subject: Subject) -> str:
    """Return what a canary is that was removed: ABSENT, if it takes part in nothing, whatever its data; else ZERO, if
    units with data of 0 contribute nothing to what is public; else KEPT.

    Methods that draw users by `participation` and weight their messages, or look at `Task.present_examples`, take an
    absent unit out of everything they compute. Whether data of 0 contribute is seen where the model starts from ones,
    with next to no noise and no canary: a regulariser in a clipped message, or a count, then moves what is public.
    """
    data = np.broadcast_to(subject.canary("axis"), (CHUNK, *subject.canary("axis").shape))
    absent = np.zeros((CHUNK, 1), bool)
    keys = jax.random.split(jax.random.key(0), CHUNK)
    there, zero = (run(subject, each, keys, present=absent).seen for each in (data, 0 * data))
    if np.array_equal(there, zero):
        return ABSENT
    if not subject.scales_noise:
        return KEPT
    quiet = subject._replace(args=subject.args | {subject.method.noise: LITTLE})
    keys = jax.random.split(jax.random.key(1), CHUNK)
    starts = subject.family not in NETWORKS  # a network's own start is where data of 0 have no gradient
    ran = run(quiet, 0 * data, keys, present=absent, start=1.0 if starts else 0.0)
    changes = ran.seen[:, 1:, : ran.seen.shape[2] - ran.counts]
    return ZERO if np.abs(changes).max(initial=0.0) < STILL else KEPT


def spent(release: Release, rounds: int, delta: float | None = None) -> float:
    """Return the epsilon of a release after this number of rounds, at its own delta or another one."""
    return accounting.epsilon(release if delta is None else release._replace(delta=delta), rounds)


def with_noise_for(subject: Subject, epsilon: float, released: int) -> tuple[Subject, str]:
    """Return the subject with the least noise at which some sound way of accounting keeps within epsilon, and the name
    of that way; the subject unchanged, and "", where none depends on noise.
    """

    def run_of(name: str) -> Callable[[float], Release]:
        """Return the releases of a run as one round's, because some methods release only before the first round."""

        def release(sigma: float) -> Release:
            reading = subject.readings(**{subject.method.noise: sigma})[name]
            return reading._replace(event=lambda _: reading.event(released))

        return release

    sound = [name for name, release in subject.readings().items() if release.sound]
    finite = [name for name in sound if 0 < spent(subject.readings()[name], released) < math.inf]
    if not finite or not subject.scales_noise:
        return subject, ""
    sigma, calibrated = min((accounting.noise_multiplier(epsilon, run_of(name), 1), name) for name in finite)
    return subject._replace(args=subject.args | {subject.method.noise: sigma}), calibrated
