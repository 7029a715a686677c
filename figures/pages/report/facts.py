"""The provenance of a result: its data, scale, repetitions, code, machine, date and run time."""

from dataclasses import dataclass

import pandas as pd

from bench.analysis.select import REPETITION, repetitions, span

RUN = ["sweep", "point", *REPETITION]  # identifies one run
COLUMNS = (  # that the facts follow from, besides those that all runs have
    *("source", "scale", "commit", "jax_version", "device", "date", "wall_s"),
)


@dataclass(frozen=True)
class Facts:
    """The provenance of the runs behind a figure; every tuple has distinct values in order.

    repetitions: of the points, the fewest and the most.
    wall_s: seconds of all runs together, without compilation.
    newest: the date of the newest run, "2026-11-20".
    """

    sources: tuple[str, ...]
    scales: tuple[str, ...]
    num_runs: int
    repetitions: tuple[int, int]
    commits: tuple[str, ...]
    jax_versions: tuple[str, ...]
    devices: tuple[str, ...]
    newest: str
    wall_s: float

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


def facts_of(runs: pd.DataFrame) -> Facts:
    """Return the facts of a table of runs; facts whose column is missing are empty."""
    single = runs.drop_duplicates(RUN)
    made = single.drop_duplicates([name for name in RUN if name != "sweep"])  # two sweeps can share runs by a copy
    return Facts(
        sources=_values(runs, "source"),
        scales=_values(runs, "scale"),
        num_runs=len(single),
        repetitions=repetitions(single),
        commits=_values(runs, "commit"),
        jax_versions=_values(runs, "jax_version"),
        devices=_values(runs, "device"),
        newest=max(_values(runs, "date"), default=""),
        wall_s=float(made["wall_s"].sum()) if "wall_s" in made else 0.0,
    )


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
