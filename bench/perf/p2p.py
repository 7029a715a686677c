"""Bellet et al. 2018: ticks of coordinate descent and of ADMM against loops of the same updates, and a large graph."""

import jax.numpy as jnp
import numpy as np

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.data.graphs import from_weights, ring_with_chords
from bench.data.task import Linear, Peers, Task
from bench.data.tasks.peers import linear_p2p
from bench.kernels.graph import dense
from bench.models.linear import Personal, logistic, logistic_loss
from bench.papers.p2p import reference
from bench.perf.measure import Grid, Measurement, Timed, best_time, time_grid
from bench.sweeps.points import resolve
from bench.sweeps.spec import Entry, Sweep, grid

TICKS = 500  # in a round


def _grid(method: Method, task: Task, points, num_rounds: int) -> Grid:
    sweep = Sweep("p2p", "", {"p2p": lambda _: task}, {"": Entry(method, points)}, num_rounds, num_rounds, 1e-2)
    return Grid(task, resolve(sweep, {"p2p": task})["p2p"], num_rounds, num_rounds)


def _as_lists(task: Task):
    """Return the task's examples and dense weights in the form of the reference."""
    inputs, labels = (np.asarray(leaf, float) for leaf in task.train)
    sizes = np.asarray(task.num_examples)
    return (
        [x[:m] for x, m in zip(inputs, sizes, strict=True)],
        [y[:m] for y, m in zip(labels, sizes, strict=True)],
        np.asarray(dense(task.need(Peers).graph), float),
    )


def _lines(what: str, timed: Timed, loop_s: float, wanted: str) -> list[Measurement]:
    compiled = timed.seconds / TICKS
    together = f"{timed.chunk} points together"
    return [
        Measurement(f"{what}: NumPy loop", 1e6 * loop_s, "us a tick"),
        Measurement(f"{what}: compiled", 1e6 * compiled, "us a tick and point", remarks=together),
        Measurement(f"{what}: ticks", 1e-6 / compiled, "million/s"),
        Measurement(f"{what}: speed-up", loop_s / compiled, "x", wanted),
        Measurement(f"{what}: peak memory of the program", timed.peak_bytes / 1e9, "GB"),
    ]


def descent_grid() -> Grid:
    """Return private coordinate descent, 100 agents, 100 features: 256 budgets and weights in one program."""
    task = linear_p2p(0)
    points = grid(mu=[0.02, 0.04, 0.08, 0.16], noise_multiplier=np.linspace(0.1, 10, 64), num_ticks=TICKS)
    return _grid(ALGORITHMS["coordinate_descent"], task, points, 20)


def p2p_descent() -> list[Measurement]:
    """Time `descent_grid` against its loop."""
    chosen = descent_grid()
    task, timed = chosen.task, time_grid(chosen)
    inputs, labels, weights = _as_lists(task)
    rng, smoothness = np.random.default_rng(0), np.asarray(task.need(Peers).smoothness, float)

    def loop():
        order, noise = rng.integers(task.num_clients, size=TICKS), rng.laplace(size=(TICKS, 100))
        reference.coordinate_descent(np.zeros((100, 100)), inputs, labels, weights, smoothness, 0.04, order, noise)

    return _lines("coordinate descent", timed, best_time(loop) / TICKS, "100")


def admm_grid() -> Grid:
    """Return gossip ADMM, 100 agents, 100 features, ten gradient steps: 32 penalties in one program."""
    task = linear_p2p(0)
    points = grid(mu=0.04, penalty=np.geomspace(0.001, 1, 32), start="zero", num_ticks=TICKS)
    return _grid(ALGORITHMS["admm"], task, points, 4)


def p2p_admm() -> list[Measurement]:
    """Time `admm_grid` against its loop."""
    chosen = admm_grid()
    task, timed = chosen.task, time_grid(chosen)
    inputs, labels, weights = _as_lists(task)
    rng, smoothness = np.random.default_rng(0), np.asarray(task.need(Peers).smoothness, float)
    few = 100

    def loop():
        agents = rng.integers(task.num_clients, size=few)
        edges = [(i, rng.choice(np.flatnonzero(weights[i]))) for i in agents]
        reference.admm(np.zeros((100, 100)), inputs, labels, weights, smoothness, 0.04, 0.05, edges)

    return _lines("ADMM", timed, best_time(loop) / few, "50")


def _large(num_agents: int, degree: int, num_features: int, num_examples: int) -> Task:
    """Return random points on a graph of bounded degree."""
    rng = np.random.default_rng(0)
    shape = (num_agents, num_examples, num_features)
    inputs = rng.uniform(-1, 1, shape).astype(np.float32)
    labels = np.where(rng.random(shape[:2]) < 0.5, -1, 1).astype(np.float32)
    sizes = jnp.full(num_agents, num_examples, jnp.int32)
    return Task(
        init_params=jnp.zeros(num_features),
        num_examples=sizes,
        train=(jnp.asarray(inputs), jnp.asarray(labels)),
        evaluation={"test": (jnp.asarray(inputs), jnp.asarray(labels), sizes)},
        peers=Peers(
            graph=from_weights(ring_with_chords(num_agents, degree=degree)),
            regularization=jnp.full(num_agents, 1 / num_examples),
            smoothness=jnp.full(num_agents, 1 + 2 / num_examples),
            budget=jnp.ones(num_agents),
        ),
        loss=logistic_loss,
        linear=Linear(logistic),
        metrics=_norm,
        name=f"large_{num_agents}",
        source="generated",
    )


def _norm(params: Personal, task: Task) -> dict:
    return {"norm": jnp.linalg.norm(params.theta)}


def large_grid(num_agents: int = 100_000, num_awake: int = 1000, num_rounds: int = 4) -> Grid:
    """Return private coordinate descent on agents of degree 10, 20 features, one point."""
    points = grid(mu=0.04, noise_multiplier=1.0, num_ticks=TICKS, num_awake=num_awake)
    return _grid(ALGORITHMS["coordinate_descent"], _large(num_agents, 10, 20, 10), points, num_rounds)


def p2p_large() -> list[Measurement]:
    """Time `large_grid` with 100,000 agents, and with a tenth of them."""
    lines = []
    for num_agents in (10_000, 100_000):
        for num_awake, num_rounds in ((1, 100), (1000, 4)):
            timed = time_grid(large_grid(num_agents, num_awake, num_rounds))
            name = f"{num_agents:,} agents, {num_awake:,} awake at once"
            rate = 1e-6 * TICKS * num_awake / timed.seconds
            lines.append(Measurement(f"{name}: wake-ups", rate, "million/s"))
            lines.append(Measurement(f"{name}: peak memory of the program", timed.peak_bytes / 1e9, "GB"))
    return lines
