"""A second implementation of localized MB-SGD and its parts in plain NumPy: silo by silo, round by round.

It is written from Gao et al. 2024 and shares nothing with `bench.algorithms`, which is checked and timed against it.
All randomness is an argument.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np


def clip(gradients: np.ndarray, clip_norm: float) -> np.ndarray:
    """Return each row as g / max(1, |g| / C)."""
    return gradients / np.maximum(1, np.linalg.norm(gradients, axis=-1, keepdims=True) / clip_norm)


def logistic_slopes(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the derivative of log(1 + exp(-y s)) in s."""
    return -labels / (1 + np.exp(labels * scores))


def message(
    w: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    slopes: Callable,
    clip_norm: float,
    noise_std: float,
    normal: np.ndarray,
) -> np.ndarray:
    """Return a silo's noisy mean of clipped gradients.

    Args:
        w: [feature].
        x, y: the batch, [record, feature] and [record].
        slopes: (scores, y) -> derivative of the loss in the score.
        clip_norm: C.
        noise_std: on the mean.
        normal: standard normal, [feature].
    """
    return clip(slopes(x @ w, y)[:, None] * x, clip_norm).mean(0) + noise_std * normal


def localized_sgd(
    w: np.ndarray,
    phases: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]],
    draws: Iterable[tuple[Sequence[int], np.ndarray]],
    *,
    rounds: int,
    step_size: float,
    regularization: float,
    growth: float,
    constraint: float,
    slopes: Callable,
    clip_norm: float,
    noise_multiplier: float,
    num_averaged: int = 8,
) -> np.ndarray:
    """Run Algorithm 1 with projected MB-SGD inside; the answer of every phase is the mean of its last iterates.

    With one phase of all records, regularization 0 and constraint inf it is multi-pass MB-SGD.

    Args:
        w: the start.
        phases: of each phase, the records (x, y) of each silo.
        draws: of each round, the silos that answer and standard normal noise [silo that answers, feature].
        rounds: R, of each phase.
        step_size: eta.
        regularization, growth: lambda and p, lambda_i = lambda 2^((i - 1) p).
        constraint: D_i = constraint 2 C / lambda_i.
        slopes: see `message`.
        clip_norm: C.
        noise_multiplier: sigma; noise of std sigma C / n_i on a silo's mean.
        num_averaged: iterates in the answer of a phase.
    """
    draws = iter(draws)
    for i, silos in enumerate(phases):
        center, strength = w, regularization * 2.0 ** (i * growth)
        step = min(step_size, 1 / strength) if strength > 0 else step_size
        radius = constraint * 2 * clip_norm / strength if strength > 0 else np.inf
        latest = []
        for _ in range(rounds):
            answering, normals = next(draws)
            messages = [
                message(w, *silos[l], slopes, clip_norm, noise_multiplier * clip_norm / len(silos[l][1]), normal)
                for l, normal in zip(answering, normals, strict=True)
            ]
            w = w - step * (np.mean(messages, axis=0) + strength * (w - center))
            distance = np.linalg.norm(w - center)
            if distance > radius:
                w = center + (w - center) * radius / distance
            latest = [*latest, w][-num_averaged:]
        w = np.mean(latest, axis=0)
    return w


def ac_sa(
    w: np.ndarray, gradient: Callable, *, stages: Sequence[int], mu: float, v: float, radius: float = np.inf
) -> np.ndarray:
    """Run Algorithm 2 (AC-SA) in stages, each from the answer of the one before, in the ball around the start.

    Args:
        w: start.
        gradient: w -> gradient of the mu-strongly convex objective.
        stages: rounds of each stage.
        mu: strong convexity.
        v: eta_r = 4 v / (r (r + 1)).
        radius: of the ball.
    """
    center = w
    for rounds in stages:
        ag = w
        for r in range(1, rounds + 1):
            a, eta = 2 / (r + 1), 4 * v / (r * (r + 1))
            md = ((1 - a) * (mu + eta) * ag + a * ((1 - a) * mu + eta) * w) / (eta + (1 - a**2) * mu)
            free = (a * mu * md + ((1 - a) * mu + eta) * w - a * gradient(md)) / (a * mu + (1 - a) * mu + eta)
            distance = np.linalg.norm(free - center)
            w = center + (free - center) * min(1.0, radius / distance) if distance > 0 else free
            ag = a * w + (1 - a) * ag
        w = ag
    return w
