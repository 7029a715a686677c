"""Many canaries in one data set, each included by a coin of its own, and one run (Steinke, Nasr, Jagielski 2023).

The score of a canary is the projection of what is public on the canary's own trace. The trace is the change that this
canary alone makes, found in simulated runs that share all their randomness with a run without it. This needs one run of
the method where the game needs thousands, and so suits large methods. Here runs are cheap, and it is the weaker of the
two.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy import auditing

from bench.audit.bounds import thresholds
from bench.audit.game import OTHER_SIGN
from bench.audit.subject import Subject, run, views

TRACES = 4  # simulated runs for each canary's trace, since with sampling the canary is not drawn in every run
NEGLIGIBLE = 20  # canaries times delta is this much less than the significance
NUMBERS = 2**24  # numbers of simulated runs in memory at once


def one_run(
    subject: Subject, relation: str, *, delta: float, significance: float, seed: int, gaussian: bool
) -> dict[str, tuple[float, float]]:
    """Return the lower bounds of one run, "one run" and "one run, Gaussian", each as (delta, epsilon proven at it).

    Thresholds are chosen on a separate pilot run. The first bound is at a smaller delta than the declared one where its
    term 2 delta (number of canaries) would by itself exceed the significance.

    Args:
        subject: on a task with many canaries.
        relation: as for `game.play`.
        gaussian: whether to compute the second bound, for a trade-off of errors like that of Gaussians (Mahloujifar,
            Melis, Chaudhuri 2024).
    """
    other = OTHER_SIGN.get(relation, -1.0)
    coins = np.random.default_rng(seed).random((2, subject.canaries)) < 0.5
    seen = views(subject, _along_axes(np.where(coins, 1.0, other)), seed, chunk=2).seen
    scores = on_traces(subject, seen.reshape(2, -1), other, seed + 1)
    pilot, last = (_auditor(score, coin) for score, coin in zip(scores, coins, strict=True))
    places = thresholds(scores[0][coins[0]], scores[0][~coins[0]])
    tried = places[len(places) // 2 :: 4]

    def best(bound, delta):
        def at(auditor, place):
            return bound(auditor, significance, delta, auditing.Explicit(float(place)))

        return delta, float(at(last, max(tried, key=lambda place: at(pilot, place))))

    found = {"one run": best(_plain, min(delta, significance / (NEGLIGIBLE * subject.canaries)))}
    return found | ({"one run, Gaussian": best(_gaussian, delta)} if gaussian else {})


def on_traces(subject: Subject, seen: np.ndarray, other: float, seed: int) -> np.ndarray:
    """Return the projection of what was seen [run, round and feature] on each canary's trace, [run, canary].

    Args:
        other: sign of the canaries that are not in.
    """
    canaries = subject.canaries
    signs = np.full((1 + canaries, canaries), other)
    np.fill_diagonal(signs[1:], 1.0)
    chunk = max(1, min(canaries, NUMBERS // max(seen.shape[1], 1)))
    keys = jax.random.split(jax.random.key(seed), TRACES)
    without = [run(subject, _along_axes(signs[:1]), keys[i : i + 1], chunk=chunk).seen[0] for i in range(TRACES)]
    scores = []
    for begin in range(1, 1 + canaries, chunk):
        part, trace = _along_axes(signs[begin : begin + chunk]), np.zeros((), np.float32)
        for key, base in zip(keys, without, strict=True):
            trace = trace + (run(subject, part, jnp.broadcast_to(key, (len(part),)), chunk=chunk).seen - base)
        trace = trace.reshape(len(part), -1)
        lengths = np.linalg.norm(trace, axis=1)
        scores.append(seen @ trace.T / np.where(lengths > 0, lengths, 1.0))
    return np.concatenate(scores, axis=1)


def _along_axes(signs: np.ndarray) -> np.ndarray:
    """Return canary j along axis j, [run, canary, feature], from signs [run, canary]."""
    return signs[:, :, None].astype(np.float32) * np.eye(signs.shape[1], dtype=np.float32)


def _auditor(scores: np.ndarray, coins: np.ndarray):
    return auditing.CanaryScoreAuditor(scores[coins], scores[~coins])


def _plain(auditor, significance, delta, place):
    return auditor.epsilon_one_run(significance, delta, threshold_strategy=place)


def _gaussian(auditor, significance, delta, place):
    return auditor.epsilon_one_run_fdp(significance, delta, threshold_strategy=place)
