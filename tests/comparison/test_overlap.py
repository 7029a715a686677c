"""What problems say about data that their splits share, which the intervals of gains allow for."""

import numpy as np
import pytest

from bench.comparison.problem import Problem
from bench.comparison.problems import own_clients, problem_named
from bench.data.tasks import odd_even
from bench.data.tasks.school import made_up_schools
from bench.errors import InputError


def test_the_stated_overlap_is_that_of_the_tasks(tmp_path):
    schools = made_up_schools(0)
    sizes = int(schools.evaluation["count"].sum()), int(schools.num_examples.sum())
    assert problem_named("school").test_ratio == pytest.approx(sizes[0] / sizes[1], rel=0.02)
    split = problem_named("odd_even").test_ratio
    assert split == problem_named("odd_even_dirichlet").test_ratio
    assert split == pytest.approx((1 - odd_even.TRAIN) / odd_even.TRAIN)
    rng = np.random.default_rng(0)
    path = tmp_path / "mine.npz"
    np.savez(path, inputs=rng.random((400, 3)), targets=np.arange(400) % 2, clients=np.arange(400) // 100)
    own = own_clients(path)
    task = own.test(0)
    tests, trained = int(task.evaluation["test"][2].sum()), int(task.num_examples.sum())
    assert own.test_ratio == pytest.approx(tests / trained, rel=0.02)


@pytest.mark.parametrize("name", ["synthetic", "linear_p2p"])
def test_what_is_drawn_anew_shares_nothing(name):
    problem = problem_named(name)
    assert (problem.test_ratio, problem.num_tests) == (0, 0)


@pytest.mark.parametrize("name", ["few_images", "few_images_dirichlet"])
def test_images_share_their_tests(name):
    assert (problem_named(name).test_ratio, problem_named(name).num_tests) == (0, 10_000)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"test_ratio": -0.1}, "test_ratio of problem mine is -0.1: give the test examples for each"),
        ({"num_tests": -1}, "num_tests of problem mine is -1: give the number of test examples"),
        ({"num_tests": 5, "metric": "test_loss"}, "of a metric that is a share of them, an accuracy or error"),
    ],
)
def test_an_overlap_that_cannot_be_is_refused(given, said):
    fields = {"metric": "test_accuracy", "tuned_by": "validation_accuracy"} | given
    with pytest.raises(InputError) as error:
        Problem(name="mine", test=lambda trial: None, **fields)
    assert said in str(error.value)
