"""What the tests of comparisons share: a small problem beside the real ones, and a comparison that is run."""

import pytest
from listed_tasks import put
from tiny_comparison import TWIN, compared, problem, renamed

from bench.algorithms import ALGORITHMS


@pytest.fixture(scope="package", autouse=True)
def tiny():
    """The small problem, called "tiny", which a board may have."""
    with pytest.MonkeyPatch.context() as patch:
        put(patch, "tiny", problem, board=5)
        yield


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="package")
def twin(tmp_path_factory, tiny):
    """A comparison of a method that is exactly a built-in one, called "renamed", with the baselines.

    Several modules look at it: they change neither it nor its folder, `twin.plan.request.out`.
    """
    return compared([renamed(ALGORITHMS["ppsgd"])], **TWIN, out=tmp_path_factory.mktemp("twin"))
