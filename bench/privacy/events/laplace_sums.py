"""Laplace noise on a sum of vectors that are clipped in the L1 norm, of scale sigma C in each coordinate."""

import dp_accounting.dp_event as dp

from bench.privacy.events.release import EVERYBODY, REPLACE, Release, unsampled


def laplace(
    noise_multiplier: float,
    *,
    delta: float,
    neighbors: str = REPLACE,
    accountant: str = "composition",
    privacy_unit: str = "point",
    protects_against: str = EVERYBODY,
) -> Release:
    """Return Laplace noise on the sum of all of a client's vectors of L1 norm <= C.

    There is no sampling and no amplification.

    Each coordinate of the sum gets noise of scale sigma C (of the mean of m: sigma C / m). Replacing one term
    moves the sum by 2 C in L1, and so a round is (2 / sigma)-DP by itself; under "add-or-remove one",
    (1 / sigma)-DP. Where clients take turns, `rounds` counts the releases of one client.

    Args:
        accountant: "composition" or "pld" (tighter).
    """
    return unsampled(
        dp.LaplaceDpEvent,
        noise_multiplier,
        mechanism=f"Laplace noise of scale {noise_multiplier:g} C on each coordinate of a sum of vectors of L1"
        f" norm <= C, every {privacy_unit} in every round",
        delta=delta,
        neighbors=neighbors,
        accountant=accountant,
        privacy_unit=privacy_unit,
        protects_against=protects_against,
    )
