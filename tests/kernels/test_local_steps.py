"""Local steps: both forms against plain loops, and the common model of methods that use them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_tags import tiny

from bench.algorithms import ALGORITHMS
from bench.kernels import local_steps
from bench.kernels.personal import Batch
from bench.models.additive import squared_loss

CLIENTS, CAPACITY, FEATURES, OUTPUTS = 6, 5, 7, 3
STEP = 0.05


@pytest.fixture(scope="module")
def drawn():
    """Stored inputs, w, and a batch of four clients, of whom one has a padded example and the last is absent."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((CLIENTS, CAPACITY, FEATURES)), rng.standard_normal((CLIENTS, CAPACITY, OUTPUTS))
    clients = jnp.asarray([4, 0, 3, 1])
    rows = jnp.stack([jnp.asarray(rng.permutation(CAPACITY)[:3]) for _ in clients])
    weight = jnp.asarray([[0.5, 0.2, 0.3], [1, 1, 1], [0.5, 0.5, 0], [0, 0, 0]], jnp.float32)
    x, y = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
    examples = (x[clients[:, None], rows], y[clients[:, None], rows])
    w = jnp.asarray(rng.standard_normal((OUTPUTS, FEATURES)), jnp.float32)
    return x, w, Batch(clients, rows, examples, weight)


def slope_at(here, batch, place):
    """The gradient of one client, example by example, in float64."""
    slope = np.zeros(here.shape)
    for weight, x, y in zip(batch.weight[place], *(leaf[place] for leaf in batch.examples), strict=True):
        slope += float(weight) * np.outer(here @ np.asarray(x, float) - np.asarray(y, float), x)
    return slope


def in_turn(w, batch, place, num_steps, proximal=None, sharpness=None, bound=(0.0, np.inf), towards=0.0):
    """Delta of one client, step by step, in float64."""
    total, w = np.zeros(w.shape), np.asarray(w, float)
    for _ in range(num_steps):
        here = w - STEP * total
        slope = slope_at(here, batch, place)
        if sharpness and np.linalg.norm(slope):
            slope = slope_at(here + sharpness * slope / np.linalg.norm(slope), batch, place)
        slope = slope + (proximal or 0.0) * (here - w)
        if np.linalg.norm(here - w) > STEP * bound[1]:
            slope = slope + bound[0] * (here - w)
        total = total + slope + towards
    return total


def forms(x, num_steps, towards=None, **how):
    """(w, batch) -> Messages, by both forms."""
    nothing = jnp.zeros((OUTPUTS, FEATURES))
    gram = jnp.einsum("nid,njd->nij", x, x)
    local = local_steps.LocalSteps(STEP, num_steps, **how)
    return (
        lambda w, batch: local_steps.dense(squared_loss, nothing, local, w, batch, towards),
        lambda w, batch: local_steps.dual(gram, local, w, batch, towards),
    )


@pytest.mark.parametrize(
    "objective", [{}, {"proximal": 0.7}, {"sharpness": 0.5}, {"bound": 3.0}, {"proximal": 0.7, "sharpness": 0.5}]
)
@pytest.mark.parametrize("num_steps", [1, 4])
def test_both_forms_are_the_steps_of_every_client_in_turn(drawn, num_steps, objective):
    x, w, batch = drawn
    far = 0.8 * float(np.linalg.norm(in_turn(w, batch, 0, 2)))  # after two steps a message is longer than that
    if "bound" in objective:
        objective = {"bound": (objective["bound"], far)}
    each = [in_turn(w, batch, place, num_steps, **objective) for place in range(4)]
    if num_steps > 1 and objective:
        assert not np.allclose(each[0], in_turn(w, batch, 0, num_steps), rtol=1e-3)
    norms = np.array([np.linalg.norm(delta) for delta in each])
    assert norms[-1] == 0 < norms[:3].min()
    clip_norm = far if "bound" in objective else float(norms[:3].mean())  # clips some of them
    total = sum(delta / max(1.0, norm / clip_norm) for delta, norm in zip(each, norms, strict=True))
    for form in forms(x, num_steps=num_steps, **objective):
        sent = form(w, batch)
        np.testing.assert_allclose(sent.clipped_sum(clip_norm), total, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(sent.norms, norms, rtol=1e-4, atol=2e-3)  # an allowance for rounding is added
        assert (sent.norms >= norms * (1 - 1e-6)).all()  # too small a norm would leave a message too long
        np.testing.assert_allclose(sent.each(), each, rtol=1e-4, atol=1e-4)
        factors = jnp.asarray([2.0, -1.0, 3.0, 1.0])
        np.testing.assert_allclose(sent.weighted_sum(factors), np.tensordot(factors, each, 1), rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("objective", [{}, {"proximal": 0.7}, {"sharpness": 0.5}])
@pytest.mark.parametrize("num_steps", [1, 4])
def test_a_vector_of_each_client_is_added_to_all_its_gradients(drawn, num_steps, objective):
    x, w, batch = drawn
    towards = jnp.asarray(np.random.default_rng(1).standard_normal((4, OUTPUTS, FEATURES)), jnp.float32)
    each = [in_turn(w, batch, i, num_steps, **objective, towards=np.asarray(towards[i], float)) for i in range(4)]
    for form in forms(x, num_steps, towards, **objective):
        np.testing.assert_allclose(form(w, batch).each(), each, rtol=1e-4, atol=1e-4)


def test_what_is_sent_instead_is_the_same_in_both_forms(drawn):
    """Half of the outputs, doubled; the norm that is clipped is that of the message."""
    x, w, batch = drawn
    each = np.array([2 * in_turn(w, batch, place, 3) * np.array([[1], [0], [1]]) for place in range(4)])
    norms = np.linalg.norm(each.reshape(4, -1), axis=1)
    clip_norm = float(norms[:3].mean())
    total = np.sum(each / np.maximum(1.0, norms / clip_norm)[:, None, None], axis=0)
    common = jnp.asarray([[2.0], [0.0], [2.0]])
    for form in forms(x, 3):
        ours = form(w, batch).map(jnp.multiply, common)
        np.testing.assert_allclose(ours.clipped_sum(clip_norm), total, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(ours.norms, norms, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", [0, 1], ids=["dense", "dual"])
def test_a_client_moves_the_sum_by_no_more_than_the_clipping_norm(drawn, form):
    x, w, batch = drawn
    steps = forms(x, num_steps=4)[form]
    small = 0.01
    without = batch._replace(weight=batch.weight.at[1].set(0.0))
    moved = steps(w, batch).clipped_sum(small) - steps(w, without).clipped_sum(small)
    np.testing.assert_allclose(jnp.linalg.norm(moved), small, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("dp_fedprox", {"proximal": 0.5}),
        ("dp_fedsam", {"sharpness": 0.1}),
        *(
            pytest.param(name, more, marks=pytest.mark.slow)
            for name, more in [
                ("dp_fedavg", {}),
                ("dp_fedopt", {"optimiser": "adam"}),
                ("dp_fedblur", {"bound": 1.0}),
                ("dp_fedblur", {"bound": 1.0, "kept": 0.4}),
                ("dp_fedsmp", {}),
                ("dp_fedls", {"smoothing_strength": 0.5}),
            ]
        ),
    ],
)
def test_methods_learn_the_same_model_of_sparse_inputs_in_either_form(name, more):
    task = tiny()
    args = {"num_sampled": 3, "batch_size": 4, "sampler": "poisson", "num_steps": 3, "step_size": 0.5}
    args |= {"server_step_size": 0.5, "clip_norm": 0.05, "noise_multiplier": 0.2, **more}
    ends = []
    for form in (task, dataclasses.replace(task, gram=None)):
        algorithm = ALGORITHMS[name].make(form, **args)
        state, one_round = algorithm.init(jax.random.key(0)), jax.jit(algorithm.round)
        for t in range(4):
            state, info = one_round(jax.random.key(t), state)
        assert 0 < info["clipped"] <= 1
        ends.append(algorithm.params(state))
    assert float(jnp.abs(ends[0]).max()) > 1e-2
    np.testing.assert_allclose(*ends, rtol=1e-4, atol=1e-5)
