"""A shared part and a part of every client: what the loss adds up, and PPSGD with heads as the formulas have it."""

import math
from dataclasses import replace
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases

from bench import predict
from bench.algorithms import ALGORITHMS
from bench.data.task import Task
from bench.data.tasks import by_network, digits
from bench.errors import InputError
from bench.models import digits_cnn
from bench.models.additive import Additive
from bench.models.linear import Personal
from bench.models.logits import apply_of, initial_parameters, loss_of
from bench.models.parts import joined, split

USERS, EACH = 3, 4


class Small(nn.Module):
    """A representation of three features, normalised within the example, and a head."""

    @nn.compact
    def __call__(self, x):
        x = nn.LayerNorm(name="norm")(nn.tanh(nn.Dense(3, name="body")(x)))
        return nn.Dense(2, name="head")(x)


class Refused(nn.Module):
    """A network that does what no method allows for."""

    fault: str

    @nn.compact
    def __call__(self, x):
        faults = {
            "statistics of batches": lambda: nn.BatchNorm(use_running_average=False)(x),
            "mean of the batch": lambda: x - jnp.mean(x, axis=0, keepdims=True),
            "dropout": lambda: nn.Dropout(0.5, deterministic=False)(x),
            "logarithm of what may be negative": lambda: jnp.log(x),
        }
        return nn.Dense(2)(faults[self.fault]())


def small_task() -> Task:
    rng = np.random.default_rng(0)
    examples = [
        (rng.normal(size=(EACH + user, 5)).astype(np.float32), rng.integers(0, 2, EACH + user)) for user in range(USERS)
    ]
    return by_network.network_task(
        {
            "train": examples,
            "test": examples,
            "validation": examples[:1] + [(x[:0], y[:0]) for x, y in examples[1:]],
        },
        module=Small(),
        head=("head",),
        seed=3,
        name="small",
        source="made up",
        checksum="0",
    )


def test_a_missing_entry_is_nothing_and_one_that_both_have_is_added():
    shared, local = {"a": jnp.ones(2), "b": {"c": jnp.ones(3)}}, {"b": {"c": jnp.full(3, 2.0)}, "d": jnp.zeros(1)}
    whole = joined(shared, local)
    assert {name: np.asarray(jax.tree.leaves(leaf)[0]).tolist() for name, leaf in whole.items()} == {
        "a": [1, 1],
        "b": [3, 3, 3],
        "d": [0],
    }
    assert joined(shared, None) is shared
    assert joined(None, shared) is shared
    np.testing.assert_array_equal(joined(jnp.ones(2), jnp.ones(2)), [2, 2])
    representation, head = split(shared, ["b"])
    assert (list(representation), list(head)) == (["a"], ["b"])
    jax.tree.map(np.testing.assert_array_equal, joined(representation, head), shared)


@pytest.mark.parametrize(
    ("params", "entries", "words"),
    [
        (jnp.ones(2), ["a"], "dictionary"),
        ({"a": 1, "b": 2}, ["c"], "no entry 'c' for its head: name some of a, b"),
        ({"a": 1, "b": 2}, ["a", "b"], "leave a part for either"),
        ({"a": 1, "b": 2}, [], "nothing of a, b"),
    ],
)
def test_parts_that_a_model_does_not_have_are_refused(params, entries, words):
    with pytest.raises(InputError, match=words):
        split(params, entries)


@pytest.mark.parametrize("theta", cases(["none", "all", "head", "representation and head"], slow={"none"}))
def test_every_form_of_models_predicts_loses_and_is_measured_alike(theta):
    """Against a loop over users whose whole models are put together by hand."""
    task = small_task()
    start, rng = task.init_params, np.random.default_rng(1)
    moved = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=(USERS, *leaf.shape)), jnp.float32), start)
    own = {name: moved[name] for name in (["head"] if "head" in theta else start)}
    representation, _ = task.parts()
    w = representation if theta == "representation and head" else start
    params = start if theta == "none" else Additive(w, own)

    def by_hand(user):
        if theta == "none":
            return start
        mine = jax.tree.map(lambda leaf: leaf[user], own)
        if theta == "representation and head":
            return {**representation, "head": mine["head"]}
        return {name: jax.tree.map(jnp.add, part, mine[name]) if name in mine else part for name, part in start.items()}

    inputs, labels, sizes = task.evaluation["test"]
    logits = jax.jit(partial(predict, apply_of(Small())))(params, inputs)
    found, hits = jax.jit(task.metrics)(params, task), 0
    apply, loss_of_one = jax.jit(Small().apply), jax.jit(task.loss)
    for user, size in enumerate(np.asarray(sizes)):
        whole = by_hand(user)
        expected = apply({"params": whole}, inputs[user])
        np.testing.assert_allclose(logits[user], expected, atol=1e-5)
        hits += int(np.sum(np.argmax(expected[:size], -1) == np.asarray(labels)[user, :size]))
        local = None if theta == "none" else jax.tree.map(lambda leaf, u=user: leaf[u], own)
        loss = loss_of_one(w, local, (inputs[user, 0], labels[user, 0]))
        assert float(loss) == pytest.approx(float(-jax.nn.log_softmax(expected[0])[labels[user, 0]]), rel=1e-3)
    assert float(found["test_accuracy"]) == pytest.approx(hits / int(jnp.sum(sizes)))
    x, y = task.evaluation["common"]
    of_models = [np.mean(np.argmax(apply({"params": by_hand(user)}, x), -1) == np.asarray(y)) for user in range(USERS)]
    assert float(found["common_accuracy"]) == pytest.approx(float(np.mean(of_models)))
    if theta != "none":
        everybody = jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(by_hand, range(USERS)))
        np.testing.assert_allclose(predict(apply_of(Small()), Personal(everybody, 1.0), inputs), logits, atol=1e-5)
        again = jax.jit(task.metrics)(Personal(everybody, 1.0), task)
        assert float(again["test_accuracy"]) == float(found["test_accuracy"])
        broken = jax.tree.map(lambda leaf: leaf.at[0].set(jnp.nan), own)
        assert math.isnan(jax.jit(task.metrics)(Additive(w, broken), task)["test_accuracy"])


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("statistics of batches", "batch_stats"),
        ("mean of the batch", "change with the other examples"),
        ("dropout", "random numbers .*leave out dropout"),
        ("logarithm of what may be negative", "not finite"),
    ],
)
def test_networks_that_no_method_allows_for_are_refused_as_what_they_are(fault, words):
    key = jax.random.key(0)
    with pytest.raises(InputError, match=words):
        initial_parameters(Refused(fault), key, jax.random.normal(key, (3, 5)))


def squares(logits, label):
    """The loss of one class against the others, of Figure 1d."""
    return jnp.mean(jnp.square(logits - (jax.nn.one_hot(label, digits_cnn.NUM_CLASSES) - 0.1)))


@pytest.mark.slow
def test_the_head_of_ppsgd_is_that_of_figure_1d():
    """With the squared loss of its logits the network gives the rounds of the task that the figure was drawn from."""
    rng = np.random.default_rng(0)
    images = [(rng.random((EACH + 1, 784), np.float32), rng.integers(0, 10, EACH + 1)) for _ in range(USERS)]
    made = digits.Digits(images, [(x[:2], y[:2]) for x, y in images])
    theirs, ours = (
        digits.digit_task(made, model=model, name="tiny", source="made up", checksum="0", batch_size=2)
        for model in ("cnn", "network")
    )
    start = {**theirs.init_params, "head": {"kernel": theirs.init_params["head"]}}
    assert jax.tree.structure(start) == jax.tree.structure(ours.init_params)
    ours = replace(ours, init_params=start, loss=loss_of(digits_cnn.Classifier(), squares))
    args = dict(
        num_sampled=2,
        batch_size=2,
        sampler="fixed",
        step_size=0.3,
        personalization=0.5,
        clip_norm=0.1,
        noise_multiplier=0.7,
    )
    ends = []
    for task, local in ((theirs, "dense"), (ours, "head")):
        algorithm = ALGORITHMS["ppsgd"].make(task, local=local, **args)
        state = algorithm.init(jax.random.key(0))
        for t in range(2):
            state, _ = jax.jit(algorithm.round)(jax.random.key(t), state)
        ends.append(algorithm.params(state))
    one, other = ends
    np.testing.assert_allclose(other.theta["head"]["kernel"], one.theta, atol=1e-5)
    np.testing.assert_allclose(other.w["head"]["kernel"], one.w["head"], atol=1e-5)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), other.w["representation"], one.w["representation"]
    )
    assert float(jnp.max(jnp.abs(one.theta))) > 0


def test_tasks_of_all_trials_share_one_loss_and_one_metric():
    assert loss_of(Small()) is loss_of(Small())
    assert by_network.Accuracy(Small()) == by_network.Accuracy(Small())
