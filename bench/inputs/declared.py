"""Checks the arguments of public Python functions against their annotations."""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

import numpy as np

from bench.errors import InputError, shown

MOST = 100_000  # entries of a list
F = TypeVar("F", bound=Callable[..., Any])


class Kind(NamedTuple):
    """A kind of value that an annotation declares.

    admits: value -> whether it is of this kind.
    words: what to give, for the message.
    """

    admits: Callable[[Any], bool]
    words: str


def _number(abstract: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, abstract) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


KINDS: dict[Any, Kind] = {
    str: Kind(_is_text, "text"),
    bool: Kind(lambda value: isinstance(value, bool), "True or False"),
    int: Kind(_number(Integral), "a whole number"),
    float: Kind(_number(Real), "a number"),
    os.PathLike: Kind(lambda value: isinstance(value, os.PathLike) and isinstance(os.fspath(value), str), "a path"),
    NoneType: Kind(lambda value: value is None, "None"),
}


def of_declared_types(function: F) -> F:
    """Make a function refuse arguments of types that it does not declare, before it does anything.

    Checked are annotations of text, numbers, truth values, paths, None, dictionaries with names as keys, lists of
    these, and unions of them; other annotations are ignored. Whole numbers are accepted as numbers; truth values are
    not. NumPy's numbers and arrays arrive as Python's numbers and lists.

    Raises:
        InputError: naming the argument, its value, and what is allowed.
    """
    signature = inspect.signature(function)
    declared = {name: kinds(parameter.annotation) for name, parameter in signature.parameters.items()}

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InputError(f"{function.__name__}: {error}; see help(bench.{function.__name__})") from None
        for name, value in given.arguments.items():
            given.arguments[name] = plain(value)
            check(name, given.arguments[name], declared[name])
            if KINDS[os.PathLike] in declared[name] and value == "":
                raise InputError(f"{name} is '': name a path, '.' for the current folder")
        return function(*given.args, **given.kwargs)

    return checked  # pyright: ignore[reportReturnType]


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's numbers and lists; everything else as it is."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def check(name: str, value: Any, kinds: Sequence[Kind]) -> None:
    """Raise InputError where a value is of none of these kinds, or too long; without kinds, only the latter."""
    for entry in (value, *(value.values() if isinstance(value, Mapping) else ())):
        if isinstance(entry, Sequence) and not isinstance(entry, str | bytes) and len(entry) > MOST:
            raise InputError(f"{name} has {len(entry):,} entries: give at most {MOST:,}")
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{name} is {shown(value)}: leave the NUL character out")
    if kinds and not any(kind.admits(value) for kind in kinds):
        raise InputError(f"{name} is {shown(value)}: give {' or '.join(kind.words for kind in kinds)}")


def kinds(annotation: Any) -> list[Kind]:
    """Return the kinds in an annotation, in its order; empty where it also names a type that is not checked."""
    several = get_origin(annotation) in (UnionType, Union)
    found = [_kind(member) for member in (get_args(annotation) if several else (annotation,))]
    return [kind for kind in found if kind] if all(found) else []


def _kind(annotation: Any) -> Kind | None:
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if origin is Mapping:
        named = inner[:1] == (str,)
        words = "a dictionary with names as keys" if named else "a dictionary"
        return Kind(lambda value: isinstance(value, Mapping) and (not named or all(map(_is_text, value))), words)
    if origin in (Sequence, list, tuple):
        of = kinds(inner[0]) if inner else []
        words = " or ".join(kind.words for kind in of)

        def admits(value: Any) -> bool:
            listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
            return listed and all(any(kind.admits(entry) for kind in of) for entry in value)

        return Kind(admits, f"a list, each entry {words}") if of else None
    return KINDS.get(origin)
