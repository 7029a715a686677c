"""Methods with local steps that users of the suite write, each in one file: what they find, and how fast they are."""

import functools
import inspect
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rounds import states
from tiny_silos import task_of

from bench.algorithms import ALGORITHMS
from bench.algorithms.loading import load_method
from bench.data.task import Task
from bench.data.tasks.quadratic import half_square
from bench.models.additive import squared_loss

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "helpers" / "own_methods"
FILES = {"fedexp": ROOT / "examples" / "fedexp.py", "scaffold": OWN / "scaffold.py", "feddyn": OWN / "feddyn.py"}
SILENT = {"clip_norm": 1e6, "noise_multiplier": 0.0}
STEPS = {"num_sampled": 4, "batch_size": 12, "sampler": "all", "step_size": 0.1, "num_steps": 10}


def method(name: str):
    return load_method(str(FILES[name]))[1] if name in FILES else ALGORITHMS[name]


def made(name: str, task: Task, **args):
    """The algorithm, of those arguments that the method has."""
    known = inspect.signature(method(name).make).parameters
    return method(name).make(task, **{key: value for key, value in args.items() if key in known})


def different() -> Task:
    """Least squares of clients whose inputs have different second moments, so that local steps drift."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((4, 12, 3)) * rng.uniform(0.2, 1.5, (4, 1, 3))
    return task_of(inputs, rng.standard_normal((4, 12)), half_square, squared_loss)


@pytest.mark.parametrize("name", ["scaffold", "feddyn"])
def test_a_vector_of_each_user_leads_to_the_minimiser_that_local_steps_miss(name):
    task = different()
    inputs, targets = (np.asarray(leaf, float) for leaf in task.train)
    best = np.linalg.lstsq(inputs.reshape(-1, 3), targets.ravel())[0]
    corrected, averaged = (
        made(one, task, server_step_size=0.1, alpha=1.0, **STEPS, **SILENT) for one in (name, "dp_fedavg")
    )
    found, missed = (one.params(states(one, 300)[-1]) for one in (corrected, averaged))
    np.testing.assert_allclose(found, best, atol=2e-4)
    assert np.abs(missed - best).max() > 0.02


def test_fedexp_goes_as_far_as_changes_in_different_directions_allow():
    """Of n users whose changes have length C and are orthogonal, the server goes n / 2 times the mean change."""
    users = 4
    task = task_of(np.eye(users)[:, None], np.ones((users, 1)), half_square, squared_loss)
    args = {"num_sampled": users, "batch_size": 1, "sampler": "all", "step_size": 0.1, "num_steps": 1}
    one = made("fedexp", task, clip_norm=0.5, noise_multiplier=0.0, **args)
    np.testing.assert_allclose(one.params(states(one, 1)[-1]), 0.1 * 0.5 / users * users / 2, rtol=1e-4)


def like_digits() -> Task:
    """A linear model with as many numbers as that of digits, for 200 users of 60 examples."""
    x, y = (np.random.default_rng(0).standard_normal((200, 60, size), np.float32) for size in (784, 10))
    gram = np.einsum("nid,njd->nij", x, x)
    return Task(
        init_params=jnp.zeros((10, 784)),
        num_examples=jnp.full(200, 60, jnp.int32),
        train=(jnp.asarray(x), jnp.asarray(y)),
        gram=jnp.asarray(gram),
        loss=squared_loss,
    )


def timed(name: str, task: Task, points: int = 8, rounds: int = 20):
    """A function that runs some rounds at several step sizes, as a sweep does, and returns the seconds of computing."""
    args = {"num_sampled": 50, "batch_size": 10, "sampler": "fixed", "num_steps": 5, "server_step_size": 0.01}
    args |= {"clip_norm": 3.0, "noise_multiplier": 1.0}
    sizes, keys = jnp.geomspace(1e-5, 1e-4, points), jax.random.split(jax.random.key(1), rounds)

    def at(task, size):
        return made(name, task, step_size=size, **args)

    @functools.partial(jax.jit, donate_argnums=1)
    def go(task, state):
        over = jax.vmap(lambda key, size, state: at(task, size).round(key, state)[0], (None, 0, 0))
        return jax.lax.scan(lambda state, key: (over(key, sizes, state), None), state, keys)[0]

    state = jax.jit(lambda task: jax.vmap(lambda size: at(task, size).init(jax.random.key(0)))(sizes))(task)

    def seconds() -> float:
        nonlocal state
        began = time.process_time()  # other programs share the machine
        state = jax.block_until_ready(go(task, state))
        return time.process_time() - began

    seconds()  # compiles
    return seconds


@pytest.mark.slow
def test_a_users_local_steps_are_as_fast_as_the_suites_own():
    """FedExP takes norms beside the sum, and reaches 0.8 of the rate of `dp_fedavg`."""
    task = like_digits()
    ours, theirs = timed("dp_fedavg", task), timed("fedexp", task)
    took = [(ours(), theirs()) for _ in range(9)]
    least = np.min(took, axis=0)
    assert least[0] / least[1] >= 0.8
