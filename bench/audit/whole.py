"""The audit of all built-in methods, each on every family of tasks that it fits, with its results as files.

A row of the results is one lower bound: of a way of accounting, by one kind of test. After an interruption the audits
that are in the file are not run again, unless the method has another version.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from bench.algorithms import ALGORITHMS
from bench.analysis.kept import Table
from bench.analysis.tables import markdown
from bench.analysis.tables import number as cell
from bench.audit.findings import MOST_UNSEEN
from bench.audit.replay import TOLERANCE
from bench.audit.report import Audit, check
from bench.audit.subject import families_of
from bench.audit.text import number
from bench.errors import InputError
from bench.execution.progress import duration
from bench.files import check_writable
from bench.sweeps.rows import commit

KEY = ["method", "family"]
# Arguments that differ from those of the family: with its step size some of the models overflow that are pulled.
ARGUMENTS: dict[tuple[str, str], dict[str, Any]] = {
    (name, "convolutions"): {"step_size": 0.05} for name in ("dpsgd_fedprox", "dpsgd_mrmtl")
}


def audit_all(audit: Callable[..., Audit], out: Path, *, say: Callable[[str], None], **options: Any) -> pd.DataFrame:
    """Return the table of `bench.audit.audit_all`, in the files audit.csv and audit.md of a folder.

    Args:
        audit: `bench.audit.audit`.
    """
    check(**options)
    table = Table(out / "audit.csv", "audits", options, _page, ", or choose another --out")
    keys = [(name, family) for name, method in ALGORITHMS.items() for family in families_of(method)]
    check_writable(out)
    earlier = table.earlier([*KEY, "version", "commit"])
    versions = {name: method.version for name, method in ALGORITHMS.items()}
    earlier = earlier[earlier["version"] == earlier["method"].map(versions)]
    tables = {key: rows for key, rows in earlier.groupby(KEY, sort=False) if key in keys}
    pending = [key for key in keys if key not in tables]
    start, refusals, code = time.monotonic(), [], commit()

    def write() -> pd.DataFrame:
        ordered = pd.concat([tables[key] for key in keys if key in tables], ignore_index=True)
        table.write(ordered)
        return ordered

    if pending:
        kept = len(keys) - len(pending)
        say(f"{len(pending)} audits to make, {kept} are in {table.path}; each is kept when its line appears")
    for place, (name, family) in enumerate(pending, 1):
        jax.clear_caches()  # of the last audit: compiled programs take more pieces of memory than a process may have
        try:
            result = audit(name, family=family, args=ARGUMENTS.get((name, family)), **options)
        except InputError as error:
            refusals.append(f"{name} on {family}: {error}")
            say(f"audit {place} of {len(pending)}, {name} on {family}: not run, {error}")
            continue
        tables[name, family] = result.to_frame().assign(version=versions[name], **options, commit=code)
        write()
        remaining = (time.monotonic() - start) / place * (len(pending) - place)
        outlook = f"about {duration(remaining)} left" if place < len(pending) else "all done"
        verdict = result.verdict if result.findings else "declares no privacy"
        say(f"audit {place} of {len(pending)}, {name} on {family}: {verdict}; {outlook}")
    if not pending:
        say(f"{table.path} has all {len(keys)} audits with these options already")
    if commits := ", ".join(sorted(set(earlier["commit"]) - {code})):
        say(f"{table.path} has audits of the code at {commits}: move it elsewhere to run them again at {code}")
    if refusals:
        raise InputError(
            f"{len(refusals)} of {len(keys)} audits were not run, the others are kept; {'; '.join(refusals)}"
        )
    return write()


def _page(rows: pd.DataFrame) -> str:
    """Return audit.md: the summary, and what the verdicts are based on."""
    return f"{markdown(summary(rows))}\n{_basis(rows)}\n"


def _basis(rows: pd.DataFrame) -> str:
    """Return the confidence of one audit and of the table, and the commits of the code that was audited."""
    audits = rows[rows["reading"].notna()] if "reading" in rows else rows[:0]
    if audits.empty:
        return "No audited method declares privacy."
    count, level = len(audits[KEY].drop_duplicates()), float(rows["confidence"].iloc[0])
    return (
        f"The bounds of one audit hold together with confidence {level:g}, those of all {count} audits with at least "
        f"{max(1 - count * (1 - level), 0):.3g}. Audited code: {', '.join(dict.fromkeys(rows['commit']))}."
    )


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each method, family and way of accounting, as text: declared epsilon, what replay found, the
    largest lower bound at the declared delta, the verdict with what refutes, and the factor by which less noise would
    have been seen.
    """
    summary_rows = []
    for (name, family), audit_rows in rows.groupby(KEY, sort=False):
        if audit_rows.get("reading", pd.Series(dtype=object)).isna().all():
            summary_rows.append({"method": name, "task": family, "verdict": "declares no privacy"})
            continue
        for reading, bounds in audit_rows.groupby("reading", sort=False):
            first, at_declared_delta = bounds.iloc[0], bounds["at_delta"] == bounds["delta"]
            summary_rows.append(
                {
                    "method": name,
                    "task": family,
                    "one": first["privacy_unit"],
                    "reading": reading if first["proven"] else f"{reading} (not proven)",
                    "neighbours": first["neighbors"],
                    "declared ε": number(first["declared"]),
                    "replay": cell(first["replay_factor"], ".3g"),
                    "at least": number(bounds.loc[at_declared_delta, "lower_bound"].max()),
                    "verdict": _verdict_words(bounds),
                    "noise seen if too small by": cell(first["noise_factor"], ".3g"),
                }
            )
    return pd.DataFrame(summary_rows).fillna("")


def _verdict_words(bounds: pd.DataFrame) -> str:
    """Return the verdict on one way of accounting: "not compared" where it declares no finite epsilon; where it is
    refuted, with the bound that exceeds what is declared by the largest factor, and its delta."""
    refuting = bounds[bounds["refuted"].eq(True)]
    first = bounds.iloc[0]
    if not np.isfinite(bounds["declared_there"]).any():
        return "not compared"
    if first["replay_factor"] > TOLERANCE:
        return f"refuted: {first['replay_factor']:.3g} times what is declared, {first['replay_place']}"
    if refuting.empty:
        decided = first["noise_factor"] <= MOST_UNSEEN or first["replay_factor"] == first["declared"] == 0
        return "not refuted" if decided and first["played"] and not first["more_often"] else "inconclusive"
    worst_row = refuting.iloc[(refuting["lower_bound"] / refuting["declared_there"]).to_numpy().argmax()]
    lower_bound, epsilon = number(worst_row["lower_bound"]), number(worst_row["declared_there"])
    return f"refuted: {lower_bound} > {epsilon} at δ = {worst_row['at_delta']:g}"
