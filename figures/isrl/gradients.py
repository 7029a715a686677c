"""Gao et al. 2024, Theorem 2.1 measured (not in the paper): excess risk against gradients, by n and epsilon.

The runs of isrl_rounds, shown by the number of gradients of single records that all silos compute. One-pass MB-SGD uses
every record once, whatever its number of rounds, and so does its accelerated form, so they are vertical lines; the
phases of the localized methods use half of the records, a quarter, and so on, in as many rounds as they have; the
others use all records in every round. "Small batches" is the earlier optimal algorithm, than which the theorem promises
the localized method fewer gradients.
"""

import pandas as pd

from figures.isrl import rounds
from figures.shared.figure import Figure
from figures.shared.runs import at_end

PHASES = ["share", "rounds_ratio", "num_phases"]
ARGUMENTS = ["num_sampled", "phase_rounds", "sampler", "batch_size", *PHASES]


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers of isrl_rounds and, in "gradients", how many gradients of single records all answering silos
    compute."""
    numbers = rounds.table(runs)
    settings = at_end(runs).groupby(rounds.BY)[ARGUMENTS].first().reset_index()
    counted = settings.assign(gradients=[of_run(row) for row in settings.to_dict("records")])
    return numbers.merge(counted[[*rounds.BY, "gradients"]], on=rounds.BY)


def of_run(row: dict) -> int:
    """Return the number of gradients of a run, from its arguments; share and ratio of rounds are missing without
    phases."""
    records, rounds_of_first = int(row["num_records"]), int(row["phase_rounds"])
    share, ratio, num_phases = (row[name] if pd.notna(row[name]) else 1 for name in PHASES)
    sizes = [int(share * records) // 2**phase for phase in range(int(num_phases))]
    counts = [max(1, round(rounds_of_first * ratio**phase)) for phase in range(int(num_phases))]
    if row["sampler"] == "once":
        sizes = [size // count for size, count in zip(sizes, counts, strict=True)]
    if row["sampler"] == "fixed":
        sizes = [int(row["batch_size"])]
    return int(row["num_sampled"]) * sum(size * count for size, count in zip(sizes, counts, strict=True))


def draw(table: pd.DataFrame):
    """A row of panels for each epsilon and a column for each n."""
    title = "Gradients to a risk: a quadratic in 25 heterogeneous silos (Gao et al. 2024, Theorem 2.1, measured)"
    return rounds.panels(table, "gradients", "gradients of single records", title)


FIGURE = Figure(__doc__, ("isrl_rounds",), table, draw)
