"""The reader of school.mat, on small MATLAB files of our own."""

import numpy as np
from tiny_schools import written

from bench.data.dataset import LocalCopy
from bench.data.read.school import schools

FEATURES = [np.arange(6).reshape(3, 2), np.ones((2, 2), int)]
EXAMS = [[1, 70, 30], [5, 6]]


def read(folder, data: bytes):
    path = folder / "school.mat"
    path.write_bytes(data)
    return schools(LocalCopy("school", {"school.mat": path}, "made up", "0"))


def test_schools_of_unequal_size_come_back(tmp_path):
    features, exams = read(tmp_path, written(FEATURES, EXAMS))
    assert [x.dtype for x in (*features, *exams)] == [np.float64] * 4
    for found, right in zip((*features, *exams), (*FEATURES, *EXAMS), strict=True):
        np.testing.assert_array_equal(found, right)
