"""Users' gradients: the form that a task chooses, local models of another shape, and a task without a loss."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_ppsgd import stored_task

from bench.algorithms.parts.user_changes import user_gradients
from bench.errors import InputError
from bench.kernels import local_steps
from bench.kernels.personal import Batch
from bench.models.additive import squared_loss

TASK = stored_task()
WITHOUT_GRAM = dataclasses.replace(TASK, gram=None)
BATCH = Batch(jnp.arange(2), None, jax.tree.map(lambda leaf: leaf[:2, :3], TASK.train), jnp.ones((2, 3)))


def test_local_models_of_another_shape_are_held_at_0():
    """A loss of w and a number b_i beside it: at b_i = 0 the gradient in w is that of w alone."""
    beside = dataclasses.replace(
        WITHOUT_GRAM, init_local=jnp.ones(()), loss=lambda w, b, e: squared_loss(w, jnp.zeros_like(w) + b, e)
    )
    w = jax.random.normal(jax.random.key(5), TASK.init_params.shape)
    ours, plain = (user_gradients(task, w, BATCH).norms for task in (beside, WITHOUT_GRAM))
    np.testing.assert_allclose(ours, plain, rtol=1e-6)


def test_a_task_without_a_loss_is_refused():
    with pytest.raises(InputError, match="has no loss of single examples"):
        user_gradients(dataclasses.replace(WITHOUT_GRAM, loss=None), TASK.init_params, BATCH)


@pytest.mark.parametrize(("task", "form"), [(TASK, "dual"), (WITHOUT_GRAM, "dense")], ids=["gram", "no gram"])
def test_a_task_chooses_the_form(task, form, monkeypatch):
    asked = []
    for name in ("dense", "dual"):
        monkeypatch.setattr(local_steps, name, lambda *args, name=name: asked.append(name))
    user_gradients(task, task.init_params, BATCH)
    assert asked == [form]
