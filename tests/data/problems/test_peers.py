"""Linear classification by peers: the generator, its bounds, and the scores against plain loops."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from tiny_peers import with_peers

from bench.data.graphs import by_angle, from_weights
from bench.data.problems import peers
from bench.data.problems.peers import linear_p2p, objective
from bench.data.problems.tasks import TASKS
from bench.errors import InputError
from bench.models.linear import Personal

pytestmark = pytest.mark.usefixtures("quick_compilation")

N, P = 20, 5
MU = 0.04


def task_of(trial=0, **args):
    return linear_p2p(trial, **{"num_features": P, "num_agents": N, "graph_width": 0.5} | args)


def models_of(seed=0, shape=(N, P)):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def with_padding(task, value):
    """The task with other numbers where there is no example."""
    inputs, labels = task.train
    padded = jnp.arange(inputs.shape[1])[None] >= task.num_examples[:, None]
    assert bool(padded.any())
    inputs = jnp.where(padded[..., None], value, inputs)
    return replace(task, train=(inputs, jnp.where(padded, -value, labels)))


def plain_objective(task, models, mu):
    """Q by loops over pairs, agents and examples."""
    graph = task.peers.graph
    neighbors, weights = np.asarray(graph.neighbors), np.asarray(graph.weights, float)
    inputs, labels = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    total = 0.0
    for i in range(len(models)):
        for j, weight in zip(neighbors[i], weights[i], strict=True):
            total += 0.25 * weight * sum((models[i] - models[j]) ** 2)  # each pair comes twice
        loss = 0.0
        for x, y in zip(inputs[i, : sizes[i]], labels[i, : sizes[i]], strict=True):
            loss += math.log1p(math.exp(-y * sum(x * models[i]))) / sizes[i]
        ridge = 1 / max(sizes[i], 1)
        confidence = max(sizes[i], 0.01) / max(sizes)
        total += mu * weights[i].sum() * confidence * (loss + ridge * sum(models[i] ** 2))
    return total


# ---- The generator ----


def test_the_published_sizes():
    task = linear_p2p(0)
    assert task.num_clients == 100
    assert task.train[0].shape == (100, 100, 100)
    assert task.evaluation["test"][0].shape == (100, 100, 100)
    sizes = np.concatenate([linear_p2p(trial, num_features=2).num_examples for trial in range(30)])
    assert (sizes.min(), sizes.max()) == (10, 100)
    assert np.mean(sizes) == pytest.approx(55, abs=5 * 26 / np.sqrt(len(sizes)))
    assert float(task.peers.graph.degrees.mean()) == pytest.approx(1, rel=1e-5)
    degrees = [float(linear_p2p(trial, num_features=2).graph.num_neighbors.mean()) for trial in range(30)]
    assert np.mean(degrees) == pytest.approx(14.85, abs=1)  # the published one, of five graphs


def test_inputs_are_uniform_on_the_cube():
    inputs = np.asarray(task_of(num_test=4000).evaluation["test"][0]).ravel()
    assert np.abs(inputs).max() <= 10
    assert np.mean(inputs**2) == pytest.approx(100 / 3, rel=5 * 0.9 / np.sqrt(len(inputs)))
    counts = np.histogram(inputs, bins=20, range=(-10, 10))[0]
    assert np.abs(counts / len(inputs) - 0.05).max() < 5 * np.sqrt(0.05 / len(inputs))


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.29, 1.0])
def test_exactly_the_floor_of_the_share_is_flipped(noise):
    """Also in binary: 0.29 * 100 is 28.999999999999996."""
    noisy, clean = (task_of(label_noise=share, num_examples=(10, 100)) for share in (noise, 0.0))
    assert (noisy.num_examples == clean.num_examples).all()
    flips = np.sum(np.asarray(noisy.train[1] != clean.train[1]), axis=1)
    hundredths = round(100 * noise)
    np.testing.assert_array_equal(flips, np.asarray(clean.num_examples) * hundredths // 100)
    test_flips = np.sum(np.asarray(noisy.evaluation["test"][1] != clean.evaluation["test"][1]), axis=1)
    np.testing.assert_array_equal(test_flips, hundredths)


@pytest.fixture
def planes(monkeypatch):
    """The target models, in the two coordinates in which they are not 0, of each task made."""
    seen = []
    monkeypatch.setattr(peers, "by_angle", lambda plane, **args: seen.append(plane) or by_angle(plane, **args))
    return seen


def test_labels_without_flips_are_the_signs_of_the_targets_scores(planes):
    task = task_of(label_noise=0.0)
    (plane,) = planes
    real = np.arange(100) < np.asarray(task.num_examples)[:, None]
    for (inputs, labels, *_), shown in ((task.train, real), (task.evaluation["test"], np.ones((N, 100), bool))):
        assert inputs.dtype == labels.dtype == jnp.float32
        signs = np.sign(np.einsum("nmp,np->nm", np.asarray(inputs, float)[..., :2], plane))
        np.testing.assert_array_equal(np.asarray(labels)[shown], signs[shown])
        assert (np.asarray(labels)[~shown] == 1).all()
        assert (np.asarray(inputs)[~shown] == 0).all()


def test_targets_are_as_wide_as_stated_and_the_graph_is_of_their_angles(planes):
    task = linear_p2p(0, num_features=2, num_agents=500)
    (plane,) = planes
    assert np.var(plane) == pytest.approx(0.5, rel=5 * np.sqrt(2 / plane.size))
    graph = from_weights(by_angle(plane, width=0.1), slots=task.peers.graph.neighbors.shape[1])
    jax.tree.map(np.testing.assert_array_equal, task.peers.graph, graph)


def test_all_trials_both_kinds_of_instances_and_all_numbers_of_examples_are_one_program():
    def program(task):
        leaves, structure = jax.tree.flatten(task)
        return structure, [(leaf.shape, leaf.dtype, leaf.weak_type) for leaf in leaves]

    first = linear_p2p(0, num_features=2)
    for trial in range(1, 20):
        for instances in ("test", "validation"):
            assert program(linear_p2p(trial, num_features=2, instances=instances)) == program(first)


def test_validation_instances_are_other_problems():
    ours, others = task_of(), task_of(instances="validation")
    assert not np.isin(np.asarray(others.train[0]), np.asarray(ours.train[0])[np.asarray(ours.train[0]) != 0]).any()
    assert ours.num_examples.tolist() != others.num_examples.tolist()
    assert not np.array_equal(ours.graph.weights, others.graph.weights)
    jax.tree.map(np.testing.assert_array_equal, ours, task_of())


def test_the_same_agents_live_in_every_dimension():
    few, many = task_of(num_features=2), task_of(num_features=9)
    jax.tree.map(np.testing.assert_array_equal, few.graph, many.graph)
    np.testing.assert_array_equal(few.num_examples, many.num_examples)


def test_the_recipe_has_a_checksum_and_what_is_not_its_business_has_none():
    assert task_of(3).checksum == task_of(4, instances="validation").checksum
    others = [task_of(num_features=6), task_of(scaled=True), task_of(label_noise=0.1), task_of(smoothness="quarter")]
    assert len({task.checksum for task in (task_of(), *others)}) == 5
    assert [TASKS[f"linear_p2p_{p}"](0).name for p in (2, 10)] == ["linear_p2p_2", "linear_p2p_10"]


def test_neighbour_lists_have_room_for_nearly_every_draw():
    for width, count in ((0.1, 100), (0.5, 40), (10.0, 12)):
        rng = np.random.default_rng(0)
        room = peers.slots(count, width)
        drawn = [np.diff(by_angle(rng.standard_normal((count, 2)), width=width).indptr).max() for _ in range(50)]
        assert np.mean(np.array(drawn) <= room) > 0.95
        assert room <= max(2 * np.median(drawn), 16)


# ---- Bounds ----


def test_the_lipschitz_bounds_hold_at_a_corner_of_the_cube_and_are_reached():
    task = task_of()
    corner = jnp.full(P, -10.0)
    gradient = jax.grad(task.loss)(jnp.full(P, 5.0), jnp.zeros(P), (corner, jnp.ones(())))
    for order, bound in zip((1, 2), task.linear.lipschitz, strict=True):
        assert float(jnp.linalg.norm(gradient, order)) == pytest.approx(bound, rel=1e-5)
    assert task.linear.lipschitz == (10 * P, 10 * math.sqrt(P))


def test_scaled_inputs_keep_every_gradient_within_1():
    task, plain = task_of(scaled=True), task_of()
    assert task.linear.lipschitz == pytest.approx((1, 1 / math.sqrt(P)))
    np.testing.assert_allclose(task.train[0], plain.train[0] / (10 * P), rtol=1e-6)
    np.testing.assert_allclose(task.evaluation["test"][0], plain.evaluation["test"][0] / (10 * P), rtol=1e-6)
    np.testing.assert_array_equal(task.train[1], plain.train[1])
    assert float(jnp.abs(task.train[0]).sum(-1).max()) <= 1
    corner = jnp.full(P, -1 / P)
    steep = jax.grad(task.loss)(jnp.full(P, 100.0), jnp.zeros(P), (corner, jnp.ones(())))
    assert float(jnp.abs(steep).sum()) == pytest.approx(1, rel=1e-5)


def curvatures(task):
    """Largest eigenvalue of each L_i's Hessian at 0, where the logistic loss bends most."""
    inputs, _ = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.maximum(np.asarray(task.num_examples), 1)
    hessians = np.einsum("nmp,nmq->npq", inputs, inputs) / (4 * sizes[:, None, None])
    return np.linalg.eigvalsh(hessians)[:, -1] + 2 / sizes


def test_smoothness_as_published_by_a_quarter_and_true():
    sizes = np.asarray(task_of().num_examples)
    np.testing.assert_allclose(task_of().smoothness, 1 + 2 / sizes, rtol=1e-6)
    np.testing.assert_allclose(task_of(smoothness="quarter").peers.smoothness, 0.25 + 2 / sizes, rtol=1e-6)
    np.testing.assert_allclose(task_of(smoothness="data").peers.smoothness, curvatures(task_of()), rtol=1e-4)
    np.testing.assert_allclose(task_of().regularization, 1 / sizes, rtol=1e-6)


def test_the_published_smoothness_is_no_bound_for_these_inputs_but_is_for_scaled_ones():
    assert (curvatures(task_of()) > np.asarray(task_of().smoothness)).all()
    for smoothness in ("one", "quarter"):
        task = task_of(scaled=True, smoothness=smoothness)
        assert (curvatures(task) <= np.asarray(task.peers.smoothness)).all()


def test_an_agent_may_have_no_examples():
    task = task_of(num_examples=(0, 3), smoothness="data")
    empty = np.asarray(task.num_examples) == 0
    assert 0 < empty.sum() < N
    assert (np.asarray(task.peers.regularization)[empty] == 1).all()
    assert (np.asarray(task.peers.smoothness)[empty] == 2).all()
    found = task.metrics(Personal(jnp.asarray(models_of()), MU), task)
    assert float(found["objective"]) == pytest.approx(plain_objective(task, models_of(), MU), rel=1e-5)
    assert np.isfinite(float(found["test_accuracy"]))


# ---- Scores ----


@pytest.mark.parametrize("mu", [0.0, MU, 3.0])
def test_the_objective_is_that_of_plain_loops(mu):
    task, models = task_of(1), models_of(1)
    found = task.metrics(Personal(jnp.asarray(models), jnp.asarray(mu)), task)["objective"]
    assert float(found) == pytest.approx(plain_objective(task, models, mu), rel=1e-5)


def test_the_objective_needs_mu():
    task = task_of()
    assert np.isnan(task.metrics(jnp.asarray(models_of()), task)["objective"])


@pytest.mark.parametrize("form", ["personal", "matrix", "shared"])
def test_accuracy_is_the_mean_over_agents_of_right_signs(form):
    task = task_of(2, num_test=30, num_examples=(30, 100))
    inputs, labels, _ = (np.asarray(leaf) for leaf in task.evaluation["test"])
    models = models_of(2, (P,) if form == "shared" else (N, P))
    params = jnp.asarray(models)
    params = Personal(params, jnp.asarray(MU)) if form == "personal" else params
    found = task.metrics(params, task)
    sizes, right = np.asarray(task.num_examples), []
    for i in range(N):
        model = models if form == "shared" else models[i]
        right.append(np.mean([x @ model * y > 0 for x, y in zip(inputs[i], labels[i], strict=True)]))
    assert float(found["test_accuracy"]) == pytest.approx(np.mean(right), rel=1e-5)
    groups = np.minimum(sizes // 10 * 10, 90)
    for lower in range(10, 100, 10):
        group = [r for r, g in zip(right, groups, strict=True) if g == lower]
        value = float(found[f"test_accuracy_m{lower}"])
        assert value == pytest.approx(np.mean(group), rel=1e-5) if group else np.isnan(value)
    assert min(groups) == 30  # so that NaN was seen


def test_the_target_itself_is_right_but_for_the_flips():
    task = linear_p2p(0, num_features=2)
    inputs, labels = (np.asarray(leaf, float) for leaf in task.evaluation["test"][:2])
    normals = np.einsum("nmp,nm->np", inputs, labels)
    assert 0.85 < float(task.metrics(jnp.asarray(normals, jnp.float32), task)["test_accuracy"]) <= 0.95
    assert float(task.metrics(task.init_params, task)["test_accuracy"]) == 0


def test_models_that_are_not_finite_have_no_score():
    task = task_of()
    for bad in (np.nan, np.inf):
        found = task.metrics(Personal(jnp.asarray(models_of()).at[3, 1].set(bad), jnp.asarray(MU)), task)
        assert not np.isfinite([float(value) for value in found.values()]).any()


@pytest.mark.parametrize("value", [7.0, -1e20])
def test_what_pads_the_examples_has_no_effect(value):
    task = task_of()
    params = Personal(jnp.asarray(models_of()), jnp.asarray(MU))
    padded = with_padding(task, value)
    jax.tree.map(np.testing.assert_array_equal, task.metrics(params, task), task.metrics(params, padded))
    counted = replace(padded, num_examples=jnp.full(N, 100, jnp.int32))  # the check can fail: padding taken as real
    assert float(objective(params, counted)) != pytest.approx(float(objective(params, task)), rel=0.01)


def test_what_pads_the_neighbours_has_no_effect():
    task = task_of()
    wider = task.peers.graph._replace(
        **{
            name: jnp.pad(leaf, ((0, 0), (0, 9)), constant_values=3 if name == "neighbors" else 0)
            for name, leaf in task.peers.graph._asdict().items()
        }
    )
    params = Personal(jnp.asarray(models_of()), jnp.asarray(MU))
    changed = with_peers(task, graph=wider)
    assert float(objective(params, changed)) == pytest.approx(float(objective(params, task)), rel=1e-6)


def test_the_objective_of_a_small_problem_has_the_minimum_that_its_stationary_point_says():
    """Independent agents' losses pull their models together through the graph: the gradient of Q as the paper has it,

    D_ii (theta_i + mu c_i grad L_i) - sum_j W_ij theta_j, vanishes where scipy finds the minimum.
    """
    task = task_of(num_agents=6, num_features=3, input_range=1.0, graph_width=1.0, num_examples=(2, 8))
    inputs, labels = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    degrees = np.asarray(task.peers.graph.degrees, float)
    weights, neighbors = np.asarray(task.peers.graph.weights, float), np.asarray(task.peers.graph.neighbors)

    def paper_gradient(models):
        slope = np.zeros_like(models)
        for i in range(6):
            x, y = inputs[i, : sizes[i]], labels[i, : sizes[i]]
            own = -(y / (1 + np.exp(y * (x @ models[i])))) @ x / sizes[i] + 2 / sizes[i] * models[i]
            slope[i] = degrees[i] * (models[i] + MU * sizes[i] / sizes.max() * own)
            slope[i] -= weights[i] @ models[neighbors[i]]
        return slope

    found = minimize(
        lambda flat: plain_objective(task, flat.reshape(6, 3), MU),
        np.zeros(18),
        jac=lambda flat: paper_gradient(flat.reshape(6, 3)).ravel(),
        tol=1e-10,
    )
    best = float(objective(Personal(jnp.asarray(found.x.reshape(6, 3), jnp.float32), jnp.asarray(MU)), task))
    slope = jax.grad(lambda models: objective(Personal(models, jnp.asarray(MU)), task))(
        jnp.asarray(found.x.reshape(6, 3), jnp.float32)
    )
    assert np.abs(slope).max() < 1e-5
    assert best < float(objective(Personal(jnp.zeros((6, 3)), jnp.asarray(MU)), task))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"num_features": 1}, "num_features = 1: at least 2"),
        ({"num_agents": 1}, "num_agents = 1: at least 2"),
        ({"num_examples": (20, 10)}, r"num_examples = \(20, 10\)"),
        ({"num_examples": (-1, 10)}, r"num_examples = \(-1, 10\)"),
        ({"num_examples": (0, 0)}, r"num_examples = \(0, 0\)"),
        ({"num_test": 0}, "num_test = 0"),
        ({"input_range": 0.0}, "input_range = 0.0: positive"),
        ({"input_range": math.nan}, "input_range = nan: positive"),
        ({"label_noise": 1.2}, "label_noise = 1.2: a share"),
        ({"graph_width": -1.0}, "graph_width = -1.0: positive"),
        ({"instances": "tset"}, "no instances is called 'tset': did you mean test"),
        ({"smoothness": "dat"}, "no smoothness is called 'dat': did you mean data"),
        ({"graph_width": 1e-5}, "components .* add edges"),
    ],
)
def test_bad_values_are_refused_in_one_line(args, said):
    with pytest.raises(InputError, match=said) as error:
        task_of(**args)
    assert "\n" not in str(error.value)


def test_a_graph_of_ones_own_takes_the_place_of_the_made_one():
    """The task is a plain dataclass: another graph is another leaf."""
    task = task_of()
    full = np.ones((N, N)) - np.eye(N)
    changed = with_peers(task, graph=from_weights(full))
    models = models_of()
    spread = N * np.sum((models - models.mean(0)) ** 2)  # sum over pairs of |difference|^2
    found = objective(Personal(jnp.asarray(models), jnp.asarray(0.0)), changed)
    assert float(found) == pytest.approx(spread / 2, rel=1e-5)
