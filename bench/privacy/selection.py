"""The epsilon of the best of several runs: a private method is run a random number of times, and only the best is
released.

Papernot and Steinke (Hyperparameter tuning with Renyi differential privacy, ICLR 2022) let the number of runs be
random, which keeps the cost of choosing from growing with it. For a run of RDP epsilon(a) at order a, repeated K times,
with mean m = E[K], the best has the RDP

    K Poisson (Theorem 6):        epsilon(a) + m delta^ + log(m) / (a - 1),
                                  delta^ that of one run at epsilon^ = log(1 + 1 / (a - 1))
    K truncated negative          epsilon(a) + (1 + shape) min_b ((1 - 1/b) epsilon(b) + log(1 / gamma) / b)
    binomial (Theorem 2):                    + log(m) / (a - 1)

with the gamma of that mean. Assumptions:

- Every run is one release of the same epsilon. Settings that differ in what they release all count as the most
  expensive of them. Settings may be drawn anew for each run.
- The score by which the best run is chosen is part of what a run releases, or is computed from public data. A score
  from held-out data of the same clients is a release that is not covered here.
- The number of runs is drawn, and nothing but the best run is published: neither their number nor the others.
"""

import math

import numpy as np
from dp_accounting.rdp import compute_epsilon
from dp_accounting.rdp.rdp_privacy_accountant import compute_delta

from bench.errors import InputError
from bench.privacy.accounting import ORDERS, rdp_curves
from bench.privacy.events import Release, check_delta, checked, require

POISSON = math.inf  # the shape of a Poisson number of runs
GEOMETRIC = 1.0
BY_THEIR_OWN_FORMULA = ("zcdp_as_published", "moments_as_published")


def epsilon_of_best(
    release: Release, count: int, mean_runs: float, delta: float | None = None, *, shape: float | None = None
) -> float:
    """Return the epsilon of the best of a random number of runs.

    Args:
        release: of one run.
        count: rounds in which a run releases something, 0 or more.
        mean_runs: m, the mean number of runs, 1 or more.
        delta: of the result; None for that of the release.
        shape: of the distribution of the number of runs: inf Poisson, which makes no run at all with probability
            exp(-m); 1 geometric; another number above 0 truncated negative binomial. None: Poisson or geometric,
            whichever has the smaller epsilon (Poisson where the epsilon of a run is small). This choice depends on the
            release, not on data.

    Returns:
        0 where runs release nothing, and inf where they release without noise. NaN where Renyi DP gives no bound: for a
        release under a relation for which it does not know the mechanism, such as sampling without replacement under
        "add-or-remove one", and for a closed form "as published", which is a claim of its own.

    Raises:
        InputError: for a number outside its range.
    """
    delta = release.delta if delta is None else delta
    require("mean_runs", mean_runs, 1 <= mean_runs < math.inf, "give a finite number, 1 or more")
    shapes = (POISSON, GEOMETRIC) if shape is None else (shape,)
    require("shape", shapes[0], shapes[0] > 0, "give a number above 0, inf for a Poisson number of runs")
    check_delta("delta", delta)
    require("count", count, count >= 0, "give 0 or more")
    if checked(release).accountant in BY_THEIR_OWN_FORMULA:
        return math.nan
    try:
        curves = rdp_curves(release, count)
    except InputError:
        return math.nan
    return min(max(_of_best(curve, mean_runs, delta, shape) for curve in curves) for shape in shapes)


def _of_best(curve: np.ndarray, mean_runs: float, delta: float, shape: float) -> float:
    """Return the epsilon of the best of runs with this RDP at ORDERS, [order]."""
    if not np.any(curve):
        return 0.0
    if np.all(np.isinf(curve)):
        return math.inf
    total = curve + math.log(mean_runs) / (ORDERS - 1)
    if shape == POISSON:
        epsilons = np.log1p(1 / (ORDERS - 1))
        total = total + mean_runs * np.array([compute_delta(ORDERS.tolist(), curve.tolist(), e)[0] for e in epsilons])
    else:
        gamma = _gamma(mean_runs, shape)
        total = total + (1 + shape) * float(np.min((1 - 1 / ORDERS) * curve - math.log(gamma) / ORDERS))
    return float(compute_epsilon(ORDERS.tolist(), total.tolist(), delta)[0])


def _gamma(mean_runs: float, shape: float) -> float:
    """Return gamma in (0, 1] of the truncated negative binomial whose mean, shape (1 - gamma) / (gamma (1 -
    gamma^shape)), is `mean_runs`, rounded down; the mean falls as gamma rises, down to 1.
    """
    if mean_runs == 1 or shape == GEOMETRIC:
        return 1 / mean_runs
    low, high = 0.0, 1.0
    for _ in range(100):
        gamma = (low + high) / 2
        if -shape * math.expm1(math.log(gamma)) / (gamma * -math.expm1(shape * math.log(gamma))) > mean_runs:
            low = gamma
        else:
            high = gamma
    return low
