"""Gao, Lowy, Zhou, Wright 2024: parameters of the theorems, noise calibrations, and Tables 1 and 2 as formulas.

Symbols: N silos, M of them answer in a round, n records each, d features; losses convex and L-Lipschitz, in places
beta-smooth, on a set of diameter D; every silo's messages are (epsilon, delta)-DP for one record replaced. All
logarithms are natural.

The text that was at hand has lost its formulas. Each one here is rebuilt from the sentences that surround it, and
where a constant can be derived, its derivation stands beside it and a test repeats it.
"""

import math
from typing import NamedTuple

from bench.errors import InputError, unknown_name

EXACT = "take the exact calibration instead (bench.privacy.accounting.noise_multiplier)"


class Setting(NamedTuple):
    """The sizes that every formula reads.

    silos: N. answering: M. records: n. features: d. lipschitz: L. diameter: D. smoothness: beta.
    """

    silos: int
    answering: int
    records: int
    features: int
    epsilon: float
    delta: float
    lipschitz: float = 1.0
    diameter: float = 1.0
    smoothness: float = 1.0


def check(setting: Setting) -> None:
    """Refuse sizes that no theorem allows.

    Raises:
        InputError: naming the value and what to do.
    """
    s = setting
    if not 1 <= s.answering <= s.silos:
        raise InputError(f"answering is {s.answering}: of {s.silos} silos, 1 to {s.silos} can answer")
    for name in ("records", "features"):
        if getattr(s, name) < 1:
            raise InputError(f"{name} is {getattr(s, name)}: it must be at least 1")
    for name in ("lipschitz", "diameter", "smoothness"):
        if not 0 < getattr(s, name) < math.inf:
            raise InputError(f"{name} is {getattr(s, name)}: it must be positive and finite")
    _check_budget(s.epsilon, s.delta)


def _check_budget(epsilon: float, delta: float, rounds: int = 1) -> None:
    if rounds < 1:
        raise InputError(f"rounds is {rounds}: it must be at least 1")
    if not 0 < delta < 1:
        raise InputError(f"delta is {delta}: it must be above 0 and below 1")
    if not 0 < epsilon < math.inf:
        raise InputError(f"epsilon is {epsilon}: it must be positive and finite")


# ---- Noise: each gives sigma, the std of the noise on a silo's SUM of clipped gradients over the clipping norm ----


def moments_noise_multiplier(epsilon: float, delta: float, *, rounds: int, rate: float = 1.0) -> float:
    """sigma of the theorems, std^2 = 256 L^2 R log(2.5 R K / (delta n)) log(2 / delta) / (n epsilon)^2 on means of K.

    R rounds of (e, d)-DP compose to (epsilon, delta) with e = epsilon / (2 sqrt(2 R log(2 / delta))), if epsilon <=
    2 log(2 / delta), and d = delta / (2 R); a sample of K out of n is 2 K / n times as private as the whole, if that is
    1-DP at most; and a Gaussian with movement 2 L / K gives (e0, d0) with std = 2 L / K sqrt(2 log(1.25 / d0)) / e0.
    With e0 = n e / (2 K) and d0 = n d / K that is the formula, 256 = 2 * 4 * 16 * 2, and e0 <= 1 is the theorems'
    K >= epsilon n / (4 sqrt(2 R log(2 / delta))).

    Args:
        rounds: R, in which a silo answers.
        rate: K / n.

    Raises:
        InputError: outside that range.
    """
    _check_budget(epsilon, delta, rounds)
    if epsilon > (most := 2 * math.log(2 / delta)):
        raise InputError(
            f"epsilon is {epsilon:g}, above 2 log(2 / delta) = {most:.3g}, where the form with 256 ends: {EXACT}"
        )
    if rate < (least := smallest_rate(epsilon, delta, rounds)) or rate > 1:
        raise InputError(f"K / n is {rate:g}; the form with 256 wants {least:.3g} to 1 in {rounds} rounds: {EXACT}")
    logs = math.log(2.5 * rounds * rate / delta) * math.log(2 / delta)
    return 16 * rate * math.sqrt(rounds * logs) / epsilon


def smallest_rate(epsilon: float, delta: float, rounds: int) -> float:
    """epsilon / (4 sqrt(2 R log(2 / delta))): the smallest K / n of the theorems."""
    _check_budget(epsilon, delta, rounds)
    return epsilon / (4 * math.sqrt(2 * rounds * math.log(2 / delta)))


def zcdp_noise_multiplier(epsilon: float, delta: float, *, rounds: int) -> float:
    """sigma of the authors' programs: std^2 = 8 L^2 R log(1 / delta) / (n epsilon)^2 on the mean of all n records.

    That is rho-zCDP with rho = epsilon^2 / (4 log(1 / delta)), which converts to epsilon + rho, not epsilon: the
    programs leave rho out. Their range, "epsilon <= 4 log n" with delta = n^-2, is where rho <= log(1 / delta).

    Args:
        rounds: R, in which a record is used; 1 for one pass.

    Raises:
        InputError: for epsilon above 2 log(1 / delta).
    """
    _check_budget(epsilon, delta, rounds)
    if epsilon > (most := 2 * math.log(1 / delta)):
        raise InputError(
            f"epsilon is {epsilon:g}, above 2 log(1 / delta) = {most:.3g}, where the zCDP form ends: {EXACT}"
        )
    return math.sqrt(8 * rounds * math.log(1 / delta)) / epsilon


def zcdp_overspending(epsilon: float, delta: float) -> float:
    """rho = epsilon^2 / (4 log(1 / delta)), by which the converted epsilon of the zCDP form exceeds its target."""
    _check_budget(epsilon, delta)
    return epsilon**2 / (4 * math.log(1 / delta))


# ---- Parameters of the localized algorithms: Theorems C.1 (Algorithm 1), D.5 (6), E.2 (Moreau envelope), G.1 (4) ----


def privacy_term(setting: Setting) -> float:
    """sqrt(d log(1 / delta)) / (epsilon n), which stands beside 1 / sqrt(n) in every bound."""
    check(setting)
    s = setting
    return math.sqrt(s.features * math.log(1 / s.delta)) / (s.epsilon * s.records)


def num_phases(records: int) -> int:
    """tau = floor(log2 n): the last phase has one record of every silo."""
    if records < 2:
        raise InputError(f"records is {records}: phases need at least 2")
    return int(math.log2(records))


def phase_records(records: int) -> list[int]:
    """n_i = floor(n / 2^i), i = 1 ... tau: together fewer than n, so phases can be disjoint."""
    return [records // 2**i for i in range(1, num_phases(records) + 1)]


def regularization(setting: Setting) -> float:
    """lambda = L / (D sqrt(M)) max(1 / sqrt(n), sqrt(d log(1 / delta)) / (epsilon n)), of the first phase.

    It makes the two terms of the risk alike: lambda D^2 of the regulariser, and L^2 (1 / n + privacy^2) / (lambda M).
    """
    check(setting)
    s = setting
    return s.lipschitz / (s.diameter * math.sqrt(s.answering)) * max(s.records**-0.5, privacy_term(s))


def growth(answering: int, records: int, *, reading: str = "recollected") -> float:
    """p, in lambda_i = lambda 2^((i - 1) p): max(log_n(M) / 2 + c, 3) with c = 1 ("recollected") or 3/2 ("derived").

    The proof wants the last phase's error L |w_tau - w^_tau|, at most L D n^(1 - p), below L D / sqrt(n M), which is
    p >= 3/2 + log_n(M) / 2. Both readings are 3 until M exceeds n^3.

    Raises:
        InputError: for another reading, no silo, or fewer than two records.
    """
    constants = {"recollected": 1.0, "derived": 1.5}
    if reading not in constants:
        raise unknown_name("reading of p", reading, constants)
    if answering < 1 or records < 2:
        raise InputError(f"answering is {answering} and records {records}: p needs a silo and two of its records")
    return max(0.5 * math.log(answering) / math.log(records) + constants[reading], 3.0)


def regularizations(setting: Setting, p: float) -> list[float]:
    """lambda_i = lambda 2^((i - 1) p)."""
    first = regularization(setting)
    return [first * 2 ** (i * p) for i in range(num_phases(setting.records))]


def radii(setting: Setting, p: float) -> list[float]:
    """D_i = 2 L / lambda_i: the minimiser of a phase is never further from its centre (Lemma C.3).

    By optimality lambda_i / 2 |w^ - w_{i-1}|^2 <= F(w_{i-1}) - F(w^) <= L |w^ - w_{i-1}|.
    """
    return [2 * setting.lipschitz / strength for strength in regularizations(setting, p)]


def accelerated_rounds(setting: Setting, p: float, *, rate: float = 1.0) -> list[int]:
    """R_i of Algorithms 1 and 6: sqrt((beta + lambda_i) / lambda_i) log(D lambda_i M (epsilon n_i)^2 / (L d)), or
    (epsilon n_i)^2 / (K_i d log(2 / delta)) where messages also vary by sampling (M K < N n), or 1: the largest.

    The logarithm is of the gap at the start of a phase, at most L D, over its target L^2 d / (lambda_i M (epsilon
    n_i)^2); below 1 there is nothing to gain.

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
    """R_i of Algorithm 4: min(M n_i, M (epsilon n_i)^2 / d) + 1, so that optimising costs no more than the rest."""
    check(setting)
    s = setting
    return [
        math.ceil(min(s.answering * n, s.answering * (s.epsilon * n) ** 2 / s.features)) + 1
        for n in phase_records(s.records)
    ]


def convolution_radius(setting: Setting) -> float:
    """s = D / sqrt(M) (1 / sqrt(n) + sqrt(d log(1 / delta)) / (epsilon n)): smoothing adds L s, as much as the risk."""
    check(setting)
    return setting.diameter / math.sqrt(setting.answering) * (setting.records**-0.5 + privacy_term(setting))


def moreau_smoothness(setting: Setting) -> float:
    """beta = L sqrt(M) / D min(sqrt(n), epsilon n / sqrt(d log(1 / delta))): the envelope is within L^2 / (2 beta)."""
    check(setting)
    s = setting
    return s.lipschitz * math.sqrt(s.answering) / s.diameter * min(s.records**0.5, 1 / privacy_term(s))


# ---- Tables 1 and 2, with constants and logarithms left out, L = D = beta = 1, M = N, as in the paper ----

EXPERIMENT: dict = {"silos": 25, "answering": 25, "records": 1238, "features": 50, "delta": 1238**-2}  # of section 4


class Row(NamedTuple):
    """A line of a table: excess risk, rounds, gradients that all silos compute, NaN and "?" where the text has lost it.

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
    """(1 / sqrt(n) + sqrt(d log(1 / delta)) / (epsilon n)) / sqrt(N)."""
    return (setting.records**-0.5 + privacy_term(setting)) / math.sqrt(setting.silos)


def heterogeneous_risk_before(setting: Setting) -> float:
    """1 / sqrt(N n) + (sqrt(d log(1 / delta)) / (epsilon n sqrt(N)))^(4/5): Lowy and Razaviyayn 2023, Algorithm 1."""
    return (setting.silos * setting.records) ** -0.5 + (privacy_term(setting) / math.sqrt(setting.silos)) ** 0.8


def _statistical(setting: Setting) -> float:
    """min(sqrt(n), epsilon n / sqrt(d)), without its logarithm."""
    return min(setting.records**0.5, setting.epsilon * setting.records / math.sqrt(setting.features))


def _row(setting: Setting, algorithm: str, formula: str, rounds: float, gradients: float, data: str = "any") -> Row:
    risk_formula = r"$N^{-1/2} (n^{-1/2} + \ell / (\varepsilon n))$"
    return Row(algorithm, data, risk_formula, formula, optimal_risk(setting), rounds, gradients)


def _slow(setting: Setting, algorithm: str, data: str = "any") -> Row:
    """Rounds min(N n, N (epsilon n)^2 / d), gradients of the smallest batch that the noise formula allows."""
    s = setting
    rounds = s.silos * _statistical(s) ** 2
    batch = max(1.0, s.records * smallest_rate(s.epsilon, s.delta, max(1, round(rounds))))
    return _row(s, algorithm, r"$\min(N n, N (\varepsilon n)^2 / d)$", rounds, s.silos * batch * rounds, data)


def _before(setting: Setting) -> Row:
    risk_formula = r"$(N n)^{-1/2} + (\ell / (\varepsilon n N^{1/2}))^{4/5}$"
    risk = heterogeneous_risk_before(setting)
    return Row("Lowy and Razaviyayn 2023, Alg. 1", "any", risk_formula, "?", risk, math.nan, math.nan)


def table_1(setting: Setting) -> list[Row]:
    """Smooth losses. Algorithm 1 with full batches: N n gradients a round."""
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
    """Losses that need not be smooth. Algorithm 6 with full batches; the paper counts no gradients for envelopes."""
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
