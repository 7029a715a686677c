"""DP-SCAFFOLD: its special cases, a NumPy loop beside it, and what is declared against whom."""

import math

import dp_accounting as dp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from rounds import states
from slow_cases import cases
from tiny_silos import drifting, minimiser
from toy_problems import EXAMPLES, least_squares

from bench.algorithms.dp_fedavg import dp_fedavg
from bench.algorithms.dp_scaffold import dp_scaffold, releases
from bench.data.task import Task
from bench.kernels import sampling
from bench.kernels.gradient import gaussian_like
from bench.privacy.accounting import epsilon

SILENT = dict(clip_norm=math.inf, noise_multiplier=0.0)
DECLARED = dict(delta=1e-4, noise_multiplier=4.0, batch_size=3, num_steps=5, num_sampled=2)


def run(algorithm, rounds, seed=0):
    """The state's variables after every round."""
    return [jax.device_get(algorithm.public(state)) for state in states(algorithm, rounds, seed)[1:]]


# ---- Special cases ----


@pytest.mark.parametrize("steps", cases([1, 3], slow={1}))
def test_without_control_variates_and_noise_it_is_fedavg(steps):
    task, rounds = least_squares(), 4
    shared = dict(num_sampled=task.num_clients, batch_size=EXAMPLES, sampler="all", step_size=0.2, num_steps=steps)
    ours = run(dp_scaffold(task, control_variates=False, **shared, **SILENT), rounds)
    fedavg = dp_fedavg(task, server_step_size=0.2, **shared, **SILENT)
    for mine, state in zip(ours, states(fedavg, rounds)[1:], strict=True):
        np.testing.assert_allclose(mine["x"], state.variables["w"], rtol=2e-6, atol=1e-7)
        assert not mine["own"].any()
        assert not mine["c"].any()


def test_control_variates_find_the_minimiser_that_local_steps_miss():
    task = drifting()
    shared = dict(num_sampled=4, batch_size=12, sampler="all", step_size=0.1, num_steps=10, **SILENT)
    found = {on: run(dp_scaffold(task, control_variates=on, **shared), 300)[-1]["x"] for on in (True, False)}
    np.testing.assert_allclose(found[True], minimiser(task), atol=1e-4)
    assert np.abs(found[False] - minimiser(task)).max() > 0.02


# ---- A plain loop ----


def loop(task: Task, args: dict, rounds: int):
    """Algorithm 1 in NumPy, as its pseudocode has it, with the draws of JAX."""
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    (clients, records, features), b = inputs.shape, args["batch_size"]
    eta, clip, steps, sampled = args["step_size"], args["clip_norm"], args["num_steps"], args["num_sampled"]
    x, c, own, out = np.zeros(features), np.zeros(features), np.zeros((clients, features)), []
    for t in range(rounds):
        key_clients, key_steps = jax.random.split(jax.random.fold_in(jax.random.key(0), t))
        chosen = np.asarray(sampling.fixed_size(key_clients, clients, sampled))
        moved, changed = [], []
        for i in chosen:
            y = x.copy()
            for k in range(steps):
                key = jax.random.fold_in(jax.random.fold_in(key_steps, int(i)), k)
                key_rows, key_noise = jax.random.split(key)
                if args["sampler"] == "fixed":
                    rows = np.asarray(sampling.fixed_size(key_rows, records, b))
                else:
                    rows = np.flatnonzero(
                        np.asarray(jax.random.uniform(key_rows, (records,))) < np.float32(b / records)
                    )
                total = np.zeros(features)
                for row in rows:
                    g = (inputs[i, row] @ y - targets[i, row]) * inputs[i, row]
                    total += g * min(1.0, clip / np.linalg.norm(g))
                noise = np.asarray(gaussian_like(key_noise, jnp.zeros(features)))
                y = y - eta * ((total + args["noise_multiplier"] * clip * noise) / b - own[i] + c)
            fresh = own[i] - c + (x - y) / (steps * eta)
            moved.append(y - x)
            changed.append(fresh - own[i])
        for i, change in zip(chosen, changed, strict=True):
            own[i] += change
        x = x + args["server_step_size"] * np.mean(moved, 0)
        c = c + sampled / clients * np.mean(changed, 0)
        out.append((x, c, own.copy()))
    return out


@pytest.mark.parametrize("sampler", cases(["poisson", "fixed"], slow={"fixed"}))
def test_a_plain_loop_gives_the_same(sampler):
    args = dict(num_sampled=2, num_steps=3, batch_size=4, sampler=sampler, step_size=0.2, server_step_size=0.7)
    args |= dict(clip_norm=0.8, noise_multiplier=1.3)
    task = drifting()
    for state, (x, c, own) in zip(run(dp_scaffold(task, **args), 6), loop(task, args, 6), strict=True):
        np.testing.assert_allclose(state["x"], x, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(state["c"], c, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(state["own"], own, rtol=1e-4, atol=1e-5)


# ---- What is declared ----


def accounted(event, count, neighbors) -> float:
    accountant = RdpAccountant(neighboring_relation=neighbors)
    accountant.compose(dp.SelfComposedDpEvent(event, count))
    return accountant.get_epsilon(1e-4)


def test_a_round_costs_as_many_gradients_as_it_has_local_steps():
    task, rounds = drifting(), 7
    relation = dp.NeighboringRelation
    poisson = dp.PoissonSampledDpEvent(3 / 12, dp.GaussianDpEvent(4.0))
    found = epsilon(releases(task, sampler="poisson", **DECLARED)["paper"], rounds)
    assert found == pytest.approx(accounted(poisson, 5 * rounds, relation.ADD_OR_REMOVE_ONE), rel=0.01)
    fixed = dp.SampledWithoutReplacementDpEvent(12, 3, dp.GaussianDpEvent(2.0))  # replaced: the sum moves by 2 C
    found = epsilon(releases(task, sampler="fixed", **DECLARED)["paper"], rounds)
    assert found == pytest.approx(accounted(fixed, 5 * rounds, relation.REPLACE_ONE), rel=0.01)


def test_drawing_clients_hides_nothing_from_the_server():
    task = drifting()
    few, all_of_them = (releases(task, sampler="poisson", **DECLARED | {"num_sampled": m}) for m in (1, 4))
    for name in ("paper", "tight"):
        assert epsilon(few[name], 9) == epsilon(all_of_them[name], 9)
        assert few[name].sound
        assert few[name].protects_against == "the server"


@pytest.mark.parametrize(("sampled", "steps", "sound"), [(4, 1, True), (2, 1, False), (4, 5, False)])
def test_others_noise_is_counted_as_proven_for_one_step_of_all_clients_alone(sampled, steps, sound):
    args = DECLARED | {"num_sampled": sampled, "num_steps": steps}
    third = releases(drifting(), sampler="poisson", **args)["third_party"]
    assert third.sound == sound
    alone = releases(drifting(), sampler="poisson", **args | {"noise_multiplier": 4.0 * sampled**0.5})["paper"]
    assert epsilon(third, 9) == pytest.approx(epsilon(alone, 9))
