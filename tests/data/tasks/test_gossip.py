"""Logistic regression of agents on a graph: the graphs, one data set for all of them, and the least loss."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from bench.data.tasks.gossip import GRAPHS, excess, gossip


@pytest.mark.parametrize(("graph", "degrees"), [("ring", {2}), ("grid", {2, 3, 4}), ("complete", {15})])
def test_graphs_are_what_they_are_called(graph, degrees):
    """What is no connected graph, `from_weights` refuses."""
    assert {*np.asarray(gossip(0, graph=graph).peers.graph.num_neighbors).tolist()} == degrees


def test_all_graphs_have_the_same_points_of_at_most_unit_length():
    tasks = [gossip(3, graph=graph) for graph in GRAPHS]
    for task in tasks:
        inputs, labels = (np.asarray(leaf).reshape(1024, -1) for leaf in task.train)
        assert np.linalg.norm(inputs, axis=1).max() <= 1 + 1e-6
        assert (inputs == np.asarray(tasks[0].train[0]).reshape(1024, -1)).all()
        assert set(np.unique(labels)) == {-1, 1}
    assert (np.asarray(gossip(4).train[0]) != np.asarray(tasks[0].train[0])).any()


def test_excess_is_the_loss_over_all_points_above_the_least_there_is():
    task = gossip(0)
    inputs, labels = (np.asarray(leaf, float).reshape(1024, -1) for leaf in task.train)

    def loss(model):
        return np.mean(np.log1p(np.exp(-labels[:, 0] * (inputs @ model))))

    best = minimize(loss, np.zeros(10), method="Powell", options={"xtol": 1e-6, "ftol": 1e-10})
    assert float(task.evaluation["least"]) == pytest.approx(best.fun, abs=1e-6)
    models = np.random.default_rng(0).standard_normal((16, 10))
    found = excess(jnp.asarray(models, jnp.float32), task)
    assert float(found["excess_loss"]) == pytest.approx(np.mean([loss(m) for m in models]) - best.fun, abs=1e-5)
    assert float(found["excess_loss_of_mean"]) == pytest.approx(loss(models.mean(0)) - best.fun, abs=1e-5)
