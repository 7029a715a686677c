"""Convergence of private coordinate descent on a graph (Bellet et al. 2018), and the allocation of a budget over it.

Agents i = 1 ... n minimise  Q(Theta) = 1/2 sum_{i<j} W_ij |Theta_i - Theta_j|^2 + mu sum_i D_ii c_i L_i(Theta_i).
In each tick one agent, all equally likely, takes a step 1 / L_i along its noisy block of the gradient. Then for
gap(t) = E[Q(Theta(t))] - Q*, with C = 1 - sigma / (n L_max),

    gap(t + 1) <= C gap(t) + added(t),   added(t) = 1 / (2 n L_min) sum_i E |mu D_ii c_i eta_i(t)|^2.       (*)

The paper has two slips, which the functions below reproduce or correct:

Order of the weights. (*) unrolls to  gap(T) <= C^T gap(0) + sum_t C^(T-1-t) added(t):  early noise is forgotten,
late noise is not. Theorem 2, after "a simple recursion" (12), has C^t in place of C^(T-1-t). The sum is the same
if the noise is constant, and reversed in time otherwise: with all noise in the last tick, Theorem 2 as printed is
false. Lemma 3 and Proposition 2 minimise the printed sum and let the noise grow with time; minimising the unrolled
sum lets it shrink. `weights="published"` and `weights="unrolled"` choose between the two.

Dimension. E |eta_i|^2 of p coordinates of variance v is p v; Theorem 2 counts one coordinate. `dimension` is p;
1 gives the printed bound.

Names: `degrees` D_ii, `confidence` c_i, `local_strong_convexity` sigma_i^loc (2 lambda_i of lambda_i |theta|^2),
`local_smoothness` L_i^loc, `rate` C; arrays [agent].
"""

import numpy as np

from bench.errors import check_name

WEIGHTS = ("published", "unrolled")


def strong_convexity(mu, degrees, confidence, local_strong_convexity) -> float:
    """Return sigma = mu min_i D_ii c_i sigma_i^loc, a lower bound on the strong convexity of Q."""
    return float(mu * np.min(np.asarray(degrees) * confidence * local_strong_convexity))


def block_smoothness(mu, degrees, confidence, local_smoothness) -> np.ndarray:
    """Return L_i = D_ii (1 + mu c_i L_i^loc), the Lipschitz constant of Q's gradient in block i, [agent]."""
    return np.asarray(degrees) * (1 + mu * np.asarray(confidence) * local_smoothness)


def rate(sigma: float, smoothness) -> float:
    """Return C = 1 - sigma / (n L_max), the factor by which a tick without noise shrinks the expected gap.

    Args:
        sigma: the result of `strong_convexity`.
        smoothness: L_i of every agent, the result of `block_smoothness`.
    """
    return 1 - sigma / (len(smoothness) * float(np.max(smoothness)))


def gap_without_noise(gap: float, rate: float, num_ticks) -> np.ndarray:
    """Return the bound of Proposition 1: E[Q(Theta(T))] - Q* <= C^T (Q(Theta(0)) - Q*).

    Args:
        gap: Q(Theta(0)) - Q*.
        rate: C.
        num_ticks: T, a number or an array.
    """
    return gap * np.power(rate, np.asarray(num_ticks, dtype=np.float64))


def gap_without_strong_convexity(gap: float, distance: float, num_agents: int, num_ticks) -> np.ndarray:
    """Return a bound of the order that Remark 1 names: E[Q(Theta(T))] - Q* <= n / (n + T) (gap + distance^2 / 2).

    It needs no strong convexity. The paper gives no constant; this one is of Lu and Xiao 2015, "On the complexity
    analysis of randomized block-coordinate descent methods", Theorem 1: in a tick, the expectation of
    Q + 1/2 sum_i L_i |Theta_i - Theta*_i|^2 falls by at least (Q - Q*) / n, and that of Q does not rise.

    Args:
        gap: Q(Theta(0)) - Q*.
        distance: of Theta(0) from a minimiser, sqrt(sum_i L_i |Theta_i(0) - Theta*_i|^2) with the L_i of
            `block_smoothness`.
        num_agents: n.
        num_ticks: T, a number or an array.
    """
    return num_agents / (num_agents + np.asarray(num_ticks, dtype=np.float64)) * (gap + distance**2 / 2)


def added_by_noise(mu, degrees, confidence, smoothness, noise_std, dimension: int) -> np.ndarray:
    """Return added(t) of (*), an upper bound on what the noise of a tick adds to the expected gap.

    Args:
        smoothness: L_i, [agent].
        noise_std: standard deviation of a coordinate of eta_i(t), [..., agent]: sqrt(2) s_i(t) for Laplace noise
            of scale s_i(t), with leading axes for ticks.
        dimension: p, coordinates of a model.

    Returns:
        [...]: one number for each tick.
    """
    scaled = mu * np.asarray(degrees) * confidence * np.asarray(noise_std)
    return dimension * np.sum(scaled**2, axis=-1) / (2 * len(smoothness) * np.min(smoothness))


def gap_with_noise(gap: float, rate: float, added, weights: str = "unrolled") -> float:
    """Return the bound of Theorem 2: the gap after T ticks is at most C^T gap + sum_t w_t added(t), t = 0 ... T - 1.

    Args:
        gap: Q(Theta(0)) - Q*.
        rate: C.
        added: the result of `added_by_noise`, [tick].
        weights: "unrolled", w_t = C^(T-1-t), which follows from (*); or "published", w_t = C^t, which bounds the
            gap where added(t) does not grow with t.

    Raises:
        InputError: for other weights.
    """
    num_ticks = len(added)
    ages = _exponents(np.arange(num_ticks), weights) + (num_ticks - 1 if weights == "unrolled" else 0)
    return float(gap * rate**num_ticks + np.power(rate, ages) @ added)


def gap_with_constant_noise(gap: float, rate: float, added: float, num_ticks) -> np.ndarray:
    """Return the bound of appendix B, C^T gap + added (1 - C^T) / (1 - C), which is Theorem 2 for constant added(t).

    Args:
        num_ticks: T, a number or an array; for T -> infinity the noise adds added / (1 - C).
    """
    remaining = np.power(rate, np.asarray(num_ticks, dtype=np.float64))
    return gap * remaining + added * (1 - remaining) / (1 - rate)


def allocation(budget: float, ticks, rate: float, weights: str = "unrolled") -> np.ndarray:
    """Return the epsilon_i(t) of Proposition 2, which spend an agent's budget and minimise the noise term of Theorem 2.

    An update of pure epsilon gets noise of scale proportional to 1 / epsilon, so sum_t w_t / epsilon_i(t)^2 is
    minimised under sum_t epsilon_i(t) = budget: epsilon_i(t) ~ w_t^(1/3). This needs all wake-ups beforehand, which
    an agent does not know, so it is a yardstick for feasible schedules.

    Args:
        budget: the sum of the epsilons, > 0.
        ticks: T_i, the ticks at which the agent wakes up, counted among all agents' ticks.
        rate: C.
        weights: "published", epsilon_i(t) ~ C^(t/3), noise that grows; or "unrolled", epsilon_i(t) ~ C^(-t/3),
            noise that shrinks. The number of ticks of the whole run cancels.

    Returns:
        epsilon_i(t), [wake-up].

    Raises:
        InputError: for other weights.
    """
    logs = np.log(rate) * _exponents(np.asarray(ticks), weights) / 3
    shares = np.exp(logs - np.max(logs))
    return budget * shares / np.sum(shares)


def _exponents(ticks: np.ndarray, weights: str) -> np.ndarray:
    """Return the exponents of C in w_t, up to a constant."""
    check_name("kind of weights", weights, WEIGHTS)
    return ticks if weights == "published" else -ticks
