"""Requests for sweeps over a user's own values, and the file that stores a request next to the results."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import InputError
from bench.store import KEPT, SMOKE
from bench.store.part_files import parts_in, write
from bench.store.store import Store

REQUEST = "_request.json"  # begins with "_": readers of the folder leave it out
NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}", re.ASCII)


class GridRequest(NamedTuple):
    """The requested changes of a sweep.

    sweep: the sweep to change.
    scale: the scale of its points before the change.
    grid: column -> new values.
    rounds: communication rounds; None keeps the sweep's.
    task: name as in `--task`; None keeps the sweep's own.
    """

    sweep: str
    scale: str
    grid: Mapping[str, list[Any]]
    rounds: int | None = None
    task: str | None = None

    @property
    def kind(self) -> str:
        """The request without its values, as text: requests of one kind share a folder."""
        return json.dumps(self._asdict() | {"grid": sorted(self.grid)}, sort_keys=True)

    def joined(self, other: "GridRequest") -> "GridRequest":
        """Return the request for the values of two of one kind."""
        grid = {
            name: [*values, *(value for value in other.grid[name] if value not in values)]
            for name, values in self.grid.items()
        }
        return self._replace(grid=grid)

    @property
    def default_name(self) -> str:
        """The default name of the folder: the sweep, the changed columns, and a digest of the kind of request."""
        changed = [*sorted(self.grid), *([f"rounds_{self.rounds}"] if self.rounds else [])]
        digest = hashlib.blake2b(self.kind.encode(), digest_size=3).hexdigest()
        suffix = [f"on_{self.task}"] if self.task else []
        return "-".join(["-".join([self.sweep, *changed, *suffix])[:90].rstrip("-_"), digest])


def checked_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return the name of a folder of results, where it is one that no sweep has, or could have on another task.

    Raises:
        InputError: where it is not.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"--name {name!r} is not a valid name: use at most 100 letters, digits and _ . + -")
    small = name.lower()
    if small in {*map(str.lower, taken), "figures"} or any(small.startswith(f"{sweep}_on_".lower()) for sweep in taken):
        raise InputError(f"--name {name} is reserved for results of the suite's sweeps: choose another")
    return name


def read_request(folder: Path) -> GridRequest | None:
    """Return the request whose results a folder holds; None where it holds those of a sweep as it is.

    Raises:
        InputError: where the file is damaged.
    """
    path = folder / REQUEST
    try:
        content = path.read_bytes()
        from pydantic import TypeAdapter  # here, since it takes long to import and few folders have a request

        return TypeAdapter(GridRequest).validate_json(content, strict=True)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise InputError(f"{path} is damaged: copy the file again, or move the folder elsewhere") from None


def write_request(folder: Path, request: GridRequest) -> None:
    """Write the request's file atomically."""
    write(folder / REQUEST, f"{json.dumps(request._asdict(), indent=1)}\n".encode())


def prepare(folder: Path, request: GridRequest) -> GridRequest:
    """Create the folder of a request, or add it to the results of others of its kind.

    Returns:
        The request for all values of the folder.

    Raises:
        InputError: where the folder holds other results, or cannot be written.
    """
    with Store(folder):
        stored = read_request(folder)
        if stored is not None and stored.kind == request.kind:
            request = stored.joined(request)
        elif parts_in(folder):
            raise InputError(f"{folder} holds other results: choose another --name, or move the folder elsewhere")
        if request != stored:
            write_request(folder, request)
    return request


def folders(name: str, results: str | os.PathLike) -> list[Path]:
    """Return the folders of a sweep over a user's own values."""
    of_scales = [Path(results) / kind / name for kind in (SMOKE, KEPT)]
    return [folder for folder in of_scales if (folder / REQUEST).is_file()]
