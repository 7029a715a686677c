"""Linear models that peers learn together: their metrics, and the classification task of Bellet et al.

Agent i holds m_i examples and its own objective L_i(theta) = (1/m_i) sum loss + lambda_i |theta|^2. Together they
minimise, with weights W over a graph, D_ii = sum_j W_ij and the confidence c_i = m_i / max_j m_j,

    Q(theta) = 1/2 sum_{i<j} W_ij |theta_i - theta_j|^2 + mu sum_i D_ii c_i L_i(theta_i).
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from bench.data.graphs import by_angle, from_weights
from bench.data.task import Linear, Peers, Task, recipe_checksum
from bench.errors import InputError, check_name
from bench.kernels.graph import confidence, roughness
from bench.models.linear import Personal, logistic, logistic_loss, personal

INSTANCES = ("test", "validation")
SIZE_BINS = (10, 20, 30, 40, 50, 60, 70, 80, 90)  # lower edges of the groups of agents by m_i; the last has no upper


# ---- Scores ----


def mean_of_real(values: Array, sizes: Array) -> Array:
    """Return the mean of the first sizes[i] entries of each row, 0 for none: [client, example] -> [client]."""
    real = jnp.arange(values.shape[1])[None] < sizes[:, None]
    return jnp.sum(jnp.where(real, values, 0.0), axis=1) / jnp.maximum(sizes, 1).astype(values.dtype)


def scores(models: Array, inputs: Array) -> Array:
    """Return <theta_i, x> of every example, [client, example]."""
    return jnp.einsum("nmp,np->nm", inputs, models, precision="highest")


def objective(params, task: Task) -> Array:
    """Return Q of the training examples with the mu of a Personal; NaN for other params, which have no mu."""
    if not isinstance(params, Personal):
        return jnp.full((), jnp.nan)
    models = personal(params, task.num_clients)
    inputs, targets = task.train
    peers = task.need(Peers)
    losses = mean_of_real(task.need(Linear).link(scores(models, inputs), targets), task.num_examples)
    objectives = losses + peers.regularization * jnp.sum(jnp.square(models), axis=1)
    pull = peers.graph.degrees * confidence(task.num_examples)
    return 0.5 * roughness(peers.graph, models) + params.mu * (pull @ objectives)


def accuracy(params, task: Task) -> dict:
    """Return the test accuracy averaged over agents, also by their number of training examples, and the objective.

    test_accuracy: mean over agents of the share of test points with <theta_i, x> y > 0.
    test_accuracy_m10 ... _m90: over the agents with 10 to 19, ..., 80 to 89, and 90 or more training examples;
        NaN where there are none.
    objective: see `objective`.

    All are NaN where a model is not finite.
    """
    models = personal(params, task.num_clients)
    inputs, labels, sizes = task.evaluation["test"]
    right = (scores(models, inputs) * labels > 0).astype(jnp.float32)
    of_agent = jnp.where(jnp.all(jnp.isfinite(models)), mean_of_real(right, sizes), jnp.nan)
    out = {"test_accuracy": jnp.mean(of_agent)}
    for lower, upper in zip(SIZE_BINS, (*SIZE_BINS[1:], math.inf), strict=True):
        within = (task.num_examples >= lower) & (task.num_examples.astype(jnp.float32) < upper)
        out[f"test_accuracy_m{lower}"] = jnp.sum(jnp.where(within, of_agent, 0.0)) / jnp.sum(within, dtype=jnp.float32)
    return out | {"objective": objective(params, task)}


# ---- Linear classification ----


def linear_p2p(
    trial: int,
    *,
    num_features: int = 100,
    num_agents: int = 100,
    instances: str = "test",
    num_examples: tuple[int, int] = (10, 100),
    num_test: int = 100,
    input_range: float = 10.0,
    label_noise: float = 0.05,
    graph_width: float = 0.1,
) -> Task:
    """Linear classification by 100 agents with individual target models; agents with similar targets are neighbours.

    Target models are N(0, 1/2) in the first two coordinates and 0 in the others, inputs uniform on [-r, r]^p, labels
    the sign of the target's score with a fixed share flipped. The weights are `graphs.by_angle` of the targets, so the
    graph is public and does not depend on training examples. Trials with the same num_features share all shapes. The
    agents and the graph of a trial are the same for every num_features.

    Two numbers are as in the published experiments, although these inputs do not satisfy them: Laplace noise is drawn
    for |gradient| <= 1, see `lipschitz` for their actual bound, and the smoothness of L_i is taken as 1 + 2 lambda_i,
    which is a bound only for |x|^2 <= 4.

    Args:
        trial: the number of the draw.
        num_features: p >= 2.
        num_agents: n >= 2.
        instances: "test" or "validation", other problems of the same kind, to tune on. Both are one compiled program.
        num_examples: smallest and largest m_i, drawn uniformly; an agent may have none, and then has lambda_i = 1.
        num_test: test points of each agent.
        input_range: r > 0.
        label_noise: of m labels exactly floor(label_noise m) are flipped, of training and of test.
        graph_width: gamma > 0.

    Raises:
        InputError: another kind of instances, a label_noise that is no share, or weights that join no graph.
    """
    if not 0 <= label_noise <= 1:
        raise InputError(f"linear_p2p: label_noise = {label_noise}: a share between 0 and 1.")
    check_name("instances", instances, INSTANCES)
    recipe = (num_features, num_agents, num_examples, num_test, input_range, label_noise, graph_width)
    rng = np.random.default_rng([trial, 0x9EE5, INSTANCES.index(instances)])
    plane = rng.normal(scale=math.sqrt(0.5), size=(num_agents, 2))
    low, high = num_examples
    sizes = rng.integers(low, high, num_agents, endpoint=True).astype(np.int32)
    train = _draw(rng, plane, sizes, high, num_features, input_range, label_noise)
    test_sizes = np.full(num_agents, num_test, np.int32)
    test = _draw(rng, plane, test_sizes, num_test, num_features, input_range, label_noise)
    regularization = 1 / np.maximum(sizes, 1)
    return Task(
        init_params=jnp.zeros(num_features),
        num_examples=jnp.asarray(sizes),
        train=jax.tree.map(jnp.asarray, train),
        evaluation={"test": jax.tree.map(jnp.asarray, (*test, test_sizes))},
        peers=Peers(
            graph=from_weights(by_angle(plane, width=graph_width), slots=slots(num_agents, graph_width)),
            regularization=jnp.asarray(regularization, jnp.float32),
            smoothness=jnp.asarray(1 + 2 * regularization, jnp.float32),
            budget=jnp.ones(num_agents),
        ),
        loss=logistic_loss,
        linear=Linear(logistic, (input_range * num_features, input_range * math.sqrt(num_features))),
        metrics=accuracy,
        name=f"linear_p2p_{num_features}",
        source="generated",
        checksum=recipe_checksum((*recipe, "one", False)),  # the last two were options once
    )


def slots(num_agents: int, graph_width: float) -> int:
    """Return the length of the neighbour lists: four deviations above the expected number, in multiples of eight.

    At the first cut, a weight of 10^(-1/2), an agent's neighbours are those of the n - 1 others within some angle of
    it.
    """
    share = math.acos(max(-1.0, 1 - graph_width * math.log(10) / 2)) / math.pi
    expected = (num_agents - 1) * share
    return 8 * math.ceil(min(expected + 4 * math.sqrt(expected * (1 - share)), num_agents - 1) / 8)


def _draw(rng, plane, sizes, capacity: int, num_features: int, input_range: float, label_noise: float):
    """Return inputs float32 [agent, capacity, feature] and labels [agent, capacity], padded with 0 and 1."""
    inputs = rng.uniform(-input_range, input_range, (len(plane), capacity, num_features)).astype(np.float32)
    score = np.einsum("nmp,np->nm", inputs[..., :2].astype(np.float64), plane)
    labels = np.where(score > 0, 1, -1).astype(np.float32)
    for row, x, size in zip(labels, inputs, sizes, strict=True):
        # A share such as 0.29 of 100 must not lose a flip to its binary fraction.
        row[rng.permutation(size)[: math.floor(label_noise * size + 1e-9)]] *= -1
        row[size:], x[size:] = 1, 0
    return inputs, labels
