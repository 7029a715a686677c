"""Gao, Lowy, Zhou, Wright 2024: parameters of the theorems, noise calibrations, and Tables 1 and 2 as formulas.

Symbols: N silos, M of them answer in a round, n records each, d features; losses convex and L-Lipschitz, in places
beta-smooth, on a set of diameter D; every silo's messages are (epsilon, delta)-DP for one record replaced. All
logarithms are natural.

The available text of the paper has lost its formulas. Each formula here is rebuilt from the surrounding sentences.
Where a constant can be derived, its derivation is given with it, and a test repeats it.
"""

from bench.papers.isrl.theory.noise import (
    moments_noise_multiplier,
    smallest_rate,
    zcdp_noise_multiplier,
    zcdp_overspending,
)
from bench.papers.isrl.theory.schedules import (
    accelerated_rounds,
    convolution_radius,
    growth,
    moreau_smoothness,
    num_phases,
    phase_records,
    privacy_term,
    radii,
    regularization,
    regularizations,
    subgradient_rounds,
)
from bench.papers.isrl.theory.setting import Setting, check
from bench.papers.isrl.theory.tables import EXPERIMENT, Row, heterogeneous_risk_before, optimal_risk, table_1, table_2

__all__ = [
    "EXPERIMENT",
    "Row",
    "Setting",
    "accelerated_rounds",
    "check",
    "convolution_radius",
    "growth",
    "heterogeneous_risk_before",
    "moments_noise_multiplier",
    "moreau_smoothness",
    "num_phases",
    "optimal_risk",
    "phase_records",
    "privacy_term",
    "radii",
    "regularization",
    "regularizations",
    "smallest_rate",
    "subgradient_rounds",
    "table_1",
    "table_2",
    "zcdp_noise_multiplier",
    "zcdp_overspending",
]
