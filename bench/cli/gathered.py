"""Gathers what the code offers: sweeps, algorithms, tasks, figures, and tasks to compare methods on."""

import inspect
from collections.abc import Sequence
from typing import Any

from bench.algorithms import ALGORITHMS
from bench.comparison import Problem
from bench.comparison.problems import PROBLEMS
from bench.data.tasks.registry import TASKS
from bench.errors import InputError
from bench.papers import SWEEPS
from bench.store import SCALES
from private_federated_bench import collision


def gathered() -> dict[str, list[dict[str, Any]]]:
    """Kind -> entries, as in `bench.cli.catalog.catalog`, for every kind except "data".

    Raises:
        InputError: where Python finds another package called `figures`.
    """
    if wrong := collision("figures"):
        raise InputError(wrong)
    from figures import FIGURES  # imported here, since bench works without figures

    sweeps = []
    for name, make in SWEEPS.items():
        by_scale = {scale: make(scale) for scale in SCALES}
        runs = {
            scale: sum(len(entry.points) * len(sweep.repetitions(entry)) for entry in sweep.entries.values())
            for scale, sweep in by_scale.items()
        }
        notes = by_scale["paper"].notes
        sweeps.append({"name": name, "what": by_scale["paper"].reproduces, "runs": runs, "notes": notes})
    return {
        "sweeps": sweeps,
        "algorithms": [{"name": name, "what": _line(method.make)} for name, method in ALGORITHMS.items()],
        "tasks": [{"name": name, "what": _line(make)} for name, make in TASKS.items()],
        "figures": [
            {"name": name, "what": figure.summary, "sweep": _sweep(figure.sweeps)} for name, figure in FIGURES.items()
        ],
        "comparisons": [{"name": name, "what": _compared(make())} for name, make in PROBLEMS.items()],
    }


def _line(thing) -> str:
    """The first paragraph of a docstring; for a partial, that of its function, with the fixed arguments."""
    text = inspect.getdoc(getattr(thing, "func", thing)) or ""
    fixed = ", ".join(f"{name} {value}" for name, value in getattr(thing, "keywords", {}).items() if value != "")
    return " ".join(text.split("\n\n")[0].split()) + (f" [{fixed}]" if fixed else "")


def _compared(problem: Problem) -> str:
    """The privacy unit, neighbouring relation and baselines of a task to compare methods on."""
    return f"one {problem.privacy_unit}, {problem.neighbors}; baselines: {', '.join(problem.baselines or ())}"


def _sweep(names: Sequence[str]) -> str | Sequence[str] | None:
    """The sweep of a figure, all of them where it has several, or None where it needs no runs."""
    return names if len(names) > 1 else next(iter(names), None)
