"""Runs made of several releases: one before another, phases or clients with units of their own, and a run that releases
nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

import dp_accounting.dp_event as dp

from bench.privacy.events.release import EVERYBODY, REPLACE, Release, check_numbers, checked, require


def preceded_by(release: Release, first: Release) -> Release:
    """Return one round of `first`, then the rounds of `release`, for a run that starts from something private.

    After 0 rounds the start has already been released, and counts in full. Delta and accountant are those of `release`.

    Raises:
        InputError: where the two do not protect the same unit, under the same relation, against the same adversary.
    """
    for field in ("privacy_unit", "neighbors", "protects_against"):
        own, other = getattr(release, field), getattr(first, field)
        require(field, other, own == other, f"what comes first must protect as what follows, {own}")

    def event(rounds: int) -> dp.DpEvent:
        parts = (first.event(1), release.event(rounds))  # a tuple: an event with a list in it has no hash
        return dp.ComposedDpEvent(parts)  # pyright: ignore[reportArgumentType]

    return release._replace(
        event=event,
        mechanism=f"once: {first.mechanism}; then {release.mechanism}",
        sound=release.sound and first.sound,
    )


@dataclass(frozen=True)
class ParallelDpEvent(dp.DpEvent):
    """Releases on disjoint sets of units: each unit is in one part, so they cost as much as the most expensive part."""

    events: tuple[dp.DpEvent, ...]


def in_parallel(parts: Sequence[tuple[Release, int]]) -> Release:
    """Return the release of phases one after the other, each on its own units (McSherry 2009, parallel composition).

    A later phase may depend on what an earlier one released, because this is public for the units of the later phase.

    Args:
        parts: (release, rounds) of each phase, in order; all with the same relation, accountant, unit and delta.

    Raises:
        InputError: where two of them differ in one of these.
    """
    first = _alike([release for release, _ in parts], "phases")

    def event(rounds: int) -> dp.DpEvent:
        done, begin = [], 0
        for release, length in parts:
            done.append(release.event(min(max(rounds - begin, 0), length)))
            begin += length
        distinct = tuple(dict.fromkeys(done))
        return distinct[0] if len(distinct) == 1 else ParallelDpEvent(distinct)

    if len(parts) == 1:
        return first._replace(event=event)
    mechanisms = "; then ".join(dict.fromkeys(release.mechanism for release, _ in parts))
    return first._replace(
        event=event,
        mechanism=f"{len(parts)} phases on disjoint {first.privacy_unit}s: {mechanisms}",
        sound=all(release.sound for release, _ in parts),
    )


def at_once(parts: Sequence[tuple[Release, int]]) -> Release:
    """Return the release of clients that each release something about their own units in every round (McSherry 2009,
    parallel composition).

    What one client releases may depend on what others have released, because this is public for its units.

    Args:
        parts: (release, releases in a round) of each client; all with the same relation, accountant, unit and delta.

    Raises:
        InputError: where two of them differ in one of these.
    """
    first = _alike([release for release, _ in parts], "clients")

    def event(rounds: int) -> dp.DpEvent:
        distinct = tuple(dict.fromkeys(release.event(times * rounds) for release, times in parts))
        return distinct[0] if len(distinct) == 1 else ParallelDpEvent(distinct)

    different = dict.fromkeys(f"{release.mechanism}, {times} a round" for release, times in parts)
    if len(different) == 1:
        return first._replace(event=event)
    return first._replace(
        event=event,
        mechanism=f"{len(different)} kinds of clients, such as: {next(iter(different))}",
        sound=all(release.sound for release, _ in parts),
    )


def _alike(releases: Sequence[Release], whose: str) -> Release:
    """Return the first of the releases.

    Raises:
        InputError: where another one has another unit, relation, accountant or delta.
    """
    first = releases[0]
    for field in ("privacy_unit", "neighbors", "protects_against", "accountant", "delta"):
        for other in releases:
            own, its = getattr(first, field), getattr(other, field)
            require(field, its, own == its, f"{whose} must be accounted alike, the first has {own}")
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
