"""The protocol of a board's task: the conditions that are the same for every method, in a file beside the runs."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from bench.algorithms.search_space import OWN_EPOCHS, OWN_STEPS, Interval
from bench.comparison.request import BOARD, Request
from bench.comparison.search import FURTHER_SEEDS, Space, searched, written
from bench.comparison.statements import BY, PLD
from bench.errors import InputError
from bench.files import write_whole
from bench.inputs.declared import check
from bench.privacy.events import check_delta

PROTOCOL = "protocol.json"
LATER = (OWN_STEPS, OWN_EPOCHS)  # roles that were not tuned where a protocol has no `space`
EARLIER: Mapping[str, Space] = {"few_images_dirichlet": {"step_size": Interval(0.03, 1.0)}}  # what it then was
REPLACED = ("few_images",)  # tasks whose results without one cannot be continued


class Protocol(NamedTuple):
    """The conditions that are the same for every method on a task.

    task: its name.
    epsilons: the finite ones; the noise-free case is always added.
    seeds: number of data splits.
    settings: the most settings tried for a method.
    rounds: of methods that do not set their own.
    delta, neighbors, unit: of the privacy statement.
    further_seeds: with which the best settings without noise are run before one is chosen; 0 in files of earlier
        versions, which have none.
    accountant: a word of BY. Files of earlier versions do not name it. The noise of their runs was calibrated by "pld",
        as the columns of their rows show.
    space: role of an argument -> what all methods are tuned over, as text that `searched` reads; empty in files of
        earlier versions, where a method's own intervals came before those of the task.
    """

    task: str
    epsilons: list[float]
    seeds: int
    settings: int
    rounds: int
    delta: float
    neighbors: str
    unit: str
    further_seeds: int = 0
    accountant: str = PLD
    space: Mapping[str, str] = MappingProxyType({})

    def request(self, request: Request) -> Request:
        """Return a request on this task with what its methods are tuned over and accounted by.

        Raises:
            InputError: where that is of an earlier version, and not known.
        """
        request = request._replace(accountant=self.accountant)
        if self.space:
            return request._replace(space={role: searched(text) for role, text in self.space.items()})
        if self.task in REPLACED:
            raise InputError(
                f"the results of {self.task} are of an earlier version, in which methods had other intervals of the "
                f"same argument: move its folder elsewhere and run `python -m bench board {self.task}`"
            )
        known = {role: tried for role, tried in request.problem.shared_space.items() if role not in LATER}
        return request._replace(space={**known, **EARLIER.get(self.task, {})}, own_first=True)


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
    if differ := [name for name in Protocol._fields if getattr(stored, name) != getattr(protocol, name)]:
        raise InputError(
            f"{request.folder} was run with {', '.join(f'{name} {getattr(stored, name)}' for name in differ)}: ask for "
            "the same, move the folder elsewhere, or choose another --out"
        )
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, (json.dumps(protocol._asdict(), indent=1) + "\n").encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}; choose another --out") from None


def read_protocol(folder: Path) -> Protocol:
    """Return the protocol of the results in a folder of the board.

    Raises:
        InputError: where the folder has no readable protocol.
    """
    try:
        found = Protocol(**json.loads((folder / PROTOCOL).read_bytes()))
        for name, annotation in Protocol.__annotations__.items():
            check(name, getattr(found, name), annotation)
        check_delta("delta", found.delta)
        if not found.epsilons or not all(0 < epsilon < math.inf for epsilon in found.epsilons):
            raise ValueError(f"epsilons are {found.epsilons}")
        for name in ("seeds", "settings", "rounds"):
            if getattr(found, name) < 1:
                raise ValueError(f"{name} is {getattr(found, name)}")
        if found.further_seeds < 0:
            raise ValueError(f"further_seeds is {found.further_seeds}")
        if found.accountant not in BY:
            raise ValueError(f"accountant is {found.accountant}, but known are {', '.join(BY)}")
        for text in found.space.values():
            searched(text)
        return found
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder} is not the folder of a board's task, as it has no {PROTOCOL}: run `python -m bench board TASK` "
            "first, for a task of the board; data of your own have none"
        ) from None
    except RecursionError:
        raise InputError(f"{folder / PROTOCOL} is damaged: move the folder elsewhere and run the board again") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{folder / PROTOCOL} cannot be read ({error}): move the folder elsewhere and run the board again"
        ) from None
