"""Arguments of the wrong type are one line that names them, and whatever the annotations leave open passes."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bench
from bench.errors import InputError
from bench.inputs.declared import of_declared_types


@of_declared_types
def run(
    name: str,
    *,
    seeds: int | None = None,
    delta: float = 0.1,
    fresh: bool = False,
    out: str | os.PathLike = ".",
    grid: Mapping[str, Any] | None = None,
    epsilons: float | Sequence[float] = 1.0,
    make: Callable | None = None,
):
    return name, seeds, delta, fresh, out, grid, epsilons, make


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seeds": "2"}, "seeds is '2': give a whole number or None"),
        ({"seeds": 1.5}, "seeds is 1.5: give a whole number or None"),
        ({"seeds": True}, "seeds is True: give a whole number or None"),
        ({"delta": "a"}, "delta is 'a': give a number"),
        ({"delta": None}, "delta is None: give a number"),
        ({"fresh": 1}, "fresh is 1: give True or False"),
        ({"out": None}, "out is None: give text or a path"),
        ({"grid": [1]}, r"grid is \[1\]: give a dictionary with names as keys or None"),
        ({"grid": {1: [2]}}, r"grid is \{1: \[2\]\}: give a dictionary with names as keys or None"),
        ({"epsilons": "any"}, r"epsilons is 'any': give a number or a list, each entry a number"),
        ({"epsilons": [1, "2"]}, r"epsilons is \[1, '2'\]: give a number or a list"),
        ({"name": None}, "name is None: give text"),
        ({"nosuch": 1}, r"run: got an unexpected keyword argument 'nosuch'; see help\(bench.run\)"),
    ],
)
def test_another_type_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        run(**{"name": "a"} | given)


def test_what_is_declared_passes_and_what_is_declared_otherwise_is_left_to_the_function():
    path = Path("a")
    assert run("a", seeds=3, delta=1, fresh=True, out=path, grid={"x": 1}, epsilons=(1, 2.0), make="any") == (
        ("a", 3, 1, True, path, {"x": 1}, (1, 2.0), "any")
    )


def test_numbers_of_numpy_arrive_as_those_of_python():
    given = {"seeds": np.int64(3), "delta": np.float32(0.5), "epsilons": np.array([1.0, 2.0])}
    _, seeds, delta, *_, epsilons, _ = run("a", **given)
    assert (type(seeds), type(delta), epsilons) == (int, float, [1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda out: bench.load(None), "name is None: give text"),
        (lambda out: bench.run("ppsgd_synthetic", where=5, out=out), "where is 5: give text or None"),
        (lambda out: bench.run("ppsgd_synthetic", out=None), "out is None: give text or a path"),
        (lambda out: bench.run("ppsgd_synthetic", chunk=0, out=out), "chunk is 0: it must be at least 1"),
        (lambda out: bench.compare(tuned=["a"], out=out), r"tuned is \['a'\]: give a dictionary with names"),
        (lambda out: bench.compare(delta="a", out=out), "delta is 'a': give a number or None"),
        (lambda out: bench.compare(baselines=5, out=out), "baselines is 5: give a list, each entry text or None"),
        (lambda out: bench.run("ppsgd_synthetic", grid={1: [2]}, out=out), "with names as keys"),
        (lambda out: bench.merge(None, out), "folders is None: give text or a path or a list, each entry text or a"),
        (lambda out: bench.status(5), "sweeps is 5: give text or a list, each entry text"),
        (lambda out: bench.Problem(name=5, test=len, metric="test_loss"), "name of a problem is 5: give text"),
        (lambda out: bench.Problem(name="a", test=len, metric="x", delta="b"), "delta of a problem is 'b': give a num"),
        (lambda out: bench.Problem(name="a", test=len, metric="x", also=("b", 1)), "also of a problem is"),
        (lambda out: bench.compare(task=None, out=out), "task is None: give a name"),
        (lambda out: bench.compare(task=Path("x.npz"), out=out), r"task is PosixPath\('x.npz'\): give a name"),
    ],
)
def test_the_functions_that_people_call_name_the_argument(call, said, tmp_path):
    with pytest.raises(InputError, match=said):
        call(tmp_path)
    assert not list(tmp_path.iterdir())
