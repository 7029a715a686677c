"""Run tables with known answers, shaped like those of a sweep: one row per run and evaluation."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from made_up_points import crossed, finish, made_once, of_each, table

from bench.store import of_scale, store
from figures import claims
from figures.shared.derived import derived
from figures.shared.margins import LEVEL
from figures.shared.verdicts import ERROR, NO, OPEN, YES, Claim, Verdict

NOT_RUN = "not run"  # what `judge` calls a claim of which runs are missing
SYNTHETIC_CURVES = (0.0, 0.3, 1.0, 3.0, math.inf)
DIGIT_CURVES = (0.0, 0.1, 1.0, 10.0, 100.0, math.inf)
STEPS = (0.1, 0.5)
RATES = {0.0: 50, 0.3: 45, 1.0: 40, 3.0: 35, math.inf: 30}  # rounds in which the risk falls by a factor e
FLOORS = {0.01: 5e-8, 0.1: 5e-6}
SPENT = dict.fromkeys(("epsilon", "epsilon_sampler", "epsilon_tight", "epsilon_worst_case"), 3.0)  # a budget of 3


def epsilon_of(a: float, sigma: float, rounds: float) -> float:
    """Grows with the rounds, falls with the noise; local learning reveals nothing."""
    return 0.0 if a == 0 else math.inf if sigma == 0 else 5 * math.sqrt(rounds / 1000) / sigma


def _crossed(curves: Iterable[float], sigmas: Iterable[float], repetitions: int, **axes) -> pd.DataFrame:
    """Each curve at each level of noise, local learning without."""
    levels = [(a, sigma) for a in curves for sigma in (sigmas if a > 0 else [0.0])]
    rows = crossed(table("personalization noise_multiplier", levels), seed=range(repetitions), **axes)
    return rows.assign(clip_norm=10.0)


def _finish(rows: pd.DataFrame, sweep: str, settings: str, **known) -> pd.DataFrame:
    spent = of_each(rows, epsilon_of, "personalization noise_multiplier rounds")
    bounds = {"epsilon_sampler": 4 * spent, "epsilon_tight": 0.9 * spent, "epsilon_worst_case": 9 * spent}
    settings = f"personalization noise_multiplier step_size clip_norm {settings}"
    known |= {"algorithm": "PPSGD", "num_rounds": rows["rounds"].max()}
    return finish(rows, sweep, settings, epsilon=spent, **bounds, **known)


def risk(delta: float, a: float, sigma: float, rounds: int, seed: int) -> float:
    """A risk of which every claim holds: exponential, down to a floor for global learning, or to the noise."""
    floor = (FLOORS[delta] if math.isinf(a) else 0) + (8.2e-4 * sigma * (1 + min(a, 4)) if a > 0 else 0)
    return (1 + 0.1 * seed) * (1 + 0.01 * seed * min(a, 4)) * math.exp(-rounds / RATES[a]) + floor


@made_once
def synthetic_runs(
    value: Callable = risk,
    *,
    curves: Iterable[float] = SYNTHETIC_CURVES,
    sigmas: Iterable[float] = (0.0, 1.0, 10.0, 30.0),
    deltas: Iterable[float] = (0.01, 0.1),
    rounds: Iterable[int] = (*range(0, 201, 10), *range(210, 1000, 20), 1000),
    repetitions: int = 3,
) -> pd.DataFrame:
    """Runs of the synthetic sweep. The smaller step is the best until round 100, the larger from then on."""
    rows = _crossed(curves, sigmas, repetitions, delta_std=deltas, rounds=rounds)
    best = of_each(rows, value, "delta_std personalization noise_multiplier rounds seed")
    rows = crossed(rows.assign(excess_risk=best), step_size=STEPS)
    rows["excess_risk"] *= np.where((rows["step_size"] == STEPS[0]) == (rows["rounds"] < 100), 1, 3)
    rows = rows.assign(validation_loss=rows["excess_risk"] + 1e-4, global_floor=rows["delta_std"].map(FLOORS))
    task = rows["delta_std"].map("synthetic_{:g}".format)
    return _finish(rows, "ppsgd_synthetic", "delta_std", task=task, source="generated")


def accuracy(a: float, sigma: float, seed: int) -> float:
    """An accuracy of which every claim holds: small a suffers less from noise, large a is better without."""
    if a == 0:
        return 0.3 + 0.002 * seed
    best, worn = {0.1: (0.55, 0.01), 1.0: (0.7, 0.08), 10.0: (0.9, 0.11), 100.0: (0.85, 0.12)}.get(a, (0.85, 0.15))
    return best - worn * sigma**0.9 + 0.002 * (seed - 1)


@made_once
def digit_runs(
    value: Callable = accuracy,
    *,
    curves: Iterable[float] = DIGIT_CURVES,
    sigmas: Iterable[float] = (0.0, 0.5, 1.0, 5.0),
    rounds: Iterable[int] = (0, 500, 1000),
    repetitions: int = 3,
    task: str = "mnist_by_writer",
) -> pd.DataFrame:
    """Runs of the digit sweep. Test accuracy is best at the smaller step, held-out accuracy at the larger."""
    rows = _crossed(curves, sigmas, repetitions, rounds=rounds, step_size=STEPS)
    final = of_each(rows, value, "personalization noise_multiplier seed")
    reached, smaller = 0.1 + (final - 0.1) * rows["rounds"] / max(rounds), rows["step_size"] == STEPS[0]
    rows = rows.assign(test_accuracy=reached - 0.01 * ~smaller, validation_accuracy_by_size=reached - 0.01 * smaller)
    return _finish(rows, "ppsgd_digits", "", task=task, source="MNIST by writer, made up")


def with_learning_alone(runs: pd.DataFrame, final: float, steps: int = 200) -> pd.DataFrame:
    """Runs of digits, and of users who learn alone: this accuracy at the end, less than half before."""
    alone = runs[(runs["personalization"] == 0) & (runs["rounds"] == runs["num_rounds"])]
    blank = dict.fromkeys(("personalization", "noise_multiplier", "clip_norm"), np.nan)
    alone = alone.assign(algorithm="Learning alone", point="alone/" + alone["step_size"].astype(str), **blank)
    parts = []
    for rounds, value in ((steps, final), (steps // 2, 0.4 * final)):
        shifted = value + 0.001 * (alone["seed"] - 1) - 0.05 * (alone["step_size"] == STEPS[1])
        reached = alone.assign(test_accuracy=shifted, validation_accuracy_by_size=shifted)
        parts.append(reached.assign(rounds=rounds, num_rounds=steps, epsilon=0.0))
    return pd.concat([runs, *parts], ignore_index=True)


def outcomes(claims: Iterable[Claim], runs: pd.DataFrame) -> list[str]:
    """The verdicts on claims."""
    return [judge(claim, runs).seen for claim in claims]


def write(runs: pd.DataFrame, results, scale: str = "smoke"):
    """The runs as a folder of results, with plain text as in those of a run; returns the path of its one part."""
    runs = runs.astype(dict.fromkeys(runs.select_dtypes("category"), "str"))
    with store.Store(of_scale(results, scale, runs["sweep"].iloc[0])) as opened:
        return opened.write(runs.assign(scale=scale))


def judge(claim: Claim, runs: pd.DataFrame | None) -> Verdict:
    """The verdict, NOT_RUN where runs are missing; it must not come from a mistake in the check, and be that of the
    margin."""
    found = claims.judge(claim, runs)
    assert found.seen != ERROR, found
    if found.margin is None:
        assert found.seen == OPEN, found
        assert found.why, found
        return found._replace(seen=NOT_RUN)
    sure = {YES: found.margin.p_holds < LEVEL, NO: found.margin.p_fails < LEVEL}
    assert found.seen == next((word for word, certain in sure.items() if certain), OPEN), found
    assert not all(sure.values()), found
    if found.seen != OPEN and found.margin.value != 0:
        assert (found.margin.value > 0) == (found.seen == YES), found
    return found


def undecidable(found: Verdict) -> bool:
    """Whether it is open since there is one repetition."""
    return found.seen == OPEN and found.margin is not None and math.isnan(found.margin.half)


def claim_of(claims: Iterable[Claim], words: str) -> Claim:
    """The one claim whose text has these words."""
    (found,) = [claim for claim in claims if words in claim.text]
    return found


def changed(runs: pd.DataFrame, where, **values) -> pd.DataFrame:
    """The runs with some values replaced; a number is a factor, a function makes values of the rows."""
    runs = runs.copy()
    rows = where(runs)
    assert rows.any()
    for name, value in values.items():
        runs.loc[rows, name] = value(runs[rows]) if callable(value) else runs.loc[rows, name] * value
    return runs


@derived
def first_repetition(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of the first seed."""
    return runs[runs["seed"] == 0]


def at(**columns):
    """Condition: these columns have these values."""
    return lambda runs: np.logical_and.reduce([runs[name] == value for name, value in columns.items()])
