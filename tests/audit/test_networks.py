"""The audit of DP-SGD on convolutional networks: wrong norms of layers, and examples that several clients hold."""

import functools

import jax
import numpy as np
import pytest

from bench.algorithms import ALGORITHMS
from bench.audit import audit
from bench.audit.subject import data_of, run, subject_of
from bench.audit.tasks import FAMILIES, SHAPES, canary
from bench.audit.text import text_of
from bench.kernels import per_example
from bench.privacy.events import ADD_OR_REMOVE

METHOD = ALGORITHMS["dpsgd_fedavg"]
QUICK: dict = {"runs": 6000, "rounds": 2}
IN_EVERY_BATCH = {"batch_size": 4}  # of four examples, where most of the epsilon shows


def reading(found, name):
    return next(finding for finding in found.findings if finding.reading == name)


def squares(task) -> dict[str, np.ndarray]:
    """The squared length of each layer's part of the gradient of every example that a client holds, [place]."""
    examples = jax.tree.map(lambda leaf: leaf[task.train.ravel()], task.network.pool)
    each = jax.vmap(lambda one: jax.grad(task.loss)(task.init_params, None, one))(examples)
    return {
        layer: sum(np.square(np.asarray(leaf)).reshape(len(leaf), -1).sum(1) for leaf in jax.tree.leaves(part))
        for layer, part in each.items()
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("family", "holders"), [("convolutions", 1), ("copies", 4)])
def test_only_canaries_have_a_gradient_and_every_layer_has_a_share_of_it(family, holders, shape):
    task = FAMILIES[family].task(canary(shape), np.array(True))
    held = np.flatnonzero(np.asarray(task.train) == 0)
    assert len(held) == holders
    parts = squares(task)
    whole = sum(parts.values())
    assert np.delete(whole, held).max() < 1e-20
    assert whole[held].min() > 5**2  # far above the clipping norm of 1
    assert min(part[held].min() / whole[held].max() for part in parts.values()) > 0.02


@pytest.mark.slow
def test_the_server_sees_every_client():
    one = subject_of(METHOD, family="convolutions", rounds=2, delta=1e-5, args={})
    seen = run(one, data_of(one, ADD_OR_REMOVE, "axis", 0), jax.random.split(jax.random.key(0), 2)).changes
    numbers = sum(
        leaf.size for leaf in jax.tree.leaves(FAMILIES["convolutions"].task(canary("axis"), np.array(True)).init_params)
    )
    assert seen.shape == (2, 3, 4 * numbers)


@pytest.mark.slow
def test_a_network_of_convolutions_is_audited_as_others_are():
    right = audit(METHOD, family="convolutions", **QUICK)
    assert not right.refuted, text_of(right)
    assert (
        max(bound.lower_bound / bound.declared for bound in reading(right, "paper").bounds if bound.declared > 0) > 0.2
    )


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["_product", "_elementwise"])
def test_a_norm_that_leaves_out_the_gradients_of_a_kind_of_layer_is_refuted(rule, monkeypatch):
    right = getattr(per_example, rule)

    def wrong(*args, **kwargs):
        square, total = right(*args, **kwargs)
        return 0.04 * square, total

    @functools.wraps(METHOD.make)
    def made(*args, **kwargs):  # another function, so that nothing compiled before is taken
        return METHOD.make(*args, **kwargs)

    monkeypatch.setattr(per_example, rule, wrong)
    assert audit(METHOD._replace(make=made), family="convolutions", args=IN_EVERY_BATCH, **QUICK).refuted


@pytest.mark.slow
def test_an_example_that_several_clients_hold_costs_more_than_at_one():
    """The epsilon of one client does not hold for it, and that of as many releases as there are holders does."""
    found = audit(METHOD, family="copies", epsilon=4.0, args=IN_EVERY_BATCH, **QUICK)
    assert not reading(found, "paper").release.sound
    assert reading(found, "paper").refuted
    assert reading(found, "worst").release.sound
    assert not reading(found, "worst").refuted
