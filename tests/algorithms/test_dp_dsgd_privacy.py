"""What decentralised SGD reveals to whom, and what that costs: noise of one agent, noise that neighbours share."""

from dataclasses import replace

import dp_accounting as dp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from slow_cases import cases
from tiny_gossip import alike, laplacian, mixing, of_graph, path, ring
from tiny_peers import MU, N, P, logistic_peers, with_budget

from bench.algorithms import ALGORITHMS
from bench.algorithms.dp_dsgd import METHOD
from bench.privacy.accounting import epsilon

DELTA = 1e-5
ARGS = {"step_size": 0.4, "clip_norm": 0.3, "noise_multiplier": 1.5, "pair_noise_ratio": 2.0}
READINGS = ("paper", "one_agent", "all_agents")


def spent(task, rounds: int, **args) -> dict[str, float]:
    readings = METHOD.readings(task, delta=DELTA, **ARGS | args)
    return {name: epsilon(release, rounds) for name, release in readings.items()}


# ---- What others see ----


def test_one_point_moves_its_agents_message_by_at_most_what_is_declared_and_no_other():
    task, agent = logistic_peers(), 3
    moves = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        inputs, targets = task.train
        x = jnp.asarray(rng.uniform(-50, 50, P), jnp.float32)
        pair = [
            replace(task, train=(inputs.at[agent, 0].set(sign * x), targets.at[agent, 0].set(1.0))) for sign in (1, -1)
        ]
        sent = [path(METHOD, one, 1, **ARGS)[1][0] for one in pair]
        moved = (sent[0] - sent[1]) / ARGS["step_size"] * np.asarray(task.num_examples).mean()
        assert np.abs(np.delete(moved, agent, 0)).max() == 0
        moves.append(np.linalg.norm(moved[agent]))
    assert np.max(moves) == pytest.approx(2 * ARGS["clip_norm"], rel=1e-3)


@pytest.mark.parametrize("rounds", [1, 7])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 4.0])
def test_the_noise_of_all_agents_together_costs_what_is_declared(ratio, rounds):
    """The divergence between messages of neighbouring data, from their whole covariance, agent by agent."""
    task, sigma = with_budget(logistic_peers(), agent_2=0.5), 3.0
    own = 1 / np.asarray(task.peers.budget, float)

    def cost(noise):
        shift = 2 * np.sqrt(np.max(np.diagonal(np.linalg.inv(noise))))  # in deviations; C and m cancel
        accountant = PLDAccountant(dp.NeighboringRelation.REPLACE_SPECIAL, value_discretization_interval=1e-3)
        accountant.compose(dp.GaussianDpEvent(1 / shift), rounds)
        return accountant.get_epsilon(DELTA)

    said = spent(task, rounds, noise_multiplier=sigma, pair_noise_ratio=ratio)
    assert tuple(said) == READINGS
    shared = ratio**2 * laplacian(task)
    assert said["paper"] == pytest.approx(cost(sigma**2 * (np.diag(own**2) + shared)), rel=0.01)
    assert said["all_agents"] == pytest.approx(cost(sigma**2 * np.diag(own**2)), rel=0.01)
    if ratio:
        assert said["paper"] < said["one_agent"] < said["all_agents"]
    else:
        assert len(set(said.values())) == 1


@pytest.mark.parametrize("knows", ["nothing", "its own seeds"])
def test_the_best_test_of_who_sees_the_messages_is_as_good_as_declared(knows):
    """From drawn noise: the shift of the likelihood ratio in its deviations is 2 over the declared multiplier."""
    task = of_graph(logistic_peers(), ring(N))
    keys = jax.random.split(jax.random.key(1), 4000)
    algorithm = METHOD.make(task, **ARGS)
    state = algorithm.init(keys[0])

    def seen(key):
        sent = algorithm.public(algorithm.round(key, state)[0])
        pairs = ARGS["pair_noise_ratio"] * known(key) * ARGS["noise_multiplier"] * ARGS["clip_norm"] / mean_size
        return sent / ARGS["step_size"] + (pairs if knows == "its own seeds" else 0)

    def known(key):
        """What agent 0 has added to its neighbours' messages, or they to it, of what it shares with them."""
        graph = task.peers.graph
        drawn = jax.random.normal(jax.random.split(key)[1], (*graph.neighbors.shape, P))
        opposite = (drawn - drawn[graph.neighbors, graph.reverse]) / jnp.sqrt(2.0)
        with_0 = (graph.weights > 0) & ((graph.neighbors == 0) | (jnp.arange(N) == 0)[:, None])
        return jnp.sum(jnp.where(with_0[..., None], opposite, 0.0), axis=1)

    mean_size = float(np.asarray(task.num_examples).mean())
    noise = np.asarray(jax.jit(jax.vmap(seen))(keys), float)
    rows = (noise - noise.mean(0)).transpose(0, 2, 1).reshape(-1, N)
    covariance = rows.T @ rows / (len(rows) - len(noise[0, 0]))
    shift = 2 * ARGS["clip_norm"] / mean_size * np.sqrt(np.diagonal(np.linalg.inv(covariance)))
    release = METHOD.readings(task, delta=DELTA, **ARGS)["paper" if knows == "nothing" else "one_agent"]
    declared = 1 / release.event(1).event.noise_multiplier
    worst = np.max(shift if knows == "nothing" else shift[1:])
    assert worst == pytest.approx(declared, rel=0.05)


def test_it_says_against_whom():
    readings = METHOD.readings(logistic_peers(), delta=DELTA, **ARGS)
    assert all(
        one.sound and one.privacy_unit == "point" and one.neighbors == "replace one" for one in readings.values()
    )
    assert "shares no noise" in readings["paper"].protects_against
    assert "any one other agent" in readings["one_agent"].protects_against
    assert readings["all_agents"].protects_against == "all other agents together"
    local = METHOD.readings(logistic_peers(), delta=DELTA, **ARGS | {"pair_noise_ratio": 0.0})
    assert {one.protects_against for one in local.values()} == {"all other agents together"}
    same = ALGORITHMS["coordinate_descent"].readings(
        logistic_peers(),
        delta=DELTA,
        start="zero",
        start_noise_multiplier=0.0,
        num_updates=np.inf,
        allocation="equal",
        noise_multiplier=ARGS["noise_multiplier"],
        lipschitz=1.0,
        clip_norm=1.0,
        mechanism="gaussian",
        mu=MU,
    )
    assert epsilon(same["paper"], 5) == pytest.approx(epsilon(local["paper"], 5))


# ---- The law ----


def errors(n: int, ratio: float, step_size: float, rounds: int, multiplier: float) -> tuple[float, float]:
    """Mean squared error by the noise alone, of agents' own models and of their mean, in a feature: by the exact
    recursion of covariances, on a ring where what the outsider sees has that multiplier."""
    task = alike(n)
    mix, noise = mixing(task), np.eye(n) + ratio**2 * laplacian(task)
    noise *= multiplier**2 * np.max(np.diagonal(np.linalg.inv(noise)))
    found = np.zeros((n, n))
    for _ in range(rounds):
        found = mix @ ((1 - step_size) ** 2 * found + step_size**2 * noise) @ mix
    return np.trace(found) / n, found.mean()


@pytest.mark.parametrize("ratio", cases([0.0, 2.0], slow={0.0}))
def test_runs_err_as_the_recursion_says(ratio):
    n, step_size, rounds, wanted, clip_norm = 16, 0.05, 60, 0.5, 1000.0
    task, seeds = alike(n), 300
    at_one = METHOD.readings(task, delta=DELTA, **ARGS | {"noise_multiplier": 1.0, "pair_noise_ratio": ratio})
    share = 2 * at_one["paper"].event(1).event.noise_multiplier
    sigma = wanted * 2 / clip_norm / share  # two points: noise sigma C / 2
    algorithm = METHOD.make(
        task, step_size=step_size, clip_norm=clip_norm, noise_multiplier=sigma, pair_noise_ratio=ratio
    )

    @jax.jit
    @jax.vmap
    def last(key):
        def step(state, key):
            return algorithm.round(key, state)[0], None

        return algorithm.params(jax.lax.scan(step, algorithm.init(key), jax.random.split(key, rounds))[0])

    models = np.asarray(last(jax.random.split(jax.random.key(0), seeds)), float)
    off = models - (1 - (1 - step_size) ** rounds)
    own, mean = errors(n, ratio, step_size, rounds, wanted)
    assert np.mean(off**2) == pytest.approx(own, rel=0.1)
    assert np.mean(off.mean(1) ** 2) == pytest.approx(mean, rel=0.2)
