"""Looks up and checks the sweep that a user asks for."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from bench.data.tasks.registry import task_named
from bench.errors import InputError, shown, unknown_name
from bench.store import SCALES, together_with
from bench.store.requests import GridRequest, checked_name
from bench.sweeps.grids import listed, with_grid, with_rounds
from bench.sweeps.spec import Sweep, Sweeps, on_task, select


class Chosen(NamedTuple):
    """A whole sweep and the selected part of it.

    others: the sweep at the other scales whose results the same folder has.
    request: for a sweep over a user's own values.
    """

    whole: Sweep
    part: Sweep
    others: tuple[Sweep, ...] = ()
    request: GridRequest | None = None


def chosen(
    known: Sweeps,
    name: str,
    scale: str,
    *,
    where: str | None = None,
    seeds: int | None = None,
    task: str | None = None,
    grid: Mapping[str, Any] | None = None,
    rounds: int | None = None,
    folder: str | None = None,
    shard: str | None = None,
) -> Chosen:
    """Return the sweep described by the arguments of `bench.api.runs.run`.

    Args:
        known: all sweeps, by name.
        folder: name of the folder for a sweep over a user's own values; by default made from the values.

    Raises:
        InputError: for the first argument that cannot be used.
    """
    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    if name not in known:
        raise unknown_name("sweep", name, known)
    if task is not None:
        task_named(task)
    if seeds is not None and not 1 <= seeds <= 10_000:
        raise InputError(f"seeds is {seeds}: it must be a whole number from 1 to 10,000")
    request, others = None, ()
    if grid or rounds is not None:
        lists = {column: listed(column, given) for column, given in (grid or {}).items()}
        request = GridRequest(name, scale, lists, rounds, task)
        whole = requested(known, request, checked_name(folder or request.default_name, known))
    elif folder is not None:
        raise InputError(
            f"name {folder} only applies to --grid or --rounds, since other results have fixed names: leave it out"
        )
    else:
        whole, *others = [_on(known[name](each), task) for each in together_with(scale)]
    part = whole if where is None else select(whole, where)
    if seeds is not None:
        # The requested number holds for every entry, even if the entry sets a smaller one.
        entries = {label: replace(entry, seeds=None) for label, entry in part.entries.items()}
        part = part._replace(seeds=seeds, entries=entries)
    if shard is not None:
        share = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", shard)
        first, number = map(int, share.groups()) if share else (1, 0)
        if first > number:
            raise InputError(
                f"shard is {shown(shard)}: give I/N with I from 1 to N, such as 2/4 for the second of four"
            )
        part = part._replace(shard=slice(first - 1, None, number))
    return Chosen(whole, part, tuple(others), request)


def requested(known: Sweeps, request: GridRequest, name: str) -> Sweep:
    """The sweep of a request, under the given name.

    Raises:
        InputError: for an unknown sweep, or a request that cannot be satisfied.
    """
    if request.sweep not in known:
        raise unknown_name("sweep", request.sweep, known)
    if request.scale not in SCALES:
        raise unknown_name("scale", request.scale, SCALES)
    if request.task is not None:
        task_named(request.task)
    sweep = with_grid(known[request.sweep](request.scale), request.grid)
    if request.rounds is not None:
        sweep = with_rounds(sweep, request.rounds)
    return _on(sweep, request.task)._replace(name=name)


def _on(sweep: Sweep, task: str | None) -> Sweep:
    return sweep if task is None else on_task(sweep, task, task_named(task))
