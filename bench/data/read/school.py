"""The School data of MALSAR: a MATLAB file with one matrix of pupils and one vector of scores a school."""

import io

import numpy as np
from scipy.io import loadmat
from scipy.io.matlab import MatReadError

from bench.data.dataset import LocalCopy
from bench.data.read.formats import content
from bench.errors import InputError

LOWEST, HIGHEST = 1, 70  # exam scores


def schools(copy: LocalCopy) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return pupils and scores of every school, in the file's order.

    Args:
        copy: the file school.mat.

    Returns:
        Features float64 [pupil, feature] and scores float64 [pupil] of each school.

    Raises:
        InputError: the file cannot be read, or its content is not as expected.
    """
    path = copy.files["school.mat"]
    data = content(path)
    try:
        table = loadmat(io.BytesIO(data))
        features = [np.asarray(cell, float) for cell in table["X"].ravel()]
        scores = [np.asarray(cell, float).ravel() for cell in table["Y"].ravel()]
    except (KeyError, TypeError, ValueError, NotImplementedError, MatReadError):
        raise InputError(f"{path}: not a MATLAB file with X and Y: replace it by the original school.mat.") from None
    if not features or len(features) != len(scores):
        raise InputError(f"{path}: {len(features)} schools with pupils, {len(scores)} with scores: replace it.")
    for number, (x, y) in enumerate(zip(features, scores, strict=True), start=1):
        fits = x.ndim == 2 and x.shape == (len(y), features[0].shape[1])
        if not fits or not np.isfinite(x).all():
            raise InputError(f"{path}: school {number} has features {x.shape} for {len(y)} scores: replace the file.")
        if not ((y >= LOWEST) & (y <= HIGHEST)).all():
            raise InputError(f"{path}: school {number} has a score outside {LOWEST} to {HIGHEST}: replace the file.")
    return features, scores
