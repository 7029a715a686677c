"""Adaptive clipping: its norm finds the quantile, both its releases cost what one sum does, and NumPy says the same."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from less_noise import with_less_noise
from slow_cases import cases

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts.clipping import clipping_of
from bench.algorithms.parts.participation import Round
from bench.audit import audit
from bench.audit.text import text_of
from bench.data.tasks.synthetic import synthetic
from bench.errors import InputError
from bench.privacy.accounting import epsilon
from bench.privacy.events import sums_in_one_round

TASK = synthetic(0, num_clients=40, num_features=6, batch_size=3)
ARGS = dict(num_sampled=40, batch_size=3, sampler="all", step_size=1e-3, clip_norm=0.1)


def of(z: float, m: int, quantile: float = 0.5):
    return clipping_of("adaptive", clip_norm=1.0, noise_multiplier=jnp.float32(z), num_sampled=m, quantile=quantile)


def noise_on_count(z: float, m: int) -> float:
    """sigma_b, from how far the norm moves when nobody answers."""
    clips, nobody = of(z, m), Round(float(m), jnp.float32(0), jnp.bool_(True), float(m))
    keys = jax.random.split(jax.random.key(0), 20_000)
    norms = jax.vmap(lambda key: clips.update(key, jnp.float32(1.0), jnp.float32(0), nobody))(keys)
    return float(jnp.std(jnp.log(norms))) * m / 0.2


@pytest.mark.parametrize(("z", "m"), [(0.7, 100), (3.0, 100), (8.0, 100), (30.0, 20)])
def test_both_noises_together_cost_one_sum_with_the_noise_that_is_declared(z, m):
    """The count, shifted by 1/2, moves by 1/2; the sum, in units of C, by 1."""
    found = float(of(z, m).noise_scale(jnp.float32(1.0))), 2 * noise_on_count(z, m)
    assert sums_in_one_round(*found) == pytest.approx(z, rel=0.01)
    assert found[1] / 2 == pytest.approx(max(m / 20, z), rel=0.02)  # as published wherever that leaves three quarters


def test_without_noise_there_is_none():
    assert float(of(0.0, 50).noise_scale(jnp.float32(2.0))) == 0
    assert noise_on_count(0.0, 50) == 0
    assert sums_in_one_round(0.0, 3.0) == 0


@partial(jax.jit, static_argnames="name")
def reported(name, quantile):
    """What 300 rounds report."""
    extra = {"server_step_size": 1e-3} if name == "dp_fedavg" else {"personalization": 1.0}
    algorithm = ALGORITHMS[name].make(
        TASK, **ARGS, **extra, noise_multiplier=0.1, clipping="adaptive", quantile=quantile
    )

    def step(state, key):
        return algorithm.round(key, state)

    keys = jax.random.split(jax.random.key(1), 300)
    return jax.lax.scan(step, algorithm.init(jax.random.key(0)), keys)[1]


@pytest.mark.parametrize("quantile", cases([0.2, 0.5, 0.8], slow={0.8}))
@pytest.mark.parametrize("name", cases(["dp_fedavg", "ppsgd"], slow={"ppsgd"}))
def test_the_norm_comes_to_clip_so_many(name, quantile):
    info = reported(name, quantile)
    assert float(info["clipped"][150:].mean()) == pytest.approx(1 - quantile, abs=0.04)
    assert float(info["norm_clipped_at"][-1]) > 0.2  # it began at 0.1


def test_a_run_is_the_same_in_numpy():
    """Algorithm 1 without noise, on users whose messages are known: gradients of a linear loss."""
    rng = np.random.default_rng(2)
    inputs = rng.standard_normal((5, 1, 3)) * np.array([0.2, 0.5, 1.0, 2.0, 4.0]).reshape(5, 1, 1)
    from toy_problems import task_of

    from bench.audit.tasks import product, product_loss

    task = task_of(inputs, np.ones((5, 1)), product, product_loss)
    args = dict(num_sampled=5, batch_size=1, sampler="all", step_size=1.0, server_step_size=0.5, clip_norm=0.3)
    algorithm = ALGORITHMS["dp_fedavg"].make(task, **args, noise_multiplier=0.0, clipping="adaptive", quantile=0.6)
    one_round = jax.jit(algorithm.round)
    state, norm, w = algorithm.init(jax.random.key(0)), 0.3, np.zeros(3)
    for t in range(12):
        state, info = one_round(jax.random.key(t), state)
        lengths = np.linalg.norm(inputs[:, 0], axis=1)
        w = w - 0.5 * (inputs[:, 0] * np.minimum(1, norm / lengths)[:, None]).sum(0) / 5
        norm = norm * np.exp(-0.2 * ((lengths <= norm).mean() - 0.6))
        np.testing.assert_allclose(algorithm.params(state), w, rtol=1e-5)
        np.testing.assert_allclose(info["norm_clipped_at"], norm, rtol=1e-5)


@pytest.mark.parametrize("sampler", ["poisson", "cyclic"])
def test_epsilon_is_that_of_a_fixed_norm(sampler):
    method, args = ALGORITHMS["dp_fedavg"], ARGS | {"sampler": sampler, "num_sampled": 10, "server_step_size": 1.0}
    fixed, adaptive = (
        method.readings(TASK, delta=1e-5, noise_multiplier=2.0, **args, clipping=one) for one in ("fixed", "adaptive")
    )
    assert {name: epsilon(one, 9) for name, one in fixed.items()} == {
        name: epsilon(one, 9) for name, one in adaptive.items()
    }


def test_learning_alone_with_a_public_norm_is_not_silent():
    args = dict(num_sampled=10, batch_size=3, sampler="poisson", personalization=0.0, noise_multiplier=2.0)
    method = ALGORITHMS["ppsgd"]
    assert epsilon(method.readings(TASK, delta=1e-5, **args)["paper"], 5) == 0
    assert epsilon(method.readings(TASK, delta=1e-5, **args, clipping="adaptive")["paper"], 5) > 0


REFUSED = {
    "no clipping is called 'adaptiv': did you mean adaptive": {"clipping": "adaptiv"},
    "clip_norm is inf": {"clip_norm": np.inf, "noise_multiplier": 0.0},
    "quantile is 1: it must be between 0 and 1": {"quantile": 1.0},
    "not accounted for with noise 'tree'": {"noise": "tree", "planned_rounds": 5},
}


@pytest.mark.parametrize(("said", "changes"), REFUSED.items())
def test_what_does_not_go_together_is_refused(said, changes):
    args = ARGS | {"noise_multiplier": 1.0, "clipping": "adaptive", "quantile": 0.5}
    with pytest.raises(InputError) as error:
        ALGORITHMS["dp_fedavg"].fits(TASK, **args | changes)
    assert said in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp_fedavg", "ppsgd"])
def test_the_audit_does_not_refute_it_and_does_with_half_of_its_noise(name):
    given = {"args": {"clipping": "adaptive", "sampler": "all", "num_sampled": 4}, "runs": 6000}
    found = audit(name, **given)
    assert not found.refuted, text_of(found)
    assert audit(with_less_noise(ALGORITHMS[name]), **given).refuted
