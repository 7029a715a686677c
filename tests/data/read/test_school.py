"""The reader of school.mat, on small MATLAB files of our own."""

import numpy as np
import pytest
from tiny_schools import written

from bench.data.dataset import LocalCopy
from bench.data.read.school import schools
from bench.errors import InputError

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


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no file of MATLAB", "not a MATLAB file with X and Y"),
        (written(FEATURES, EXAMS[:1]), "2 schools with pupils, 1 with scores"),
        (written(FEATURES, [[1, 70], [5, 6]]), r"school 1 has features \(3, 2\) for 2 scores"),
        (written(FEATURES, [[1, 71, 30], [5, 6]]), "school 1 has a score outside 1 to 70"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path, data, said):
    with pytest.raises(InputError, match=f"{tmp_path}/school.mat: .*{said}") as error:
        read(tmp_path, data)
    assert "\n" not in str(error.value)
