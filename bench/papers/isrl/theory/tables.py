"""Tables 1 and 2 of Gao et al. 2024 as formulas.

Constants and logarithms are left out, L = D = beta = 1, and M = N, as in the paper.
"""

import math
from typing import NamedTuple

from bench.papers.isrl.theory.noise import smallest_rate
from bench.papers.isrl.theory.schedules import privacy_term
from bench.papers.isrl.theory.setting import Setting, check

EXPERIMENT: dict = {"silos": 25, "answering": 25, "records": 1238, "features": 50, "delta": 1238**-2}  # of section 4


class Row(NamedTuple):
    """A line of a table: excess risk, rounds, and gradients that all silos compute; NaN and "?" where the text is lost.

    The formulas are LaTeX; in them ell is the square root of d log(1 / delta).
    """

    algorithm: str
    data: str
    risk_formula: str
    rounds_formula: str
    risk: float
    rounds: float
    gradients: float


def optimal_risk(setting: Setting) -> float:
    """Return (1 / sqrt(n) + sqrt(d log(1 / delta)) / (epsilon n)) / sqrt(N)."""
    return (setting.records**-0.5 + privacy_term(setting)) / math.sqrt(setting.silos)


def heterogeneous_risk_before(setting: Setting) -> float:
    """Return the risk of Lowy and Razaviyayn 2023, Algorithm 1:
    1 / sqrt(N n) + (sqrt(d log(1 / delta)) / (epsilon n sqrt(N)))^(4/5).
    """
    return (setting.silos * setting.records) ** -0.5 + (privacy_term(setting) / math.sqrt(setting.silos)) ** 0.8


def _statistical(setting: Setting) -> float:
    """Return min(sqrt(n), epsilon n / sqrt(d)), without its logarithm."""
    return min(setting.records**0.5, setting.epsilon * setting.records / math.sqrt(setting.features))


def _row(setting: Setting, algorithm: str, formula: str, rounds: float, gradients: float, data: str = "any") -> Row:
    risk_formula = r"$N^{-1/2} (n^{-1/2} + \ell / (\varepsilon n))$"
    return Row(algorithm, data, risk_formula, formula, optimal_risk(setting), rounds, gradients)


def _slow(setting: Setting, algorithm: str, data: str = "any") -> Row:
    """Return the row with min(N n, N (epsilon n)^2 / d) rounds, and gradients of the smallest batch that the noise
    formula allows.
    """
    s = setting
    rounds = s.silos * _statistical(s) ** 2
    batch = max(1.0, s.records * smallest_rate(s.epsilon, s.delta, max(1, round(rounds))))
    return _row(s, algorithm, r"$\min(N n, N (\varepsilon n)^2 / d)$", rounds, s.silos * batch * rounds, data)


def _before(setting: Setting) -> Row:
    risk_formula = r"$(N n)^{-1/2} + (\ell / (\varepsilon n N^{1/2}))^{4/5}$"
    risk = heterogeneous_risk_before(setting)
    return Row("Lowy and Razaviyayn 2023, Alg. 1", "any", risk_formula, "?", risk, math.nan, math.nan)


def table_1(setting: Setting) -> list[Row]:
    """Return the table for smooth losses. Algorithm 1 has full batches, with N n gradients a round."""
    check(setting)
    s = setting
    rounds = s.silos**0.25 * _statistical(s) ** 0.5
    formula = r"$N^{1/4} \min(n^{1/2}, \varepsilon n / d^{1/2})^{1/2}$"
    return [
        _slow(s, "Lowy and Razaviyayn 2023, Alg. 2", "i.i.d."),
        _before(s),
        _row(s, "Alg. 1", formula, rounds, s.silos * s.records * rounds),
    ]


def table_2(setting: Setting) -> list[Row]:
    """Return the table for losses that need not be smooth. Algorithm 6 has full batches; the paper counts no gradients
    for envelopes.
    """
    check(setting)
    s = setting
    rounds = s.silos**0.5 * _statistical(s)
    formula = r"$N^{1/2} \min(n^{1/2}, \varepsilon n / d^{1/2})$"
    return [
        _slow(s, "Lowy and Razaviyayn 2023, Alg. 2", "i.i.d."),
        _before(s),
        _row(s, "Alg. 1 on Moreau envelopes", formula, rounds, math.nan),
        _slow(s, "Alg. 4, subgradients"),
        _row(s, "Alg. 6, convolution", formula, rounds, s.silos * s.records * rounds),
    ]
