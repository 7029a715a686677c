"""`bench perf accelerator`: what is measured, what is left out, and the file."""

import pytest

from bench.errors import InputError
from bench.perf import report_accelerator


def test_without_an_accelerator_it_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"--gpu; `perf` without a name measures this processor"):
        report_accelerator("accelerator", tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []
