"""Looks up and checks the sweep that a user asks for."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from bench.data.tasks.registry import task_named
from bench.errors import InputError, check_name, shown
from bench.store import SCALES, together_with
from bench.store.requests import GridRequest, checked_name
from bench.sweeps.grids import listed, with_grid, with_rounds
from bench.sweeps.spec import Sweep, Sweeps, on_task, select


class Chosen(NamedTuple):
    """A sweep and the selection of its points that is to be run.

    other_scales: the sweep at the other scales whose results the same folder has.
    request: for a sweep over a user's own values.
    """

    sweep: Sweep
    selection: Sweep
    other_scales: tuple[Sweep, ...] = ()
    request: GridRequest | None = None


def chosen(
    sweeps: Sweeps,
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
        sweeps: all sweeps, by name.
        folder: name of the folder for a sweep over a user's own values; by default made from the values.

    Raises:
        InputError: for the first argument that cannot be used.
    """
    _check_names(sweeps, name, scale, task)
    if seeds is not None and not 1 <= seeds <= 10_000:
        raise InputError(f"seeds is {seeds}: it must be a whole number from 1 to 10,000")
    request, other_scales = None, ()
    if grid or rounds is not None:
        lists = {column: listed(column, values) for column, values in (grid or {}).items()}
        request = GridRequest(name, scale, lists, rounds, task)
        sweep = requested(sweeps, request, checked_name(folder or request.default_name, sweeps))
    elif folder is not None:
        raise InputError(
            f"name {folder} only applies to --grid or --rounds, since other results have fixed names: leave it out"
        )
    else:
        sweep, *other_scales = [_on(sweeps[name](other), task) for other in together_with(scale)]
    selection = sweep if where is None else select(sweep, where)
    if seeds is not None:
        # The requested number holds for every entry, even if the entry sets a smaller one.
        entries = {label: replace(entry, seeds=None) for label, entry in selection.entries.items()}
        selection = selection._replace(seeds=seeds, entries=entries)
    if shard is not None:
        share = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", shard)
        index, number = map(int, share.groups()) if share else (1, 0)
        if index > number:
            raise InputError(
                f"shard is {shown(shard)}: give I/N with I from 1 to N, such as 2/4 for the second of four"
            )
        selection = selection._replace(shard=slice(index - 1, None, number))
    return Chosen(sweep, selection, tuple(other_scales), request)


def requested(sweeps: Sweeps, request: GridRequest, name: str) -> Sweep:
    """Return the sweep of a request, under the given name.

    Raises:
        InputError: for an unknown sweep, or a request that cannot be satisfied.
    """
    _check_names(sweeps, request.sweep, request.scale, request.task)
    sweep = with_grid(sweeps[request.sweep](request.scale), request.grid)
    if request.rounds is not None:
        sweep = with_rounds(sweep, request.rounds)
    return _on(sweep, request.task)._replace(name=name)


def _check_names(sweeps: Sweeps, sweep: str, scale: str, task: str | None) -> None:
    """Refuse the first name that there is not."""
    check_name("scale", scale, SCALES)
    check_name("sweep", sweep, sweeps)
    if task is not None:
        task_named(task)


def _on(sweep: Sweep, task: str | None) -> Sweep:
    return sweep if task is None else on_task(sweep, task, task_named(task))
