"""What the tests of comparisons share: a small problem beside the real ones, and a comparison that is run."""

import pytest
from tiny_comparison import TWIN, compared, problem, under_another_name

from bench.algorithms import ALGORITHMS
from bench.comparison.problems import PROBLEMS


@pytest.fixture(scope="package", autouse=True)
def tiny():
    """The small problem, called "tiny"."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROBLEMS, "tiny", problem)
        yield


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def twin(out, tiny):
    """A comparison of a method that is exactly a built-in one, called "renamed", with the baselines."""
    original = ALGORITHMS["ppsgd"]

    def renamed(task, **args):
        return original.make(task, **args)

    method = original._replace(make=under_another_name(original.make, renamed))
    return compared([method], **TWIN, out=out)
