"""A message that is not finite, or whose norm overflows, adds nothing to any clipped sum, and shows in none."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench.kernels import gradient, linear, linear_network, local_steps, per_example, sparse
from bench.kernels import messages as kernel
from bench.kernels.per_example import Affine, ScaledLinear
from bench.kernels.personal import Batch
from bench.kernels.platforms import made_for, unless
from bench.models.additive import squared_loss

CLIENTS, EXAMPLES, FEATURES, CLASSES = 5, 4, 6, 3
BAD = 2  # the client, or the example, whose message is not finite
WHOLE = np.random.default_rng(0).standard_normal((CLIENTS, EXAMPLES, FEATURES)).astype(np.float32)
OTHERS = np.arange(CLIENTS) != BAD
NOT_FINITE = pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])


class Layers(nn.Module):
    """One layer of each rule: products of places, gradients themselves, elementwise, and dense."""

    @nn.compact
    def __call__(self, x):
        x = Affine()(x[..., None, None])
        x = nn.tanh(nn.Conv(8, (3, 1))(x))
        x = nn.tanh(nn.Conv(2, (3, 1))(x))
        return nn.Dense(CLASSES)(x.reshape(x.shape[0], -1))


def messages(value) -> dict[str, jax.Array]:
    """Gradients of clients in two leaves, one number of one client replaced."""
    leaves = {"a": WHOLE[:, 0].copy(), "b": WHOLE[:, 1:3].copy()}
    leaves["b"][BAD, 1, 3] = value
    return jax.tree.map(jnp.asarray, leaves)


def by_clip(value, mine):
    clipped = jax.vmap(lambda tree: gradient.clip(tree, 1.0))(messages(value))
    return jax.tree.map(lambda leaf: leaf[mine].sum(0), clipped)


def summed(clip):
    return lambda value, mine: clip(jax.tree.map(lambda leaf: leaf[mine], messages(value)), 1.0)[0]


def gram_of(inputs):
    return jnp.einsum("nid,njd->nij", inputs, inputs)


def as_rows(inputs):
    """The same inputs as sparse rows."""
    return sparse.Rows(jnp.broadcast_to(jnp.arange(FEATURES), inputs.shape), inputs, FEATURES)


def of_linear(form, *, of_input=False):
    """Linear models by their residuals and inputs, one of which is not finite."""

    def total(value, mine):
        inputs, residuals = WHOLE.copy(), WHOLE[..., :2].copy()
        (inputs if of_input else residuals)[BAD, 1, 0] = value
        inputs, residuals = jnp.asarray(inputs[mine]), jnp.asarray(residuals[mine])
        return kernel.linear(form(inputs), residuals, gram_of(inputs)).clipped_sum(1.0)

    return total


STEPS = local_steps.LocalSteps(0.1, 2)


def of_users(form, *, of_input=False):
    """The changes of users in two steps, one of whom has a target, or an input, that is not finite."""

    def total(value, mine):
        inputs, targets = WHOLE.copy(), np.zeros((CLIENTS, EXAMPLES, 1), np.float32)
        (inputs if of_input else targets)[BAD, 1, 0] = value
        inputs, targets = jnp.asarray(inputs[mine]), jnp.asarray(targets[mine])
        rows = jnp.broadcast_to(jnp.arange(EXAMPLES), inputs.shape[:2])
        if form == "linear":
            batch = Batch(None, rows, (inputs, targets), jnp.full(inputs.shape[:2], 0.25))
            found = local_steps.dual(gram_of(inputs), STEPS, jnp.ones((1, FEATURES)), batch)
        else:
            batch = Batch(None, rows, (inputs, targets[..., 0]), jnp.full(inputs.shape[:2], 0.25))
            found = local_steps.dense(squared_loss, jnp.zeros(FEATURES), STEPS, jnp.ones(FEATURES), batch)
        assert np.isfinite(found.norms).all()
        return found.clipped_sum(1.0), found.weighted_sum(1 / (1 + found.norms))

    return total


def of_examples(order, *, of_input=False):
    def total(value, mine):
        inputs, targets = WHOLE[:, 0].copy(), np.zeros((CLIENTS, 1), np.float32)
        (inputs if of_input else targets)[BAD, 0] = value
        inputs, targets = linear.finite_rows(jnp.asarray(inputs[mine])), jnp.asarray(targets[mine, 0])
        link = lambda score, target: jnp.square(score - target) / 2  # noqa: E731
        weight = jnp.full(len(inputs), 0.5)
        return linear.clipped_gradient(link, jnp.ones(FEATURES), inputs, targets, weight, 1.0, order)

    return total


def of_network(network, *, per_layer=False, in_batches=False):
    """Examples of a network, one of which has a pixel that is not finite."""

    def total(value, mine):
        inputs = WHOLE[:, 0].copy()
        inputs[BAD, 3] = value
        inputs, labels = jnp.asarray(inputs[mine]), jnp.arange(len(inputs[mine])) % CLASSES * 0
        params = jax.tree.map(lambda leaf: leaf + 0.5, network.init(jax.random.key(0), inputs[:1])["params"])
        if in_batches:
            rows = jnp.arange(len(inputs))
            return per_example.clipped_gradient_of_rows(network, params, (inputs, labels), rows, len(rows), 0.1)[0]
        weight = jnp.full(len(inputs), 0.5)
        return per_example.clipped_gradient_sum(network, params, inputs, labels, weight, 0.1, per_layer=per_layer)[0]

    return total


def of_classifier(value, mine):
    """A linear classifier whose slopes are not finite for one example, since its logits overflow."""
    inputs = WHOLE[:, 0].copy()
    inputs[BAD] = np.where(np.isfinite(value), 3e38, 1e38)
    model = linear_network.Linear(jnp.full((CLASSES, FEATURES), 9.0), jnp.zeros(CLASSES), None)
    inputs = jnp.asarray(inputs[mine])
    labels, weight = jnp.zeros(len(inputs), jnp.int32), jnp.ones(len(inputs))
    return linear_network.gradient_of(model, linear_network.clipped_sums(model, inputs, labels, weight, 1.0)[0])


SCALED = ScaledLinear(CLASSES, lambda size: nn.initializers.normal())
KERNELS = {
    "clip": by_clip,
    "clipped_sum": summed(gradient.clipped_sum),
    "clipped_sum_by_layer": summed(gradient.clipped_sum_by_layer),
    "linear messages": of_linear(jnp.asarray),
    "linear messages, inputs": of_linear(jnp.asarray, of_input=True),
    "linear messages, sparse inputs": of_linear(as_rows, of_input=True),
    "changes, any loss": of_users("loss"),
    "changes, any loss, inputs": of_users("loss", of_input=True),
    "changes, linear": of_users("linear"),
    "changes, linear, inputs": of_users("linear", of_input=True),
    "linear, L1": of_examples(1),
    "linear, L2": of_examples(2),
    "linear, L1, inputs": of_examples(1, of_input=True),
    "linear, L2, inputs": of_examples(2, of_input=True),
    "network": of_network(Layers()),
    "network, by layer": of_network(Layers(), per_layer=True),
    "network, in batches": of_network(Layers(), in_batches=True),
    "scaled linear network": of_network(SCALED),
    "classifier": of_classifier,
}


@NOT_FINITE
@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_message_that_is_not_finite_counts_as_0(name, platform, value):
    with made_for(platform):
        everybody, without = (KERNELS[name](value, clients) for clients in (np.ones(CLIENTS, bool), OTHERS))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(everybody))
    if name.startswith(("network", "linear")) and value == 1e30:  # nothing is squared, and it is an ordinary message
        return
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6), everybody, without)


def test_one_of_many_vmapped_calls_leaves_the_others_as_they_are():
    good, bad = (jax.tree.map(lambda leaf: leaf[OTHERS], messages(0.5)), messages(np.nan))
    padded = jax.tree.map(lambda leaf: jnp.concatenate([leaf, jnp.zeros_like(leaf[:1])]), good)
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), padded, bad)
    clipped = jax.jit(jax.vmap(jax.vmap(lambda trees: gradient.clipped_sum(trees, 1.0)[0])))
    total = clipped(jax.tree.map(lambda leaf: leaf[None], both))
    alone = jax.jit(lambda trees: gradient.clipped_sum(trees, 1.0)[0])(padded)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one[0, 0], other, rtol=1e-6), total, alone)
    jax.tree.map(lambda leaf: np.testing.assert_allclose(leaf[0, 1], leaf[0, 0], rtol=1e-5), total)


@pytest.mark.parametrize(("platform", "asks"), [("cpu", True), ("cuda", False)])
def test_only_a_cpu_asks_whether_a_message_is_finite(platform, asks):
    def one(rare, x):
        return unless(rare, jnp.sin, jnp.cos, x)

    with made_for(platform):
        program = jax.jit(jax.vmap(jax.vmap(one, (0, None)))).trace(jnp.zeros((2, 3), bool), jnp.ones(2))
        text = program.lower(lowering_platforms=(platform,)).as_text()
    assert ("stablehlo.sine" in text) == asks
    assert "stablehlo.cosine" in text
    assert "stablehlo.select" not in text
