"""The protocol of a board's task: the conditions that are the same for every method, in a file beside the runs."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, NonNegativeInt, PositiveInt, ValidationError

from bench.algorithms.search_space import OWN_EPOCHS, OWN_STEPS, Interval
from bench.comparison.request import BOARD, Request
from bench.comparison.search import FURTHER_SEEDS, Space, searched, written
from bench.comparison.statements import PLD, Accountant
from bench.errors import InputError
from bench.files import write_whole
from bench.privacy.events.release import LEAST_DELTA

PROTOCOL = "protocol.json"
LATER = (OWN_STEPS, OWN_EPOCHS)  # roles that were not tuned where a protocol has no `space`
EARLIER: Mapping[str, Space] = {"few_images_dirichlet": {"step_size": Interval(0.03, 1.0)}}  # what it then was


def _searchable(text: str) -> str:
    searched(text)
    return text


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
    accountant: of all methods. Files of earlier versions do not name it. The noise of their runs was calibrated by
        "pld", as the columns of their rows show.
    space: role of an argument -> what all methods are tuned over, as text that `searched` reads; empty in files of
        earlier versions, where a method's own intervals came before those of the task.
    """

    task: str
    epsilons: Annotated[list[Annotated[float, Field(gt=0, allow_inf_nan=False)]], Field(min_length=1)]
    seeds: PositiveInt
    settings: PositiveInt
    rounds: PositiveInt
    delta: Annotated[float, Field(ge=LEAST_DELTA, lt=1)]
    neighbors: str
    unit: str
    further_seeds: NonNegativeInt = 0
    accountant: Accountant = PLD
    space: dict[str, Annotated[str, AfterValidator(_searchable)]] = {}

    def request(self, request: Request) -> Request:
        """Return a request on this task with what its methods are tuned over and accounted by."""
        request = request._replace(accountant=self.accountant)
        if self.space:
            return request._replace(space={role: searched(text) for role, text in self.space.items()})
        known = {role: tried for role, tried in request.problem.shared_space.items() if role not in LATER}
        return request._replace(space={**known, **EARLIER.get(self.task, {})}, own_first=True)


def differences(one: Protocol, other: Protocol) -> list[str]:
    """Return the names of the conditions in which two protocols differ."""
    return [name for name in Protocol.model_fields if getattr(one, name) != getattr(other, name)]


def as_json(protocol: Protocol) -> bytes:
    """Return the content of the file of a protocol."""
    return (json.dumps(protocol.model_dump(), indent=1) + "\n").encode()


def board_folder(board: str | os.PathLike, out: str | os.PathLike) -> Path:
    """Return the folder of a board; "board" is the one in the results folder `out`."""
    return Path(out) / BOARD if str(board) == BOARD else Path(board)


def protocol_of(request: Request) -> Protocol:
    """Return the protocol of a request."""
    unit, neighbors, delta, _ = request.statement
    return Protocol(
        task=request.problem.name,
        epsilons=list(request.epsilons),
        seeds=request.num_splits,
        settings=request.num_settings,
        rounds=request.num_rounds,
        delta=delta,
        neighbors=neighbors,
        unit=unit,
        further_seeds=FURTHER_SEEDS,
        accountant=request.accountant,
        space={} if request.own_first else {role: written(tried) for role, tried in request.space.items()},
    )


def write_protocol(request: Request) -> None:
    """Write the protocol of a comparison, before anything is run.

    Raises:
        InputError: where the folder has results of another protocol.
    """
    path, protocol = request.folder / PROTOCOL, protocol_of(request)
    stored = read_protocol(request.folder) if path.exists() and not request.fresh else protocol
    if differ := differences(stored, protocol):
        raise InputError(
            f"{request.folder} was run with {', '.join(f'{name} {getattr(stored, name)}' for name in differ)}: ask for "
            "the same, move the folder elsewhere, or choose another --out"
        )
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, as_json(protocol))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another --out") from None


def read_protocol(folder: Path) -> Protocol:
    """Return the protocol of the results in a folder of the board.

    Raises:
        InputError: where the folder has no readable protocol.
    """
    path = folder / PROTOCOL
    try:
        return Protocol.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder} is not the folder of a board's task, as it has no {PROTOCOL}: run `python -m bench board TASK` "
            "first, for a task of the board; data of your own have none"
        ) from None
    except OSError as error:
        why = str(error.strerror)
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join([*map(str, first["loc"]), first["msg"]])
    raise InputError(f"{path} cannot be read ({why}): move the folder elsewhere and run the board again")
