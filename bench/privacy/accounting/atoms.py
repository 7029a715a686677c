"""A composition as a count of its components, which is all that an accountant of adaptive composition needs."""

from collections import Counter
from typing import Any

import dp_accounting.dp_event as dp

from bench.privacy.events import ParallelDpEvent, Release

Atoms = dict[Any, int]  # DpEvent that is not a composition -> how many times


def atoms_of(event: dp.DpEvent, times: int = 1) -> Atoms:
    """Return the components of an event with their counts, each times `times`; releases of nothing are left out."""
    if times == 0 or isinstance(event, dp.NoOpDpEvent):
        return {}
    if isinstance(event, dp.SelfComposedDpEvent):
        return atoms_of(event.event, times * event.count)
    if isinstance(event, dp.ComposedDpEvent):
        counts: Counter[Any] = Counter()
        for component in event.events:
            counts.update(atoms_of(component, times))
        return dict(counts)
    return {event: times}


def disjoint_atoms(release: Release, rounds: int) -> list[Atoms]:
    """Return the atoms of all that is released in so many rounds, by themselves for each of several sets of units that
    have nothing in common."""
    event = release.event(rounds)
    return [atoms_of(part) for part in (event.events if isinstance(event, ParallelDpEvent) else (event,))]
