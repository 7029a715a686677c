"""Checks the arguments of public Python functions against their annotations."""

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
    """Make a function refuse arguments of types that it does not declare, before it does anything.

    Checked are annotations of text, numbers, truth values, paths, dictionaries and None, and unions of them; other
    annotations are ignored. Whole numbers are accepted as numbers; truth values are not.

    Raises:
        InputError: naming the argument, its value, and what is allowed.
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
    """The types in an annotation, in its order; empty where it also names a type that is not checked."""
    several = get_origin(annotation) in (UnionType, Union)
    kinds = [get_origin(member) or member for member in (get_args(annotation) if several else (annotation,))]
    return kinds if all(kind in KINDS for kind in kinds) else []


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool) and kind in (int, float):
        return False
    return isinstance(value, KINDS[kind][0])
