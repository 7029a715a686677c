"""The setting of an audit: a method on a task that fits it, with its arguments and calibrated noise."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms.base import Method
from bench.audit.tasks import FAMILIES, FEATURES, canary
from bench.data.task import Task
from bench.errors import InputError, unknown_name
from bench.privacy import accounting
from bench.privacy.events import Release
from bench.sweeps.spec import arguments, parameters
from bench.values import Interval

TRIED_NOISE = 2.0  # a multiplier at which every accountant gives a number, to find out which epsilons are finite
CHUNK = 1000  # runs at once


class Setting(NamedTuple):
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

    def readings(self, **changes) -> dict[str, Release]:
        """Return the method's releases, with some arguments changed."""
        task = _task(self.family, self.canaries)
        return self.method.readings(task, delta=self.delta, **self.args | changes)

    @property
    def scales_noise(self) -> bool:
        """Return whether the method has the argument that it declares as the scale of its noise."""
        return self.method.noise in self.args


def setting(method: Method, *, family: str | None, rounds: int, delta: float, given: Mapping[str, Any]) -> Setting:
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
    refused: dict[str, list[str]] = {}  # reason -> families
    for name in [family] if family else FAMILIES:
        try:
            found = _on(name, method, keywords, rounds, delta, given)
            units = {release.privacy_unit for release in found.readings().values()}
            if family or units & set(FAMILIES[name].units):
                return found
            reason = f"a canary is no {' and no '.join(sorted(units))}"
        except InputError as error:
            reason = str(error).rstrip(".")
        refused.setdefault(reason, []).append(name)
    for reason in refused:  # a value given by the user is the likeliest cause
        if any(reason.startswith(f"{name} is ") for name in given):
            raise InputError(reason)
    why = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in refused.items())
    raise InputError(f"{method.make.__name__} fits no audit task ({why}): give its arguments with --set, or --family")


def families_of(method: Method) -> list[str]:
    """Return the families whose tasks the method accepts, with the arguments that the audit has for them, and whose
    canary is a unit that it protects; one of them where it declares no privacy on any.
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
    return fitting if declares else fitting[:1]


def _task(family: str, canaries: int) -> Task:
    return FAMILIES[family].task(jnp.eye(canaries, max(canaries, FEATURES)), jnp.ones(canaries, bool))


def _on(family: str, method: Method, keywords, rounds: int, delta: float, given) -> Setting:
    task = _task(family, 1)
    known = FAMILIES[family].arguments(task, rounds) | {method.noise: TRIED_NOISE} | given
    values = {key: value for key, value in known.items() if key in keywords}
    missing = [key for key, one in keywords.items() if one.default is one.empty and key not in values]
    for key in [key for key in missing if key in method.space]:  # any value that a comparison would try
        tried = method.space[key]
        values[key] = tried.at(0.5) if isinstance(tried, Interval) else tried[0]
        missing.remove(key)
    if missing:
        raise InputError(f"no value for {', '.join(missing)}: {' '.join(f'--set {key}=VALUE' for key in missing)}")
    args = arguments(method, values)
    method.fits(task, **args)
    return Setting(method, family, args, rounds, delta)


def for_canaries(one: Setting, number: int) -> Setting:
    """Return the same setting on the task with `number` canaries; arguments that depend on a task's size grow with it.

    Raises:
        InputError: where the method refuses it.
    """
    small, large = (
        FAMILIES[one.family].arguments(_task(one.family, size), one.rounds) for size in (one.canaries, number)
    )
    args = one.args | {
        name: max(1, round(one.args[name] * large[name] / small[name]))
        for name in small
        if isinstance(one.args.get(name), int) and large[name] != small[name]
    }
    try:
        one.method.fits(_task(one.family, number), **args)
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')}; for the game alone give --canaries 0") from None
    return one._replace(args=args, canaries=number)


def views(
    one: Setting, canaries, seed: int, *, present: np.ndarray | None = None, chunk: int = CHUNK
) -> tuple[np.ndarray, int]:
    """Return what is public in independent runs, as its changes from round to round.

    Args:
        canaries: of each run, [run, canary, feature]; see `tasks.Family`.
        seed: of all the runs.
        present: which canaries are there, [run, canary]; None: those that are not 0.
        chunk: runs at once; the last chunk is filled up, so that all use one compiled program.

    Returns:
        float32 [run, 1 + round, feature], the first what is public before the first round; and the most releases of
        any run.

    Raises:
        InputError: where what is public is not finite.
    """
    keys = jax.random.split(jax.random.key(seed), len(canaries))
    return run(one, canaries, keys, present=present, chunk=chunk)


def run(one: Setting, canaries, keys, *, present=None, chunk: int = CHUNK) -> tuple[np.ndarray, int]:
    """Compute `views` with given keys [run].

    Raises:
        InputError: as `views`, and where the method stops on the task.
    """
    try:
        present = np.any(np.asarray(canaries) != 0, axis=-1) if present is None else present
        return _in_chunks(one, canaries, present, keys, chunk=chunk)
    except InputError:
        raise
    except Exception as error:
        name = one.method.make.__name__
        raise InputError(f"{name} fails on the task for {one.family}: {type(error).__name__}: {error}") from error


def _in_chunks(one: Setting, canaries, present, keys, *, chunk: int) -> tuple[np.ndarray, int]:
    traced = parameters(one.method)[1]
    static = tuple((name, value) for name, value in one.args.items() if name not in traced)
    hypers = {name: jnp.float32(one.args[name]) for name in sorted(traced)}
    places = np.minimum(np.arange(-(-len(canaries) // chunk) * chunk), len(canaries) - 1).reshape(-1, chunk)
    program = partial(
        _run, make=one.method.make, static=static, task_of=FAMILIES[one.family].task, num_rounds=one.rounds
    )
    parts = [
        jax.device_get(
            program(jnp.asarray(canaries[rows], jnp.float32), jnp.asarray(present[rows]), keys[rows], hypers)
        )
        for rows in places
    ]
    seen, released = (np.concatenate(leaves)[: len(canaries)] for leaves in zip(*parts, strict=True))
    if not np.isfinite(seen).all():
        raise InputError(f"what {one.method.make.__name__} makes public is not finite: take a smaller --set step_size")
    return seen, int(np.rint(released.max()))


@partial(jax.jit, static_argnames=("make", "static", "task_of", "num_rounds"))
def _run(canaries, present, keys, hypers, *, make: Callable, static, task_of: Callable, num_rounds: int):
    def one(canaries, present, key):
        algorithm = make(task_of(canaries, present), **dict(static), **hypers)
        public = algorithm.public or algorithm.params

        def see(state):
            leaves = [jnp.ravel(jnp.asarray(leaf)).astype(jnp.float32) for leaf in jax.tree.leaves(public(state))]
            return jnp.concatenate([jnp.zeros(0), *leaves])

        def step(state, key):
            state, info = algorithm.round(key, state)
            return state, (see(state), jnp.asarray(info.get("released", 1.0), jnp.float32))

        key_start, key_rounds = jax.random.split(key)
        state = algorithm.init(key_start)
        _, (seen, released) = jax.lax.scan(step, state, jax.random.split(key_rounds, num_rounds))
        first = see(state)[None]
        return jnp.concatenate([first, jnp.diff(jnp.concatenate([first, seen]), axis=0)]), released.sum()

    return jax.vmap(one)(canaries, present, keys)


def count_releases(one: Setting) -> int:
    """Return the number of releases in a run, for which an epsilon is declared."""
    return views(one, np.broadcast_to(canary("axis"), (CHUNK, 1, FEATURES)), seed=0)[1]


def leaves_absent_out(one: Setting) -> bool:
    """Return whether a canary that is not present changes nothing, whatever its data.

    This holds for methods that take an absent unit out of everything they compute, such as methods that draw users by
    `participation` and weight their messages.
    """
    data = np.broadcast_to(canary("axis"), (CHUNK, 1, FEATURES))
    absent = np.zeros((CHUNK, 1), bool)
    there, zero = (views(one, each, seed=0, present=absent)[0] for each in (data, 0 * data))
    return np.array_equal(there, zero)


def spent(release: Release, rounds: int, delta: float | None = None) -> float:
    """Return the epsilon of a release after this number of rounds, at its own delta or another one."""
    return accounting.epsilon(release if delta is None else release._replace(delta=delta), rounds)


def with_noise_for(one: Setting, epsilon: float, released: int) -> Setting:
    """Return the setting with the least noise at which some sound way of accounting keeps within epsilon; unchanged
    where none depends on noise.
    """

    def run_of(name: str) -> Callable[[float], Release]:
        """Return the releases of a run as one round's, because some methods release only before the first round."""

        def release(sigma: float) -> Release:
            reading = one.readings(**{one.method.noise: sigma})[name]
            return reading._replace(event=lambda _: reading.event(released))

        return release

    sound = [name for name, release in one.readings().items() if release.sound]
    finite = [name for name in sound if 0 < spent(one.readings()[name], released) < math.inf]
    if not finite or not one.scales_noise:
        return one
    sigma = min(accounting.noise_multiplier(epsilon, run_of(name), 1) for name in finite)
    return one._replace(args=one.args | {one.method.noise: sigma})
