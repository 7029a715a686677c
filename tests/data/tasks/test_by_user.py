"""Accuracy by user: each number against a plain loop, absent users, ties in size, and what pooling hides."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_accuracies import plain_accuracies

from bench.data.task import Task
from bench.data.tasks.by_user import accuracies

HITS = [3, 0, 8, 40, 1, 0, 30, 5, 9, 2, 17]
COUNTS = [4, 0, 10, 50, 2, 3, 60, 5, 9, 4, 20]
SIZES = [20, 10, 50, 120, 10, 20, 130, 50, 60, 20, 120]


def found(split, hits=HITS, counts=COUNTS, sizes=SIZES, finite=True):
    """The metrics of one split, where no example of the other is right."""
    hits, counts, sizes = (jnp.asarray(x, jnp.int32) for x in (hits, counts, sizes))

    def hits_of(params, task, asked):
        return hits if asked == split else 0 * hits, counts, jnp.asarray(finite)

    task = Task(init_params=jnp.zeros(1), num_examples=sizes)
    values = jax.jit(lambda task: accuracies(hits_of, task.init_params, task))(task)
    return {name: float(value) for name, value in values.items() if name.startswith(split)}


CASES = {
    "one user without examples": (HITS, COUNTS, SIZES),
    "the worst one of ten": (range(10), [10] * 10, [1] * 10),
    "the worst two of eleven, small and large at once": (range(11), [10] * 11, [1] * 11),
}


@pytest.mark.parametrize("split", ["test", "validation"])
@pytest.mark.parametrize("case", CASES)
def test_every_number_is_that_of_a_plain_loop(split, case):
    assert found(split, *CASES[case]) == pytest.approx(plain_accuracies(split, *CASES[case]))


def test_a_user_with_few_examples_counts_as_much_as_one_with_many():
    """One large user who is always right hides, in pooled accuracy, nine small ones who never are."""
    numbers = found("test", [91] + [0] * 9, [91] + [1] * 9, [900] + [10] * 9)
    assert numbers["test_accuracy"] == pytest.approx(0.91)
    assert numbers["test_accuracy_per_user"] == pytest.approx(0.1)


def test_what_is_held_out_can_count_by_the_size_of_its_user():
    numbers = found("validation", [9, 0], [9, 1], [10, 990])
    assert numbers == pytest.approx({"validation_accuracy": 0.9, "validation_accuracy_by_size": 0.01})


@pytest.mark.parametrize("split", ["test", "validation"])
def test_a_model_that_is_not_finite_has_none_of_them(split):
    assert np.isnan(list(found(split, finite=False).values())).all()


def test_no_held_out_example_at_all_is_not_a_number():
    assert np.isnan(list(found("validation", [0, 0], [0, 0], [10, 20]).values())).all()
