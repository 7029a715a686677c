"""School data small enough to write in a test."""

import io

import numpy as np
from scipy.io import savemat


def cells(arrays) -> np.ndarray:
    """A MATLAB cell array with one row."""
    out = np.empty((1, len(arrays)), object)
    for place, array in enumerate(arrays):
        out[0, place] = array
    return out


def written(features, exams) -> bytes:
    """A file of these schools, as MALSAR has it: unsigned bytes, scores as columns."""
    file = io.BytesIO()
    shaped = [np.asarray(y).astype(np.uint8)[:, None] for y in exams]
    savemat(file, {"X": cells([np.asarray(x, np.uint8) for x in features]), "Y": cells(shaped)})
    return file.getvalue()
