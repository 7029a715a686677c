"""MR-MTL: its special cases, a NumPy loop beside it, every silo's noise, and what is declared of the dearest silo."""

import math

import dp_accounting as dp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from rounds import states
from toy_problems import EXAMPLES, least_squares

from bench.algorithms.dp_fedavg import dp_fedavg
from bench.algorithms.local_learning import local_learning
from bench.algorithms.mr_mtl import mr_mtl, releases, silo_noise
from bench.data.task import Task
from bench.kernels.gradient import gaussian_rows_like
from bench.models.additive import squared_loss
from bench.privacy.accounting import epsilon
from bench.privacy.events import REPLACE, full_gaussian

SIZES = [2, 7, 12, 9]
PLAIN = dict(step_size=0.3, regularization=0.0, clip_norm=math.inf, noise_multiplier=0.0)
PRIVATE = dict(step_size=0.3, regularization=0.7, clip_norm=0.8, noise_multiplier=1.5)


def unequal(seed=0, sizes=SIZES, features=3) -> Task:
    """Least squares in silos of these sizes; what stands behind the last record of a silo is not to be used."""
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((len(sizes), max(sizes), features))
    targets = rng.standard_normal((len(sizes), max(sizes)))
    for silo, size in enumerate(sizes):
        inputs[silo, size:], targets[silo, size:] = 1e3, -1e3
    return Task(
        init_params=jnp.zeros(features),
        num_examples=jnp.asarray(sizes, jnp.int32),
        train=(jnp.asarray(inputs, jnp.float32), jnp.asarray(targets, jnp.float32)),
        loss=squared_loss,
        name="unequal",
    )


def run(algorithm, rounds, seed=0):
    """What is public after every round."""
    found = states(algorithm, rounds, seed)
    return [jax.device_get(algorithm.public(state)) for state in found[1:]], found[-1]


# ---- Special cases ----


def test_without_pull_noise_and_clipping_it_is_local_learning():
    task = least_squares()
    args = dict(batch_size=EXAMPLES, step_size=0.3)
    own = run(mr_mtl(task, sampler="all", **PLAIN | args), 5)[0]
    alone = local_learning(task, **args)
    for mine, state in zip(own, states(alone, 5)[1:], strict=True):
        np.testing.assert_allclose(mine["own"], alone.params(state).theta, rtol=2e-6, atol=1e-7)


def test_from_the_mean_without_noise_it_is_fedavg():
    task = least_squares()
    own = run(mr_mtl(task, batch_size=EXAMPLES, sampler="all", start="mean", **PLAIN), 5)[0]
    fedavg = dp_fedavg(task, num_sampled=task.num_clients, batch_size=EXAMPLES, sampler="all", step_size=0.3,
                       clip_norm=math.inf, noise_multiplier=0.0, server_step_size=0.3)  # fmt: skip
    for mine, state in zip(own, states(fedavg, 5)[1:], strict=True):
        np.testing.assert_allclose(mine["mean"], state.variables["w"], rtol=2e-6, atol=1e-7)


# ---- A plain loop ----


def loop(task: Task, args: dict, rounds: int, seed: int = 0):
    """The method in NumPy with the draws of JAX: batches by sorting one uniform number a record, noise a step."""
    sizes = np.asarray(task.num_examples)
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    b, eta, pull, clip = args["batch_size"], args["step_size"], args["regularization"], args["clip_norm"]
    own = np.zeros((len(sizes), inputs.shape[-1]))
    mean, out = own[0].copy(), []
    sigmas = silo_noise(args["noise_multiplier"], sizes.astype(float), b, args["sampler"], np)
    for t in range(rounds):
        key = jax.random.fold_in(jax.random.key(seed), t)
        key_batches, key_noise = jax.random.split(key)
        before = own.copy()
        draws = np.asarray(jax.random.uniform(key_batches, targets.shape))
        for step in range(max(targets.shape[1] // b, 1)):
            noise = np.asarray(gaussian_rows_like(jax.random.fold_in(key_noise, step), jnp.asarray(own, jnp.float32)))
            fresh = np.asarray(jax.random.uniform(jax.random.fold_in(key_batches, step), targets.shape))
            for i, n in enumerate(sizes):
                batch = n if args["sampler"] == "all" else min(b, n)
                if step >= n // batch:
                    continue
                if args["sampler"] == "shuffled":
                    rows = np.argsort(draws[i, :n])[step * batch : (step + 1) * batch]
                else:  # at rate 1, all
                    rows = np.flatnonzero(fresh[i, :n] < np.float32(batch / n))
                total = np.zeros_like(mean)
                for row in rows:
                    g = (inputs[i, row] @ own[i] - targets[i, row]) * inputs[i, row] + pull * (own[i] - mean)
                    total += g * min(1.0, clip / np.linalg.norm(g))
                own[i] = own[i] - eta * (total + sigmas[i] * clip * noise[i]) / batch
        mean = mean + (sizes / sizes.sum()) @ (own - before)
        out.append((own.copy(), mean.copy()))
    return out


@pytest.mark.parametrize("sampler", ["shuffled", "poisson", "all"])
def test_a_plain_loop_gives_the_same(sampler):
    args = PRIVATE | dict(batch_size=4, sampler=sampler)
    task = unequal()
    for state, (own, mean) in zip(run(mr_mtl(task, **args), 6)[0], loop(task, args, 6), strict=True):
        np.testing.assert_allclose(state["own"], own, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(state["mean"], mean, rtol=1e-4, atol=1e-5)


# ---- Noise and what is declared ----


def test_noise_of_every_silo_is_what_is_stated():
    """With C = 1 and no data to speak of, a step moves w_i by eta sigma_i / b_i times a standard normal vector."""
    sizes, features = [3, 9, 20], 4000
    task = Task(
        init_params=jnp.zeros(features),
        num_examples=jnp.asarray(sizes, jnp.int32),
        train=(jnp.zeros((3, 20, features)), jnp.zeros((3, 20))),
        loss=squared_loss,
    )
    own = run(mr_mtl(task, batch_size=5, sampler="shuffled", **PRIVATE | {"regularization": 0.0, "clip_norm": 2.0}), 1)[
        0
    ][0]["own"]
    sigmas = silo_noise(1.5, np.array(sizes, float), 5, "shuffled", np)
    steps, batches = np.array([1, 1, 4]), np.array([3, 5, 5])
    np.testing.assert_allclose(own.std(1), 0.3 * 2.0 * sigmas * np.sqrt(steps) / batches, rtol=0.05)
    assert sigmas[0] == 1.5


def test_no_noise_is_none():
    for xp in (np, jnp):
        assert (np.asarray(silo_noise(0.0, xp.asarray([3.0, 40.0]), 5, "poisson", xp)) == 0).all()
    np.testing.assert_allclose(
        silo_noise(1.3, jnp.asarray([3.0, 40.0, 41.0]), 5, "poisson"),
        silo_noise(1.3, np.array([3.0, 40.0, 41.0]), 5, "poisson", np),
        rtol=1e-5,
    )


def test_epsilon_is_that_of_the_dearest_silo():
    task, args = unequal(), dict(delta=1e-4, noise_multiplier=3.0, batch_size=4)
    found = releases(task, sampler="poisson", **args)
    rounds, alone = 20, []
    sigmas = silo_noise(3.0, np.array(SIZES, float), 4, "poisson", np)
    for size, sigma in zip(SIZES, sigmas, strict=True):
        batch = min(4, size)
        accountant = PLDAccountant()
        event = dp.PoissonSampledDpEvent(batch / size, dp.GaussianDpEvent(float(sigma)))
        accountant.compose(dp.SelfComposedDpEvent(event, rounds * (size // batch)))
        alone.append(accountant.get_epsilon(1e-4))
    assert epsilon(found["tight"], rounds) == pytest.approx(max(alone), rel=0.01)
    assert max(alone) > 1.005 * min(alone)  # the worst of them is not all of them
    assert epsilon(found["paper"], rounds) >= epsilon(found["tight"], rounds)


def test_only_what_is_proven_is_called_sound():
    task, args = unequal(), dict(delta=1e-4, noise_multiplier=3.0, batch_size=4)
    sound = {
        sampler: {name: one.sound for name, one in releases(task, sampler=sampler, **args).items()}
        for sampler in ("shuffled", "poisson", "all")
    }
    assert sound["shuffled"] == {"paper": False, "tight": False, "worst_case": True}
    assert all(sound["poisson"].values())
    assert all(sound["all"].values())


def test_without_amplification_a_record_is_in_one_step_of_a_shuffled_round_and_perhaps_in_all_of_another():
    task, args = unequal(sizes=[12, 12]), dict(delta=1e-4, noise_multiplier=3.0, batch_size=4)
    sigma = float(silo_noise(3.0, np.array([12.0]), 4, "poisson", np)[0])

    def gaussian(count):
        """Of so many Gaussians whose sums move by 2 C."""
        return epsilon(full_gaussian(sigma, delta=1e-4, neighbors=REPLACE), count)

    cost = {s: epsilon(releases(task, sampler=s, **args)["worst_case"], 10) for s in ("shuffled", "poisson")}
    assert cost == {"shuffled": pytest.approx(gaussian(10)), "poisson": pytest.approx(gaussian(30))}
