"""Standard normal and Laplace noise whose tails reach as far as those of the distributions.

`jax.random.normal` and `jax.random.laplace` use 23 of their 32 random bits, so a normal number ends at 5.4 standard
deviations and a Laplace number at 16.6 scales. An output beyond that end is impossible on one of two neighbouring data
sets and possible on the other, with a probability that can exceed a declared delta. Here all 32 bits count, and where
they are so small that a number lies beyond their resolution, 31 further ones do: a normal number ends at 9 standard
deviations, and a Laplace number at 43 scales. Both have the same place in the distribution as that of `jax.random` for
the same key, so the two differ by the coarseness of the latter: by 1e-6 in the bulk, more in the tail.

The numbers are still those of float32, of which there are few: `docs/privacy.md` says what that means.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import DTypeLike
from jaxtyping import Float, Float32, Int, PRNGKeyArray, UInt32
from numpy.polynomial import Chebyshev, Polynomial
from scipy import special

from bench.kernels import threefry

SPLIT = 6.0  # value of -log(q (2 - q)) from which on the inverse is a polynomial in its root
CENTRES = (3.0, 4.5)  # of the two polynomials, so that their powers stay small
DEGREES = (9, 10)  # at which their errors are below 1e-6
LAST = 45.0  # value of -log(q (2 - q)) for the smallest q, 2^-63, and a little more


def normal(key: PRNGKeyArray, shape: Sequence[int] = (), dtype: DTypeLike = jnp.float32) -> Float[Array, "..."]:
    """Return standard normal numbers.

    Args:
        key: of one draw.
        shape, dtype: of the result, which is computed in float32.
    """
    return _normal(*two_sided(key, shape)).astype(dtype)


def normal_rows(key: PRNGKeyArray, rows: Int[Array, " row"], width: int) -> Float32[Array, "row {width}"]:
    """Return these rows of `normal(key, (any number, width))`, without the others.

    Args:
        key, rows, width: as for `threefry.uniform_at_rows`.
    """
    places = threefry.places_in_rows(rows, width)
    return _normal(*_sign_and_tail(key, threefry.at_places(key, places), places))


def _normal(sign: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the normal numbers that are as far out as q says."""
    w = -jnp.log(q * (2.0 - q))
    middle = _polynomial(MIDDLE, w - CENTRES[0])
    tail = _polynomial(TAIL, jnp.sqrt(w) - CENTRES[1])
    return sign * (1.0 - q) * jnp.where(w < SPLIT, middle, tail)


def laplace(key: PRNGKeyArray, shape: Sequence[int] = (), dtype: DTypeLike = jnp.float32) -> Float[Array, "..."]:
    """Return Laplace numbers of scale 1; arguments as for `normal`."""
    sign, q = two_sided(key, shape)
    return (sign * jnp.log(q)).astype(dtype)


def two_sided(key: PRNGKeyArray, shape: Sequence[int]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return signs, and the probabilities q in (0, 1] that a number of the distribution is at least as far out."""
    bits = threefry.bits(key, shape)
    return _sign_and_tail(key, bits, jax.lax.iota(jnp.uint32, bits.size).reshape(bits.shape))


def _sign_and_tail(
    key: PRNGKeyArray, bits: UInt32[Array, "..."], places: UInt32[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return sign and q of the numbers at these places of a draw, whose words are `bits`."""
    return _sign_and_tail_of_bits(bits, _more_bits(threefry.bits(jax.random.fold_in(key, 1), ()), bits, places))


def _sign_and_tail_of_bits(
    bits: UInt32[Array, "..."], more: UInt32[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return sign and q of numbers in the order of their bits: the first bit is the sign, and the other 31 with 31 of
    `more` behind them are the place within the half."""
    lower = bits < jnp.uint32(1 << 31)
    place = jnp.where(lower, bits, ~bits)
    q = (_float(place) + (_float(more >> 1) + 0.5) * 2.0**-31) * 2.0**-31
    return jnp.where(lower, -1.0, 1.0), q


def _more_bits(
    start: UInt32[Array, ""], bits: UInt32[Array, "..."], places: UInt32[Array, "..."]
) -> UInt32[Array, "..."]:
    """Return a hash of the bits and of their places, of which two rounds of multiplication mix all bits.

    They only count for the one number in a billion whose own bits are used up, so the cost of another draw for every
    number is saved.
    """
    mixed = bits ^ (places * jnp.uint32(0x9E3779B9) + start)
    mixed = (mixed ^ (mixed >> 16)) * jnp.uint32(0x7FEB352D)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(0x846CA68B)
    return mixed ^ (mixed >> 16)


def _float(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Return numbers below 2^31 as float32; the conversion of signed numbers is the faster one."""
    return bits.astype(jnp.int32).astype(jnp.float32)


def _polynomial(coefficients: Sequence[float], x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the polynomial by Horner's rule, coefficients in falling order."""
    total = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total


def _inverse(w: np.ndarray) -> np.ndarray:
    """Return z / (1 - q), where the probability that a normal number is at least as far out as z is q, and
    w = -log(q (2 - q)); in float64."""
    inner = np.sqrt(-np.expm1(-w))  # 1 - q
    return -special.ndtri_exp(-w - np.log1p(inner) - np.log(2)) / inner


def _fitted(low: float, high: float, degree: int, centre: float, power: int) -> tuple[float, ...]:
    """Return the polynomial in w^(1 / power) - centre that interpolates `_inverse` on [low, high], falling powers."""
    ends = low ** (1 / power), high ** (1 / power)
    fit = Chebyshev.interpolate(lambda x: _inverse(x**power), degree, domain=ends)
    return tuple(map(float, fit.convert(kind=Polynomial)(Polynomial([centre, 1.0])).coef[::-1]))


MIDDLE = _fitted(1e-9, SPLIT, DEGREES[0], CENTRES[0], 1)
TAIL = _fitted(SPLIT, LAST, DEGREES[1], CENTRES[1], 2)
