"""Joins what a comparison measures beside its metric to its table; `bench.analysis.measured` reads and prints it."""

from collections.abc import Mapping, Sequence

import pandas as pd

from bench.analysis import select
from bench.analysis.measured import ON, PANEL
from bench.comparison.report.table import at_every_epsilon


def joined(
    table: pd.DataFrame, runs: pd.DataFrame, also: Sequence[str], measured_on: Mapping[str, str]
) -> pd.DataFrame:
    """Return the table of a comparison with the further metrics.

    Args:
        table: of `bench.comparison.report.table.table`, one row per method and epsilon.
        runs: one row per method, epsilon and split, as for that.
        also: the further metrics.
        measured_on: metric -> what it is measured on, in a few words.

    Returns:
        The table with `X_on` for the metric X of the table, and with `X`, `X_low`, `X_high` (95 % interval over splits)
        and `X_on` for each further metric X.
    """
    by = [*PANEL, "target_epsilon", "algorithm"]
    metric = table["metric"].iloc[0]
    table = table.assign(**{metric + ON: measured_on.get(metric, "")})
    rows = at_every_epsilon(runs)
    for name in also:
        if name not in rows:  # of a board that was run before this was measured
            continue
        of_name = select.interval(rows, by=by, value=name).set_index(by)[[name, "low", "high"]]
        of_name.columns = [name, f"{name}_low", f"{name}_high"]
        table = table.join(of_name.assign(**{name + ON: measured_on.get(name, "")}), on=by)
    return table
