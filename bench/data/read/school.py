"""The School data of MALSAR: a MATLAB file with one matrix of pupils and one vector of scores a school."""

import numpy as np
from scipy.io import loadmat

from bench.data.dataset import LocalCopy

LOWEST, HIGHEST = 1, 70  # exam scores


def schools(copy: LocalCopy) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return pupils and scores of every school, in the file's order.

    Args:
        copy: the file school.mat.

    Returns:
        Features float64 [pupil, feature] and scores float64 [pupil] of each school.
    """
    table = loadmat(copy.files["school.mat"])
    features = [np.asarray(cell, float) for cell in table["X"].ravel()]
    return features, [np.asarray(cell, float).ravel() for cell in table["Y"].ravel()]
