"""Writes the table of all built-in methods into docs/methods/index.md, from the registry.

`PYTHONPATH=tests/helpers:. python -m method_table` runs it.

Units and adversaries are those of the methods' own releases, on the small tasks of the audit.
"""

import re
from pathlib import Path

import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.analysis.tables import markdown
from bench.audit.subject import subject_of
from bench.comparison.plan import roles_of
from bench.comparison.problems import problem_named
from bench.comparison.statements import SILENT
from bench.data.tasks.registry import compared
from bench.sweeps.spec import parameters

PAGE = Path("docs") / "methods" / "index.md"
PART = re.compile(r"(<!-- methods -->\n).*?(<!-- end -->)", re.DOTALL)


def table() -> pd.DataFrame:
    """Return one row for each built-in method: its name, privacy unit, adversary, the tasks of `compare` on which it is
    a baseline, its names in the legend there, and the arguments that are tuned there.
    """
    return pd.DataFrame([_row(name, method) for name, method in ALGORITHMS.items()])


def _row(name: str, method: Method) -> dict[str, str]:
    tasks: dict[str, None] = {}
    labels: dict[str, None] = {}
    tuned: dict[str, None] = {}
    keywords, _ = parameters(method)
    for task in compared():
        problem = problem_named(task)
        for label, variant in (problem.baselines or {}).items():
            if variant.method.make is method.make:
                tasks[task] = labels[label] = None
                roles = roles_of(variant)
                names = [name for role in problem.shared_space for name in keywords if roles[name].name == role]
                tuned |= dict.fromkeys(each for each in (*names, *variant.space) if each not in variant.args)
    unit, against = _protects(method)
    return {
        "method": f"`{name}`",
        "privacy unit": unit,
        "threat model: against": against,
        "tasks of `compare`": ", ".join(tasks) or "none",
        "there called": ", ".join(labels),
        "tuned there": ", ".join(f"`{each}`" for each in tuned),
    }


def _protects(method: Method) -> tuple[str, str]:
    """Return the units and the adversaries of the releases that are declared as proven."""
    releases = subject_of(method, family=None, rounds=1, delta=1e-5, given={}).readings().values()
    said = [release for release in releases if release.sound and release.sampler != SILENT]
    if not said:
        return "releases nothing", ""
    units, adversaries = (
        {getattr(statement, field): None for statement in said} for field in ("privacy_unit", "protects_against")
    )
    return " or ".join(units), " or ".join(adversaries)


def written_anew(page: str) -> str:
    """Return the page with its table up to date."""
    return PART.sub(lambda match: match[1] + markdown(table(), words=True) + match[2], page)


if __name__ == "__main__":
    PAGE.write_text(written_anew(PAGE.read_text()))
