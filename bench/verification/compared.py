"""Compares the rows of a run that was made again with those that were there."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.sweeps.columns import CONTEXT, RESERVED

EQUAL, ROUNDED, CHAOTIC, DIFFERENT = "equal", "equal up to rounding", "chaotic", "different"
ACCOUNTED = 1e-6  # largest relative difference of an epsilon, or of another number that no training is needed for
TRAINED = 1e-4  # largest difference of a score, as a share of its largest value in the run, that counts as rounding
FLIPPED = 2e-3  # the same, absolute, of a share of examples, since rounding can flip single predictions
SHARE = re.compile(r"accuracy|(test|train|validation)_error|clipped|released")  # in the name of such a score
# A difference is chaos if a change in the last digits moves the score by a thirtieth of it or more. (Between jax 0.10
# and 0.12, whose sums differ in every round, a run of local DP at the edge of stability moved ten times as far.)
MOVEMENT = 30.0
SPREAD = 4.0  # and if it is within this many standard deviations of the point's repetitions, or times that movement
FEWEST = 3  # repetitions from which a standard deviation is taken; with fewer, the movement stands in for it


class Difference(NamedTuple):
    """The largest difference in one column.

    column: name.
    size: as a share of the column's largest value in the run; infinite where one of the two is not finite.
    rounds: after which it occurs.
    there, here: the two values, numbers or text.
    """

    column: str
    size: float
    rounds: int
    there: Any
    here: Any

    def __str__(self) -> str:
        return f"{self.column} after {self.rounds:,} rounds is {_text(self.here)} here and {_text(self.there)} there"


class Comparison(NamedTuple):
    """The outcome of comparing two tables of one run.

    outcome: EQUAL, ROUNDED, CHAOTIC or DIFFERENT.
    largest: the largest difference; None where there is none.
    """

    outcome: str
    largest: Difference | None = None


def compared(
    there: pd.DataFrame,
    here: pd.DataFrame,
    computed: Mapping[str, Any],
    perturbed: Callable[[], pd.DataFrame],
    repetitions: Callable[[], pd.DataFrame],
) -> Comparison:
    """Compare a run with what was there of it.

    What follows from the settings alone, such as epsilon, must agree to ACCOUNTED, and text exactly. A score may differ
    by what rounding does to it: up to TRAINED, or FLIPPED where it counts examples, and by more only in a run that is
    chaotic, so that a change in the last digits of its hyperparameters moves the score as well, and then only within
    the spread of its repetitions, or, of a run with too few, within SPREAD times of what that change does.

    Args:
        there, here: rows of the run, one per evaluation, in order.
        computed: columns -> values that follow from the settings, as they come out here.
        perturbed: gives the rows of the same run with hyperparameters that differ in the last digits.
        repetitions: gives the rows of all repetitions of its point that were there.
    """
    if there["rounds"].tolist() != here["rounds"].tolist():
        rounds = there["rounds"].max(), here["rounds"].max()
        return Comparison(DIFFERENT, Difference("rounds", np.inf, int(rounds[0]), *rounds))
    columns = [str(name) for name in there if name not in CONTEXT and there[name].notna().any()]
    missing = [name for name in columns if name not in here and name not in computed]
    if missing:
        return Comparison(DIFFERENT, Difference(missing[0], np.inf, 0, there[missing[0]].iloc[0], "no column any more"))
    now = here.assign(**{name: value for name, value in computed.items() if name in there})
    differences = [difference for name in columns if (difference := _difference(there, now, name, computed))]
    if not differences:
        return Comparison(EQUAL)
    excesses = [difference for difference in differences if difference.size > _tolerance(difference, there, computed)]
    if not excesses:
        return Comparison(ROUNDED, max(differences, key=lambda difference: difference.size))
    for difference in excesses:
        if _is_accounted(difference.column, computed) or not np.isfinite(difference.size):
            return Comparison(DIFFERENT, difference)
    perturbed_rows, repeated = perturbed(), repetitions()
    for difference in sorted(excesses, key=lambda difference: -difference.size):
        if not _is_chaos(difference, there, here, perturbed_rows, repeated):
            return Comparison(DIFFERENT, difference)
    return Comparison(CHAOTIC, max(excesses, key=lambda difference: difference.size))


def _tolerance(difference: Difference, there: pd.DataFrame, computed: Mapping[str, Any]) -> float:
    """Return the size up to which a difference is rounding."""
    if _is_accounted(difference.column, computed):
        return ACCOUNTED
    if not SHARE.search(difference.column) or not np.isfinite(difference.size):
        return TRAINED
    largest = there[difference.column].abs().max()
    return max(TRAINED, FLIPPED / largest if largest else TRAINED)


def _is_accounted(name: str, computed: Mapping[str, Any]) -> bool:
    """Return whether a column follows from the settings, without training."""
    return name.startswith("epsilon") or name in computed or name in RESERVED


def _difference(there: pd.DataFrame, here: pd.DataFrame, name: str, computed: Mapping[str, Any]) -> Difference | None:
    """Return the largest difference in a column, if any."""
    before, now, rounds = there[name], here[name], there["rounds"]
    if pd.api.types.is_numeric_dtype(before) and pd.api.types.is_numeric_dtype(now):
        old, new = before.to_numpy(float), now.to_numpy(float)
        same = (old == new) | (np.isnan(old) & np.isnan(new))
        finite = np.isfinite(old) & np.isfinite(new)
        with np.errstate(invalid="ignore"):
            size = np.where(same, 0.0, np.where(finite, np.abs(old - new), np.inf))
        scale = np.abs(old) if _is_accounted(name, computed) else np.abs(old[np.isfinite(old)]).max(initial=0.0)
        size = np.divide(size, scale, out=np.where(size > 0, np.inf, 0.0), where=np.asarray(scale) > 0)
    else:
        texts = (column.astype(object).fillna("").map(str).to_numpy() for column in (before, now))
        size = np.where(np.not_equal(*texts), np.inf, 0.0)
    place = int(size.argmax())
    if not size[place]:
        return None
    return Difference(name, float(size[place]), int(rounds.iloc[place]), before.iloc[place], now.iloc[place])


def _is_chaos(
    difference: Difference, there: pd.DataFrame, here: pd.DataFrame, perturbed: pd.DataFrame, repeated: pd.DataFrame
) -> bool:
    """Return whether rounding explains the differences in a column: it moves the run as far, and they are not beyond
    the spread."""
    name, has_value = difference.column, there[difference.column].notna().to_numpy()  # some only after a first round
    old, new, varied = (table[name].to_numpy(float)[has_value] for table in (there, here, perturbed))
    distances, movement = np.abs(old - new), np.abs(varied - new).max()
    if not distances.max() <= MOVEMENT * movement:
        return False
    spread = repeated.groupby("rounds")[name].agg(["std", "count"]).reindex(there["rounds"][has_value])
    enough = (spread["count"] >= FEWEST).all()
    rounding = TRAINED * np.abs(old).max()  # all that is seen where repetitions agree, as before the first round
    return bool((distances <= np.maximum(SPREAD * (spread["std"].to_numpy() if enough else movement), rounding)).all())


def _text(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, int | float | np.number) else str(value)
