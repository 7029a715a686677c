"""A run that is interrupted and resumed gives the bits of one that is not, with the same --chunk and one worker."""

import pandas as pd
import pytest
from tiny_sweeps import KEY, private_sgd, run

from bench.store import part_files

TIMES = ["wall_s", "compile_s"]


def remove(folder, parts):
    """Remove these parts, counted in the order in which they were written."""
    paths = sorted(part_files.parts_in(folder), key=lambda path: path.stat().st_mtime_ns)
    for place in parts:
        paths[place].unlink()
    return len(paths)


@pytest.mark.parametrize("lost", [[5], [0, 2]])
def test_the_rest_of_a_group_goes_through_the_program_of_the_whole_group(tmp_path, lost):
    """Twelve points in chunks of five: two full ones and one of two points for each seed."""
    expected = run(private_sgd(), tmp_path, most=5).sort_values(KEY, ignore_index=True)
    folder = tmp_path / "smoke" / "tiny"
    assert remove(folder, lost) == 6
    resumed = run(private_sgd(), tmp_path, most=5).sort_values(KEY, ignore_index=True)
    pd.testing.assert_frame_equal(resumed.drop(columns=TIMES), expected.drop(columns=TIMES), check_exact=True)
