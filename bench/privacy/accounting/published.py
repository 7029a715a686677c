"""Closed forms by which Gao et al. 2024 and their programs calibrate, inverted. They give the epsilon that the paper
states, not that of the noise.
"""

import math

import dp_accounting.dp_event as dp

from bench.errors import InputError
from bench.privacy.accounting.atoms import Atoms


def _sampled_gaussians(atoms: Atoms) -> list[tuple[float, float, int]]:
    """Return (noise multiplier, sampling rate, times) of plain Gaussians and of Gaussians on samples of fixed size."""
    out = []
    for atom, times in atoms.items():
        sampled = isinstance(atom, dp.SampledWithoutReplacementDpEvent)
        gaussian = atom.event if sampled else atom
        if not isinstance(gaussian, dp.GaussianDpEvent):
            raise InputError(f"the published closed forms do not know {atom}: take rdp or gdp.")
        out.append((gaussian.noise_multiplier, atom.sample_size / atom.source_dataset_size if sampled else 1.0, times))
    return out


def zcdp_as_published(atoms: Atoms, delta: float) -> float:
    """Return epsilon = 2 sqrt(rho log(1 / delta)), rho = sum q^2 / (2 sigma^2); the converted epsilon is larger by rho.

    It is the inverse of std^2 = 8 L^2 R log(1 / delta) / (n epsilon)^2 on means of K records. That a sample of K out of
    n costs q^2 = (K / n)^2 of a full batch is part of what was published, not a theorem.
    """
    rho = sum(times * rate**2 / (2 * sigma**2) for sigma, rate, times in _sampled_gaussians(atoms))
    return 2 * math.sqrt(rho * math.log(1 / delta))


def moments_as_published(atoms: Atoms, delta: float) -> float:
    """Return the inverse of std^2 = 256 L^2 R log(2.5 R K / (delta n)) log(2 / delta) / (n epsilon)^2 on means of K
    records.

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
