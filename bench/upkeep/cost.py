"""The cost of a round: a linear model in the counted work, fitted to measured runs.

    seconds per point and round = a operations + b + c / (points together) + d random words + e bytes

with non-negative a to e, fitted by relative errors. Where few programs were measured, only the first terms are fitted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bench.sweeps.counts import Counts

CELLS_A_TERM = 2  # number of measured programs required per term
TOLERANCE = 0.25  # relative to the measured time


class Cell(NamedTuple):
    """A measured program.

    work: per point and round, for `chunk` points together.
    seconds: per point and round.
    """

    work: Counts
    chunk: float
    seconds: float


def terms(work: Counts, chunk: float) -> np.ndarray:
    """Return the terms of the linear model, the most important first, for the work of a point and round."""
    return np.array([work.flops, 1.0, 1 / chunk, work.randoms, work.bytes])


class Model(NamedTuple):
    """Seconds of each term."""

    weights: np.ndarray

    def seconds(self, work: Counts, chunk: float) -> float:
        """Of a point and round, with this work of its own, when `chunk` points go together."""
        return float(terms(work, chunk)[: len(self.weights)] @ self.weights)


def fit(cells: Sequence[Cell]) -> Model:
    """Return the model of one method on one kind of device.

    Args:
        cells: at least one.
    """
    from scipy.optimize import nnls

    table = np.stack([terms(cell.work, cell.chunk) for cell in cells])
    table = table[:, : max(1, min(table.shape[1], len(cells) // CELLS_A_TERM))]
    scale = table.max(0)
    scale[scale == 0] = 1.0
    seconds = np.array([cell.seconds for cell in cells])
    weights, _ = nnls(table / scale / seconds[:, None], np.ones(len(cells)))
    return Model(weights / scale)


def held_out(cells: Sequence[Cell]) -> np.ndarray:
    """Predicted over measured seconds of each cell, by the model of all others; empty for fewer than two."""
    if len(cells) < 2:
        return np.empty(0)
    models = [fit([*cells[:place], *cells[place + 1 :]]) for place in range(len(cells))]
    return np.array(
        [model.seconds(cell.work, cell.chunk) / cell.seconds for model, cell in zip(models, cells, strict=True)]
    )


class Check(NamedTuple):
    """The error of the model on programs left out of the fit.

    cells: number of programs.
    median_error: median relative error.
    within: fraction of programs with an error of at most TOLERANCE.
    """

    cells: int
    median_error: float
    within: float


def check(cells: Sequence[Cell]) -> Check | None:
    """Of each cell against the model of all others; None for fewer than two."""
    errors = np.abs(held_out(cells) - 1)
    if not len(errors):
        return None
    return Check(len(cells), float(np.median(errors)), float(np.mean(errors <= TOLERANCE)))
