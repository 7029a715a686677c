"""Generalisation of personalised private SGD (Bietti et al. 2022): Theorems 4.5, 5.2 and B.4, Lemma 4.6.

All three theorems have one form. SGD on z = (w, theta_1..N) has the step eta for theta and alpha eta for w, and is
measured in |z|_alpha^2 = |w|^2 / alpha + |theta|^2. After T rounds with the step

    eta = min(1 / (4 L_alpha), |z*|_alpha / (s_alpha sqrt(T)))

the average of the iterates 0..T-1 has an expected excess risk of at most

    4 L_alpha |z*|_alpha^2 / T + 3 s_alpha |z*|_alpha / sqrt(T),

if no gradient is clipped. The theorems differ in the smoothness L_alpha and in the variance s_alpha^2, which holds that
of the gradients at the minimiser z* and that of the privacy noise on w.

alpha = inf is global learning: eta goes to 0 while alpha eta stays, theta to 0. Written with the weights (p, r) of the
two steps in place of (alpha, 1), |z|^2 = |w|^2 / p + |theta|^2 / r, both ends are ordinary: (0, 1) and (1, 0).

Three slips of the paper. Theorem 5.2 and Theorem B.4 as printed have M and N in the smoothness where the proof (Lemma
B.3) has q M and q N; `as_printed` gives the former. The proof of Lemma 4.6, and the text after it, have epsilon in the
threshold where (10) and the bound have its square, which is right. And (6) in the proof of Theorem 4.5 lacks a square
on one deviation.
"""

import math
from functools import partial
from typing import NamedTuple

import numpy as np


class Measured(NamedTuple):
    """The users, alike, on which the theorems and the lemma are measured, and their budget.

    num_clients, num_features: N and d.
    label_noise: standard deviation of the labels; its square is the variance of a gradient at the minimiser.
    clip_norm: more than a gradient's norm at any time, so that nothing is clipped; the results hold the share.
    delta: of the budget.
    """

    num_clients: int = 200
    num_features: int = 10
    label_noise: float = 0.5
    clip_norm: float = 5.0
    delta: float = 1e-4


class Guarantee(NamedTuple):
    """The guarantee of a theorem.

    step_w, step_local: alpha eta, the step of w along the mean gradient, and eta.
    bound: on the expected excess risk of the average iterate.
    """

    step_w: float
    step_local: float
    bound: float


def weights(alpha: float) -> tuple[float, float]:
    """Return (p, r): (alpha, 1), and (1, 0) for alpha = inf."""
    return (1.0, 0.0) if math.isinf(alpha) else (alpha, 1.0)


def norm(w: float, local: float, alpha: float) -> float:
    """Return |z|_alpha with |w| = w and |theta_1..N| = local; inf where a part that is not 0 may not move.

    For alpha = inf it is |w|, the limit of sqrt(alpha) |z|_alpha.
    """
    p, r = weights(alpha)
    terms = [(w, p), (local, r)]
    return math.sqrt(sum(0.0 if size == 0 else (size**2 / weight if weight else math.inf) for size, weight in terms))


def minimal_norm(v: float, alpha: float, num_clients: int) -> float:
    """Return the least |z|_alpha of all w + theta_i = v with |v| = v (Lemma 4.6), attained at the shares of `split`."""
    shared, local = split(alpha, num_clients)
    return norm(shared * v, math.sqrt(num_clients) * local * v, alpha)


def split(alpha: float, num_clients: int) -> tuple[float, float]:
    """Return the two shares of v in Lemma 4.6: w = alpha N / (alpha N + 1) v and theta_i = 1 / (alpha N + 1) v."""
    local = 1 / (alpha * num_clients + 1)
    return 1 - local, local


def everybody(
    alpha: float,
    *,
    num_clients: int,
    num_rounds: int,
    smoothness: float,
    norm: float,
    variance_w: float,
    variance_local: float,
    dimension: int,
    noise_std: float,
) -> Guarantee:
    """Return the guarantee of Theorem 4.5, for Algorithm 1: everybody takes part in every round.

    Args:
        alpha: ratio of the steps.
        num_clients: N.
        num_rounds: n, which is also the number of samples of a user.
        smoothness: L, of every f_i in (w, theta_i) jointly: 2 R^2 for squared loss / 2 and inputs of norm at most R.
        norm: |z*|_alpha.
        variance_w, variance_local: of one user's gradients at z*, averaged over users.
        dimension: of w.
        noise_std: sigma_zeta, of the noise on the average gradient, per coordinate.
    """
    p, r = weights(alpha)
    variance = (p * variance_w + r * variance_local) / num_clients + p * dimension * noise_std**2
    return _guarantee(alpha, smoothness * max(p, r / num_clients), norm, variance, num_rounds)


def sampled(
    alpha: float,
    *,
    by_example: bool,
    sizes,
    rate: float,
    num_rounds: int,
    smoothness: float,
    norm: float,
    variance_w,
    variance_local,
    dimension: int,
    noise_std: float,
    gradient_norms=0.0,
    as_printed: bool = False,
) -> Guarantee:
    """Return the guarantee for Poisson sampling: of Theorem 5.2, for Algorithm 2, or of Theorem B.4, for Algorithm 3.

    Args:
        by_example: whether users' gradients are sums, and the risk is weighted by minibatches (Theorem 5.2); else
            gradients are means, and the risk is averaged over users.
        sizes: m_i, minibatches, [user].
        rate: q.
        num_rounds: T.
        variance_w, variance_local: of one example's gradients at z*, by user or the same for all.
        gradient_norms: |grad_w f_i| at z*, by user; 0 for the additive model.
        noise_std: sigma_zeta, of the noise on the sum over q D, with D the sum of m_i, or the number of users.
        as_printed: with the smoothness of the statement in place of the proof's.
        alpha, smoothness, norm, dimension: as for `everybody`.
    """
    m, (p, r) = np.asarray(sizes, float), weights(alpha)
    c = m if by_example else np.ones_like(m)  # the coefficient of a user's mean gradient
    D = c.sum()
    mean_w, mean_local = (np.sum(c**2 * np.broadcast_to(v, m.shape) / m) / D for v in (variance_w, variance_local))
    sampling = np.sum(rate * (1 - rate) * c**2 * np.broadcast_to(gradient_norms, m.shape) ** 2) / D
    variance = (p * mean_w + p * sampling + r * mean_local) / (rate * D) + p * dimension * noise_std**2
    share = c.max() / (D if as_printed else rate * D)
    return _guarantee(alpha, smoothness * max(p + p * share, r * share), norm, variance, num_rounds)


weighted, averaged = partial(sampled, by_example=True), partial(sampled, by_example=False)


def _guarantee(
    alpha: float, smoothness: float, norm: float, variance: float | np.floating, num_rounds: int
) -> Guarantee:
    deviation = math.sqrt(variance)
    eta = 1 / (4 * smoothness)
    if deviation > 0:
        eta = min(eta, norm / (math.sqrt(num_rounds) * deviation))
    p, r = weights(alpha)
    bound = 4 * smoothness * norm**2 / num_rounds + 3 * deviation * norm / math.sqrt(num_rounds)
    return Guarantee(p * eta, r * eta, bound)


def local_is_better(num_clients: int, variance: float, dimension: int, noise_std: float) -> bool:
    """Return whether the bound's second term does not fall with alpha (Lemma 4.6): d sigma_zeta^2 N >= sigma^2 (N - 1).

    Users are alike, and `variance` sigma^2 is that of their gradients at z* in w and in theta.
    """
    return dimension * noise_std**2 * num_clients >= variance * (num_clients - 1)


def threshold(
    num_clients: int,
    variance: float,
    dimension: int,
    gradient_bound: float,
    epsilon: float,
    delta: float,
    constant: float = 1.0,
) -> float:
    """Return the threshold (10): the number of samples of a user from which small alpha is better, at one epsilon for
    the whole run.

    n = N (N - 1) sigma^2 epsilon^2 / (c^2 d G^2 log(1 / delta)), with the noise (4),
    sigma_zeta = c G sqrt(n log(1 / delta)) / (N epsilon).

    Args:
        constant: c of the noise (4), which the paper leaves open; for a calibrated sigma_zeta use `local_is_better`.
    """
    noise = (constant * gradient_bound) ** 2 * dimension * math.log(1 / delta)
    return num_clients * (num_clients - 1) * variance * epsilon**2 / noise
