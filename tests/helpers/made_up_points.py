"""What made-up runs have in common: the ids of their points, and that a table which many tests use is made once."""

from collections.abc import Callable
from functools import cache, wraps

import pandas as pd

from figures.shared.runs import AS_CATEGORIES


def points_of(settings: pd.DataFrame) -> list[str]:
    """Return the id of every row's point: its settings."""
    return ["/".join(map(str, row)) for row in settings.itertuples(index=False)]


def with_categories(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with text as categories in alphabetical order, as the commands read it from results."""
    return runs.astype(dict.fromkeys(runs.select_dtypes("str"), "category")) if AS_CATEGORIES else runs


def made_once(make: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    """Let equal calls share one table, of which each gets a copy. Functions defined within a test are never equal."""

    def fresh(*args, **how) -> pd.DataFrame:
        return with_categories(make(*args, **how))

    made = cache(fresh)

    @wraps(make)
    def copied(*args, **how) -> pd.DataFrame:
        if any(callable(value) and "<" in value.__qualname__ for value in (*args, *how.values())):
            return fresh(*args, **how)
        return made(*args, **how).copy()

    return copied
