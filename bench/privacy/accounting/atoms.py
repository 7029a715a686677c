"""A composition as a count of its parts, which is all that an accountant of adaptive composition needs."""

from collections import Counter
from typing import Any

import dp_accounting.dp_event as dp

Atoms = dict[Any, int]  # DpEvent that is not a composition -> how many times


def atoms_of(event: dp.DpEvent, times: int = 1) -> Atoms:
    """Return the parts of an event with their counts, each multiplied by `times`; releases of nothing are left out."""
    if times == 0 or isinstance(event, dp.NoOpDpEvent):
        return {}
    if isinstance(event, dp.SelfComposedDpEvent):
        return atoms_of(event.event, times * event.count)
    if isinstance(event, dp.ComposedDpEvent):
        parts: Counter[Any] = Counter()
        for part in event.events:
            parts.update(atoms_of(part, times))
        return dict(parts)
    return {event: times}
