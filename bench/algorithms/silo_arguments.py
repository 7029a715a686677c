"""The arguments that all methods on silos share, declared once, and how they become a part of a factory's signature.

A factory is written with the shared arguments as one object, and with its own arguments by name:

    @silo_method(fixed=ONE_PHASE)
    def minibatch_sgd(task: Task, shared: SiloArguments, *, step_size: Scalar) -> Algorithm: ...

A sweep sees one keyword-only signature with both, and calls minibatch_sgd(task, step_size=..., noise_multiplier=...).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter
from typing import Any, Self

from bench.algorithms.base import Algorithm, Scalar
from bench.data.task import Task

SAMPLERS = ("all", "once", "fixed", "poisson")
SMOOTHINGS = ("none", "convolution", "moreau")
ONE_PHASE = {"num_phases": 1, "share": 1.0, "rounds_ratio": 1.0}  # arguments that a method of one phase does not have


@dataclass(frozen=True, kw_only=True)
class SiloArguments:
    """What a method asks of the silos.

    num_sampled: M, silos that answer, a uniformly random subset in every round.
    num_phases: tau, on disjoint records of every silo; the localized theorems take floor(log2 n).
    phase_rounds: R, communication rounds of the first phase.
    clip_norm: C > 0 on every record's gradient; inf does not clip.
    noise_multiplier: sigma >= 0 of the first phase: noise of std sigma C / K on a silo's mean. A phase of R_i
        rounds has sigma sqrt(R_i / R_1), so that all phases cost the same; with sampler "once", sigma.
    share: of a silo's records in the first phase; each later phase has half as many as the one before.
    rounds_ratio: of the rounds of a phase to those of the phase before.
    sampler: "all" records of the phase in every round; "once", every record in one round, K_i = n_i / R_i;
        "fixed", K different records drawn afresh every round; "poisson", each with probability K / n_i.
    batch_size: K, read by "fixed" and "poisson".
    smoothing: "none"; "convolution", each record at its own w + y, y uniform in a ball; "moreau", the gradient
        of each record's Moreau envelope (linear models).
    smoothing_radius: of that ball.
    moreau_smoothness: beta of the envelope.
    """

    num_sampled: int
    num_phases: int
    phase_rounds: int
    clip_norm: Scalar
    noise_multiplier: Scalar
    share: float = 0.5
    rounds_ratio: float = 1.0
    sampler: str = "all"
    batch_size: int = 1
    smoothing: str = "none"
    smoothing_radius: Scalar = 0.0
    moreau_smoothness: Scalar = 1.0

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """The shared ones among all arguments of a method, which has one phase unless they say otherwise."""
        names = {field.name for field in fields(cls)}
        return cls(**ONE_PHASE | {name: value for name, value in arguments.items() if name in names})


def silo_method(*, fixed: Mapping[str, Any] | None = None, **defaults: Any) -> Callable:
    """Give a factory (task, shared: SiloArguments, *, its own arguments) the signature (task, *, all arguments).

    Args:
        fixed: values of shared arguments that the method does not have.
        defaults: values of shared arguments where the caller says nothing, in place of those of SiloArguments.
    """

    def decorate(factory: Callable[..., Algorithm]) -> Callable[..., Algorithm]:
        declared = inspect.signature(factory, eval_str=True)
        task, _, *own = declared.parameters.values()
        shared = [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=defaults.get(field.name, Parameter.empty if field.default is MISSING else field.default),
                annotation=field.type,
            )
            for field in fields(SiloArguments)
            if field.name not in (fixed or {})
        ]
        signature = declared.replace(parameters=[task, *_in_order(own, shared)])

        @wraps(factory)
        def make(task: Task, **arguments: Any) -> Algorithm:
            given = signature.bind(task, **arguments)
            given.apply_defaults()
            own_arguments = {parameter.name: given.kwargs[parameter.name] for parameter in own}
            return factory(task, SiloArguments.of({**(fixed or {}), **given.kwargs}), **own_arguments)

        vars(make)["__signature__"] = signature
        return make

    return decorate


def _in_order(own: list[Parameter], shared: list[Parameter]) -> list[Parameter]:
    """How a signature lists them: first what has no default, the privacy parameters last of it; own ones before shared
    ones among those that have. Results have their columns in this order."""

    def rank(parameter: Parameter) -> int:
        if parameter.default is not Parameter.empty:
            return 3 if parameter in own else 4
        if parameter in own:
            return 1
        return 2 if parameter.name in ("clip_norm", "noise_multiplier") else 0

    return sorted([*shared, *own], key=rank)
