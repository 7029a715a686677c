"""DP-FedSAM, BLUR and LUS, Fed-SMP and DP-Fed-LS: what they coincide with, and a second time in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rounds import states
from slow_cases import cases

from bench.algorithms import ALGORITHMS
from bench.algorithms.dp_fedls import smoothing
from bench.algorithms.parts.sparse_messages import largest, number_kept
from bench.data.tasks.synthetic import synthetic
from bench.kernels.messages import formed
from bench.privacy.accounting import epsilon

FEATURES = 40
COMMON = dict(
    num_sampled=4,
    batch_size=3,
    step_size=0.1,
    clip_norm=0.5,
    noise_multiplier=0.5,
    sampler="fixed",
    num_steps=3,
    server_step_size=0.2,
)
TASK = synthetic(0, num_clients=10, num_features=FEATURES, batch_size=3)
PLAIN = {
    "dp_fedsam": {"sharpness": 0.0},
    "dp_fedblur": {"bound": 0.0},
    "dp_fedsmp": {"kept": 1.0},
    "dp_fedls": {"smoothing_strength": 0.0},
}
OTHER = {
    "dp_fedsam": {"sharpness": 0.5, "kept": 0.3},
    "dp_fedblur": {"bound": 2.0, "kept": 0.3},
    "dp_fedsmp": {"kept": 0.3},
    "dp_fedls": {"smoothing_strength": 2.0},
}


def path(name: str, num_rounds: int = 6, task=TASK, **args) -> np.ndarray:
    """w after every round, [1 + round, feature]."""
    algorithm = ALGORITHMS[name].make(task, **COMMON | args)
    return np.stack([np.asarray(algorithm.params(state), float) for state in states(algorithm, num_rounds)])


@pytest.mark.parametrize("name", cases(PLAIN, slow={"dp_fedls", "dp_fedblur", "dp_fedsmp"}))
def test_without_what_is_their_own_they_are_fedavg(name):
    np.testing.assert_allclose(path(name, **PLAIN[name]), path("dp_fedavg"), rtol=1e-5, atol=1e-7)
    assert not np.allclose(path(name, **OTHER[name]), path("dp_fedavg"), rtol=1e-2)


def test_a_penalty_on_long_messages_changes_nothing_where_none_is_clipped():
    free = {"clip_norm": np.inf, "noise_multiplier": 0.0}
    np.testing.assert_allclose(path("dp_fedblur", bound=5.0, **free), path("dp_fedavg", **free), rtol=1e-5)


ALSO = {"dp_fedopt": {"optimiser": "yogi"}, "dp_fedprox": {}}
KEPT = {  # by users: what they keep is no message
    "ppsgd": {"personalization": np.inf},
    "fine_tuning": {"local_step_size": 0.2, "own_steps": 50},
    "dp_fedrep": {"local_step_size": 0.2},
}


@pytest.mark.parametrize("name", [*PLAIN, *ALSO, *KEPT])
def test_privacy_is_that_of_fedavg(name):
    """Whatever the server does with the noisy mean, and whatever users do with the model and keep."""
    args, own = COMMON | {"noise_multiplier": 2.0}, OTHER | ALSO | KEPT
    ours, theirs = (
        ALGORITHMS[of].readings(TASK, delta=1e-4, **args, **more) for of, more in ((name, own[name]), ("dp_fedavg", {}))
    )
    spent, of_fedavg = ({key: epsilon(one, 7) for key, one in said.items()} for said in (ours, theirs))
    assert spent == of_fedavg
    assert spent["sampler"] > spent["paper"] > 0
    assert ({one.protects_against for one in ours.values()} == {"all other users together"}) == (name in KEPT)


def first_round(name: str, **args) -> tuple[np.ndarray, np.ndarray]:
    """What everybody adds up and the noise of the first round in units of a gradient: w moves by minus both."""
    both = path(name, 1, server_step_size=1.0, **args)[1]
    sums = path(name, 1, server_step_size=1.0, **args | {"noise_multiplier": 0.0})[1]
    return -sums, sums - both


@pytest.mark.parametrize("noise", cases(["independent", "banded_sqrt"], slow={"banded_sqrt"}))
def test_random_sparsification_has_noise_where_messages_may_be_and_nowhere_else(noise):
    """The expected squared length of the noise is k / d of that of FedAvg, and its standard deviation the same."""
    args = {"kept": 0.3, "sampler": "cyclic", "noise": noise, "noise_multiplier": 50.0}
    sums, drawn = first_round("dp_fedsmp", **args)
    there = drawn != 0
    assert there.sum() == number_kept(0.3, FEATURES) == 12
    assert (sums[~there] == 0).all()
    assert (sums[there] != 0).all()
    _, whole = first_round("dp_fedavg", **{key: value for key, value in args.items() if key != "kept"})
    np.testing.assert_allclose(drawn[there], whole[there], rtol=1e-4)


def test_random_coordinates_are_new_in_every_round_and_alike_for_all_users_and_points():
    moved = np.diff(path("dp_fedsmp", 30, kept=0.3), axis=0) != 0
    assert (moved.sum(1) == 12).all()
    assert len({tuple(row) for row in moved}) == 30
    assert moved.any(0).all()
    other = np.diff(path("dp_fedsmp", 30, kept=0.3, step_size=0.05, clip_norm=0.1), axis=0) != 0
    np.testing.assert_array_equal(moved, other)


@pytest.mark.parametrize("name", cases(["dp_fedsam", "dp_fedblur"], slow={"dp_fedblur"}))
def test_private_sparsification_has_noise_everywhere(name):
    """Which numbers a user keeps depends on its data, so noise must not tell."""
    _, drawn = first_round(name, kept=0.3)
    _, whole = first_round("dp_fedavg")
    np.testing.assert_allclose(drawn, whole, rtol=1e-3, atol=1e-5)


def test_the_largest_numbers_are_kept():
    sent = formed({"a": jnp.asarray([[[0.1, -3.0], [2.0, 0.0]]]), "b": jnp.asarray([[-0.5]])})
    kept = largest(sent, 0.4).each()
    np.testing.assert_array_equal(kept["a"], [[[0, -3], [2, 0]]])
    np.testing.assert_array_equal(kept["b"], [[0]])
    assert largest(sent, 1.0) is sent


def test_smoothing_solves_the_equation_of_its_docstring():
    rng = np.random.default_rng(0)
    tree = {
        "a": jnp.asarray(rng.standard_normal((3, 4)), jnp.float32),
        "b": jnp.asarray(rng.standard_normal(5), jnp.float32),
    }
    numbers = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])
    size, strength = len(numbers), 0.7
    ring = np.roll(np.eye(size), 1, axis=0) + np.roll(np.eye(size), -1, axis=0) - 2 * np.eye(size)
    expected = np.linalg.solve(np.eye(size) - strength * ring, numbers)
    found = smoothing(tree, strength)
    np.testing.assert_allclose(
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(found)]), expected, rtol=1e-4, atol=1e-5
    )
    assert jax.tree.map(jnp.shape, found) == jax.tree.map(jnp.shape, tree)


def test_smoothing_takes_most_of_the_noise_of_a_long_model_and_leaves_the_mean():
    """The paper's point: of independent noise the share mean_k 1 / (1 + 2 lambda (1 - cos(2 pi k / d)))^2 is left."""
    noise = jax.random.normal(jax.random.key(0), (4096,))
    left = float(jnp.mean(jnp.square(smoothing(noise, 3.0))))
    angles = 2 * np.pi * np.arange(4096) / 4096
    np.testing.assert_allclose(left, np.mean((1 + 6 * (1 - np.cos(angles))) ** -2.0), rtol=0.1)
    assert left < 0.25
    np.testing.assert_allclose(smoothing(jnp.ones(9), 3.0), np.ones(9), rtol=1e-5)


def one_user(name: str, **args) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """w after two rounds of one user without noise, and the user's examples in each."""
    task = synthetic(0, num_clients=1, num_features=6, batch_size=3)
    args = COMMON | dict(num_sampled=1, sampler="all", noise_multiplier=0.0, server_step_size=0.1) | args
    algorithm = ALGORITHMS[name].make(task, **args)
    state, examples = algorithm.init(jax.random.key(0)), []
    for t in range(2):
        key = jax.random.fold_in(jax.random.key(0), t)
        state, _ = algorithm.round(key, state)
        drawn = task.sample(jax.random.split(jax.random.split(key)[0])[1], task, None, 3)
        examples.append(tuple(np.asarray(leaf[0], float) for leaf in drawn))
    return np.asarray(algorithm.params(state)), examples


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("dp_fedavg", {}),
        ("dp_fedprox", {"proximal": 0.7}),
        ("dp_fedsam", {"sharpness": 0.4, "kept": 1.0}),
        ("dp_fedsam", {"sharpness": 0.4, "kept": 0.5}),
        ("dp_fedblur", {"bound": 3.0, "kept": 1.0}),
        ("dp_fedblur", {"bound": 3.0, "kept": 0.5}),
    ],
)
def test_their_local_steps_in_numpy(name, args):
    """With a server step of the users' step size, w goes where the user ends, as far as clipping lets it."""
    found, examples = one_user(name, clip_norm=0.5, **args)
    w = np.zeros(6)
    for x, y in examples:
        z = w
        for _ in range(3):
            slope = x.T @ (x @ z - y) / 3
            if name == "dp_fedsam":
                above = z + args["sharpness"] * slope / np.linalg.norm(slope)
                slope = x.T @ (x @ above - y) / 3
            elif name == "dp_fedprox":
                slope = slope + args["proximal"] * (z - w)
            elif name == "dp_fedblur" and np.linalg.norm(z - w) > 0.1 * 0.5:
                slope = slope + args["bound"] * (z - w)
            z = z - 0.1 * slope
        delta = (w - z) / 0.1
        if args.get("kept", 1) < 1:
            delta = np.where(np.abs(delta) >= np.sort(np.abs(delta))[-3], delta, 0)
        w = w - 0.1 * delta * min(1, 0.5 / np.linalg.norm(delta))
    np.testing.assert_allclose(found, w, rtol=1e-4, atol=1e-6)
