"""The types of an algorithm: three pure functions, its releases, and a version."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from jax import Array

from bench.algorithms.search_space import Interval
from bench.errors import InputError, calling
from bench.privacy.events import Release, checked

Scalar = float | Array  # a hyper-parameter that a sweep may vary without compiling again


class State(NamedTuple):
    """The state between rounds, in two parts.

    schedule: the same for every point of a sweep: queues, counters, permutations. The engine computes it
        once for all points, and a program in which it depends on a hyper-parameter does not compile.
    variables: everything else.
    """

    schedule: Any = ()
    variables: Any = ()


class Algorithm(NamedTuple):
    """A method on a task, with its hyper-parameters filled in. All three functions are pure and traceable.

    init: key -> State.
    round: (key, state) -> (state, info): one communication round; info is a dict of scalars to report. If it has an
        entry "released", that is the number of private releases of this round (0 or 1 where a round is one release);
        without it every round counts as one.
    params: state -> parameters that the clients would predict with now.
    public: state -> everything visible to the parties that the method protects against; None: what `params` returns.
    """

    init: Callable
    round: Callable
    params: Callable
    public: Callable | None = None


class Cost(NamedTuple):
    """The cost of one call of `Algorithm.round`, summed over clients; the expectation where it differs between rounds
    or depends on the sample.

    uploads: numbers that clients send, to the server or to each other.
    gradients: of the loss of one example at one model.
    examples: different examples whose gradients are taken.
    once: the cost of a run in addition to its rounds, before the first or after the last; None: nothing.
    """

    uploads: float
    gradients: float
    examples: float
    once: "Cost | None" = None

    def of_run(self, num_rounds: int) -> "Cost":
        """Return the cost of a run with that many rounds; an example counts once in every round that uses it."""
        rounds = (num_rounds * number for number in self[:3])
        extra = self.once[:3] if self.once else (0.0, 0.0, 0.0)
        uploads, gradients, examples = (a + b for a, b in zip(rounds, extra, strict=True))
        return Cost(uploads, gradients, examples)


class Role(NamedTuple):
    """What an argument is for, where its name does not say it: by which a comparison gives all methods one interval.

    name: that the search spaces of tasks have for it. A name that no task has leaves the argument, which then is in
        other units, to the method's own space.
    momentum: the argument with a momentum b, by which steps are 1 / (1 - b) times as long in the end. The interval is
        that of these long steps. "": none.
    """

    name: str
    momentum: str = ""


class Method(NamedTuple):
    """A method as used by sweeps, comparisons and audits.

    make: (task, *, ...) -> Algorithm. The keyword-only signature is its configuration: a parameter annotated `Scalar`
        is traced and may differ between the points of one compiled program, any other is static.
    releases: (task, **the same arguments) -> dict of bench.privacy.Release, one for each way of accounting. "paper"
        becomes the column epsilon of the results, every other NAME epsilon_NAME. A single Release counts as "paper".
    version: increase it whenever the same arguments may give other numbers than before; results of different versions
        are never mixed.
    check: (task, **the same arguments) -> None; raises InputError for incompatible values.
    noise: the argument that scales the noise; a larger value never costs more epsilon.
    space: argument -> values, or an Interval, that a comparison tunes it over where the task has none for its role.
    roles: (**the same arguments) -> argument -> Role; arguments that are left out have the role of their name.
    needs: groups of fields that the task must have, of `bench.data.task`: Network, Linear, Peers.
    cost: (task, **the same arguments) -> Cost; None where it is not declared.
    divides: whether `make` accepts a task with the clients of one of several devices: it adds up over them by
        `Participation.in_blocks` or `Task.total` alone, and draws noise after that.
    """

    make: Callable[..., Algorithm]
    releases: Callable[..., dict | Release]
    version: int
    check: Callable[..., None] = lambda task, **_: None
    noise: str = "noise_multiplier"
    space: Mapping[str, Sequence[Any] | Interval] = MappingProxyType({})
    needs: tuple[type, ...] = ()
    cost: Callable[..., Cost] | None = None
    divides: bool = False
    roles: Callable[..., Mapping[str, Role]] = lambda **_: {}

    def fits(self, task, **args) -> None:
        """Refuse a task that lacks what the method needs, and incompatible values.

        Raises:
            InputError: naming what is missing or wrong, before anything is compiled.
        """
        for group in self.needs:
            task.need(group)
        with calling(f"`check` of {self.make.__name__}"):
            self.check(task, **args)

    def readings(self, task, *, delta: float, **args) -> dict:
        """Return the result of `releases`; a single Release is called "paper".

        Raises:
            InputError: where it fails, returns something other than releases, or names an unknown privacy unit,
                neighbouring relation or accountant.
        """
        name = self.make.__name__
        with calling(f"`releases` of {name}"):
            declared = self.releases(task, delta=delta, **args)
        declared = {"paper": declared} if isinstance(declared, Release) else declared
        all_releases = isinstance(declared, dict) and all(isinstance(release, Release) for release in declared.values())
        if not (all_releases and declared):
            raise InputError(f"`releases` of {name} gives {declared!r}: give a Release, or a dictionary of them")
        if "paper" not in declared:
            raise InputError(f"`releases` of {name} has no entry 'paper': add one, for the column epsilon")
        return {key: checked(release) for key, release in declared.items()}

    def cost_of_round(self, task, **args) -> Cost | None:
        """Return the result of `cost`; None where the method has none.

        Args:
            args: all arguments of the factory.

        Raises:
            InputError: where it fails, or returns something other than a Cost of finite, non-negative numbers.
        """
        if self.cost is None:
            return None
        name = self.make.__name__
        with calling(f"`cost` of {name}"):
            declared = self.cost(task, **args)
        if not isinstance(declared, Cost) or not all(0 <= number < math.inf for number in declared.of_run(1)[:3]):
            raise InputError(f"`cost` of {name} gives {declared!r}: give a Cost of numbers of 0 or more")
        return declared


def check_noise_has_a_scale(noise_multiplier: float, clip_norm: float) -> None:
    """Refuse noise that is relative to an infinite clip norm.

    Raises:
        InputError: naming the values and what to do.
    """
    if noise_multiplier > 0 and math.isinf(clip_norm):
        raise InputError(
            f"noise_multiplier is {noise_multiplier:g} with clip_norm inf: noise has no scale without clipping, "
            "give a finite clip_norm, or noise_multiplier 0"
        )
