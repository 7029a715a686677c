"""User-level private federated averaging (McMahan et al. 2018), one global model.

Every sampled user i takes K steps of SGD on its own examples from w, and sends how far it came, in units of a
gradient, clipped; the server adds noise and takes a step:

    Delta_i = (w - w_i,K) / eta
    w      <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

What is protected is all data of one user, against everybody who sees w. With K = 1 and eta_server = eta this is
PPSGD with personalization inf.
"""

import jax
import jax.numpy as jnp
import optax

from bench.algorithms.base import Algorithm, Method, Scalar, State
from bench.algorithms.participation import check_participation, noisy_sums, participation
from bench.data.task import Task
from bench.kernels import gradient as kernel


def dp_fedavg(
    task: Task,
    *,
    num_sampled: int,
    batch_size: int,
    step_size: Scalar,
    clip_norm: Scalar,
    noise_multiplier: Scalar,
    server_step_size: Scalar,
    num_steps: int = 1,
    sampler: str = "fixed",
    num_epochs: int = 1,
) -> Algorithm:
    """Private FedAvg on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        num_sampled: Q, users in a round; with "poisson" the expected number.
        batch_size: m, examples of a user in a round, the same ones in each of its K steps.
        step_size: eta > 0, of a user.
        clip_norm: C > 0, on Delta_i; inf does not clip.
        noise_multiplier: sigma >= 0; the noise on the sum of clipped Delta_i has std sigma C.
        server_step_size: eta_server > 0.
        num_steps: K, local steps.
        sampler, num_epochs: see `participation`.
    """
    who = participation(task, num_sampled=num_sampled, batch_size=batch_size, sampler=sampler, num_epochs=num_epochs)
    size = optax.tree.size(task.init_params)
    nothing_local = jax.tree.map(jnp.zeros_like, task.init_params)
    example_loss = task.loss
    assert example_loss is not None

    def travelled(w, examples, weight):
        """Delta_i of one user: the sum of its K gradients."""

        def loss(w):
            return weight @ jax.vmap(lambda example: example_loss(w, nothing_local, example))(examples)

        def local_step(total, _):
            here = jax.tree.map(lambda z, g: z - step_size * g, w, total)
            return jax.tree.map(jnp.add, total, jax.grad(loss)(here)), None

        if num_steps == 1:
            return jax.grad(loss)(w)
        return jax.lax.scan(local_step, jax.tree.map(jnp.zeros_like, w), length=num_steps)[0]

    def init(key):
        return State(who.init(key), task.init_params)

    def one_round(key, state):
        key_draw, key_noise = jax.random.split(key)
        w = state.variables

        def of_users(nothing_kept, batch):
            updates = jax.vmap(travelled, in_axes=(None, 0, 0))(w, batch.examples, batch.weight)
            total, norms = kernel.clipped_sum(updates, clip_norm)
            return nothing_kept, (total, jnp.sum(norms > clip_norm, dtype=jnp.float32))

        _, (total, clipped), drawn, schedule = who.in_blocks(key_draw, state.schedule, of_users, (), 2 * size)
        noise = kernel.gaussian_like(key_noise, w)
        std = jnp.where(drawn.released, kernel.noise_scale(noise_multiplier, clip_norm), 0.0)
        w = jax.tree.map(lambda z, g, n: z - server_step_size * (g + std * n) / drawn.divisor, w, total, noise)
        info = {
            "released": drawn.released.astype(jnp.float32),
            "clipped": clipped / jnp.maximum(drawn.count, 1.0),
        }
        return State(schedule, w), info

    return Algorithm(init, one_round, lambda state: state.variables)


METHOD = Method(dp_fedavg, noisy_sums("everybody who sees the shared model"), version=1, check=check_participation)
