"""Runs made of several releases: one before another, phases or clients with units of their own, and a run that releases
nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import dp_accounting.dp_event as dp

from bench.privacy.events.release import EVERYBODY, REPLACE, Release, check_numbers, checked, require


def preceded_by(release: Release, first: Release) -> Release:
    """Return one round of `first`, then the rounds of `release`, for a run that starts from something private.

    After 0 rounds the start has already been released, and counts in full. Delta and accountant are those of `release`.

    Raises:
        InputError: where the two do not protect the same unit, under the same relation, against the same adversary.
    """
    for field in ("privacy_unit", "neighbors", "protects_against"):
        expected, actual = getattr(release, field), getattr(first, field)
        require(field, actual, expected == actual, f"what comes first must protect as what follows, {expected}")

    def event(rounds: int) -> dp.DpEvent:
        events = (first.event(1), release.event(rounds))  # a tuple: an event with a list in it has no hash
        return dp.ComposedDpEvent(events)  # pyright: ignore[reportArgumentType]

    return release._replace(
        event=event,
        mechanism=f"once: {first.mechanism}; then {release.mechanism}",
        sound=release.sound and first.sound,
    )


@dataclass(frozen=True)
class ParallelDpEvent(dp.DpEvent):
    """Releases on disjoint sets of units: each unit is in one of them, so they cost as much as the most expensive."""

    events: tuple[dp.DpEvent, ...]


def in_sequence(phases: Sequence[tuple[Release, int]]) -> Release:
    """Return the release of phases one after the other, all on the same units; the last goes on for as long as asked.

    A later phase may depend on what an earlier one released (adaptive composition).

    Args:
        phases: (release, rounds) of each phase, in order; all with the same relation, accountant, unit and delta.

    Raises:
        InputError: where two of them differ in one of these.
    """
    first = _common_statement([release for release, _ in phases], "phases")
    *earlier, (last, _) = phases

    def event(rounds: int) -> dp.DpEvent:
        events = _events([*earlier, (last, rounds)], rounds)
        return dp.ComposedDpEvent(tuple(events))  # pyright: ignore[reportArgumentType]

    words = [f"{length:,} with {release.mechanism}" for release, length in phases]
    return first._replace(
        event=event, mechanism="; then ".join(words), sound=all(release.sound for release, _ in phases)
    )


def in_parallel(phases: Sequence[tuple[Release, int]]) -> Release:
    """Return the release of phases one after the other, each on its own units (McSherry 2009, parallel composition).

    A later phase may depend on what an earlier one released, because this is public for the units of the later phase.

    Args:
        phases: (release, rounds) of each phase, in order; all with the same relation, accountant, unit and delta.

    Raises:
        InputError: where two of them differ in one of these.
    """
    first = _common_statement([release for release, _ in phases], "phases")

    def event(rounds: int) -> dp.DpEvent:
        distinct = tuple(dict.fromkeys(_events(phases, rounds)))
        return distinct[0] if len(distinct) == 1 else ParallelDpEvent(distinct)

    if len(phases) == 1:
        return first._replace(event=event)
    mechanisms = "; then ".join(dict.fromkeys(release.mechanism for release, _ in phases))
    return first._replace(
        event=event,
        mechanism=f"{len(phases)} phases on disjoint {first.privacy_unit}s: {mechanisms}",
        sound=all(release.sound for release, _ in phases),
    )


def at_once(clients: Sequence[tuple[Release, int]]) -> Release:
    """Return the release of clients that each release something about their own units in every round (McSherry 2009,
    parallel composition).

    What one client releases may depend on what others have released, because this is public for its units.

    Args:
        clients: (release, releases in a round) of each client; all with the same relation, accountant, unit and delta.

    Raises:
        InputError: where two of them differ in one of these.
    """
    first = _common_statement([release for release, _ in clients], "clients")

    def event(rounds: int) -> dp.DpEvent:
        distinct = tuple(dict.fromkeys(release.event(times * rounds) for release, times in clients))
        return distinct[0] if len(distinct) == 1 else ParallelDpEvent(distinct)

    different = dict.fromkeys(f"{release.mechanism}, {times} a round" for release, times in clients)
    if len(different) == 1:
        return first._replace(event=event)
    return first._replace(
        event=event,
        mechanism=f"{len(different)} kinds of clients, such as: {next(iter(different))}",
        sound=all(release.sound for release, _ in clients),
    )


def _events(phases: Sequence[tuple[Release, int]], rounds: int) -> list[dp.DpEvent]:
    """Return what each phase releases in the first rounds of a run."""
    begins = accumulate((length for _, length in phases), initial=0)
    return [
        release.event(min(max(rounds - begin, 0), length))
        for begin, (release, length) in zip(begins, phases, strict=False)
    ]


def _common_statement(releases: Sequence[Release], members: str) -> Release:
    """Return the first of the releases, after checking that all state the same.

    Raises:
        InputError: where another release has another unit, relation, accountant or delta.
    """
    first = releases[0]
    for field in ("privacy_unit", "neighbors", "protects_against", "accountant", "delta"):
        for other in releases:
            expected, actual = getattr(first, field), getattr(other, field)
            require(field, actual, expected == actual, f"{members} must be accounted alike, the first has {expected}")
    return first


def nothing_released(
    *, delta: float, privacy_unit: str = "user", protects_against: str = EVERYBODY, neighbors: str = REPLACE
) -> Release:
    """Return the release of local learning, in which no data leave a unit; epsilon is 0 after any number of rounds."""
    check_numbers(0.0, delta)
    return checked(
        Release(
            event=lambda rounds: dp.NoOpDpEvent(),
            privacy_unit=privacy_unit,
            protects_against=protects_against,
            neighbors=neighbors,
            sampler="nothing released",
            accountant="gdp",
            delta=delta,
            mechanism="nothing is released",
        )
    )
