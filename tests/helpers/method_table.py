"""Writes the table of all built-in methods into docs/methods/index.md, from the registry.

`PYTHONPATH=tests/helpers:. python -m method_table` runs it.

Units and adversaries are those of the methods' own releases, on the small tasks of the audit.
"""

import math
import re
from pathlib import Path

import jax
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.algorithms.base import Method
from bench.analysis.tables import markdown
from bench.audit.subject import Subject, epsilon_spent, subject_of
from bench.comparison.problems import problem_named
from bench.comparison.statements import SILENT
from bench.data.tasks.registry import compared

KINDS = {  # by family of the audit
    "users": "users",
    "heads": "users, a network with a head",
    "records": "silos",
    "agents": "agents on a graph",
    "images": "clients with networks",
}
PAGE = Path("docs") / "methods" / "index.md"
PART = re.compile(r"(<!-- methods -->\n).*?(<!-- end -->)", re.DOTALL)


def table() -> pd.DataFrame:
    """Return one row for each built-in method, by unit of privacy, adversary and kind of task: what it protects against
    whom, what a client keeps, and its names in the legend of `compare`.
    """
    rows = pd.DataFrame([_row(name, method) for name, method in ALGORITHMS.items()])
    return rows.sort_values(list(rows.columns[1:4]), kind="stable", ignore_index=True)


def _row(name: str, method: Method) -> dict[str, str]:
    baselines = [pair for task in compared() for pair in (problem_named(task).baselines or {}).items()]
    labels = dict.fromkeys(label for label, variant in baselines if variant.method.make is method.make)
    subject = subject_of(method, family=None, rounds=1, delta=1e-5, args={})
    unit, against = _protects(subject)
    return {
        "method": f"`{name}`",
        "one unit is a": unit,
        "protected against": against,
        "task": KINDS[subject.family],
        "a client's own model": _own(subject),
        "in `compare`": ", ".join(labels),
    }


def _protects(subject: Subject) -> tuple[str, str]:
    """Return the units and the adversaries of the releases that are declared as proven and have a finite epsilon."""
    proven = [release for release in subject.readings().values() if release.sound and release.sampler != SILENT]
    said = [release for release in proven if epsilon_spent(release, 1) < math.inf]
    if not said:
        return "declares no privacy" if proven else "releases nothing", ""
    units, adversaries = (
        {getattr(statement, field): None for statement in said} for field in ("privacy_unit", "protects_against")
    )
    return " or ".join(units), " or ".join(adversaries)


def _own(subject: Subject) -> str:
    """Return whether clients have models of their own, and whether these are public, from the method's parameters and
    from what it declares as public."""
    algorithm = subject.method.make(subject.task, **subject.args)
    state = jax.eval_shape(algorithm.init, jax.random.key(0))
    params = jax.eval_shape(algorithm.params, state)
    public = jax.eval_shape(algorithm.public, state) if algorithm.public else params
    deepest = max(leaf.ndim for leaf in jax.tree.leaves(subject.task.init_params))

    def stacked(tree) -> bool:
        """Whether a leaf has one more dimension than the model, the client."""
        return any(leaf.ndim > deepest for leaf in jax.tree.leaves(tree))

    if not stacked(params):
        return "none"
    return "visible to them" if stacked(public) else "kept"


def written_anew(page: str) -> str:
    """Return the page with its table up to date."""
    return PART.sub(lambda match: match[1] + markdown(table(), words=True) + match[2], page)


if __name__ == "__main__":
    PAGE.write_text(written_anew(PAGE.read_text()))
