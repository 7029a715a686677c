"""The provenance of a result: its data, scale, repetitions, code, machine, date and run time."""

from dataclasses import dataclass

import pandas as pd

from bench.analysis.select import REPETITION, repetitions, span

RUN = ["sweep", "point", *REPETITION]  # identifies one run
COLUMNS = (  # that the facts follow from, besides those that all runs have
    *("source", "scale", "commit", "jax_version", "device", "date", "wall_s", "compile_s"),
)


@dataclass(frozen=True)
class Facts:
    """The provenance of the runs behind a figure; every tuple has distinct values in order.

    repetitions: of the points, the fewest and the most.
    wall_s: seconds of all runs together, without compilation.
    compile_s: of compiling their programs.
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
    compile_s: float

    @property
    def seconds(self) -> float:
        return self.wall_s + self.compile_s

    @property
    def words(self) -> dict[str, str]:
        """The facts as terms and words."""
        return {
            "Data": ", ".join(self.sources),
            "Scale": ", ".join(self.scales),
            "Repetitions of a point": span(self.repetitions),
            "Runs": f"{self.num_runs:,} in {duration(self.wall_s)}, and {duration(self.compile_s)} of compilation",
            "Code": f"{_listed(self.commits, 'commit')}; jax {', '.join(self.jax_versions)}",
            "Device": ", ".join(self.devices),
            "Newest run": self.newest,
        }


def facts_of(runs: pd.DataFrame) -> Facts:
    """Return the facts of a table of runs; facts whose column is missing are empty."""
    single = runs.drop_duplicates(RUN)
    made = single.drop_duplicates([name for name in RUN if name != "sweep"])  # two sweeps can share runs by a copy
    # A program is compiled once for many runs, and each of them records the time.
    compiled = _column(made, "compile_s").groupby([made["sweep"], made["algorithm"]]).unique()
    return Facts(
        sources=_values(runs, "source"),
        scales=_values(runs, "scale"),
        num_runs=len(single),
        repetitions=repetitions(single),
        commits=_values(runs, "commit"),
        jax_versions=_values(runs, "jax_version"),
        devices=_values(runs, "device"),
        newest=max(_values(runs, "date"), default=""),
        wall_s=float(_column(made, "wall_s").sum()),
        compile_s=float(sum(values.sum() for values in compiled)),
    )


def _column(runs: pd.DataFrame, name: str) -> pd.Series:
    return runs[name].fillna(0.0) if name in runs else pd.Series(0.0, index=runs.index)


def _values(runs: pd.DataFrame, name: str) -> tuple[str, ...]:
    return tuple(sorted(map(str, runs[name].dropna().unique()))) if name in runs else ()


def _listed(names: tuple[str, ...], kind: str) -> str:
    """Return names of a kind, or where they are more than two their number, since the table of the runs has all."""
    return f"{len(names)} {kind}s" if len(names) > 2 else f"{kind} {', '.join(names)}"


def duration(seconds: float) -> str:
    """Seconds in hours, minutes or seconds, as text."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
