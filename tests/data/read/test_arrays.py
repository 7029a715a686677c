"""Reading files of arrays: what does not fit into memory is refused before it is unpacked."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from bench.data.read.arrays import read_arrays
from bench.errors import InputError

FEW = 10**6  # bytes of memory


@pytest.mark.parametrize(("save", "numbers"), [(np.savez_compressed, 10**6), (np.save, 10**6), (np.save, 10**5)])
def test_numbers_that_need_more_memory_than_there_is_are_refused(save, numbers, tmp_path, monkeypatch):
    path = tmp_path / ("a.npy" if save is np.save else "a.npz")
    save(path, np.zeros(numbers, np.int8))
    read = read_arrays(path, "a", "mend it", bytes_each=8)
    (array,) = read.values()
    assert array.shape == (numbers,)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=FEW))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"^a needs [0-9.]+ GB of memory, and there are 0\.001: give fewer numbers$"):
        read_arrays(path, "a", "mend it", bytes_each=24)
    assert tracemalloc.get_traced_memory()[1] < FEW
    tracemalloc.stop()
