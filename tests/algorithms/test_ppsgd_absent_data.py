"""Padded examples and clients that do not take part have no effect on PPSGD."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_ppsgd import UNEQUAL, last, stored_task


def with_garbage(task, where):
    """The task with other, large numbers in the examples where the mask [client, example] says so."""
    rng = np.random.default_rng(9)
    mask = jnp.asarray(where)[..., None]
    train = tuple(
        jnp.where(mask, jnp.asarray(100 * rng.standard_normal(leaf.shape), jnp.float32), leaf) for leaf in task.train
    )
    return dataclasses.replace(task, train=train, gram=jnp.einsum("nid,njd->nij", train[0], train[0]))


@pytest.mark.parametrize(
    ("sampler", "num_sampled", "batch_size", "local"),
    [("all", 6, 4, "dense"), ("all", 6, 9, "dual"), ("poisson", 3, 4, "dual"), ("queue", 3, 2, "dense")],
)
def test_a_padded_example_has_no_effect(sampler, num_sampled, batch_size, local):
    task = stored_task()
    other = with_garbage(task, np.arange(9) >= np.array(UNEQUAL)[:, None])
    args = dict(sampler=sampler, num_sampled=num_sampled, batch_size=batch_size, local=local)
    ours, theirs = (last(t, 5, 2, **args)[0] for t in (task, other))
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)
    with pytest.raises(AssertionError):  # the comparison can fail
        jax.tree.map(
            np.testing.assert_array_equal, ours, last(with_garbage(task, np.ones((6, 9), bool)), 5, 2, **args)[0]
        )


@pytest.mark.parametrize(("sampler", "local"), [("fixed", "dense"), ("poisson", "dual")])
def test_a_client_that_does_not_take_part_neither_moves_nor_matters(sampler, local):
    task = stored_task()
    args = dict(sampler=sampler, num_sampled=2, batch_size=2, local=local)
    before = last(task, 1, 10, **args)[0]
    absent = ~before["kept"].any((2, 3))  # [key, client]; everybody who takes part moves
    assert absent.any()
    assert not absent.all()
    for key in range(10):
        mask = np.broadcast_to(absent[key][:, None], (6, 9))
        after = last(with_garbage(task, mask), 1, 10, **args)[0]
        np.testing.assert_array_equal(before["w"][key], after["w"][key])
        np.testing.assert_array_equal(before["kept"][key], after["kept"][key])
