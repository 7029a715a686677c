"""FedProx (Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith, MLSys 2020), private for users.

`dp_fedavg` whose users hold on to where they started: a user's step is one on its loss plus mu / 2 |z - w|^2,

    z      <- z - eta (gradient of user i's loss at z + mu (z - w)),   K times from z = w
    Delta_i = (w - z) / eta
    w      <- w - eta_server (sum_i clip(Delta_i, C) + sigma C N(0, I)) / D

With mu = 0, and with K = 1, this is `dp_fedavg`. The paper lets a user solve its problem to any accuracy; here all take
K steps. What is protected is all data of one user, against everybody who sees w.
"""

from bench.algorithms.averaging import averaging, plain_step
from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.noise import INDEPENDENT
from bench.algorithms.participation import check_participation, noisy_sums
from bench.data.task import Task


def dp_fedprox(
    task: Task,
    *,
    num_sampled: int,
    batch_size: int,
    step_size: Scalar,
    clip_norm: Scalar,
    noise_multiplier: Scalar,
    server_step_size: Scalar,
    proximal: Scalar = 0.1,
    num_steps: int = 5,
    sampler: str = "fixed",
    num_epochs: int = 1,
    noise: str = INDEPENDENT,
    num_bands: int = 0,
    planned_rounds: int = 0,
    clipping: str = "fixed",
    quantile: Scalar = 0.5,
) -> Algorithm:
    """Private FedProx on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        proximal: mu >= 0; eta mu is to be at most 1.
        num_steps: K, local steps.
        others: as of `dp_fedavg`.
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
        proximal=proximal,
    )


METHOD = Method(
    dp_fedprox,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check_participation,
    space={"proximal": (0.001, 0.01, 0.1, 1.0)},
)
