"""Events to epsilon, epsilon to noise: one run (a `Release`) can be accounted several ways.

rdp: Renyi DP at Opacus' default orders, composed by addition, converted by
    epsilon = min over a of  rdp(a) + log((a - 1) / a) - (log delta + log a) / (a - 1)
    (Canonne, Kamath, Steinke 2020, Proposition 12; Opacus has the same). For a vanishing cost this stays at
    a floor set by the largest order, 63 (0.066 at delta = 1e-4): an artefact, not a privacy loss.
pld: privacy loss distributions of dp_accounting, pessimistic (Doroshenko et al. 2022): an upper bound, too
    large by about 0.2 % at most. Plain Gaussians and Laplace, also mixed; Poisson-sampled Gaussians under
    "add-or-remove one".
gdp: composed Gaussians exactly, one Gaussian with 1 / sigma^2 = sum 1 / sigma_t^2 (Balle, Wang 2018).
composition: pure epsilons of Laplace noise composed by a formula (`pure_composition`).
zcdp_as_published, moments_as_published: closed forms that Gao et al. 2024 and their programs calibrate by, read
    backwards (`zcdp_as_published`, `moments_as_published`): what a paper says, not what the noise gives.

Releases on disjoint units cost what the dearest of them costs, by any accountant.

Laplace noise of scale 1 in each coordinate, on a sum that moves by at most e in L1, is accounted as one
coordinate that moves by e, for which delta(eps) = 1 - exp((eps - e) / 2), 0 <= eps <= e. Movements a >= b in two
coordinates are dominated by a + b in one: the loss of the second coordinate is L_b <= b, so at eps >= 0 the pair
has 1 - delta = E min(1, exp((eps - L_b - a) / 2)) >= exp((eps - a - b) / 2), and eps < 0 follows by symmetry;
more coordinates by induction. (tests/test_laplace.py compares the curves.)

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
from bench.privacy.events import ADD_OR_REMOVE, REPLACE, ParallelDpEvent, Release, require

ORDERS = np.array([1 + x / 10 for x in range(1, 100)] + list(range(12, 64)))  # Opacus 1.5.3, its default
RELATIONS = {
    ADD_OR_REMOVE: dp.NeighboringRelation.ADD_OR_REMOVE_ONE,
    REPLACE: dp.NeighboringRelation.REPLACE_ONE,
}
CONVERSIONS = {
    "rdp": "RDP at Opacus' orders, converted by Canonne, Kamath and Steinke 2020, Proposition 12",
    "pld": "privacy loss distribution, an upper bound within about 0.2 %",
    "gdp": "exact closed form of composed Gaussians, Balle and Wang 2018",
    "composition": "composition of pure DP, Kairouz, Oh and Viswanath 2015, Theorem 3.5",
    "zcdp_as_published": "zero-concentrated DP without its term rho, as in the programs of Gao et al.: too small",
    "moments_as_published": "closed form of Gao et al. 2024, advanced composition of amplified Gaussians: too large",
}
PLD_LIMIT = 200.0  # above this RDP value a PLD takes millions of points, for a number that says "no privacy"
PLD_LAPLACE = 32.0  # above this pure epsilon, what lies above is added to the result; costs e^-32 in delta
TINY_NOISE = 0.02  # below it a round costs thousands, and sampling takes a few percent off that at most

Atoms = dict[Any, int]  # DpEvent that is not a composition -> how many times


def epsilon(release: Release, rounds: int) -> float:
    """The epsilon that a release has spent after so many rounds, at its own delta.

    Args:
        release: what was released (`events`), which says unit, relation, sampler and accountant.
        rounds: 0 or more.

    Returns:
        0 for nothing released; inf without noise; NaN ("not computed") where accountant is "pld" and the
        RDP value of the Gaussians in the release exceeds PLD_LIMIT; else epsilon.

    Raises:
        InputError: for negative rounds, or a release that the accountant does not know.
    """
    rounds = operator.index(rounds)
    require("rounds", rounds, rounds >= 0, "give 0 or more")
    if release.neighbors not in RELATIONS:
        raise unknown_name("neighbouring relation", release.neighbors, RELATIONS)
    if release.accountant not in CONVERSIONS:
        raise unknown_name("accountant", release.accountant, CONVERSIONS)
    event = release.event(rounds)  # also for no rounds: a run may begin with a release
    parts = event.events if isinstance(event, ParallelDpEvent) else (event,)
    return max((_spent(_atoms(part), release) for part in parts), key=lambda spent: (math.isnan(spent), spent))


def _spent(atoms: Atoms, release: Release) -> float:
    """Epsilon of releases that may all concern the same unit."""
    if not atoms:
        return 0.0
    if any(isinstance(atom, dp.NonPrivateDpEvent) for atom in atoms):
        return math.inf
    if release.accountant == "gdp":
        return _gdp_epsilon(atoms, release.delta)
    if release.accountant == "rdp":
        return _rdp_epsilon(atoms, release.neighbors, release.delta)
    if release.accountant == "composition":
        return pure_composition(*_pure(atoms), release.delta)
    if release.accountant in PUBLISHED:
        return PUBLISHED[release.accountant](atoms, release.delta)
    _check_pld(atoms, release.neighbors)
    gaussians = {atom: times for atom, times in atoms.items() if not isinstance(atom, dp.LaplaceDpEvent)}
    if gaussians and _rdp_epsilon(gaussians, release.neighbors, release.delta) > PLD_LIMIT:
        return math.nan
    return _pld_epsilon(frozenset(atoms.items()), release.delta)


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


def pure_composition(epsilons: Sequence[float], times: Sequence[int], delta: float) -> float:
    """The epsilon at delta of mechanisms that are pure epsilon_l-DP, each so many times, in any order.

    The smallest of (Kairouz, Oh, Viswanath 2015, Theorem 3.5; Bellet et al. 2018, Theorem 1), sums over l,

        sum e,   M + sqrt(2 V log(exp(1) + sqrt(V) / delta)),   M + sqrt(2 V log(1 / delta)),
        M = sum e (exp(e) - 1) / (exp(e) + 1) = sum e tanh(e / 2),   V = sum e^2,

    for all of them together, or for all but one kind, whose e are added: a sum of a pure part and an (e, delta) part
    is sound too, and smaller where one kind, such as a warm start, is unlike the others. The first holds at delta = 0
    already. (Bellet et al. print the roots inside the sum of M; the theorem that they cite has one root.)

    Args:
        epsilons: 0 or more, e.g. one for each update.
        times: how often each, of the same length.
        delta: in (0, 1).
    """
    e, kind = np.unique(np.asarray(epsilons, dtype=np.float64), return_inverse=True)
    count = np.bincount(kind, weights=times)

    def together(e, count):
        variance = float(count @ e**2)
        mean = float(count @ (e * np.tanh(e / 2)))
        logs = (math.log(math.e + math.sqrt(variance) / delta), math.log(1 / delta))
        return min(float(count @ e), *(mean + math.sqrt(2 * variance * log) for log in logs))

    apart = (count[l] * e[l] + together(np.delete(e, l), np.delete(count, l)) for l in range(len(e)))
    return min(together(e, count), *apart)


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


def _pure(atoms: Atoms) -> tuple[list[float], list[int]]:
    """(pure epsilons, times) of Laplace releases."""
    if not all(isinstance(atom, dp.LaplaceDpEvent) for atom in atoms):
        raise InputError("accountant composition knows Laplace noise only: take rdp, pld or gdp for a Gaussian.")
    return [1 / atom.noise_multiplier for atom in atoms], list(atoms.values())


def _check_pld(atoms: Atoms, neighbors: str) -> None:
    """Multipliers are relative to the movement, so what is not sampled is the same under both relations."""
    for atom in atoms:
        sampled = isinstance(atom, dp.PoissonSampledDpEvent) and isinstance(atom.event, dp.GaussianDpEvent)
        plain = isinstance(atom, (dp.GaussianDpEvent, dp.LaplaceDpEvent))
        if not (plain or (sampled and neighbors == ADD_OR_REMOVE)):
            raise InputError(f"accountant pld does not know {atom} under {neighbors}: take rdp.")


@lru_cache(maxsize=16384)
def _pld_epsilon(atoms: frozenset[tuple[Any, int]], delta: float) -> float:
    """Epsilon of composed Gaussian and Laplace releases.

    The loss of a Laplace release of pure epsilon e is e - min(Z, 2 e), Z being 0 or exponential with mean 2,
    even odds: lowering e to a cap c and adding e - c to the result exaggerates it. The sum of the pure epsilons
    bounds it too, and wins where the grid is coarser than the little that composition saves.
    """
    parts: list[tuple[Any, int]] = []
    above = capped = 0.0
    for atom, times in sorted(atoms, key=repr):
        if isinstance(atom, dp.LaplaceDpEvent):
            e = min(1 / atom.noise_multiplier, PLD_LAPLACE)
            above += times * (1 / atom.noise_multiplier - e)
            capped += times * e
            parts.append((dp.LaplaceDpEvent(1 / e), times))
        else:
            parts.append((atom, times))
    interval = _pld_interval(parts)
    losses = [_pld(atom, interval).self_compose(times) for atom, times in parts]
    composed = reduce(lambda one, other: one.compose(other), losses)
    found = above + _epsilon_at(composed, delta, capped, interval)
    only_laplace = all(isinstance(atom, dp.LaplaceDpEvent) for atom, _ in atoms)
    return min(found, above + capped) if only_laplace else found


def _epsilon_at(
    composed: pld.privacy_loss_distribution.PrivacyLossDistribution, delta: float, largest: float, step: float
) -> float:
    """Where delta(epsilon) falls to delta: by the library, whose search overflows at losses of 700; there by
    bisection down to `step`, from above.

    Args:
        largest: the loss that Laplace releases can reach.
    """
    if largest < 500:
        return float(composed.get_epsilon_for_delta(delta))
    if composed.get_delta_for_epsilon(math.inf) > delta:
        return math.inf
    low, high = 0.0, largest
    while composed.get_delta_for_epsilon(high) > delta:
        low, high = high, 2 * high
    while high - low > step:
        middle = (low + high) / 2
        low, high = (middle, high) if composed.get_delta_for_epsilon(middle) > delta else (low, middle)
    return high


@lru_cache(maxsize=64)
def _pld(atom: Any, interval: float) -> pld.privacy_loss_distribution.PrivacyLossDistribution:
    if isinstance(atom, dp.LaplaceDpEvent):
        return pld.privacy_loss_distribution.from_laplace_mechanism(
            atom.noise_multiplier, value_discretization_interval=interval
        )
    sigma, rate = _gaussian_parameters(atom)
    return pld.privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=rate, value_discretization_interval=interval
    )


def _gaussian_parameters(atom: Any) -> tuple[float, float]:
    """(noise multiplier, sampling rate)."""
    sampled = isinstance(atom, dp.PoissonSampledDpEvent)
    gaussian: Any = atom.event if sampled else atom
    return gaussian.noise_multiplier, atom.sampling_probability if sampled else 1.0


def _pld_interval(parts: Sequence[tuple[Any, int]]) -> float:
    """Discretisation of the privacy loss: a tenth of the standard deviation of one round's loss.

    A fixed 1e-4 (dp_accounting's default) is too fine for little noise and 10 % off for much of it. The error
    grows with the square of interval / deviation; a tenth gives about 0.1 % too large an epsilon. Laplace, whose
    loss has an edge, takes a hundredth. The smallest of the parts counts, but each part keeps within 1e5 points.
    """
    wanted, largest = [], []
    for atom, times in parts:
        if isinstance(atom, dp.LaplaceDpEvent):
            e = 1 / atom.noise_multiplier
            deviation = min(e, math.sqrt(3.0))  # of e - min(Z, 2 e), for small and for large e
            wanted.append(deviation / 100)
            largest.append(max(2 * e, 16 * deviation * math.sqrt(times)))
        else:
            sigma, rate = _gaussian_parameters(atom)
            deviation = rate * math.sqrt(math.expm1(min(sigma**-2, 50.0)))
            wanted.append(min(deviation / 10, 2e-3))
            largest.append(math.log1p(rate * math.expm1(min((10 * sigma + 0.5) / sigma**2, 700.0))))
    return max(min(wanted), max(largest) / 1e5)


def _sampled_gaussians(atoms: Atoms) -> list[tuple[float, float, int]]:
    """(noise multiplier, sampling rate, times) of plain Gaussians and of Gaussians on samples of fixed size."""
    out = []
    for atom, times in atoms.items():
        sampled = isinstance(atom, dp.SampledWithoutReplacementDpEvent)
        gaussian = atom.event if sampled else atom
        if not isinstance(gaussian, dp.GaussianDpEvent):
            raise InputError(f"the published closed forms do not know {atom}: take rdp or gdp.")
        out.append((gaussian.noise_multiplier, atom.sample_size / atom.source_dataset_size if sampled else 1.0, times))
    return out


def _zcdp_as_published(atoms: Atoms, delta: float) -> float:
    """epsilon = 2 sqrt(rho log(1 / delta)), rho = sum q^2 / (2 sigma^2): the converted epsilon is rho more.

    The inverse of std^2 = 8 L^2 R log(1 / delta) / (n epsilon)^2 on means of K records; that a sample of K out of n
    costs q^2 = (K / n)^2 of a full batch is part of what was published, not a theorem.
    """
    rho = sum(times * rate**2 / (2 * sigma**2) for sigma, rate, times in _sampled_gaussians(atoms))
    return 2 * math.sqrt(rho * math.log(1 / delta))


def _moments_as_published(atoms: Atoms, delta: float) -> float:
    """The inverse of std^2 = 256 L^2 R log(2.5 R K / (delta n)) log(2 / delta) / (n epsilon)^2 on means of K records.

    Multipliers in an event are relative to a movement of 2 L / K. NaN for several kinds of rounds, and outside the
    range in which the formula is derived: epsilon <= 2 log(2 / delta), K / n >= epsilon / (4 sqrt(2 R log(2 / delta))).
    """
    gaussians = _sampled_gaussians(atoms)
    if len(gaussians) > 1:
        return math.nan
    ((sigma, rate, times),) = gaussians
    spent = 8 * rate * math.sqrt(times * math.log(2.5 * times * rate / delta) * math.log(2 / delta)) / sigma
    in_range = spent <= min(2 * math.log(2 / delta), 4 * rate * math.sqrt(2 * times * math.log(2 / delta)))
    return spent if in_range else math.nan


PUBLISHED = {"zcdp_as_published": _zcdp_as_published, "moments_as_published": _moments_as_published}
