"""Points of a sweep placed on its tasks: what is refused, and what their identity follows from."""

import pytest
from tiny_sweeps import TASK, WALK, points_of, private_sgd, resolved, walks

from bench.errors import InputError
from bench.sweeps.spec import Entry, grid


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (grid(step_size=[0.1, 0.1]), "the same point twice, Walk with .*'step_size': 0.1"),
        (grid(step_size=[0.1], task=["synthetc"]), "did you mean synthetic"),
        (grid(step_size=[0.1], seed=[1, 2]), "have a column seed"),
        (grid(step_size=[0.1], epsilon=[1.0, 2.0]), "have a column epsilon"),
    ],
)
def test_points_that_cannot_be_told_apart_or_placed_are_refused(points, said):
    with pytest.raises(InputError, match=said):
        resolved(walks(points=points))


def test_two_names_for_one_task_do_not_hide_a_point_given_twice():
    points = grid(step_size=[0.1], task=["a", "b"])
    with pytest.raises(InputError, match="the same point twice"):
        resolved(walks(points=points, tasks={"a": TASK, "b": TASK}))


def test_more_clients_than_there_are_cannot_be_sampled():
    points = points_of(private_sgd()).assign(num_sampled=13)
    with pytest.raises(InputError, match=r"num_sampled is 13\b.*12 clients"):
        resolved(private_sgd(points=points))


def test_rounds_must_be_a_multiple_of_the_evaluations():
    with pytest.raises(InputError, match="the number of rounds of tiny is 21"):
        resolved(walks(num_rounds=21))


def test_a_points_identity_follows_from_everything_that_changes_its_rows():
    """Each change gives all points another id; what is not part of a point (seeds, notes) gives the same."""

    def ids(sweep):
        return {point.id for points in resolved(sweep).values() for point in points}

    base = ids(walks())
    assert base == ids(walks(seeds=9, notes="x"))
    assert base < ids(walks(steps=(0.1, 0.2, 0.3, 0.4, 0.5)))
    raised = WALK._replace(version=2)
    renamed = {"Other": Entry(WALK, grid(step_size=[0.1, 0.2, 0.3, 0.4]))}
    changed = [
        walks(num_rounds=25),
        walks(delta=1e-5),
        walks(tasks={"synthetic": lambda trial: TASK(trial, num_clients=13)}),
        walks(tasks={"synthetic": lambda trial: TASK(trial, delta_std=0.2)}),
        walks()._replace(entries={"Walk": Entry(raised, walks().entries["Walk"].points)}),
        walks()._replace(entries=renamed),
        walks(points=grid(step_size=[0.1, 0.2, 0.3, 0.4], panel="left")),
        walks(points=grid(step_size=[0.1, 0.2, 0.3, 0.4], noise_multiplier=2.0)),
    ]
    for sweep in changed:
        assert not base & ids(sweep)
