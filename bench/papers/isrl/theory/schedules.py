"""Parameters of the localized algorithms of Gao et al. 2024.

Theorems C.1 (Algorithm 1), D.5 (Algorithm 6), E.2 (Moreau envelopes) and G.1 (Algorithm 4).
"""

import math

from bench.errors import InputError, check_name
from bench.papers.isrl.theory.setting import Setting, check


def privacy_term(setting: Setting) -> float:
    """Return sqrt(d log(1 / delta)) / (epsilon n), which is added to 1 / sqrt(n) in every bound."""
    check(setting)
    s = setting
    return math.sqrt(s.features * math.log(1 / s.delta)) / (s.epsilon * s.records)


def num_phases(records: int) -> int:
    """Return tau = floor(log2 n), for which the last phase has one record of every silo."""
    if records < 2:
        raise InputError(f"records is {records}: phases need at least 2")
    return int(math.log2(records))


def phase_records(records: int) -> list[int]:
    """Return n_i = floor(n / 2^i), i = 1 ... tau; together these are fewer than n, so phases can be disjoint."""
    return [records // 2**i for i in range(1, num_phases(records) + 1)]


def regularization(setting: Setting) -> float:
    """Return lambda = L / (D sqrt(M)) max(1 / sqrt(n), sqrt(d log(1 / delta)) / (epsilon n)), of the first phase.

    It balances the two terms of the risk: lambda D^2 of the regulariser, and L^2 (1 / n + privacy^2) / (lambda M).
    """
    check(setting)
    s = setting
    return s.lipschitz / (s.diameter * math.sqrt(s.answering)) * max(s.records**-0.5, privacy_term(s))


def growth(answering: int, records: int, *, reading: str = "recollected") -> float:
    """Return p of lambda_i = lambda 2^((i - 1) p), which is max(log_n(M) / 2 + c, 3).

    The constant c is 1 ("recollected") or 3/2 ("derived").

    The proof needs the last phase's error L |w_tau - w^_tau|, at most L D n^(1 - p), below L D / sqrt(n M), which is
    p >= 3/2 + log_n(M) / 2. Both readings are 3 until M exceeds n^3.

    Raises:
        InputError: for another reading, no silo, or fewer than two records.
    """
    constants = {"recollected": 1.0, "derived": 1.5}
    check_name("reading of p", reading, constants)
    if answering < 1 or records < 2:
        raise InputError(f"answering is {answering} and records {records}: p needs a silo and two of its records")
    return max(0.5 * math.log(answering) / math.log(records) + constants[reading], 3.0)


def regularizations(setting: Setting, p: float) -> list[float]:
    """Return lambda_i = lambda 2^((i - 1) p)."""
    first = regularization(setting)
    return [first * 2 ** (i * p) for i in range(num_phases(setting.records))]


def radii(setting: Setting, p: float) -> list[float]:
    """Return D_i = 2 L / lambda_i, the largest distance of a phase's minimiser from its centre (Lemma C.3).

    By optimality lambda_i / 2 |w^ - w_{i-1}|^2 <= F(w_{i-1}) - F(w^) <= L |w^ - w_{i-1}|.
    """
    return [2 * setting.lipschitz / strength for strength in regularizations(setting, p)]


def accelerated_rounds(setting: Setting, p: float, *, rate: float = 1.0) -> list[int]:
    """Return R_i of Algorithms 1 and 6.

    R_i is the largest of sqrt((beta + lambda_i) / lambda_i) log(D lambda_i M (epsilon n_i)^2 / (L d)), of
    (epsilon n_i)^2 / (K_i d log(2 / delta)) where messages also vary by sampling (M K < N n), and of 1.

    The logarithm is of the gap at the start of a phase, at most L D, over its target L^2 d / (lambda_i M (epsilon
    n_i)^2); where this ratio is below 1, no improvement is needed.

    Args:
        rate: K_i / n_i.
    """
    s, out = setting, []
    for strength, n in zip(regularizations(s, p), phase_records(s.records), strict=True):
        target = s.lipschitz * s.features / (strength * s.answering * (s.epsilon * n) ** 2)
        log = math.log(max(s.diameter / target, 1.0))
        rounds = [1.0, math.sqrt((s.smoothness + strength) / strength) * log]
        batch = max(1.0, rate * n)
        if s.answering * batch < s.silos * n:
            rounds.append((s.epsilon * n) ** 2 / (batch * s.features * math.log(2 / s.delta)))
        out.append(math.ceil(max(rounds)))
    return out


def subgradient_rounds(setting: Setting) -> list[int]:
    """Return R_i of Algorithm 4, min(M n_i, M (epsilon n_i)^2 / d) + 1.

    With these rounds the optimisation error is at most the other terms of the bound.
    """
    check(setting)
    s = setting
    return [
        math.ceil(min(s.answering * n, s.answering * (s.epsilon * n) ** 2 / s.features)) + 1
        for n in phase_records(s.records)
    ]


def convolution_radius(setting: Setting) -> float:
    """Return s = D / sqrt(M) (1 / sqrt(n) + sqrt(d log(1 / delta)) / (epsilon n)).

    Smoothing adds L s to the risk, which is as large as the risk itself.
    """
    check(setting)
    return setting.diameter / math.sqrt(setting.answering) * (setting.records**-0.5 + privacy_term(setting))


def moreau_smoothness(setting: Setting) -> float:
    """Return beta = L sqrt(M) / D min(sqrt(n), epsilon n / sqrt(d log(1 / delta))).

    The envelope is within L^2 / (2 beta) of the loss.
    """
    check(setting)
    s = setting
    return s.lipschitz * math.sqrt(s.answering) / s.diameter * min(s.records**0.5, 1 / privacy_term(s))
