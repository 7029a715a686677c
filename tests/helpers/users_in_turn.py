"""What the tests of samplers whose users take turns share: a small task, who takes part, and what a method refuses."""

import jax
import jax.numpy as jnp
import numpy as np

from bench.algorithms import ALGORITHMS
from bench.algorithms.parts import user_level
from bench.algorithms.parts.participation import participation
from bench.data.task import Task
from bench.models.additive import squared_loss
from bench.sweeps.spec import arguments

AGAINST = "everybody who sees the shared model"
GIVEN = {"batch_size": 3, "step_size": 0.1, "clip_norm": 1.0, "noise_multiplier": 1.0, "server_step_size": 0.1}


def stored(num_clients: int, present=None) -> Task:
    """Users with 2 to 6 examples."""
    rng = np.random.default_rng(0)
    return Task(
        init_params=jnp.zeros(2),
        num_examples=jnp.asarray([2, 3, 4, 5, *[6] * (num_clients - 4)], jnp.int32),
        train=(jnp.asarray(rng.standard_normal((num_clients, 6, 2)), jnp.float32), jnp.zeros((num_clients, 6))),
        loss=squared_loss,
        present=present,
    )


def rounds(task: Task, count: int, seed: int = 0, **how) -> list:
    """Who takes part in so many rounds; `how` the sampler chooses them."""
    who = participation(task, batch_size=3, **how)

    def draw(schedule, key):
        drawn, schedule = who.draw(key, schedule)
        return schedule, drawn

    keys = jax.random.split(jax.random.key(100 + seed), count)
    drawn = jax.device_get(jax.jit(lambda: jax.lax.scan(draw, who.init(jax.random.key(seed)), keys)[1])())
    return [jax.tree.map(lambda leaf, t=t: leaf[t], drawn) for t in range(count)]


def readings(task: Task, **args) -> dict:
    """What is declared of noise 1.3 and these arguments."""
    common = {"noise_multiplier": 1.3, "batch_size": 3, "num_epochs": 1, "delta": 1e-5, "protects_against": AGAINST}
    return user_level.readings(task, **common | args)


def users_of(drawn) -> list[int]:
    return sorted(np.asarray(drawn.batch.clients)[np.asarray(drawn.batch.weight).sum(1) > 0].tolist())


def check(task: Task, **args) -> None:
    """Ask `dp_fedavg` whether these arguments go together; those that are not given are harmless."""
    method = ALGORITHMS["dp_fedavg"]
    method.fits(task, **arguments(method, GIVEN | args))
