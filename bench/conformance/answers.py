"""The numbers of the set by id, the template of a file of answers, and the answers of another program."""

import functools
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.conformance import ACCOUNTING, GOLDEN_RUNS, QUANTITIES, VERSION, content
from bench.errors import MOST_SHOWN, InputError, check_name, cut, remedy_of, shown, unknown_name

TEMPLATE = "python -m bench conformance > answers.json"
LARGEST = 50_000_000  # bytes of a file of answers; that of all numbers has some ten thousand
KEYS = ("version", "answers")


@dataclass(frozen=True)
class Number:
    """A number of the set, or an array of them.

    Attributes:
        value: a scalar, or an array.
        tolerance: the largest difference of an answer that agrees.
    """

    value: np.ndarray
    tolerance: float


@functools.cache
def numbers() -> Mapping[str, Number]:
    """Return every number of the set by its id, in the order of the files."""
    out: dict[str, Number] = {}
    for case in content(ACCOUNTING)["cases"]:
        for entry in case["numbers"]:
            out[entry["id"]] = Number(np.asarray(entry["value"]), entry["tolerance"])
    golden = content(GOLDEN_RUNS)
    for run in golden["runs"]:
        for index, entry in enumerate(run["rounds"]):
            for quantity in QUANTITIES:
                for leaf, values in entry[quantity].items():
                    name = golden_id(run["name"], index, quantity, leaf)
                    out[name] = Number(np.asarray(values, dtype=np.float64), golden["tolerance"])
    return out


def golden_id(run: str, index: int, quantity: str, leaf: str) -> str:
    """Return the id of a number of a golden run; `index` counts rounds from 0."""
    return f"{run}.round_{index + 1}.{quantity}.{leaf}"


def template() -> str:
    """Return a file of answers with every id and no answer."""
    return json.dumps({"version": VERSION, "answers": dict.fromkeys(numbers())}, indent=1)


def read(path: Path) -> dict[str, np.ndarray]:
    """Return the answers of a file by id, without those that are null.

    Raises:
        InputError: for a file that cannot be read, is no JSON, or is of another version; an id that does not exist or
            occurs twice; an answer that is no finite number, or has another shape; no answers at all.
    """
    file = _parsed(path)
    if not isinstance(file, dict):
        raise InputError(f'{path} is no JSON object: write {{"version": {VERSION}, "answers": {{...}}}}, as {TEMPLATE}')
    for key in file:
        check_name(f"key of {path}", key, KEYS)
    version = file.get("version")
    if not isinstance(version, float) or version != VERSION:  # true equals 1
        raise InputError(
            f"{path} has the version {shown(version)}, and the set of this suite version {VERSION}: answer a new file, "
            f"{TEMPLATE}, or update the suite"
        )
    answers = file.get("answers")
    if not isinstance(answers, dict):
        raise InputError(f'{path} has no "answers": put an object there, from ids to numbers, as {TEMPLATE} makes it')
    known = numbers()
    for name in answers:
        if name not in known:
            raise unknown_name(f"number of {path}", name, known, f"take the ids from {TEMPLATE}")
    given = {name: _answer(name, answer, known[name]) for name, answer in answers.items() if answer is not None}
    if not given:
        raise InputError(f"{path} has no answers: put numbers in place of null")
    return given


def _parsed(path: Path) -> Any:
    """Return the content of a JSON file, in which no name occurs twice in an object."""

    def distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in pairs:
            if name in out:
                raise InputError(f"{path} has {shown(name)} twice: leave one of them out")
            out[name] = value
        return out

    if not os.path.isfile(path):  # to read a pipe would wait for ever
        raise InputError(f"{cut(str(path))} is no file: make one with {TEMPLATE}")
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is too large for a file of answers: give one as {TEMPLATE} makes it")
        return json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=distinct, parse_int=float)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {remedy_of(error)}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not in UTF-8: convert it") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is no valid JSON, line {error.lineno}, column {error.colno} ({error.msg}): correct it"
        ) from None


def _answer(name: str, answer: Any, number: Number) -> np.ndarray:
    """Return an answer as an array of the shape of the number."""
    for part in _parts(answer):
        if not isinstance(part, float) or not math.isfinite(part):
            raise InputError(
                f"{name} has {json.dumps(part)[:MOST_SHOWN]}: give finite numbers without quotes, or null for the "
                "whole answer"
            )
    try:
        found = np.asarray(answer, dtype=np.float64)
    except ValueError:
        found = None
    if found is None or found.shape != number.value.shape:
        shape = "a list whose parts have different lengths" if found is None else _shape(found.shape)
        raise InputError(f"{name} is {shape}: give {_shape(number.value.shape)}")
    return found


def _parts(answer: Any) -> list[Any]:
    if not isinstance(answer, list):
        return [answer]
    return [part for inner in answer for part in _parts(inner)]


def _shape(shape: tuple[int, ...]) -> str:
    return f"a list of shape {list(shape)}" if shape else "one number"
