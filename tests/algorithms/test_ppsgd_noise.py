"""PPSGD's noise: its size with every sampler, and what it costs global learning."""

import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases
from tiny_ppsgd import has_std, last

from bench.data.task import Task
from bench.models.additive import squared_loss


def silent_task(sizes=(4, 2, 2, 0, 0), num_features=100):
    """Inputs are 0, so every gradient is, always, and w is nothing but noise."""
    inputs, targets = (jnp.zeros((len(sizes), max(sizes), k)) for k in (num_features, 10))
    return Task(
        init_params=jnp.zeros((10, num_features)),
        num_examples=jnp.array(sizes, jnp.int32),
        train=(inputs, targets),
        loss=squared_loss,
    )


@pytest.mark.parametrize(
    ("sampler", "num_sampled", "reduce", "divisor"),
    [
        ("all", 5, "mean", 5),
        ("all", 5, "sum", 6),  # two examples of three users
        ("fixed", 3, "mean", 3),
        ("fixed", 3, "sum", 3 / 5 * 6),
        ("poisson", 2, "mean", 2),
        ("poisson", 2, "sum", 2 / 5 * 6),
        ("queue", 4, "mean", 3),  # only three users have a block
    ],
)
def test_noise_on_w_has_std_eta_w_sigma_C_over_D(sampler, num_sampled, reduce, divisor):
    """With D the number of users or examples that is expected, or present in the queue. Two thirds or one and a half
    times that is noticed."""
    args = dict(sampler=sampler, num_sampled=num_sampled, reduce=reduce, batch_size=2)
    hyper = dict(step_size=0.5, personalization=0.3, noise_multiplier=7.0, clip_norm=0.2)
    variables, info = last(silent_task(), 1, 30, **args, **hyper)
    formula = 0.3 * 0.5 * 7.0 * 0.2 / divisor
    assert has_std(variables["w"], formula)
    assert not has_std(variables["w"], formula * 2 / 3)
    assert not has_std(variables["w"], formula * 3 / 2)
    assert not variables["kept"].any()
    assert (info["released"] == 1).all()  # also in the Poisson rounds in which nobody takes part


def test_noise_is_fresh_in_every_round():
    """After T rounds its std is sqrt(T) times that of one."""
    args = dict(sampler="fixed", num_sampled=3, batch_size=2)
    hyper = dict(step_size=0.5, personalization=np.inf, noise_multiplier=1.0, clip_norm=1.0)
    w = last(silent_task(), 9, 30, **args, **hyper)[0]["w"]
    assert has_std(w, 3 * 0.5 / 3)
    assert not has_std(w, 0.5 / 3)


@pytest.mark.parametrize("noise_multiplier", cases([0.01, 0.02], slow={0.02}))
def test_the_noise_floor_of_global_learning_is_that_of_a_linear_recursion(noise_multiplier):
    """Where every user's Hessian is lambda I and nothing is clipped, w - v is stationary with variance
    s (sigma C / N)^2 / (lambda (2 - s lambda)): four times as much for twice the noise."""
    clip_norm, step, curvature = 100.0, 0.5, 0.8
    v = np.random.default_rng(0).standard_normal((1, 8)).astype(np.float32)
    x = jnp.tile(np.sqrt(8 * curvature) * jnp.eye(8), (3, 1, 1))
    task = Task(
        init_params=jnp.zeros((1, 8)),
        num_examples=jnp.full(3, 8, jnp.int32),
        train=(x, jnp.einsum("nmd,kd->nmk", x, v)),
        loss=squared_loss,
    )
    hyper = dict(personalization=np.inf, step_size=step, clip_norm=clip_norm, noise_multiplier=noise_multiplier)
    variables, info = last(
        task, 40, 400, seed=round(1e3 * noise_multiplier), sampler="all", num_sampled=3, batch_size=8, **hyper
    )
    assert not info["clipped"].any()
    floor = step * (noise_multiplier * clip_norm / 3) ** 2 / (curvature * (2 - step * curvature))
    assert has_std(variables["w"] - v, np.sqrt(floor))
    assert not has_std(variables["w"] - v, np.sqrt(floor) * 1.15)
    assert not has_std(variables["w"] - v, np.sqrt(floor) / 1.15)
