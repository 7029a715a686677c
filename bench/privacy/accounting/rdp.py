"""Renyi DP, composed by addition, converted by

    epsilon = min over a of  rdp(a) + log((a - 1) / a) - (log delta + log a) / (a - 1)

(Canonne, Kamath, Steinke 2020, Proposition 12; Opacus has the same). "rdp" takes the minimum over Opacus' default
orders, as papers do. For a vanishing cost it stays at a floor set by the largest order, 63 (0.066 at delta = 1e-4),
which is an artefact and not a privacy loss. "rdp_wide" goes on to larger orders where the minimum is at the largest so
far, up to 4096 (0.0005 at delta = 1e-5), and is the same elsewhere.

Two of the RDP curves are computed here and not by dp_accounting 0.6:

- Poisson sampling: at non-integer orders its series adds the alternating terms as if all were positive (sound, but up
  to three times too large) and gives up on some orders: q = 0.02, sigma = 0.5, 2000 rounds cost 36.0 with it, and 34.8
  with Opacus and with this module.
- Without replacement: the bound is the same, but its moments are integrals instead of a difference table for each
  order. This takes 3 ms and not 80, and avoids the table's cancellation under much noise.
"""

import math
from functools import lru_cache
from typing import Any

import dp_accounting.dp_event as dp
import numpy as np
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant, compute_epsilon
from scipy.special import gammaln, logsumexp

from bench.errors import InputError
from bench.privacy.accounting.atoms import Atoms
from bench.privacy.events.release import ADD_OR_REMOVE, REPLACE

ORDERS = np.array([1 + x / 10 for x in range(1, 100)] + list(range(12, 64)))  # Opacus 1.5.3, its default
# Eight to a doubling: a minimum between two of them is missed by 0.1 % at most.
FURTHER = [np.round(start * 2 ** (np.arange(17) / 8)) for start in (64, 256, 1024)]
RELATIONS = {
    ADD_OR_REMOVE: NeighboringRelation.ADD_OR_REMOVE_ONE,
    REPLACE: NeighboringRelation.REPLACE_ONE,
}
TINY_NOISE = 0.02  # below it a round costs thousands, and sampling saves a few percent of that at most


def rdp_epsilon(atoms: Atoms, neighbors: str, delta: float) -> float:
    """Return the epsilon at delta of a composition, by the conversion of the module's docstring at ORDERS."""
    return _converted(atoms, neighbors, delta, ORDERS)[0]


def wide_rdp_epsilon(atoms: Atoms, neighbors: str, delta: float) -> float:
    """Return the epsilon at delta of a composition, at FURTHER orders too where the minimum is at the largest."""
    smallest, order = _converted(atoms, neighbors, delta, ORDERS)
    largest_order = ORDERS[-1]
    for orders in FURTHER:
        if smallest == 0 or order != largest_order:
            break
        further, further_order = _converted(atoms, neighbors, delta, orders)
        if further >= smallest:
            break
        smallest, order, largest_order = further, further_order, orders[-1]
    return smallest


def _converted(atoms: Atoms, neighbors: str, delta: float, orders: np.ndarray) -> tuple[float, float]:
    """Return the smallest epsilon at delta over some orders, and its order."""
    curves = [times * rdp_curve(atom, neighbors, tuple(orders.tolist())) for atom, times in atoms.items()]
    epsilon, order = compute_epsilon(orders.tolist(), np.sum(curves, axis=0).tolist(), delta)
    return float(epsilon), float(order)


def rdp_floor(delta: float, *, wide: bool = False) -> float:
    """Return the RDP conversion's epsilon for a vanishing cost; only exact zeros (cost < delta^2) are smaller."""
    orders = np.concatenate([ORDERS, *FURTHER]) if wide else ORDERS
    return float(np.min(np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)))


@lru_cache(maxsize=4096)
def rdp_curve(atom: Any, neighbors: str, orders: tuple[float, ...] = tuple(ORDERS.tolist())) -> np.ndarray:
    """Return the RDP of one release, [order]."""
    order_array = np.array(orders)
    if isinstance(getattr(atom, "event", None), dp.GaussianDpEvent):
        sigma = atom.event.noise_multiplier
        if isinstance(atom, dp.PoissonSampledDpEvent) and neighbors == ADD_OR_REMOVE:
            return _poisson_rdp(atom.sampling_probability, sigma, order_array)
        if isinstance(atom, dp.SampledWithoutReplacementDpEvent) and neighbors == REPLACE:
            return _fixed_size_rdp(atom.sample_size / atom.source_dataset_size, sigma, order_array)
    accountant = RdpAccountant(list(orders), RELATIONS[neighbors])
    if not accountant.supports(atom):
        raise InputError(f"accountant rdp does not know {atom} under {neighbors}: take another relation.")
    return accountant.compose(atom).rdp


def _grid(sigma: float, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes z and log weights of the trapezoid rule for expectations of L(z)^a over N(0, sigma^2), a <= largest.

    L = N(1, sigma^2) / N(0, sigma^2); the mass of L^a lies around z = a. For analytic integrands the rule
    converges geometrically: a step of sigma / 6 leaves 1e-10 at most, the branch points of a power of
    1 - q + q L (pi sigma^2 off the axis) included.
    """
    step = sigma / 6
    z = np.arange(-12 * sigma, largest + 1 + 12 * sigma, step)
    return z, -(z**2) / (2 * sigma**2) + math.log(step / (sigma * math.sqrt(2 * math.pi)))


def _poisson_rdp(q: float, sigma: float, orders: np.ndarray) -> np.ndarray:
    """Return the RDP of a Gaussian on a Poisson sample, one unit added or removed (the larger: removed).

    rdp(a) = log E[(1 - q + q L(z))^a] / (a - 1),  z ~ N(0, sigma^2)  (Mironov, Talwar, Zhang 2019, sec. 3).
    Sampling never increases the cost, so the plain Gaussian's a / (2 sigma^2) is an upper bound, and replaces it where
    the noise is tiny.
    """
    plain = orders / (2 * sigma**2)
    if q == 1 or sigma < TINY_NOISE:
        return plain
    z, log_weight = _grid(sigma, orders[-1])
    log_ratio = np.logaddexp(math.log1p(-q), math.log(q) + (2 * z - 1) / (2 * sigma**2))
    log_moment = np.asarray(logsumexp(log_weight + orders[:, None] * log_ratio, axis=1))
    rounding = 1e-15 * orders  # keeps a cost below double precision from becoming 0
    return np.minimum((np.maximum(log_moment, 0) + rounding) / (orders - 1), plain)


def _fixed_size_rdp(q: float, sigma: float, orders: np.ndarray) -> np.ndarray:
    """Return the RDP of a Gaussian on a fixed-size sample without replacement, one unit replaced.

    `sigma` is relative to the replace-one movement (2 C), as in dp_accounting. At integer orders this is the bound of
    Wang, Balle and Kasiviswanathan 2019, Theorem 27; between them, as (a - 1) rdp(a) is convex, it is the linear
    interpolation of that bound (their Corollary 10). With B(l) = E[(L - 1)^l], z ~ N(0, sigma^2),

        (a - 1) rdp(a) <= log(1 + sum_{j=2}^a C(a, j) q^j m_j),   m_2 = min(4 (e^{1/sigma^2} - 1), 2 e^{..}),
        m_j = min(4 sqrt(B(2 floor(j/2)) B(2 ceil(j/2))), 2 e^{j (j - 1) / (2 sigma^2)}).

    Samples without the unit are the same for both neighbours, so the plain Gaussian is another upper bound.
    """
    plain = orders / (2 * sigma**2)
    if q == 1 or sigma < TINY_NOISE:
        return plain
    top = int(orders[-1])
    integers = np.unique(np.concatenate([np.floor(orders), np.ceil(orders)]))
    z, log_weight = _grid(sigma, orders[-1])
    excess = (2 * z - 1) / (2 * sigma**2)  # log L
    log_excess = np.maximum(excess, 0) + np.log(-np.expm1(-np.abs(excess)) + 1e-300)  # log |L - 1|
    powers = np.arange(2, top + 2, 2)[:, None]
    log_b = np.asarray(logsumexp(log_weight + powers * log_excess, axis=1))  # l = 2, 4, ...
    j = np.arange(2, top + 1)
    log_m = np.minimum(
        math.log(4) + (log_b[j // 2 - 1] + log_b[(j + 1) // 2 - 1]) / 2,
        math.log(2) + j * (j - 1) / (2 * sigma**2),
    )
    a = integers[integers > 1][:, None]
    log_binomial = gammaln(a + 1) - gammaln(j + 1) - gammaln(a - j + 1)  # -inf for j > a  # [a, j]
    log_sum = np.asarray(logsumexp(log_binomial + j * math.log(q) + log_m, axis=1))
    cgf = np.logaddexp(0, log_sum)
    bound = np.interp(orders, integers, np.concatenate([np.zeros(len(integers) - len(a)), cgf])) / (orders - 1)
    return np.minimum(bound, plain)
