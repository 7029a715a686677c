"""Many peers: memory grows with the edges, and a hundred thousand agents are one program."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from slow_cases import cases
from tiny_peers import ring_with_chords

from bench.algorithms import ALGORITHMS
from bench.data.graphs import from_weights
from bench.data.task import Linear, Peers, Task
from bench.data.tasks.peers import objective
from bench.models.linear import Personal, logistic, logistic_loss
from bench.sweeps import engine
from bench.sweeps.spec import arguments, parameters

POINTS = {
    "coordinate_descent": {"mu": 0.4, "noise_multiplier": 1.0, "num_updates": 2.0, "max_updates": 2, "num_ticks": 100},
    "admm": {"mu": 0.4, "penalty": 0.1, "start": "zero", "num_ticks": 100},
    "dp_dsgd": {"step_size": 0.1, "clip_norm": 1.0, "noise_multiplier": 1.0},
}
PERSONAL = ("coordinate_descent", "admm")  # whose models have the objective of the graph


@cache
def crowd(n, p=20, m=5):
    """n agents with ten neighbours and m examples each."""
    rng = np.random.default_rng(n)
    inputs = rng.uniform(-1, 1, (n, m, p)).astype(np.float32)
    labels = np.where(inputs[..., 0] > 0, 1, -1).astype(np.float32)
    return Task(
        init_params=jnp.zeros(p),
        num_examples=jnp.full(n, m, jnp.int32),
        train=(jnp.asarray(inputs), jnp.asarray(labels)),
        peers=Peers(
            graph=from_weights(ring_with_chords(n, 10)),
            regularization=jnp.full(n, 1 / m),
            smoothness=jnp.full(n, 0.25 * p + 2 / m),
            budget=jnp.ones(n),
        ),
        loss=logistic_loss,
        linear=Linear(logistic, (float(p), float(p) ** 0.5)),
        metrics=scored,
        name=f"crowd_{n}",
    )


def scored(params: Personal, task: Task) -> dict:
    return {"objective": objective(params, task)}


def planned(name, task):
    """The engine's plan for one point and one seed, with its program and point."""
    method = ALGORITHMS[name]
    given, traced = arguments(method, POINTS[name]), parameters(method)[1]
    static = tuple(sorted((key, value) for key, value in given.items() if key not in traced))
    hypers = {key: np.array([given[key]]) for key in given if key in traced}
    program = engine.Program(method.make, static, 1)
    return program, engine.fitted_chunk(program, task, 1, hypers, 1, budget=1e12), hypers


@pytest.mark.parametrize("name", cases(POINTS, slow={"admm"}))
def test_memory_grows_with_the_edges(name):
    """Ten times the agents, ten times the edges; a matrix of agents by agents would need a hundred times as much."""
    small, large = (planned(name, crowd(n))[1].peak_bytes for n in (2_000, 20_000))
    assert 8 < large / small < 11
    arrays = sum(leaf.size * 4 for leaf in (*crowd(20_000).train, *crowd(20_000).peers.graph))
    assert large > arrays
    assert large < 20_000**2


@pytest.mark.slow
@pytest.mark.parametrize("name", PERSONAL)
def test_a_hundred_thousand_agents_are_one_program(name):
    task = crowd(100_000)
    program, plan, hypers = planned(name, task)
    assert plan.peak_bytes < 4e9
    keys = engine.run_keys(np.zeros(1, np.int32), np.zeros(1, np.int32))
    found = engine.run_chunk(program, plan.step, task, keys, hypers, num_evals=2, chunk=1)
    assert np.isfinite(found["objective"]).all()
    assert found["updates"][0, 0, 1] == (200 if name == "admm" else 100)
    assert len(np.unique(found["objective"])) > 1
