"""The arguments that all methods on silos share, declared once; see `shared_arguments`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from bench.algorithms.parts.shared_arguments import SharedArguments
from bench.algorithms.ranges import ClipNorm, Count, NonNegative, Positive

SAMPLERS = ("all", "once", "fixed", "poisson")
SMOOTHINGS = ("none", "convolution", "moreau")
ONE_PHASE = {"num_phases": 1, "share": 1.0, "rounds_ratio": 1.0}  # arguments that a method of one phase does not have


@dataclass(frozen=True, kw_only=True)
class SiloArguments(SharedArguments):
    """The arguments shared by all methods on silos.

    num_sampled: M, silos that answer, a uniformly random subset in every round.
    num_phases: tau, on disjoint records of every silo; the localized theorems take floor(log2 n).
    phase_rounds: R, communication rounds of the first phase.
    clip_norm: C > 0 on every record's gradient; inf does not clip.
    noise_multiplier: sigma >= 0 of the first phase: noise of std sigma C / K on a silo's mean. A phase of R_i
        rounds has sigma sqrt(R_i / R_1), so that all phases cost the same; with sampler "once", sigma.
    share: the share of a silo's records in the first phase; each later phase has half as many as the one before.
    rounds_ratio: the ratio of the rounds of a phase to those of the phase before.
    sampler: "all" records of the phase in every round; "once", every record in one round, K_i = n_i / R_i;
        "fixed", K different records drawn afresh every round; "poisson", each with probability K / n_i.
    batch_size: K, used by "fixed" and "poisson".
    smoothing: "none"; "convolution", each record at its own w + y, y uniform in a ball; "moreau", the gradient
        of each record's Moreau envelope (linear models).
    smoothing_radius: the radius of that ball.
    moreau_smoothness: beta of the envelope.
    """

    num_sampled: Count
    num_phases: int
    phase_rounds: int
    clip_norm: ClipNorm
    noise_multiplier: NonNegative
    share: float = 0.5
    rounds_ratio: float = 1.0
    sampler: str = "all"
    batch_size: Count = 1
    smoothing: str = "none"
    smoothing_radius: NonNegative = 0.0
    moreau_smoothness: Positive = 1.0

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Select the shared arguments among all arguments of a method; by default a method has one phase."""
        return super().of({**ONE_PHASE, **arguments})
