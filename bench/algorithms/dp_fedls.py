"""DP-Fed-LS (Liang, Wang, Gu, Osher and Yao, arXiv 2005.00218): the noisy sum is smoothed, private for users.

This is `dp_fedavg` whose server smooths the noisy sum over neighbouring numbers of the model (Laplacian smoothing)
before its step:

    s  = sum_i clip(Delta_i, C) + sigma C N(0, I)
    w <- w - eta_server (I - lambda L)^-1 s / D

L is the Laplacian of a ring through all d numbers of w in the order of their storage: (L s)_j = s_(j-1) - 2 s_j +
s_(j+1). The inverse is a product in the Fourier basis, by 1 / (1 + 2 lambda (1 - cos(2 pi k / d))), so the mean of s
stays and rapid changes shrink. It is post-processing of what is released. With lambda = 0 this is `dp_fedavg`. What is
protected is all data of one user, against everybody who sees w.
"""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from bench.algorithms.base import Algorithm, Method, Scalar
from bench.algorithms.parts.averaging import AveragingArguments, averaging
from bench.algorithms.parts.participation import check_participation, cost_of_sums, noisy_sums
from bench.algorithms.parts.shared_arguments import sharing
from bench.algorithms.parts.user_changes import user_changes
from bench.algorithms.ranges import NonNegative
from bench.algorithms.search_space import Interval
from bench.data.task import Task


def smoothing(tree, strength: Scalar):
    """Return (I - strength L)^-1 of all numbers of a tree on a ring, in the order of its leaves."""
    numbers, shaped = ravel_pytree(tree)
    size = numbers.shape[0]
    waves = 2 * jnp.pi / size * jnp.arange(size // 2 + 1, dtype=numbers.dtype)
    spectrum = jnp.fft.rfft(numbers)
    return shaped(jnp.fft.irfft(spectrum / (1 + 2 * strength * (1 - jnp.cos(waves))).astype(spectrum.dtype), size))


@sharing(AveragingArguments, num_steps=5)
def dp_fedls(task: Task, shared: AveragingArguments, *, smoothing_strength: NonNegative = 1.0) -> Algorithm:
    """DP-Fed-LS on a task with a shared model.

    Args:
        task: with loss(w, theta_i, example); theta_i is held at 0.
        shared: see AveragingArguments.
        smoothing_strength: lambda >= 0; the paper's sigma.
    """

    def send(w, batch):
        return user_changes(task, w, batch, shared.num_steps, shared.step_size)

    def update(w, total, divisor):
        smooth = smoothing(total, smoothing_strength)
        return jax.tree.map(lambda z, g: z - shared.server_step_size * g / divisor, w, smooth)

    return averaging(task, shared, send, update)


METHOD = Method(
    dp_fedls,
    noisy_sums("everybody who sees the shared model"),
    version=1,
    check=check_participation,
    space={"smoothing_strength": Interval(0.01, 10.0)},
    cost=cost_of_sums,
    divides=True,
)
