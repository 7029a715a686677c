"""The provenance of a result: its data, scale, repetitions, code, machine, date and run time."""

import pandas as pd

from bench.analysis.select import REPETITION, repetitions, span

RUN = ["sweep", "point", *REPETITION]  # identifies one run
COLUMNS = (  # that the facts follow from, besides those that all runs have
    *("source", "scale", "commit", "jax_version", "device", "date", "wall_s"),
)


class Facts:
    """The provenance of the runs behind a figure; several values of a kind are distinct and in order, and none where
    their column is missing.

    repetitions: of the points, the fewest and the most.
    wall_s: seconds of all runs together, without compilation.
    newest: the date of the newest run, "2026-11-20".
    """

    def __init__(self, runs: pd.DataFrame):
        single = runs.drop_duplicates(RUN)
        made = single.drop_duplicates([name for name in RUN if name != "sweep"])  # two sweeps can share runs by a copy
        columns = (_values(runs, name) for name in COLUMNS[:-1])
        self.sources, self.scales, self.commits, self.jax_versions, self.devices, dates = columns
        self.num_runs, self.repetitions = len(single), repetitions(single)
        self.newest = max(dates, default="")
        self.wall_s = float(made["wall_s"].sum()) if "wall_s" in made else 0.0

    @property
    def words(self) -> dict[str, str]:
        """The facts as terms and words."""
        return {
            "Data": ", ".join(self.sources),
            "Scale": ", ".join(self.scales),
            "Repetitions of a point": span(self.repetitions),
            "Runs": f"{self.num_runs:,} in {duration(self.wall_s)}, without compilation",
            "Code": f"{_names_or_number(self.commits, 'commit')}; jax {', '.join(self.jax_versions)}",
            "Device": ", ".join(self.devices),
            "Newest run": self.newest,
        }


def _values(runs: pd.DataFrame, name: str) -> tuple[str, ...]:
    return tuple(sorted(map(str, runs[name].dropna().unique()))) if name in runs else ()


def _names_or_number(names: tuple[str, ...], kind: str) -> str:
    """Return names of a kind, or where they are more than two their number, since the table of the runs has all."""
    return f"{len(names)} {kind}s" if len(names) > 2 else f"{kind} {', '.join(names)}"


def duration(seconds: float) -> str:
    """Seconds in hours, minutes or seconds, as text."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
