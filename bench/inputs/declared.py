"""Checks values that others wrote down, in a file or in the fields of a class, against the types that are declared."""

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

from bench.errors import InputError, shown


class ValueKind(NamedTuple):
    """A kind of value that an annotation declares.

    admits: value -> whether it is of this kind.
    words: what to give, for the message.
    """

    admits: Callable[[Any], bool]
    words: str


def _number(abstract: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, abstract) and not isinstance(value, bool)


KINDS: dict[Any, ValueKind] = {
    str: ValueKind(lambda value: isinstance(value, str), "text"),
    bool: ValueKind(lambda value: isinstance(value, bool), "True or False"),
    int: ValueKind(_number(Integral), "a whole number"),
    float: ValueKind(_number(Real), "a number"),
    Mapping: ValueKind(
        lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value),
        "a dictionary with names as keys",
    ),
    NoneType: ValueKind(lambda value: value is None, "None"),
}


def check(name: str, value: Any, annotation: Any) -> None:
    """Raise InputError where a value is of none of the kinds that an annotation names.

    These are text, numbers, truth values, None, dictionaries with names as keys, and lists; whole numbers are numbers,
    and truth values are not. An annotation that also names another type is not checked.
    """
    kinds = _kinds(annotation)
    if kinds and not any(kind.admits(value) for kind in kinds):
        raise InputError(f"{name} is {shown(value)}: give {' or '.join(kind.words for kind in kinds)}")


def _kinds(annotation: Any) -> list[ValueKind]:
    several = get_origin(annotation) in (UnionType, Union)
    kinds = [_kind(member) for member in (get_args(annotation) if several else (annotation,))]
    return [kind for kind in kinds if kind] if all(kinds) else []


def _kind(annotation: Any) -> ValueKind | None:
    origin = get_origin(annotation) or annotation
    if origin not in (Sequence, list, tuple):
        return KINDS.get(origin)
    entry_kinds = _kinds(get_args(annotation)[0])

    def admits(value: Any) -> bool:
        listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return listed and all(any(kind.admits(entry) for kind in entry_kinds) for entry in value)

    return (
        ValueKind(admits, f"a list, each entry {' or '.join(kind.words for kind in entry_kinds)}")
        if entry_kinds
        else None
    )
