"""What values of the names that points may have must satisfy."""

import math
from collections.abc import Callable

# What a value of each name must satisfy, wherever it appears: (test, in words).
RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "mu": (lambda v: 0 < v < math.inf, "positive and finite"),
    "penalty": (lambda v: 0 < v < math.inf, "positive and finite"),
    "lipschitz": (lambda v: 0 < v < math.inf, "positive and finite"),
    "bound": (lambda v: 0 < v < math.inf, "positive and finite"),
    "start_noise_multiplier": (lambda v: 0 <= v < math.inf, "at least 0 and finite"),
    "start_step_size": (lambda v: 0 < v < math.inf, "positive and finite"),
    "start_value": (lambda v: -math.inf < v < math.inf, "finite"),
    "num_updates": (lambda v: v >= 1, "at least 1 (inf never stops)"),
    "max_updates": (lambda v: v >= 0, "at least 0 (0 never stops)"),
    "num_awake": (lambda v: v >= 1, "at least 1"),
    "num_ticks": (lambda v: 1 <= v <= 10**7, "at least 1 and at most ten million"),
    "step_size": (lambda v: 0 < v < math.inf, "positive and finite"),
    "server_step_size": (lambda v: 0 < v < math.inf, "positive and finite"),
    "personalization": (lambda v: v >= 0, "at least 0 (inf is global learning)"),
    "clip_norm": (lambda v: v > 0, "positive (inf does not clip)"),
    "noise_multiplier": (lambda v: 0 <= v < math.inf, "at least 0 and finite"),
    "num_sampled": (lambda v: v >= 1, "at least 1"),
    "batch_size": (lambda v: v >= 1, "at least 1"),
    "num_epochs": (lambda v: v >= 1, "at least 1"),
    "total_epochs": (lambda v: v >= 1, "at least 1"),
    "momentum": (lambda v: 0 <= v < 1, "at least 0 and below 1"),
    "num_steps": (lambda v: v >= 1, "at least 1"),
    "num_stages": (lambda v: v >= 1, "at least 1"),
    "regularization": (lambda v: 0 <= v < math.inf, "at least 0 and finite"),
    "radius": (lambda v: v > 0, "positive (inf is the whole space)"),
    "constraint": (lambda v: v > 0, "positive (inf does not constrain)"),
    "smoothing_radius": (lambda v: 0 <= v < math.inf, "at least 0 and finite"),
    "moreau_smoothness": (lambda v: 0 < v < math.inf, "positive and finite"),
    "variance": (lambda v: 0 <= v < math.inf, "at least 0 and finite"),
    "gap": (lambda v: 0 < v < math.inf, "positive and finite"),
    "epsilon": (lambda v: v > 0, "positive"),
    "target_epsilon": (lambda v: v >= 0, "at least 0 (0 releases nothing, inf has no noise)"),
    "budget": (lambda v: v > 0, "positive"),
    "start_share": (lambda v: 0 <= v < 1, "at least 0 and below 1"),
    "delta": (lambda v: 0 < v < 1, "between 0 and 1"),
}
