"""The arguments shared by a family of methods, which are declared once and added to the signatures of its factories.

A factory is written with the shared arguments as one object, and with its own arguments by name:

    @sharing(SiloArguments, fixed=ONE_PHASE)
    def minibatch_sgd(task: Task, shared: SiloArguments, *, step_size: Scalar) -> Algorithm: ...

A sweep, `help` and a caller see one keyword-only signature with both, minibatch_sgd(task, *, step_size, ...).
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter
from typing import Any, Self

from bench.algorithms.base import Algorithm
from bench.data.task import Task


@dataclass(frozen=True, kw_only=True)
class SharedArguments:
    """The arguments shared by a family of methods; subclasses declare them as fields."""

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Select the shared arguments among all arguments of a method."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in arguments.items() if name in names})


def sharing(
    family: type[SharedArguments], *, fixed: Mapping[str, Any] | None = None, **defaults: Any
) -> Callable[[Callable[..., Algorithm]], Callable[..., Algorithm]]:
    """Give a factory (task, shared: family, *, its own arguments) the signature (task, *, all arguments).

    Args:
        family: the class whose fields are the shared arguments.
        fixed: values of shared arguments that the method does not offer.
        defaults: defaults of shared arguments that replace those of the family.
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
            for field in fields(family)
            if field.name not in (fixed or {})
        ]
        signature = declared.replace(parameters=[task, *shared, *own])

        @wraps(factory)
        def make(task: Task, **arguments: Any) -> Algorithm:
            given = signature.bind(task, **arguments)
            given.apply_defaults()
            own_arguments = {parameter.name: given.kwargs[parameter.name] for parameter in own}
            return factory(task, family.of({**(fixed or {}), **given.kwargs}), **own_arguments)

        vars(make)["__signature__"] = signature
        return make

    return decorate
