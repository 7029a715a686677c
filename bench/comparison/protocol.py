"""The protocol of a board's task: the conditions that are the same for every method, in a file beside the runs."""

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, NonNegativeInt, PlainSerializer, PositiveInt, ValidationError

from bench.comparison.search import searched, written
from bench.errors import InputError
from bench.files import write_whole

PROTOCOL = "protocol.json"
BOARD = "board"  # the folder of the board in the results

Searched = Annotated[  # values or an interval, as text in the file
    Any, BeforeValidator(lambda given: searched(given) if isinstance(given, str) else given), PlainSerializer(written)
]


class Protocol(BaseModel, frozen=True, strict=True, extra="forbid"):
    """The conditions that are the same for every method on a task.

    task: its name.
    epsilons: the finite ones; the noise-free case is always added.
    seeds: number of data splits.
    settings: the most settings tried for a method.
    rounds: of methods that do not set their own.
    delta, neighbors, unit: of the privacy statement.
    further_seeds: with which the best settings without noise are run before one is chosen; 0 in files of earlier
        versions, which have none.
    accountant: of all methods (`bench.comparison.statements.accounted`). Files of earlier versions do not name it.
    space: role of an argument -> what all methods are tuned over; empty in files of earlier versions, where a method's
        own intervals came before those of the task.
    """

    task: str
    epsilons: Annotated[list[Annotated[float, Field(gt=0, allow_inf_nan=False)]], Field(min_length=1)]
    seeds: PositiveInt
    settings: PositiveInt
    rounds: PositiveInt
    delta: Annotated[float, Field(ge=0, lt=1)]
    neighbors: str
    unit: str
    further_seeds: NonNegativeInt = 0
    accountant: Literal["pld"] = "pld"
    space: dict[str, Searched] = {}


def differences(one: Protocol, other: Protocol) -> list[str]:
    """Return the names of the conditions in which two protocols differ."""
    return [name for name in Protocol.model_fields if getattr(one, name) != getattr(other, name)]


def as_json(protocol: Protocol) -> bytes:
    """Return the content of the file of a protocol."""
    return (json.dumps(protocol.model_dump(), indent=1) + "\n").encode()


def board_folder(board: str | os.PathLike, out: str | os.PathLike) -> Path:
    """Return the folder of a board; "board" is the one in the results folder `out`."""
    return Path(out) / BOARD if str(board) == BOARD else Path(board)


def write_protocol(folder: Path, protocol: Protocol) -> None:
    """Write the protocol of a comparison into its folder, before anything is run.

    Raises:
        InputError: where the folder has results of another protocol.
    """
    path = folder / PROTOCOL
    stored = read_protocol(folder) if path.exists() else protocol
    if differ := differences(stored, protocol):
        raise InputError(
            f"{folder} was run with {', '.join(f'{name} {getattr(stored, name)}' for name in differ)}: ask for the "
            "same, move the folder elsewhere, or choose another --out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, as_json(protocol))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another --out") from None


def read_protocol(folder: Path) -> Protocol:
    """Return the protocol of the results in a folder of the board.

    Raises:
        InputError: where the folder has no readable protocol.
    """
    path = folder / PROTOCOL
    if not path.is_file():
        raise InputError(
            f"{folder} is not the folder of a board's task, as it has no {PROTOCOL}: run `python -m bench board TASK` "
            "first, for a task of the board; data of your own have none"
        )
    try:
        return Protocol.model_validate_json(path.read_bytes())
    except OSError as error:
        why = str(error.strerror)
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join([*map(str, first["loc"]), first["msg"]])
    raise InputError(f"{path} cannot be read ({why}): move the folder elsewhere and run the board again")
