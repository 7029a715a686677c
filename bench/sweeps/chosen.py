"""The sweep that a person asked for, every word of it looked up and checked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.data.problems.tasks import TASKS
from bench.errors import InputError, unknown_name
from bench.sweeps import SCALES, SWEEPS
from bench.sweeps.grids import listed, with_grid, with_rounds
from bench.sweeps.own import Request, checked_name
from bench.sweeps.spec import Sweep, on_task, select


class Chosen(NamedTuple):
    """A sweep whole; the part of it that was asked for; and the request of one over values of one's own."""

    whole: Sweep
    part: Sweep
    request: Request | None = None


def chosen(
    name: str,
    scale: str,
    *,
    where: str | None = None,
    seeds: int | None = None,
    task: str | None = None,
    grid: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    folder: str | None = None,
) -> Chosen:
    """The sweep of these words, which are those of `bench.api.run`.

    Args:
        folder: what the folder of a sweep over values of one's own is called; default a name made of them.

    Raises:
        InputError: for the first word that cannot be used.
    """
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    if name not in SWEEPS:
        raise unknown_name("sweep", name, SWEEPS)
    if task is not None and task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if seeds is not None and not 1 <= seeds <= 10_000:
        raise InputError(f"--seeds is {seeds}: it must be at least 1 and at most 10,000")
    if grid is not None and not isinstance(grid, Mapping):
        raise InputError(f"grid is {grid!r}: give a dictionary from columns to their values")
    request = None
    if grid or rounds is not None:
        lists = {column: listed(column, given) for column, given in (grid or {}).items()}
        request = Request(name, scale, lists, rounds, task)
        whole = requested(request, checked_name(folder or request.default_name, SWEEPS))
    elif folder is not None:
        raise InputError(f"--name {folder}: it goes with --grid or --rounds, other results have names of their own")
    else:
        whole = _on(SWEEPS[name](scale), task)
    part = whole if where is None else select(whole, where)
    if seeds is not None:
        # What is asked for holds for every entry, also for one that has fewer repetitions of its own.
        entries = {label: entry._replace(seeds=None) for label, entry in part.entries.items()}
        part = part._replace(seeds=seeds, entries=entries)
    return Chosen(whole, part, request)


def requested(request: Request, name: str) -> Sweep:
    """The sweep of a request, called so.

    Raises:
        InputError: where there is no such sweep, or it does not go.
    """
    if request.sweep not in SWEEPS:
        raise unknown_name("sweep", request.sweep, SWEEPS)
    if request.scale not in SCALES:
        raise unknown_name("scale", request.scale, SCALES)
    if request.task is not None and request.task not in TASKS:
        raise unknown_name("task", request.task, TASKS)
    sweep = with_grid(SWEEPS[request.sweep](request.scale), request.grid)
    if request.rounds is not None:
        sweep = with_rounds(sweep, request.rounds)
    return _on(sweep, request.task)._replace(name=name)


def _on(sweep: Sweep, task: str | None) -> Sweep:
    return sweep if task is None else on_task(sweep, task, TASKS[task])
