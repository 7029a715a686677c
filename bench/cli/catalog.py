"""What the suite offers: sweeps, algorithms, tasks and data sets, with one line about each.

Everything except the location of the data sets follows from the code. Gathering it takes seconds, since every method is
imported and every sweep's table is built, so the result is cached together with a digest of that code.
"""

import hashlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from bench.data.fetch import retrieval
from bench.data.fetch.sources import DATASETS
from bench.data.files import DataFiles
from bench.errors import InputError
from bench.execution.source import code
from bench.files import cache_folder, recall, remember

if TYPE_CHECKING:
    from bench.comparison.problem import Problem

KINDS = ("sweeps", "algorithms", "tasks", "data", "comparisons")


def catalog() -> dict[str, list[dict[str, Any]]]:
    """Return kind -> entries; every entry has "name" and "what", and further fields that depend on the kind."""
    data_files = DataFiles()
    data = [
        {"name": name, "what": data.what, "where": _where(name, data_files), "licence": data.licence}
        for name, data in DATASETS.items()
    ]
    entries = {**_from_code(), "data": data}
    return {kind: entries[kind] for kind in KINDS}


def _where(name: str, data_files: DataFiles) -> str:
    try:
        copy = retrieval.find(name, data_files)
    except InputError as error:
        return f"not usable: {error}"
    return copy.source if copy else "not here"


def _from_code() -> dict[str, list[dict[str, Any]]]:
    """Return the kinds that follow from the code, from the cache where the code has not changed."""
    path, digest = cache_folder("catalog") / "catalog.json", _digest()
    match recall(path):
        case {"code": str(cached_code), "found": entries} if cached_code == digest:
            return entries
    entries = _gathered()
    remember(path, {"code": digest, "found": entries})
    return entries


def _digest() -> str:
    """Return a digest of all modules of the suite, and of the settings of Python that decide whether docstrings are
    kept."""
    return hashlib.sha256(str((sys.version_info[:2], sys.flags.optimize, code())).encode()).hexdigest()


def _gathered() -> dict[str, list[dict[str, Any]]]:
    """Return kind -> entries, for every kind except "data"."""
    from bench.algorithms import ALGORITHMS
    from bench.comparison.problems import problem_named
    from bench.data.tasks.registry import TASKS, compared
    from bench.papers import SWEEPS
    from bench.store import SCALES

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
        "tasks": [{"name": name, "what": _line(task.make)} for name, task in TASKS.items()],
        "comparisons": [{"name": name, "what": _compared(problem_named(name))} for name in compared()],
    }


def _line(thing) -> str:
    """Return the first paragraph of a docstring; for a partial, that of its function, with the fixed arguments."""
    text = inspect.getdoc(getattr(thing, "func", thing)) or ""
    fixed = ", ".join(f"{name} {value}" for name, value in getattr(thing, "keywords", {}).items() if value != "")
    return " ".join(text.split("\n\n")[0].split()) + (f" [{fixed}]" if fixed else "")


def _compared(problem: "Problem") -> str:
    """Return the privacy unit, neighbouring relation and baselines of a task to compare methods on."""
    return f"one {problem.privacy_unit}, {problem.neighbors}; baselines: {', '.join(problem.baselines or ())}"


def tables(entries: dict[str, list[dict[str, Any]]]) -> str:
    """Return the catalog as text."""
    lines = []
    for kind, rows in entries.items():
        lines.append(f"{kind}:")
        width = max(len(row["name"]) for row in rows)
        for row in rows:
            extra = ""
            if "runs" in row:
                extra = " (runs: " + ", ".join(f"{scale} {n}" for scale, n in row["runs"].items()) + ")"
            if "where" in row:
                extra = f" [{row['where']}]"
            lines.append(f"  {row['name']:{width}}  {row['what']}{extra}")
            if row.get("notes"):
                lines.append(f"  {'':{width}}  note: {row['notes']}")
        lines.append("")
    return "\n".join(lines).rstrip()
