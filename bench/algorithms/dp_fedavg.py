"""User-level private federated averaging (McMahan et al. 2018), one global model.

Every sampled user i takes K steps of SGD on its own examples from w, and sends how far it came, in units of a
gradient, clipped; the server adds noise and takes a step:

    Delta_i = (w - w_i,K) / eta
    w      <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

What is protected is all data of one user, against everybody who sees w. With K = 1 and eta_server = eta this is
PPSGD with personalization inf.
"""

from bench.algorithms.averaging import averaging, plain_step
from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.clipping import FIXED
from bench.algorithms.noise import INDEPENDENT, PLAIN
from bench.algorithms.participation import check_participation, noisy_sums
from bench.data.task import Task


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
    noise: str = INDEPENDENT,
    num_bands: int = 0,
    planned_rounds: int = 0,
    clipping: str = "fixed",
    quantile: Scalar = 0.5,
) -> Algorithm:
    """Private FedAvg on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        num_sampled: Q, users in a round; with "poisson" the expected number, with "cyclic" the most.
        batch_size: m, examples of a user in a round, the same ones in each of its K steps.
        step_size: eta > 0, of a user.
        clip_norm: C > 0, on Delta_i; inf does not clip.
        noise_multiplier: sigma >= 0; the noise on the sum of clipped Delta_i has std sigma C.
        server_step_size: eta_server > 0.
        num_steps: K, local steps.
        sampler, num_epochs: see `participation`.
        noise, num_bands, planned_rounds: see `noise_of`.
        clipping, quantile: see `clipping_of`.
    """
    return averaging(
        task,
        plain_step(server_step_size),
        num_sampled=num_sampled,
        batch_size=batch_size,
        step_size=step_size,
        clip_norm=clip_norm,
        noise_multiplier=noise_multiplier,
        num_steps=num_steps,
        sampler=sampler,
        num_epochs=num_epochs,
        noise=noise,
        num_bands=num_bands,
        planned_rounds=planned_rounds,
        clipping=clipping,
        quantile=quantile,
    )


METHOD = Method(
    dp_fedavg,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check_participation,
    added={**PLAIN, **FIXED},
)
