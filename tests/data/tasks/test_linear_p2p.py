"""Linear classification by peers: the generator and its bounds."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checked_task import program
from small_linear_p2p import MU, N, P, models_of, task_of
from tiny_peers import value

from bench.data.graphs import by_angle, from_weights
from bench.data.tasks import peers
from bench.data.tasks.peers import linear_p2p
from bench.data.tasks.registry import TASKS
from bench.errors import InputError
from bench.models.linear import Personal

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
    degrees = [float(linear_p2p(trial, num_features=2).peers.graph.num_neighbors.mean()) for trial in range(30)]
    assert np.mean(degrees) == pytest.approx(14.85, abs=1)  # the published one, of five graphs


def test_inputs_are_uniform_on_the_cube():
    inputs = np.asarray(task_of(num_test=4000).evaluation["test"][0]).ravel()
    assert np.abs(inputs).max() <= 10
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
    first = linear_p2p(0, num_features=2)
    for trial in range(1, 20):
        for instances in ("test", "validation"):
            assert program(linear_p2p(trial, num_features=2, instances=instances)) == program(first)


def test_validation_instances_are_other_problems():
    ours, others = task_of(), task_of(instances="validation")
    assert not np.isin(np.asarray(others.train[0]), np.asarray(ours.train[0])[np.asarray(ours.train[0]) != 0]).any()
    assert ours.num_examples.tolist() != others.num_examples.tolist()
    assert not np.array_equal(ours.peers.graph.weights, others.peers.graph.weights)
    jax.tree.map(np.testing.assert_array_equal, ours, task_of())


def test_the_same_agents_live_in_every_dimension():
    few, many = task_of(num_features=2), task_of(num_features=9)
    jax.tree.map(np.testing.assert_array_equal, few.peers.graph, many.peers.graph)
    np.testing.assert_array_equal(few.num_examples, many.num_examples)


def test_the_recipe_has_a_checksum_and_what_is_not_its_business_has_none():
    assert task_of(3).checksum == task_of(4, instances="validation").checksum
    assert len({task.checksum for task in (task_of(), task_of(num_features=6), task_of(label_noise=0.1))}) == 3
    assert [TASKS[name].make(0).name for name in ("linear_p2p_2", "linear_p2p")] == ["linear_p2p_2", "linear_p2p_10"]


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


def curvatures(task):
    """Largest eigenvalue of each L_i's Hessian at 0, where the logistic loss bends most."""
    inputs, _ = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.maximum(np.asarray(task.num_examples), 1)
    hessians = np.einsum("nmp,nmq->npq", inputs, inputs) / (4 * sizes[:, None, None])
    return np.linalg.eigvalsh(hessians)[:, -1] + 2 / sizes


def test_the_published_smoothness_is_no_bound_for_these_inputs():
    task = task_of()
    sizes = np.asarray(task.num_examples)
    np.testing.assert_allclose(task.peers.smoothness, 1 + 2 / sizes, rtol=1e-6)
    np.testing.assert_allclose(task.peers.regularization, 1 / sizes, rtol=1e-6)
    assert (curvatures(task) > np.asarray(task.peers.smoothness)).all()


def test_an_agent_may_have_no_examples():
    task = task_of(num_examples=(0, 3))
    empty = np.asarray(task.num_examples) == 0
    assert 0 < empty.sum() < N
    assert (np.asarray(task.peers.regularization)[empty] == 1).all()
    assert (np.asarray(task.peers.smoothness)[empty] == 3).all()
    found = jax.jit(task.metrics)(Personal(jnp.asarray(models_of()), MU), task)
    assert float(found["objective"]) == pytest.approx(value(task, models_of(), MU), rel=1e-5)
    assert np.isfinite(float(found["test_accuracy"]))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"label_noise": 1.2}, "label_noise = 1.2: a share"),
        ({"instances": "tset"}, "no instances is called 'tset'"),
        ({"graph_width": 1e-5}, "components .* add edges"),
    ],
)
def test_bad_values_are_refused_in_one_line(args, said):
    with pytest.raises(InputError, match=said) as error:
        task_of(**args)
    assert "\n" not in str(error.value)
