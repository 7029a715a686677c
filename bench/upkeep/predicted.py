"""Predictions as a printed table."""

from collections.abc import Sequence

import psutil

from bench.upkeep import cost
from bench.upkeep.predict import CPU, NODES, Prediction

COLUMNS = {"core": "a core", "gpu": "a GPU", "8 gpus": "8 GPUs", f"{NODES} nodes": f"{NODES:,} nodes"}


def written(predictions: Sequence[Prediction]) -> str:
    """The printed table, one line per entry."""
    head = ("sweep, entry", "users", "runs x rounds", "core-s a point and round", "held out", "bytes a user", "GB")
    lines: list[tuple[str, ...]] = [(*head, *COLUMNS.values())]
    for one in predictions:
        seconds, found = one.seconds[CPU], one.checks[CPU]
        lines.append(
            (
                f"{one.sweep}, {one.entry}",
                f"{one.users:,}",
                f"{one.runs:,} x {one.rounds:,.0f}",
                "unmeasured" if seconds is None else f"{seconds:.3g}",
                "" if found is None else f"{100 * found.within:.0f} % of {found.cells}",
                f"{one.user_bytes:,.0f} + {one.state_bytes:,.0f} a point",
                f"{one.memory / 1e9:.3g}",
                *(_time(one.hours[place]) for place in COLUMNS),
            )
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
    notes = [f"{one.sweep}, {one.entry}: {note}" for one in predictions for note in one.notes]
    cores = psutil.cpu_count(logical=False) or 1
    said = (
        f"held out: programs whose time, predicted from the others', is within {100 * cost.TOLERANCE:.0f} % of what "
        f"was measured. GB: memory of all users with one point, plus a block of at most 16 MB. A node has {cores} "
        "cores, like this machine. Runs are distributed over workers; the rounds of a run are sequential."
    )
    return "\n".join([table, "", *notes, said])


def _time(hours: float | None) -> str:
    if hours is None:
        return "unmeasured"
    return f"{hours:.3g} h" if hours >= 0.1 else f"{3600 * hours:.3g} s"
