"""How tables of made-up runs are built and finished, and that a table which many tests use is made once."""

from collections.abc import Callable, Iterable
from functools import cache, partial, reduce, wraps

import pandas as pd

from figures.shared.runs import AS_CATEGORIES


def table(columns: str, rows: Iterable[tuple]) -> pd.DataFrame:
    """A small table; the names of its columns are separated by spaces."""
    return pd.DataFrame(rows, columns=columns.split())


def crossed(*tables: pd.DataFrame, **axes: Iterable) -> pd.DataFrame:
    """The rows of these tables and the values of these axes, each with each; the first changes least often."""
    of_axes = [pd.DataFrame({name: list(values)}) for name, values in axes.items()]
    return reduce(partial(pd.merge, how="cross"), [*tables, *of_axes])


def of_each(rows: pd.DataFrame, value: Callable, columns: str) -> pd.Series:
    """What a function makes of the values that each row has in these columns, separated by spaces."""
    cells = rows[columns.split()].itertuples(index=False, name=None)
    return pd.Series([value(*cell) for cell in cells], index=rows.index)


def finish(rows: pd.DataFrame, sweep: str, settings: str = "sweep", **known) -> pd.DataFrame:
    """The rows with the columns that all runs have, where they have none yet, and the point that the settings name.

    What is known of these runs goes before what is said of all; the trial is the seed.
    """
    common = {"sweep": sweep, "source": "made up", "scale": "laptop", "commit": "0123456789ab", "trial": rows["seed"]}
    runs = rows.assign(**{name: value for name, value in (common | known).items() if name not in rows})
    return runs.assign(point=of_each(runs, lambda *values: "/".join(map(str, values)), settings))


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
