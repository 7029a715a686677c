"""Logistic regression of one model by agents on a graph, or by one client with all their points, to study shared noise.

The graph is a ring, a grid or complete (after Allouah et al., ICML 2024, whose data set is a9a).
"""

import math

import jax.numpy as jnp
import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from bench.data.graphs import from_weights
from bench.data.task import Linear, Peers, Task, recipe_checksum
from bench.errors import check_name
from bench.models.linear import logistic, logistic_loss, personal

ALL_IN_ONE = "none"
GRAPHS = ("ring", "grid", "complete", ALL_IN_ONE)
NUM_AGENTS, NUM_EXAMPLES, NUM_FEATURES = 16, 64, 10
SLOPE = 6.0  # slope of the log-odds along the true model
APART = 0.5  # standard deviation of the agents' centres, in units of that of their points around them


def adjacency(graph: str) -> np.ndarray:
    """Return the adjacency matrix of the graph, bool [agent, agent].

    Args:
        graph: "ring", "grid" (square, without wrapping round) or "complete".

    Raises:
        InputError: for another graph.
    """
    check_name("graph", graph, GRAPHS[:-1])
    if graph == "complete":
        return ~np.eye(NUM_AGENTS, dtype=bool)
    places = np.arange(NUM_AGENTS)
    if graph == "ring":
        gaps = (places[:, None] - places[None]) % NUM_AGENTS
        return (gaps == 1) | (gaps == NUM_AGENTS - 1)
    rows, columns = np.divmod(places, math.isqrt(NUM_AGENTS))
    return abs(rows[:, None] - rows) + abs(columns[:, None] - columns) == 1


def gossip(trial: int, *, graph: str = "ring") -> Task:
    """16 agents with 64 points each; the means of their inputs differ, and the true model is the same for all.

    Inputs have norm at most 1, and so have the gradients of a point's loss. There is no regularisation. The points of a
    trial are the same on all graphs.

    Args:
        trial: the number of the draw.
        graph: "ring", "grid", "complete"; or "none": one client has the points of all agents.

    Raises:
        InputError: for another graph.
    """
    neighbours = None if graph == ALL_IN_ONE else adjacency(graph)
    rng = np.random.default_rng([trial, 0x6055])
    model = rng.standard_normal(NUM_FEATURES)
    model *= SLOPE / np.linalg.norm(model)
    centres = APART * rng.standard_normal((NUM_AGENTS, 1, NUM_FEATURES))
    inputs = centres + rng.standard_normal((NUM_AGENTS, NUM_EXAMPLES, NUM_FEATURES))
    inputs /= np.maximum(np.linalg.norm(inputs, axis=-1, keepdims=True), 1.0)
    likely = 1 / (1 + np.exp(-inputs @ model))
    labels = np.where(rng.random(likely.shape) < likely, 1.0, -1.0)
    smallest = least_loss(inputs.reshape(-1, NUM_FEATURES), labels.ravel())
    if neighbours is None:
        inputs, labels = inputs.reshape(1, -1, NUM_FEATURES), labels.reshape(1, -1)
    clients, examples = labels.shape
    return Task(
        init_params=jnp.zeros(NUM_FEATURES),
        num_examples=jnp.full(clients, examples, jnp.int32),
        train=(jnp.asarray(inputs, jnp.float32), jnp.asarray(labels, jnp.float32)),
        evaluation={"least": jnp.asarray(smallest, jnp.float32)},
        peers=None
        if neighbours is None
        else Peers(
            graph=from_weights(sparse.csr_matrix(neighbours.astype(float))),
            regularization=jnp.zeros(clients),
            smoothness=jnp.full(clients, 0.25),
            budget=jnp.ones(clients),
        ),
        loss=logistic_loss,
        linear=Linear(logistic, (math.sqrt(NUM_FEATURES), 1.0)),
        metrics=excess,
        name=f"gossip_{graph}",
        source="generated",
        checksum=recipe_checksum((graph, NUM_AGENTS, NUM_EXAMPLES, NUM_FEATURES, SLOPE, APART)),
    )


def least_loss(inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the least mean logistic loss of linear models on points [point, feature], labels [point], in float64."""

    def loss(model):
        margins = labels * (inputs @ model)
        slopes = -labels / (1 + np.exp(margins))
        return np.logaddexp(0, -margins).mean(), slopes @ inputs / len(labels)

    return float(minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8}).fun)


def excess(params, task: Task) -> dict:
    """Return the mean loss over the points of all agents, less the least loss of one model.

    excess_loss: of agents' own models, the mean over agents.
    excess_loss_of_mean: of the mean of their models.
    """
    inputs, labels = (leaf.reshape(-1, *leaf.shape[2:]) for leaf in task.train)
    models = personal(params, task.num_clients)

    def excess_of(models):
        return jnp.mean(logistic(jnp.einsum("mp,np->nm", inputs, models), labels[None])) - task.evaluation["least"]

    return {"excess_loss": excess_of(models), "excess_loss_of_mean": excess_of(models.mean(0, keepdims=True))}
