"""Accuracies by user in plain Python, user by user."""

import math

import numpy as np


def plain_accuracies(split, hits, counts, sizes) -> dict[str, float]:
    """What `bench.data.tasks.by_user.accuracies` is to give, from lists by user."""
    own = [(h / c, size) for h, c, size in zip(hits, counts, sizes, strict=True) if c]
    together = sum(hits) / sum(counts)
    if split == "validation":
        weighted = sum(value * size for value, size in own) / sum(size for _, size in own)
        return {"validation_accuracy": together, "validation_accuracy_by_size": weighted}
    ordered = sorted(sizes)
    few, many = (ordered[round(share * (len(sizes) - 1))] for share in (1 / 3, 2 / 3))
    return {
        "test_accuracy": together,
        "test_accuracy_per_user": np.mean([value for value, _ in own]),
        "test_accuracy_worst_tenth": np.mean(sorted(value for value, _ in own)[: math.ceil(0.1 * len(own))]),
        "test_accuracy_small_users": np.mean([value for value, size in own if size <= few]),
        "test_accuracy_large_users": np.mean([value for value, size in own if size >= many]),
    }
