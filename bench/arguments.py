"""Arguments of Python functions that people call, held against their annotations."""

import inspect
import os
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from bench.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
KINDS: dict[Any, tuple[type, str]] = {
    str: (str, "text"),
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    os.PathLike: (os.PathLike, "a path"),
    Mapping: (Mapping, "a dictionary"),
    NoneType: (NoneType, "None"),
}


def of_declared_types(function: F) -> F:
    """Have a function refuse arguments of other types than it declares, before it does anything.

    Looked at are annotations of text, numbers, truth values, paths, dictionaries and None, and unions of them; what
    is annotated otherwise is left to the function. Whole numbers pass for numbers, truth values for neither.

    Raises:
        InputError: naming the argument, what was given, and what may be.
    """
    signature = inspect.signature(function)
    declared = {name: _members(parameter.annotation) for name, parameter in signature.parameters.items()}

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise InputError(f"{function.__name__}: {error}; see help(bench.{function.__name__})") from None
        for name, value in given.items():
            kinds = declared[name]
            if kinds and not any(_is(value, kind) for kind in kinds):
                words = " or ".join(KINDS[kind][1] for kind in kinds)
                raise InputError(f"{name} is {value!r}: give {words}")
            if os.PathLike in kinds and value == "":
                raise InputError(f"{name} is '': name a path, '.' for the current folder")
        return function(*args, **kwargs)

    return checked  # pyright: ignore[reportReturnType]


def _members(annotation: Any) -> list[Any]:
    """The kinds of an annotation, in its order; none where it names something else as well."""
    several = get_origin(annotation) in (UnionType, Union)
    kinds = [get_origin(member) or member for member in (get_args(annotation) if several else (annotation,))]
    return kinds if all(kind in KINDS for kind in kinds) else []


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool) and kind in (int, float):
        return False
    return isinstance(value, KINDS[kind][0])
