"""Gaussian releases in a line, what rounds of them cost, and Laplace releases of a known epsilon."""

import math

from bench.privacy import events
from bench.privacy.accounting import epsilon

DELTA = math.exp(-5)


def make(sigma, q, delta, sampling="poisson", accountant="rdp"):
    rate = 1.0 if sampling == "none" else q
    return events.gaussian(sigma, sampling=sampling, sampling_rate=rate, accountant=accountant, delta=delta)


def spent(sigma, q, rounds, delta, sampling="poisson", accountant="rdp"):
    return epsilon(make(sigma, q, delta, sampling, accountant), rounds)


def laplace(pure, accountant="pld", delta=DELTA, **said):
    """Of a given pure epsilon a round, under replace-one."""
    return events.laplace(2 / pure, delta=delta, accountant=accountant, **said)
