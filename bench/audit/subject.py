"""The subject of an audit: a method on a task that fits it, with its arguments and calibrated noise."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Algorithm, Method, State
from bench.algorithms.search_space import Interval
from bench.audit.tasks import BESIDE_USERS, CLIP_NORM, FAMILIES, NETWORKS, OVERFLOW, canary
from bench.data.task import Task
from bench.errors import InputError, check_name, in_one_line
from bench.privacy import accounting
from bench.privacy.events import ADD_OR_REMOVE, REPLACE, Release
from bench.sweeps import engine
from bench.sweeps.spec import argument, arguments, compiled_arguments, parameters

TRIED_NOISE = 2.0  # a multiplier at which every accountant gives a number, to find out which epsilons are finite
CHUNK = 1000  # runs at once
NUM_SAMPLED = "num_sampled"  # the argument of methods that draw some users in a round
RELEASED = "released"  # what `round` reports of the number of releases
ABSENT, ZERO, KEPT = "absent", "zero", "kept"  # what a removed canary is
LITTLE_NOISE, NO_CHANGE = 1e-7, 1e-3  # a noise multiplier that is next to nothing, and what it moves nothing by


class Subject(NamedTuple):
    """A method with its arguments.

    family: its name in `tasks.FAMILIES`.
    args: of the method; those that a sweep may vary are floats.
    rounds: rounds of a run.
    delta: the delta at which epsilon is declared.
    """

    method: Method
    family: str
    args: dict[str, Any]
    rounds: int
    delta: float

    @property
    def task(self) -> Task:
        """The family's task."""
        return _task(self.family)

    def readings(self, **changes) -> dict[str, Release]:
        """Return the method's releases, with some arguments changed."""
        return self.method.readings(self.task, delta=self.delta, **self.args | changes)

    def canary(self, shape: str) -> np.ndarray:
        """Return a canary of a shape in `tasks.SHAPES`, or OVERFLOW, [feature], on the family's task."""
        return canary(shape, FAMILIES[self.family].features)

    @property
    def units(self) -> set[str]:
        """The units of privacy of the method's releases."""
        return {release.privacy_unit for release in self.readings().values()}

    @property
    def has_canary(self) -> bool:
        """Whether the canary of the task is a unit that the method protects."""
        return bool(self.units & {*FAMILIES[self.family].units})

    def declares_privacy(self, rounds: int) -> bool:
        """Return whether a proven way of accounting declares a finite epsilon for this number of rounds."""
        return any(release.sound and epsilon_spent(release, rounds) < math.inf for release in self.readings().values())

    @property
    def scales_noise(self) -> bool:
        """Whether the method has the argument that it declares as the scale of its noise."""
        return self.method.noise in self.args


def subject_of(method: Method, *, family: str | None, rounds: int, delta: float, args: Mapping[str, Any]) -> Subject:
    """Return the first family of tasks that the method accepts and whose units it protects.

    Args:
        family: a name in FAMILIES; None tries all.
        args: arguments of the method, which take precedence over those of the family and the method's own defaults.

    Raises:
        InputError: unknown names, a missing argument, or no task that fits, with the method's message for each.
    """
    keywords, _ = parameters(method)
    for name, value in args.items():
        check_name(f"argument of {method.make.__name__}", name, keywords)
        argument(method, name, value)  # out of its range on any task
    if family is not None:
        check_name("family of tasks", family, FAMILIES)
    reasons: dict[str, list[str]] = {}  # -> families
    refused: dict[str, InputError] = {}
    for name in [family] if family else FAMILIES:
        try:
            subject = _subject_on(name, method, rounds, delta, args)
            if family or subject.has_canary:
                return subject
            reason = f"a canary is no {' and no '.join(sorted(subject.units))}"
        except InputError as error:
            refused[name], reason = error, str(error).rstrip(".")
        reasons.setdefault(reason, []).append(name)
    fitting = _fitting(method, rounds, delta) if args else {}
    for name in refused:
        if name in fitting:  # the method accepts the task, but not with the given values
            raise refused[name]
    text = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
    raise InputError(f"{method.make.__name__} fits no audit task ({text}): give its arguments with --set, or --family")


def _fitting(method: Method, rounds: int, delta: float) -> dict[str, Subject]:
    """Return the subject on each family whose task the method accepts, with the arguments that the audit has for it,
    and whose canary is a unit that it protects."""
    subjects = {}
    for name in FAMILIES:
        with suppress(InputError):
            subject = _subject_on(name, method, rounds, delta, {})
            if subject.has_canary:
                subjects[name] = subject
    return subjects


def families_of(method: Method) -> list[str]:
    """Return the families that fit a method (`_fitting`), but only the first of BESIDE_USERS, which stands for the
    others; one of them where it declares no privacy on any.
    """
    subjects = _fitting(method, 1, 1e-5)
    first_beside = next((name for name in BESIDE_USERS if name in subjects), None)
    names = [name for name in subjects if name not in BESIDE_USERS or name == first_beside]
    return names if any(subject.declares_privacy(1) for subject in subjects.values()) else names[:1]


@cache  # an audit asks for it a hundred times
def _task(family: str) -> Task:
    return FAMILIES[family].task(jnp.asarray(canary("axis", FAMILIES[family].features)), jnp.asarray(True))


def _subject_on(family: str, method: Method, rounds: int, delta: float, given_args) -> Subject:
    task, keywords = _task(family), parameters(method)[0]
    usual = FAMILIES[family].arguments(task, rounds) | {"clip_norm": CLIP_NORM, method.noise: TRIED_NOISE} | given_args
    values = {name: value for name, value in usual.items() if name in keywords}
    missing = [
        name for name, parameter in keywords.items() if parameter.default is parameter.empty and name not in values
    ]
    for name in [name for name in missing if name in method.space]:  # any value that a comparison would try
        candidates = method.space[name]
        values[name] = candidates.at(0.5) if isinstance(candidates, Interval) else candidates[0]
        missing.remove(name)
    if missing:
        raise InputError(f"no value for {', '.join(missing)}: {' '.join(f'--set {name}=VALUE' for name in missing)}")
    args = arguments(method, values)
    method.fits(task, **args)
    return Subject(method, family, args, rounds, delta)


def on_family(subject: Subject, family: str, rounds: int) -> Subject:
    """Return the same subject on the task of another family of users, in so many rounds and with as large a share of
    the users in a round.

    Raises:
        InputError: where the method refuses it.
    """
    args, share = dict(subject.args), _task(family).num_clients / subject.task.num_clients
    if isinstance(args.get(NUM_SAMPLED), int):
        args[NUM_SAMPLED] = max(1, round(args[NUM_SAMPLED] * share))
    new_subject = subject._replace(family=family, rounds=rounds, args=args)
    new_subject.method.fits(new_subject.task, **args)
    return new_subject


class Data(NamedTuple):
    """The data of runs: a canary, [feature], see `tasks.Family`; and whether it is there."""

    canary: np.ndarray
    present: bool


def data_of(subject: Subject, relation: str, shape: str, world: int) -> Data:
    """Return the data with a canary, world 0; of the neighbouring data set, world 1, in which it is removed or its sign
    reversed; or without any, world 2.

    Args:
        relation: of `bench.privacy.events`.
        shape: as for `Subject.canary`.
    """
    vector, is_removed = subject.canary(shape), relation == ADD_OR_REMOVE
    if world == 2 or (world == 1 and (is_removed or shape == OVERFLOW)):  # nothing replaces one without a finite size
        placed = np.zeros_like(vector)
    else:
        placed = -vector if world else vector
    return Data(placed, world == 0 or (world == 1 and not is_removed))


class Views(NamedTuple):
    """What is public in runs, and what methods report besides.

    changes: of what is public from round to round, float32 [run, 1 + round, number]; the first is what is public before
        the first round. The last number is `released`, if the method reports it: the epsilon of a run depends on
        it, so it is public.
    released: the most releases of any run.
    info: name -> the other numbers that `round` reports, which are not public, [run, round].
    has_counts: whether the last number of `changes` is `released`.
    finite: in which runs everything that is public is finite, [run]; `changes` has 0 for numbers that are not.
    """

    changes: np.ndarray
    released: int
    info: dict[str, np.ndarray]
    has_counts: bool
    finite: np.ndarray


def run(subject: Subject, data: Data, keys, *, start: float = 0.0, finite: bool = False) -> Views:
    """Return what is public in runs on the same data, one for each key.

    Args:
        start: added to the model at the start.
        finite: whether to refuse what is not finite.

    Raises:
        InputError: where the method stops on the task, or what is public is not finite.
    """
    name = subject.method.make.__name__
    try:
        views = _views_in_chunks(subject, data, keys, start)
    except Exception as error:
        reason = str(error) if isinstance(error, InputError) else f"{name} fails: {in_one_line(error)}"
        raise InputError(f"{on_the_task(subject.family)}{reason}") from error
    if finite and not views.finite.all():
        raise InputError(
            f"what {name} makes public is not finite in {np.sum(~views.finite):,} of {len(keys):,} runs: take "
            "smaller steps (--set), or look for what overflows"
        )
    return views


def on_the_task(family: str) -> str:
    """Return with what the message of an error of a run on the family's task begins."""
    return f"on the task for {family}, "


def _program(subject: Subject, start: float = 0.0) -> tuple[engine.Program, dict[str, jax.Array]]:
    """Return the program of one round, for a model that starts from other numbers by `start`, and the traced
    arguments."""
    static, hypers = compiled_arguments(subject.method, subject.args)
    task_of_run = _task_of_run(subject.family, start)
    return engine.Program(subject.method.make, static, 1, False, task_of_run, _observation, engine.nothing), hypers


def _algorithm(subject: Subject) -> Algorithm:
    program, hypers = _program(subject)
    return program.algorithm(subject.task, hypers)


def _chunks(keys, data: Data) -> Iterator[tuple]:
    """Yield runs, CHUNK at once; the last chunk is filled up, so that all use one compiled program."""
    canaries = jnp.broadcast_to(jnp.asarray(data.canary, jnp.float32), (CHUNK, *data.canary.shape))
    for begin in range(0, len(keys), CHUNK):
        runs = keys[np.minimum(np.arange(begin, begin + CHUNK), len(keys) - 1)]
        yield runs, (canaries, jnp.full(CHUNK, data.present))


def _views_in_chunks(subject: Subject, data: Data, keys, start: float) -> Views:
    (program, hypers), chunks = _program(subject, start), []
    for runs in _chunks(keys, data):
        state, start_row = _first_state(subject.task, runs, hypers, program=program)
        rows, infos = [np.asarray(start_row)], []
        for number in range(subject.rounds):
            state, observations = _next_state(subject.task, runs, hypers, state, number, program=program)
            row, info = jax.device_get(observations)
            rows, infos = [*rows, row], [*infos, info]
        chunks.append((np.stack(rows, axis=1), jax.tree.map(lambda *leaves: np.stack(leaves, axis=1), *infos)))
    rows, info = jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(keys)], *chunks)
    with np.errstate(invalid="ignore", over="ignore"):  # of numbers that are not finite
        changes = np.concatenate([rows[:, :1], np.diff(rows, axis=1)], axis=1)
    num_releases, released = subject.rounds, info.pop(RELEASED, None)
    if released is not None:
        num_releases = int(np.rint(released.sum(axis=1).max()))
        counts = np.pad(released, [(0, 0), (1, 0)])
        changes = np.concatenate([changes, counts[..., None]], axis=2)
    finite = np.asarray(np.isfinite(changes).all(axis=(1, 2)))
    changes = changes if finite.all() else np.nan_to_num(changes, nan=0.0, posinf=0.0, neginf=0.0)
    return Views(changes, num_releases, info, released is not None, finite)


def steps(subject: Subject, worlds: Sequence[Data], keys) -> Iterator[tuple[list[np.ndarray], float | None]]:
    """Yield, for every round by itself, how it changes what is public in each world, [key, number], and how many
    releases it has at most, None where they are not counted.

    All runs of all worlds begin the round from one state: that of one run in the last world.
    """
    program, hypers = _program(subject)
    state, before = _first_state(subject.task, next(_chunks(keys, worlds[-1])), hypers, program=program)
    advance = partial(_next_state, subject.task, program=program)
    for number in range(subject.rounds):
        same_state = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), state)
        results = [[advance(runs, hypers, same_state, number) for runs in _chunks(keys, data)] for data in worlds]
        base = np.asarray(before[0], np.float64)
        changes = [np.concatenate([public for _, (public, _) in world])[: len(keys)] - base for world in results]
        counts = [info[RELEASED].max() for _, (_, info) in results[-1] if RELEASED in info]
        yield changes, float(max(counts)) if counts else None
        state, (before, _) = results[-1][0]


@cache  # one function for each, by which a compiled program is known
def _task_of_run(family: str, start: float) -> Callable:
    """Return (task, (canary, present)) -> the task of a run, whose model starts from other numbers by `start`."""

    def task_of(_: Task, canary_and_presence: tuple[Any, Any]) -> Task:
        task = FAMILIES[family].task(*canary_and_presence)
        if start:
            task = dataclasses.replace(task, init_params=jax.tree.map(lambda leaf: leaf + start, task.init_params))
        return task

    return task_of


def _public_numbers(_: Task, algorithm: Algorithm, state: State) -> jax.Array:
    """Return all numbers that are public, [number]."""
    public = (algorithm.public or algorithm.params)(state)
    leaves = [jnp.ravel(jnp.asarray(leaf)).astype(jnp.float32) for leaf in jax.tree.leaves(public)]
    return jnp.concatenate([jnp.zeros(0), *leaves])


def _observation(task: Task, algorithm: Algorithm, state: State, info: dict[str, Any]):
    return _public_numbers(task, algorithm, state), {
        name: jnp.asarray(value, jnp.float32) for name, value in info.items()
    }


@partial(jax.jit, static_argnames="program")
def _first_state(task: Task, runs, hypers, *, program: engine.Program):
    """Return the state before the first round, and what is public then, [run, number]."""
    state, _ = engine.start(task, runs, hypers, program=program)
    return state, engine.scored(program, task, runs, hypers, state, _public_numbers)


@partial(jax.jit, static_argnames="program")  # which, other than `engine.advance`, leaves the state for another use
def _next_state(task: Task, runs, hypers, state, number, *, program: engine.Program):
    state, observations, _ = engine.advance(task, runs, hypers, state, number, program=program)
    return state, jax.tree.map(lambda leaf: leaf[0], observations)


def leaf_of(subject: Subject, place: int) -> str:
    """Return the name of the part of what is public that has the number at this place."""
    algorithm = _algorithm(subject)
    public = jax.eval_shape(lambda key: (algorithm.public or algorithm.params)(algorithm.init(key)), jax.random.key(0))
    paths = jax.tree_util.tree_flatten_with_path(public)[0]
    ends = np.cumsum([leaf.size for _, leaf in paths])
    return f"public{jax.tree_util.keystr(paths[int(np.searchsorted(ends, place, side='right'))][0])}"


def unseen_state(subject: Subject) -> list[str]:
    """Return the names of the parts of a method's state that `public` leaves out."""
    algorithm = _algorithm(subject)
    state = jax.eval_shape(algorithm.init, jax.random.key(0))
    paths = jax.tree_util.tree_flatten_with_path(state)[0]
    program = jax.make_jaxpr(algorithm.public or algorithm.params)(state).jaxpr
    used = {id(variable) for equation in program.eqns for variable in equation.invars}
    used |= {id(variable) for variable in program.outvars}
    return [
        jax.tree_util.keystr(path).lstrip(".")
        for (path, leaf), variable in zip(paths, program.invars, strict=True)
        if id(variable) not in used and leaf.size
    ]


def count_releases(subject: Subject) -> int:
    """Return the number of releases in a run, for which an epsilon is declared."""
    keys = jax.random.split(jax.random.key(0), CHUNK)
    return run(subject, data_of(subject, REPLACE, "axis", 0), keys).released


def removal(subject: Subject) -> str:
    """Return what a canary is that was removed: ABSENT, if it takes part in nothing, whatever its data; else ZERO, if
    units with data of 0 contribute nothing to what is public; else KEPT.

    Methods that draw users by `participation` and weight their messages, or look at `Task.present_examples`, take an
    absent unit out of everything they compute. Whether data of 0 contribute is seen where the model starts from ones,
    with next to no noise and no canary: a regulariser in a clipped message, or a count, then moves what is public.
    """
    vector = subject.canary("axis")
    keys = jax.random.split(jax.random.key(0), CHUNK)
    with_data, with_zeros = (run(subject, Data(values, False), keys).changes for values in (vector, 0 * vector))
    if np.array_equal(with_data, with_zeros):
        return ABSENT
    if not subject.scales_noise:
        return KEPT
    quiet_subject = subject._replace(args=subject.args | {subject.method.noise: LITTLE_NOISE})
    keys = jax.random.split(jax.random.key(1), CHUNK)
    starts_from_ones = subject.family not in NETWORKS  # a network's own start is where data of 0 have no gradient
    views = run(quiet_subject, Data(0 * vector, False), keys, start=1.0 if starts_from_ones else 0.0)
    changes = views.changes[:, 1:, : views.changes.shape[2] - views.has_counts]
    return ZERO if np.abs(changes).max(initial=0.0) < NO_CHANGE else KEPT


def epsilon_spent(release: Release, rounds: int, delta: float | None = None) -> float:
    """Return the epsilon of a release after this number of rounds, at its own delta or another one."""
    return accounting.epsilon(release if delta is None else release._replace(delta=delta), rounds)


def calibrated_subject(subject: Subject, epsilon: float, released: int) -> tuple[Subject, str]:
    """Return the subject with the least noise at which some sound way of accounting keeps within epsilon, and the name
    of that way; the subject unchanged, and "", where none depends on noise.
    """

    def release_of_run(name: str, sigma: float) -> Release:
        """Return the releases of a run as one round's, because some methods release only before the first round."""
        reading = subject.readings(**{subject.method.noise: sigma})[name]
        return reading._replace(event=lambda _: reading.event(released))

    sound = {name: release for name, release in subject.readings().items() if release.sound}
    finite = [name for name, release in sound.items() if 0 < epsilon_spent(release, released) < math.inf]
    if not finite or not subject.scales_noise:
        return subject, ""
    sigma, calibrated = min(
        (accounting.noise_multiplier(epsilon, partial(release_of_run, name), 1), name) for name in finite
    )
    return subject._replace(args=subject.args | {subject.method.noise: sigma}), calibrated
