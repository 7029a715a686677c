"""Gaussian noise that is correlated over rounds: strategies C, their cost, and the noise of prefix sums.

In round t the sum over users x_t gets row t of C^-1 Z, with Z of independent normal rows. So C X + Z is released, up to
post-processing, and the sum of rounds 1..t, which a model follows, has noise A C^-1 Z, with A the matrix of ones on and
below the diagonal. C is lower triangular without negative entries, and scaled so that one participation in the planned
rounds moves C X by at most as much as x itself. What users send may depend on what earlier rounds released (Denisov,
McMahan, Rush, Smith and Thakurta 2022, Theorem 2.1). A user that takes part every `separation` rounds, and no more
often, moves C X by

    sensitivity(rounds) = max over its first round g of |sum_j C[:, g + j separation]|,

because with non-negative entries the worst case is that all contributions of a user point in one direction.

square_root: bands, the first coefficients of the square root of A (Kalinin and Lampert 2024, arXiv 2405.13763).
optimal_bands: bands with the least mean squared noise of prefix sums (Choquette-Choo et al. 2023, arXiv 2306.08153,
    with the same coefficients in every column).
optimal_buffers: coefficients sum_j scale_j decay_j^(i-1), i = 1, 2, ..., with the least mean squared noise for users
    that take part every `separation` rounds (Dvijotham et al. 2024, arXiv 2404.16706; McMahan et al. 2024, arXiv
    2408.08868).
inverse_root: C^-1 has bands, the first coefficients of a power of A^-1: of its square root (BISR, Kalinin, McKenna,
    Upadhyay and Lampert 2025, arXiv 2505.12128); with two bands, of the best power (DP-lambda-CGD, Kalinin, McKenna,
    Pagh and Lampert 2026, arXiv 2601.22334). The entries of C are then not negative, as every b_i below is not above 0.
Tree: sums of the nodes of a binary tree, as in DP-FTRL (Kairouz et al. 2021, arXiv 2103.00039).

jax_privacy.matrix_factorization takes up to minutes to minimise such losses. With the exact gradient in float64 it
takes a second.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

Array = np.ndarray
NAMES = ("banded_sqrt", "banded", "blt", "bisr", "lambda_cgd", "tree")
PRECISE = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-14, "gtol": 1e-9}  # of L-BFGS


class Bands(NamedTuple):
    """A Toeplitz matrix given by its first column, 1, c_1, c_2, ..., 0, 0, ..."""

    coefficients: tuple[float, ...]

    @property
    def norm(self) -> float:
        """The norm of the longest column."""
        return float(np.linalg.norm(self.coefficients))

    def rows(self, x: Array) -> Array:
        """Return the product of the matrix, with as many rows as x, and x [round, ...]."""
        return _filtered(self.coefficients, (1.0,), x)


class Buffers(NamedTuple):
    """A Toeplitz matrix whose first column is 1 and then, i = 1, 2, ..., sum_j scale_j decay_j^(i-1).

    norm: of the longest column in the planned rounds.
    """

    decay: tuple[float, ...]
    scale: tuple[float, ...]
    norm: float

    def rows(self, x: Array) -> Array:
        """Return the product of the matrix and x, as for `Bands`."""
        sums = [s * _filtered((0.0, 1.0), (1.0, -d), x) for d, s in zip(self.decay, self.scale, strict=True)]
        return x + np.sum(sums, axis=0)


class InverseBands(NamedTuple):
    """A Toeplitz matrix whose inverse has the first column 1, b_1, b_2, ..., 0, 0, ...

    norm: of the longest column in the planned rounds.
    """

    coefficients: tuple[float, ...]
    norm: float

    def rows(self, x: Array) -> Array:
        """Return the product of the matrix and x, as for `Bands`."""
        return _filtered((1.0,), self.coefficients, x)


class Tree(NamedTuple):
    """A matrix whose row t = 1, 2, ... sums the last 2^l rounds; l <= L is the place of the lowest set bit of t.

    L = levels. The rows are nodes of binary trees of 2^L leaves, each in the round that completes it. Where a right
    child completes, its parent takes its place. A prefix of t rounds is the sum of one row for each bit of t.
    """

    levels: int

    @property
    def norm(self) -> float:
        """The norm of the longest column; the first round is in a node of every level."""
        return float(np.sqrt(self.levels + 1))

    def rows(self, x: Array) -> Array:
        """Return the product of the matrix and x, as for `Bands`."""
        before = np.concatenate([np.zeros_like(x[:1]), np.cumsum(x, axis=0)])
        t = np.arange(1, len(x) + 1)
        return before[t] - before[t - np.minimum(t & -t, 2**self.levels)]


class Strategy(NamedTuple):
    """A strategy C, which is `form` over its norm, and how often a user takes part.

    separation: rounds from one participation of a user to its next.
    """

    form: Bands | Buffers | InverseBands | Tree
    separation: int

    @property
    def orthogonal(self) -> bool:
        """Whether the columns of the rounds in which a user takes part have no row in common."""
        return isinstance(self.form, Bands) and len(self.form.coefficients) <= self.separation

    def matrix(self, rounds: int) -> Array:
        """Return C for this number of rounds."""
        return self.form.rows(np.eye(rounds)) / self.form.norm

    def sensitivity(self, rounds: int) -> float:
        """Return how far a user whose contributions have norm at most 1 moves C X, in L2.

        Where a user's columns have no row in common it is the root of their number. This also holds where the end of
        the run truncates the last column, which moves C X slightly less. For Toeplitz matrices the users of the first
        round move C X most.
        """
        if self.orthogonal:
            return float(np.sqrt(-(-rounds // self.separation)))
        groups = min(self.separation, rounds) if isinstance(self.form, Tree) else min(1, rounds)
        participates = np.arange(rounds)[:, None] % self.separation == np.arange(groups)
        moved = self.form.rows(participates.astype(float)) / self.form.norm
        return float(np.linalg.norm(moved, axis=0).max(initial=0.0))

    def prefix_noise(self, rounds: int) -> float:
        """Return the root mean square over rounds of the noise of prefix sums, relative to independent noise.

        Both have equal privacy.
        """
        mixed = np.linalg.solve(self.matrix(rounds).T, np.tri(rounds).T)
        participations = -(-rounds // self.separation)
        noise = self.sensitivity(rounds) * np.sqrt(np.square(mixed).sum(0).mean())
        return float(noise / np.sqrt(participations * (rounds + 1) / 2))


@cache
def strategy(name: str, separation: int, num_bands: int, planned_rounds: int) -> Strategy:
    """Return the strategy of this name.

    Args:
        name: a name in NAMES.
        separation: rounds from one participation of a user to its next.
        num_bands: bands of "banded_sqrt", "banded" and "bisr", or buffers of "blt"; the other two do not use it.
        planned_rounds: rounds for which all but "banded_sqrt" are made, 1 or more.
    """
    if name == "banded_sqrt":
        return Strategy(Bands(square_root(num_bands)), separation)
    if name == "banded":
        return Strategy(Bands(optimal_bands(planned_rounds, num_bands)), separation)
    if name == "blt":
        return Strategy(optimal_buffers(planned_rounds, separation, num_bands), separation)
    if name == "bisr":
        return Strategy(inverse_root(planned_rounds, num_bands, 0.5), separation)
    if name == "lambda_cgd":
        return Strategy(inverse_root(planned_rounds, 2, best_power(planned_rounds, separation, 2)), separation)
    return Strategy(Tree(planned_rounds.bit_length() - 1), separation)


def square_root(num_bands: int) -> tuple[float, ...]:
    """Return 1, 1/2, 3/8, ..., binomial(2i, i) / 4^i, the first column of the square root of A."""
    i = np.arange(1, num_bands)
    return (1.0, *np.cumprod((2 * i - 1) / (2 * i)).tolist())


def optimal_bands(rounds: int, num_bands: int) -> tuple[float, ...]:
    """Return c, c_0 = 1, that minimises |c|^2 times the mean over rounds of the squared noise of a prefix sum."""
    num_bands = min(num_bands, rounds)

    def loss(free: Array) -> tuple[float, Array]:
        c = np.concatenate([[1.0], free])
        error, slope = _error(c, rounds, num_bands)
        return float(np.log(error * (c @ c))), (slope / error + 2 * c / (c @ c))[1:]

    start = square_root(num_bands)[1:]
    if not start:
        return (1.0,)
    from scipy.optimize import minimize  # here, since it takes long to import

    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start), options=PRECISE)
    return (1.0, *result.x.tolist())


def optimal_buffers(rounds: int, separation: int, num_buffers: int) -> Buffers:
    """Return buffers that minimise sensitivity^2 times the mean over rounds of the squared noise of a prefix sum."""

    def coefficients(free: Array) -> tuple[Array, Array, Array, Array]:
        """Return decays, scales, powers of the decays [round, buffer], and the first column."""
        decay, scale = 1 / (1 + np.exp(-free[:num_buffers])), np.exp(free[num_buffers:])
        powers = decay ** np.arange(rounds - 1)[:, None]
        return decay, scale, powers, np.concatenate([[1.0], powers @ scale])

    def loss(free: Array) -> tuple[float, Array]:
        decay, scale, powers, c = coefficients(free)
        error, slope = _error(c, rounds, rounds)
        firsts = range(0, rounds, separation)
        moved = np.sum([np.pad(c, (first, 0))[:rounds] for first in firsts], axis=0)
        by_c = 2 * np.sum([np.pad(moved[first:], (0, first)) for first in firsts], axis=0)
        of_c = (slope / error + by_c / (moved @ moved))[1:]
        of_decay = of_c @ (np.arange(rounds - 1)[:, None] * powers / decay * scale)
        change = np.concatenate([of_decay * decay * (1 - decay), of_c @ powers * scale])
        return float(np.log(error * (moved @ moved))), change

    decay = 1 - np.logspace(-0.3, -0.3 - np.log10(rounds), num_buffers)
    start = np.concatenate([np.log(decay / (1 - decay)), np.full(num_buffers, np.log(0.5 / num_buffers))])
    # The scales add up to 1 at most; with larger scales the noise of later rounds may grow without bound.
    within = [(-12.0, 12.0)] * num_buffers + [(-20.0, -np.log(num_buffers))] * num_buffers
    from scipy.optimize import minimize  # here, since it takes long to import

    result = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=within, options=PRECISE)
    decay, scale, _, c = coefficients(result.x)
    return Buffers(tuple(decay.tolist()), tuple(scale.tolist()), float(np.linalg.norm(c)))


def inverse_root(rounds: int, num_bands: int, power: float) -> InverseBands:
    """Return the matrix whose inverse has the first coefficients of (1 - x)^power, with a power in [0, 1]."""
    i = np.arange(1, min(num_bands, rounds))
    inverse = InverseBands((1.0, *np.cumprod((i - 1 - power) / i).tolist()), 1.0)
    column = inverse.rows(np.eye(rounds, 1))
    return inverse._replace(norm=float(np.linalg.norm(column)))


def best_power(rounds: int, separation: int, num_bands: int) -> float:
    """Return the power that minimises sensitivity^2 times the mean over rounds of the squared noise of a prefix sum."""

    def loss(power: float) -> float:
        form = inverse_root(rounds, num_bands, power)
        noise = _filtered(form.coefficients, (1.0,), np.ones(rounds))
        error = float((1 - np.arange(rounds) / rounds) @ np.square(noise))  # as in `_error`
        return error * (form.norm * Strategy(form, separation).sensitivity(rounds)) ** 2

    from scipy.optimize import minimize_scalar  # here, since it takes long to import

    result = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    return float(result.x)  # pyright: ignore[reportAttributeAccessIssue]


def _filtered(above: Sequence[float] | Array, below: Sequence[float] | Array, x: Array) -> Array:
    """Return T(below)^-1 T(above) x for Toeplitz matrices given by their first columns, which continue with 0; x
    [round, ...].
    """
    from scipy.signal import lfilter  # here, since it takes long to import

    return np.asarray(lfilter(above, below, x, axis=0))


def _error(c: Array, rounds: int, num_bands: int) -> tuple[float, Array]:
    """Return the mean squared noise of the prefix sums, and its gradient in the first `num_bands` coefficients.

    Row t of A C^-1 has the entries b_t, ..., b_1 of b = C^-1 1, so the mean over t of its squared norm weights b_s^2
    with the share of rounds from s on.
    """
    b = _filtered((1.0,), c, np.ones(rounds))
    weight = 1 - np.arange(rounds) / rounds
    dual = _filtered((1.0,), c, (2 * weight * b)[::-1])[::-1]
    return float(weight @ np.square(b)), -np.array([dual[j:] @ b[: rounds - j] for j in range(num_bands)])
