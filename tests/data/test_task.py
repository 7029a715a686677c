"""Every problem's Task is what its annotations say: shapes, dtypes, and one length for each named dimension."""

import jax
import jax.numpy as jnp
import pytest
import tiny_networks
import tiny_peers
import tiny_tags
from checked_task import changed, wrong_fields
from stand_in_tasks import stand_in

from bench.audit.tasks import FAMILIES
from bench.data.tasks.noise_only import nothing
from bench.data.tasks.registry import TASKS

FIRST = {getattr(of.make, "func", of.make): name for name, of in reversed(TASKS.items())}  # of each function
NAMES = (*FIRST.values(), "digits_by_style_cnn", "digits_by_style_cnn_squared", "bounded_unequal", "mnist_cnn_relu_10")
OTHERS = {
    "nothing": lambda: nothing(0),
    "tests: tags": tiny_tags.tiny,
    "tests: network": lambda: tiny_networks.task([[0, 1, 2], [3, 4, 5]]),
    **{
        f"audit: {name}": lambda family=family: family.task(jnp.eye(1, 9)[0], jnp.array(True))
        for name, family in FAMILIES.items()
    },
}


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_every_field_is_what_it_is_annotated_as(name, monkeypatch):
    task = OTHERS[name]() if name in OTHERS else stand_in(TASKS[name].make, monkeypatch)
    assert wrong_fields(task) == []


def longer(leaf, axis=0):
    return jnp.concatenate([leaf, leaf[:1] if axis == 0 else leaf[:, :1]], axis)


WRONG = {
    "train": lambda task: jax.tree.map(longer, task.train),
    "loss": lambda task: "squared",
    "peers.graph.weights": lambda task: longer(task.peers.graph.weights, 1),
}


@pytest.mark.parametrize("place", WRONG)
def test_a_field_of_another_shape_or_type_is_named(place):
    task = tiny_peers.logistic_peers()
    assert place in wrong_fields(changed(task, place, WRONG[place](task)))
