"""Dealing examples to clients."""

from collections.abc import Sequence

import numpy as np


def pack(arrays: Sequence[np.ndarray], capacity: int | None = None) -> np.ndarray:
    """Arrays of unequal length as one, [client, example, ...], padded with zeros to the longest.

    Args:
        arrays: one a client, [example, ...].
        capacity: length of the example axis; default the longest.
    """
    longest = max(len(a) for a in arrays)
    capacity = longest if capacity is None else capacity
    out = np.zeros((len(arrays), capacity, *arrays[0].shape[1:]), arrays[0].dtype)
    for row, array in zip(out, arrays, strict=True):
        row[: len(array)] = array
    return out


def by_label(labels: np.ndarray) -> list[np.ndarray]:
    """Indices of the examples of each label, labels ascending, examples in their own order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def hold_out(indices: np.ndarray, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Shuffled indices of one client in two: all but round(fraction n), at least one, and the rest."""
    shuffled = rng.permutation(indices)
    num_held = max(1, round(fraction * len(indices)))
    return shuffled[num_held:], shuffled[:num_held]


def by_style(first: np.ndarray, second: np.ndarray, classes: np.ndarray, counts: tuple[int, int]) -> np.ndarray:
    """Groups of examples that are alike in two measurements, each with the same share of every class.

    Within each class, examples are ranked by `first` and cut into counts[0] equal slices, and each slice is
    ranked by `second` and cut into counts[1].

    Args:
        first, second: measurements, [example].
        classes: [example].
        counts: slices by each measurement.

    Returns:
        Group number of each example, 0 .. counts[0] * counts[1] - 1.
    """
    groups = np.zeros(len(first), int)
    for members in by_label(classes):
        for i, part in enumerate(np.array_split(members[np.argsort(first[members], kind="stable")], counts[0])):
            ranked = part[np.argsort(second[part], kind="stable")]
            for j, cell in enumerate(np.array_split(ranked, counts[1])):
                groups[cell] = i * counts[1] + j
    return groups
