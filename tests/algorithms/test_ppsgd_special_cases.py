"""PPSGD in the special cases in which it must coincide with something simpler."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases
from tiny_ppsgd import AT_LEAST_TWO, D, K, last, stored_task

from bench.data.task import Task
from bench.models.additive import squared_loss
from bench.papers.ppsgd import reference


@pytest.mark.parametrize(("noise_multiplier", "clip_norm"), [(0.0, np.inf), (0.0, 0.1), (1.0, 10.0), (1000.0, 100.0)])
def test_local_learning_leaves_w_at_0_and_does_not_feel_noise_or_clipping(noise_multiplier, clip_norm):
    args = dict(sampler="fixed", num_sampled=3, batch_size=2, personalization=0.0)
    variables = last(stored_task(), 8, 2, noise_multiplier=noise_multiplier, clip_norm=clip_norm, **args)[0]
    assert not variables["w"].any()
    plain = last(stored_task(), 8, 2, noise_multiplier=0.0, clip_norm=np.inf, **args)[0]
    np.testing.assert_array_equal(variables["kept"], plain["kept"])
    assert np.isfinite(plain["kept"]).all()
    assert plain["kept"].any()


def test_global_learning_leaves_theta_at_0():
    args = dict(sampler="fixed", num_sampled=3, batch_size=2, personalization=np.inf)
    variables = last(stored_task(), 8, 2, **args)[0]
    assert not variables["kept"].any()
    assert variables["w"].any()


def test_fixed_size_sampling_of_everybody_is_everybody_up_to_order():
    args = dict(num_sampled=6, batch_size=9)
    ours, theirs = (last(stored_task(), 8, 2, sampler=sampler, **args)[0] for sampler in ("fixed", "all"))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), ours, theirs)


@pytest.mark.parametrize("personalization", cases([0.3, 3.0, np.inf], slow={3.0}))
def test_without_clipping_and_noise_it_is_gradient_descent_on_the_pooled_loss(personalization):
    """f(w, theta) = mean over clients of their mean loss; theta_i steps with N times its partial gradient."""
    task = stored_task()
    x, y = task.train
    sizes = task.num_examples.astype(jnp.float32)
    real = (jnp.arange(9.0)[None] < sizes[:, None]).astype(jnp.float32)

    def pooled(w, theta):
        losses = 0.5 * jnp.sum(jnp.square(jnp.einsum("nmd,nkd->nmk", x, w[None] + theta) - y), -1)
        return jnp.mean(jnp.sum(losses * real, 1) / sizes)

    eta_w, eta_theta = reference.step_sizes(0.2, personalization)
    w, theta = jnp.zeros((K, D)), jnp.zeros((6, K, D))
    for _ in range(6):
        grad_w, grad_theta = jax.grad(pooled, (0, 1))(w, theta)
        w, theta = w - eta_w * grad_w, theta - eta_theta * 6 * grad_theta
    hyper = dict(personalization=personalization, clip_norm=np.inf, noise_multiplier=0.0)
    variables = last(task, 6, 1, sampler="all", num_sampled=6, batch_size=9, **hyper)[0]
    np.testing.assert_allclose(variables["w"][0], w, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variables["kept"][0], theta, rtol=1e-4, atol=1e-6)


def test_algorithm_2_with_equal_minibatches_is_algorithm_3_with_matched_steps():
    """A sum is m times a mean: the same run has threshold m C, and a local step m times smaller."""
    args = dict(sampler="poisson", num_sampled=3, batch_size=2)
    task = stored_task(AT_LEAST_TWO)
    means = last(task, 8, 2, reduce="mean", personalization=1.0, clip_norm=0.5, **args)[0]
    sums = last(task, 8, 2, reduce="sum", personalization=2.0, clip_norm=1.0, **args)[0]
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), means, sums)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 3.0])
def test_users_with_one_truth_v_end_at_the_minimizer_of_least_alpha_norm(alpha):
    """Lemma 4.6: w = alpha N / (alpha N + 1) v and theta_i = v / (alpha N + 1), whatever their examples are.

    From 0, w = alpha sum_i theta_i always: both add up the same gradients.
    """
    rng = np.random.default_rng(0)
    v = rng.standard_normal((K, D)).astype(np.float32)
    x = jnp.asarray(rng.standard_normal((4, 20, D)), jnp.float32)
    task = Task(
        init_params=jnp.zeros((K, D)),
        num_examples=jnp.full(4, 20, jnp.int32),
        train=(x, jnp.einsum("nmd,kd->nmk", x, v)),
        loss=squared_loss,
    )
    hyper = dict(personalization=4 * alpha, step_size=0.3, clip_norm=np.inf, noise_multiplier=0.0)
    variables = last(task, 600, 1, sampler="all", num_sampled=4, batch_size=20, **hyper)[0]
    np.testing.assert_allclose(variables["w"][0], 4 * alpha / (4 * alpha + 1) * v, atol=1e-3)
    np.testing.assert_allclose(variables["kept"][0], np.tile(v / (4 * alpha + 1), (4, 1, 1)), atol=1e-3)
