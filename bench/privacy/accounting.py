"""Events to epsilon, epsilon to noise: one run (a `Release`) can be accounted several ways.

rdp: Renyi DP at Opacus' default orders, composed by addition, converted by
    epsilon = min over a of  rdp(a) + log((a - 1) / a) - (log delta + log a) / (a - 1)
    (Canonne, Kamath, Steinke 2020, Proposition 12; Opacus has the same). For a vanishing cost this stays at
    a floor set by the largest order, 63 (0.066 at delta = 1e-4): an artefact, not a privacy loss.
pld: privacy loss distributions of dp_accounting, pessimistic (Doroshenko et al. 2022): an upper bound, too
    large by about 0.2 % at most. Poisson-sampled and plain Gaussians under "add-or-remove one".
gdp: composed Gaussians exactly, one Gaussian with 1 / sigma^2 = sum 1 / sigma_t^2 (Balle, Wang 2018).

Two of the RDP curves are computed here and not by dp_accounting 0.6. Poisson sampling: at non-integer orders
its series adds the alternating terms as if all were positive (sound, but up to threefold too large) and
gives up on some orders: q = 0.02, sigma = 0.5, 2000 rounds cost 36.0 there and 34.8 by Opacus and here.
Without replacement: the bound is the one used there, its moments are integrals instead of a difference
table for each order: 3 ms and not 80, and free of the cancellation that the table meets under much noise.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any

import dp_accounting as dp
import numpy as np
from dp_accounting import pld
from scipy.special import gammaln, logsumexp

from bench.errors import InputError, unknown_name
from bench.privacy.events import ADD_OR_REMOVE, REPLACE, Release, require

ORDERS = np.array([1 + x / 10 for x in range(1, 100)] + list(range(12, 64)))  # Opacus 1.5.3, its default
RELATIONS = {
    ADD_OR_REMOVE: dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    REPLACE: dp.NeighboringRelation.REPLACE_ONE,
}
CONVERSIONS = {
    "rdp": "RDP at Opacus' orders, converted by Canonne, Kamath and Steinke 2020, Proposition 12",
    "pld": "privacy loss distribution, an upper bound within about 0.2 %",
    "gdp": "exact closed form of composed Gaussians, Balle and Wang 2018",
}
PLD_LIMIT = 200.0  # above this RDP value a PLD takes millions of points, for a number that says "no privacy"
TINY_NOISE = 0.02  # below it a round costs thousands, and sampling takes a few percent off that at most

Atoms = dict[Any, int]  # DpEvent that is not a composition -> how many times


def epsilon(release: Release, rounds: int) -> float:
    """The epsilon that a release has spent after so many rounds, at its own delta.

    Args:
        release: what was released (`events`), which says unit, relation, sampler and accountant.
        rounds: 0 or more.

    Returns:
        0 for no rounds or nothing released; inf without noise; NaN ("not computed") where accountant is
        "pld" and the RDP value of the same release exceeds PLD_LIMIT; else epsilon.

    Raises:
        InputError: for negative rounds, or a release that the accountant does not know.
    """
    rounds = operator.index(rounds)
    require("rounds", rounds, rounds >= 0, "give 0 or more")
    if release.neighbors not in RELATIONS:
        raise unknown_name("neighbouring relation", release.neighbors, RELATIONS)
    if release.accountant not in CONVERSIONS:
        raise unknown_name("accountant", release.accountant, CONVERSIONS)
    atoms = _atoms(release.event(rounds)) if rounds else {}
    if not atoms:
        return 0.0
    if any(isinstance(atom, dp.NonPrivateDpEvent) for atom in atoms):
        return math.inf
    if release.accountant == "gdp":
        return _gdp_epsilon(atoms, release.delta)
    if release.accountant == "rdp":
        return _rdp_epsilon(atoms, release.neighbors, release.delta)
    parameters = _pld_parameters(atoms, release.neighbors)
    if _rdp_epsilon(atoms, release.neighbors, release.delta) > PLD_LIMIT:
        return math.nan
    return _pld_epsilon(parameters, release.delta)


def epsilons(release: Release, rounds: Sequence[int]) -> np.ndarray:
    """`epsilon` at each of many round counts; the cost of one round is computed once and reused.

    Args:
        release: what was released.
        rounds: counts, in any order.

    Returns:
        Float64 array of the same length.

    Raises:
        InputError: as `epsilon`.
    """
    return np.array([epsilon(release, count) for count in rounds], dtype=np.float64)


def noise_multiplier(target: float, release: Callable[[float], Release], rounds: int) -> float:
    """The smallest noise multiplier that keeps a release within a target epsilon, by bisection.

    The result keeps within the target; 0.9995 times the result does not, or (pld, hardly any noise) is not
    computed.

    Args:
        target: epsilon, above 0 and finite; for accountant "pld" at most 100.
        release: noise multiplier -> release; more noise must not cost more.
        rounds: 1 or more.

    Raises:
        InputError: for a value outside its range, or a target that no noise attains.
    """
    require("epsilon", target, 0 < target < math.inf, "give a finite number above 0")
    require("rounds", rounds, rounds >= 1, "give 1 or more")
    if release(1.0).accountant == "pld":
        require("epsilon", target, target <= PLD_LIMIT / 2, "pld is for at most 100; take accountant rdp")

    def enough(sigma: float) -> bool:
        return epsilon(release(sigma), rounds) <= target  # False for NaN

    high = 1.0
    while not enough(high):
        high *= 2
        require("epsilon", target, high < 2.0**40, "no noise attains it at this delta; take a larger one")
    low = high / 2
    while enough(low):
        low, high = low / 2, low
        require("epsilon", target, low > 2.0**-40, "it holds without noise; take a smaller one")
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def rdp_floor(delta: float) -> float:
    """What the RDP conversion gives for a vanishing cost; below it come only exact zeros (cost < delta^2)."""
    return float(np.min(np.log1p(-1 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1)))


def _atoms(event: dp.DpEvent, times: int = 1) -> Atoms:
    """A composition as a count of its parts: all that an accountant of adaptive composition looks at."""
    if times == 0 or isinstance(event, dp.NoOpDpEvent):
        return {}
    if isinstance(event, dp.SelfComposedDpEvent):
        return _atoms(event.event, times * event.count)
    if isinstance(event, dp.ComposedDpEvent):
        parts: Counter = Counter()
        for part in event.events:
            parts.update(_atoms(part, times))
        return dict(parts)
    return {event: times}


def _gdp_epsilon(atoms: Atoms, delta: float) -> float:
    if not all(isinstance(atom, dp.GaussianDpEvent) for atom in atoms):
        raise InputError("accountant gdp knows plain Gaussians only: take rdp or pld for a sampled release.")
    precision = sum(times / atom.noise_multiplier**2 for atom, times in atoms.items())
    with np.errstate(divide="ignore"):  # log 0 where the two tails cancel: the delta there is 0
        return float(dp.get_epsilon_gaussian(precision**-0.5, delta))


def _rdp_epsilon(atoms: Atoms, neighbors: str, delta: float) -> float:
    total = np.sum([times * _rdp(atom, neighbors) for atom, times in atoms.items()], axis=0)
    return float(dp.rdp.compute_epsilon(ORDERS.tolist(), total.tolist(), delta)[0])


@lru_cache(maxsize=4096)
def _rdp(atom: Any, neighbors: str) -> np.ndarray:
    """RDP of one release at ORDERS."""
    if isinstance(getattr(atom, "event", None), dp.GaussianDpEvent):
        sigma = atom.event.noise_multiplier
        if isinstance(atom, dp.PoissonSampledDpEvent) and neighbors == ADD_OR_REMOVE:
            return _poisson_rdp(atom.sampling_probability, sigma)
        if isinstance(atom, dp.SampledWithoutReplacementDpEvent) and neighbors == REPLACE:
            return _fixed_size_rdp(atom.sample_size / atom.source_dataset_size, sigma)
    accountant = dp.rdp.RdpAccountant(ORDERS.tolist(), RELATIONS[neighbors])
    if not accountant.supports(atom):
        raise InputError(f"accountant rdp does not know {atom} under {neighbors}: take another relation.")
    return accountant.compose(atom).rdp


def _grid(sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes z and log weights of the trapezoid rule for expectations of L(z)^a over N(0, sigma^2).

    L = N(1, sigma^2) / N(0, sigma^2); the mass of L^a lies around z = a. For analytic integrands the rule
    converges geometrically: a step of sigma / 6 leaves 1e-10 at most, the branch points of a power of
    1 - q + q L (pi sigma^2 off the axis) included.
    """
    step = sigma / 6
    z = np.arange(-12 * sigma, ORDERS[-1] + 1 + 12 * sigma, step)
    return z, -(z**2) / (2 * sigma**2) + math.log(step / (sigma * math.sqrt(2 * math.pi)))


def _poisson_rdp(q: float, sigma: float) -> np.ndarray:
    """RDP at ORDERS of a Gaussian on a Poisson sample, one unit added or removed (the larger: removed).

    rdp(a) = log E[(1 - q + q L(z))^a] / (a - 1),  z ~ N(0, sigma^2)  (Mironov, Talwar, Zhang 2019, sec. 3).
    Sampling never costs, so the plain Gaussian's a / (2 sigma^2) bounds it, and stands in for it where the
    noise is tiny.
    """
    plain = ORDERS / (2 * sigma**2)
    if q == 1 or sigma < TINY_NOISE:
        return plain
    z, log_weight = _grid(sigma)
    log_ratio = np.logaddexp(math.log1p(-q), math.log(q) + (2 * z - 1) / (2 * sigma**2))
    log_moment = np.array([logsumexp(log_weight + a * log_ratio) for a in ORDERS])
    rounding = 1e-15 * ORDERS  # keeps a cost below double precision from becoming none
    return np.minimum((np.maximum(log_moment, 0) + rounding) / (ORDERS - 1), plain)


def _fixed_size_rdp(q: float, sigma: float) -> np.ndarray:
    """RDP at ORDERS of a Gaussian on a fixed-size sample without replacement, one unit replaced.

    `sigma` is relative to the replace-one movement (2 C), as in dp_accounting. At integer orders the bound of
    Wang, Balle and Kasiviswanathan 2019, Theorem 27; between them, as (a - 1) rdp(a) is convex, linear
    interpolation of that (their Corollary 10). With B(l) = E[(L - 1)^l], z ~ N(0, sigma^2),

        (a - 1) rdp(a) <= log(1 + sum_{j=2}^a C(a, j) q^j m_j),   m_2 = min(4 (e^{1/sigma^2} - 1), 2 e^{..}),
        m_j = min(4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), 2 e^{j (j - 1) / (2 sigma^2)}).

    Samples that do not hold the unit are the same for both neighbours, so the plain Gaussian bounds it too.
    """
    plain = ORDERS / (2 * sigma**2)
    if q == 1 or sigma < TINY_NOISE:
        return plain
    top = int(ORDERS[-1])
    z, log_weight = _grid(sigma)
    excess = (2 * z - 1) / (2 * sigma**2)  # log L
    log_excess = np.maximum(excess, 0) + np.log(-np.expm1(-np.abs(excess)) + 1e-300)  # log |L - 1|
    log_b = np.array([logsumexp(log_weight + l * log_excess) for l in range(2, top + 2, 2)])  # l = 2, 4, ...
    j = np.arange(2, top + 1)
    log_m = np.minimum(
        math.log(4) + (log_b[j // 2 - 1] + log_b[(j + 1) // 2 - 1]) / 2,
        math.log(2) + j * (j - 1) / (2 * sigma**2),
    )
    a = j[:, None]
    log_binomial = gammaln(a + 1) - gammaln(j + 1) - gammaln(a - j + 1)  # -inf for j > a  # [a, j]
    log_sum = np.asarray(logsumexp(log_binomial + j * math.log(q) + log_m, axis=1))
    cgf = np.logaddexp(0, log_sum)
    bound = np.interp(ORDERS, np.arange(1, top + 1), np.concatenate([[0.0], cgf])) / (ORDERS - 1)
    return np.minimum(bound, plain)


def _pld_parameters(atoms: Atoms, neighbors: str) -> frozenset[tuple[float, float, int]]:
    """(noise multiplier, rate, times) of each part, for the PLD of Gaussians under add-or-remove."""
    parameters = set()
    for atom, times in atoms.items():
        rate = atom.sampling_probability if isinstance(atom, dp.PoissonSampledDpEvent) else 1.0
        gaussian = atom.event if isinstance(atom, dp.PoissonSampledDpEvent) else atom
        # dp_accounting's PLD would double the movement under replace-one once more, its RDP does not.
        if not isinstance(gaussian, dp.GaussianDpEvent) or neighbors != ADD_OR_REMOVE:
            raise InputError(f"accountant pld does not know {atom} under {neighbors}: take rdp.")
        parameters.add((gaussian.noise_multiplier, rate, times))
    return frozenset(parameters)


@lru_cache(maxsize=16384)
def _pld_epsilon(parameters: frozenset[tuple[float, float, int]], delta: float) -> float:
    interval = min(_pld_interval(sigma, rate) for sigma, rate, _ in parameters)
    parts = [_pld(sigma, rate, interval).self_compose(times) for sigma, rate, times in sorted(parameters)]
    return float(reduce(lambda one, other: one.compose(other), parts).get_epsilon_for_delta(delta))


@lru_cache(maxsize=64)
def _pld(sigma: float, rate: float, interval: float) -> pld.privacy_loss_distribution.PrivacyLossDistribution:
    return pld.privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=rate, value_discretization_interval=interval
    )


def _pld_interval(sigma: float, rate: float) -> float:
    """Discretisation of the privacy loss: a tenth of the standard deviation of one round's loss.

    A fixed 1e-4 (dp_accounting's default) is too fine for little noise and 10 % off for much of it. The error
    grows with the square of interval / deviation; a tenth gives about 0.1 % too large an epsilon.
    """
    deviation = rate * math.sqrt(math.expm1(min(sigma**-2, 50.0)))
    largest = math.log1p(rate * math.expm1(min((10 * sigma + 0.5) / sigma**2, 700.0)))
    return max(min(deviation / 10, 2e-3), largest / 1e5)  # at most 1e5 points a round
