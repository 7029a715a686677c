"""Rounds of many users in blocks: the numbers of the whole round, its sensitivity, and the memory of a block."""

from dataclasses import replace
from functools import partial
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts import participation
from bench.data.task import Task
from bench.data.tasks.synthetic import synthetic
from bench.models.additive import squared_loss
from bench.papers.ppsgd.sweeps import SWEEPS

USERS, EACH, FEATURES = 11, 6, 3
BLOCK = 4  # so that the last block has empty places
HYPER = dict(step_size=0.2, clip_norm=1.0, noise_multiplier=0.5)
OWN = {"ppsgd": {"personalization": 0.7}, "dp_fedavg": {"server_step_size": 0.3, "num_steps": 2}}


def task_of(num_users=USERS) -> Task:
    """Least squares of users with 2 to 6 examples, of whose gradients some are clipped at 1."""
    rng = np.random.default_rng(0)
    inputs = jnp.asarray(rng.standard_normal((num_users, EACH, FEATURES)), jnp.float32)
    return Task(
        init_params=jnp.zeros(FEATURES),
        num_examples=jnp.asarray(2 + np.arange(num_users) % 5, jnp.int32),
        train=(inputs, jnp.asarray(rng.standard_normal((num_users, EACH)), jnp.float32)),
        loss=squared_loss,
    )


def as_dual(task: Task) -> Task:
    """The task with one output, as the dual form of local models has it."""
    inputs, targets = task.train
    gram = jnp.einsum("nid,njd->nij", inputs, inputs)
    return replace(task, init_params=jnp.zeros((1, FEATURES)), train=(inputs, targets[..., None]), gram=gram)


def stream(num_users=USERS) -> Task:
    """Users whose examples come fresh from a stream, which here does not read the key."""

    def sample(key, task, clients, batch_size):
        clients = jnp.arange(num_users) if clients is None else clients
        inputs = jnp.sin(clients[:, None, None] + jnp.arange(batch_size * FEATURES).reshape(1, batch_size, FEATURES))
        return inputs, 3 * jnp.cos(clients[:, None].astype(jnp.float32) * inputs[..., 0])

    return replace(task_of(num_users), train=None, sample=sample)


def in_blocks_of(size: int | None):
    """Every round is worked on in blocks of so many users; None: whole."""
    return patch.object(participation, "block_size", lambda num_users, _: min(num_users, size or num_users))


def rounds(name, task, block, number=3, **args):
    """The state and the info after some rounds in blocks of that size."""
    traced = {key: args.pop(key, value) for key, value in HYPER.items()}
    with in_blocks_of(block):
        return _rounds(task, traced, name=name, number=number, block=block, args=tuple(args.items()))


@partial(jax.jit, static_argnames=("name", "number", "block", "args"))
def _rounds(task, traced, *, name, number, block, args):
    del block  # part of what is compiled all the same
    algorithm = ALGORITHMS[name].make(task, **traced | OWN[name] | dict(args))
    keys = jax.random.split(jax.random.key(0), number)
    return jax.lax.scan(lambda state, key: algorithm.round(key, state), algorithm.init(jax.random.key(9)), keys)


def assert_close(ours, theirs):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), ours, theirs)


CASES = {
    "all": (task_of, dict(num_sampled=USERS, batch_size=EACH, sampler="all")),
    "all, of whose examples some": (task_of, dict(num_sampled=USERS, batch_size=3, sampler="all")),
    "fixed": (task_of, dict(num_sampled=9, batch_size=3, sampler="fixed")),
    "poisson": (task_of, dict(num_sampled=6, batch_size=3, sampler="poisson")),
    "queue": (task_of, dict(num_sampled=7, batch_size=2, sampler="queue", num_epochs=1)),
    "bins": (task_of, dict(num_sampled=4, batch_size=3, sampler="balls_in_bins")),
    "stream": (stream, dict(num_sampled=9, batch_size=2, sampler="fixed")),
    "stream, all": (stream, dict(num_sampled=USERS, batch_size=2, sampler="all")),
}

EASIER = ("all", "stream")  # which compute what two others do between them


# Who takes part is drawn for all methods alike: a few of the cases are enough for the second.
@pytest.mark.parametrize(
    ("name", "case"),
    [("ppsgd", case) for case in CASES if case not in EASIER]
    + [("dp_fedavg", "poisson")]
    + [pytest.param("ppsgd", case, marks=pytest.mark.slow) for case in EASIER]
    + [pytest.param("dp_fedavg", case, marks=pytest.mark.slow) for case in ("fixed", "stream")],
)
def test_in_blocks_it_is_the_whole_round(name, case):
    make, args = CASES[case]
    whole = rounds(name, make(), None, **args)
    assert 0 < np.mean(whole[1]["clipped"]) < 1
    assert_close(rounds(name, make(), BLOCK, **args), whole)


KINDS = {"local": "dual"}, {"reduce": "sum"}, {"average": True}


# All at once: a mistake in one of them is not made up for by the others.
@pytest.mark.parametrize(
    "more", [KINDS[0] | KINDS[1] | KINDS[2], *(pytest.param(one, marks=pytest.mark.slow) for one in KINDS)]
)
def test_in_blocks_it_is_the_whole_round_of_every_kind(more):
    task, args = task_of(), dict(num_sampled=6, batch_size=3, sampler="poisson") | more
    task = as_dual(task) if "local" in more else task
    assert_close(rounds("ppsgd", task, BLOCK, **args), rounds("ppsgd", task, None, **args))


def test_blocks_of_a_stream_draw_independently():
    """Two blocks of the same user's truth see other examples."""
    task = synthetic(0, num_clients=8, num_features=FEATURES, num_differing=1, delta_std=0.0, batch_size=2)
    args = dict(num_sampled=8, batch_size=2, sampler="all", noise_multiplier=0.0, personalization=0.0)
    (_, models), _ = rounds("ppsgd", task, BLOCK, number=1, **args)
    own = np.asarray(models["kept"])
    assert len(np.unique(own.round(6), axis=0)) == 8


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("user", [0, BLOCK - 1, BLOCK, USERS - 1])
def test_a_user_moves_the_sum_by_the_clipping_norm_at_the_edges_of_blocks_too(name, user):
    args = dict(num_sampled=USERS, batch_size=EACH, sampler="all", noise_multiplier=0.0)
    step = HYPER["step_size"] * OWN[name].get("personalization", 1) if name == "ppsgd" else 0.3
    x, y = task_of().train

    def model(share, clip_norm):
        """w after a round in which this user's data are long, or are nothing."""
        task = replace(task_of(), train=(x.at[user].mul(share), y.at[user].mul(share)))
        variables = rounds(name, task, BLOCK, number=1, clip_norm=clip_norm, **args)[0].variables
        return np.asarray(variables["w"], float)

    moved = np.linalg.norm(model(1e3, 0.5) - model(0.0, 0.5)) * USERS / step
    np.testing.assert_allclose(moved, 0.5, rtol=1e-4)
    assert np.linalg.norm(model(1e3, np.inf) - model(0.0, np.inf)) * USERS / step > 100


@pytest.mark.parametrize("name", cases(OWN, slow={"dp_fedavg"}))
def test_memory_does_not_grow_with_the_round(name):
    """Beyond the block, a user of the round needs a few numbers: its own, whether it is there, and a place to sort."""
    task, batch_size = task_of(4096), 5

    def needed(num_sampled, block):
        """Bytes that the program needs."""
        args = dict(num_sampled=num_sampled, batch_size=batch_size, sampler="fixed")
        algorithm = ALGORITHMS[name].make(task, **HYPER | OWN[name] | args)
        state = jax.eval_shape(algorithm.init, jax.random.key(0))
        with in_blocks_of(block):
            program = jax.jit(algorithm.round, donate_argnums=1).lower(jax.random.key(0), state).compile()
        return program.memory_analysis().temp_size_in_bytes

    few, many = 1000, 4000
    in_blocks = needed(many, 64)
    assert (in_blocks - needed(few, 64)) / (many - few) < 16
    assert (needed(many, None) - in_blocks) / many > 4 * batch_size * FEATURES  # the inputs of a user alone


def test_the_block_is_as_large_as_its_memory_allows():
    size = participation.block_size
    assert [size(n, 10**9) for n in (1, 1000, 1024)] == [1, 1000, 1024]  # as before there were blocks
    assert size(10**5, 1000) == 16384
    assert size(2000, 1000) == 2000
    assert size(10**5, 10**9) == 1
    for users, each in ((10**4, 10**4), (10**6, 44), (10**6, 1)):
        assert size(users, each) * each <= participation.BLOCK_BYTES[0]


@pytest.mark.parametrize("scale", ["smoke", "laptop", "paper"])
def test_the_rounds_of_the_sweeps_are_one_block(scale):
    """So that no number of theirs has changed with blocks."""
    entries = [entry for make in SWEEPS.values() for entry in make(scale).entries.values()]
    rounds = [entry.points["num_sampled"].max() for entry in entries if "num_sampled" in entry.points]
    assert rounds
    assert max(rounds) <= participation.WHOLE
