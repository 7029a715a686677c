"""The attacks on the methods of a board's task, and their results as files.

A row is one method at one epsilon. After an interruption rows that are in the file are not computed again, unless the
board chose other settings or the method has another version.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis.kept import Table
from bench.analysis.tables import markdown
from bench.attacks import membership, units
from bench.attacks.runs import Attacked, scores
from bench.attacks.targets import Targets
from bench.execution.progress import Meter, Report, duration
from bench.files import check_writable
from bench.sweeps.rows import commit

KEY = ["method", "target_epsilon"]
RATES = (1e-2, 1e-3)  # false-positive rates
FEWEST_RUNS, MOST_RUNS = 8, 10_000
TABLE, PAGE = "attacks.csv", "attacks.md"
NO_RATIO = "scores are not finite"


def attack_all(plan: Targets, options: Mapping[str, int], say: Callable[[str], None]) -> pd.DataFrame:
    """Return the table of `bench.attacks.attack`, in the files attacks.csv and attacks.md of the board's task.

    Args:
        plan: what is attacked.
        options: runs, split and seed, the same in all rows.
    """
    table, code = Table(plan.folder / TABLE, "attacks", options, page), commit()
    check_writable(plan.folder)
    rows: dict[tuple, Any] = {tuple(row[name] for name in KEY): row for row in _earlier_rows(table).to_dict("records")}
    asked = {tuple(target.declared[name] for name in KEY): target for target in plan.targets}
    for key, target in asked.items():  # rows that are not asked for stay as they are
        if key in rows and (rows[key]["point"], rows[key]["version"]) != (target.point, target.method.version):
            del rows[key]
    pending = {key: target for key, target in asked.items() if key not in rows}

    def write() -> pd.DataFrame:
        ordered = pd.DataFrame(list(rows.values())).sort_values(KEY, kind="stable", ignore_index=True)
        table.write(ordered)
        return ordered

    if not pending:
        say(f"{table.path} has all {len(asked)} of these attacks already")
        return write()
    first = next(iter(pending.values()))
    roster = units.units_of(first.task, first.declared["privacy_unit"], options["runs"], options["seed"])
    run_rounds = options["runs"] * sum(target.rounds for target in pending.values())
    with Meter(f"attacks on {plan.folder.name}", run_rounds, say=say) as meter:
        for place, ((label, epsilon), target) in enumerate(pending.items(), 1):
            row = _row(target, roster, options, meter.report) | {"commit": code}
            rows[label, epsilon] = row
            write()
            outlook = f"; about {duration(meter.left_s())} left" if place < len(pending) else ""
            at = "without noise" if math.isinf(epsilon) else f"at epsilon {epsilon:g}"
            rates = ", ".join(f"{row[f'tpr_at_{fpr:g}']:.4f} at FPR {fpr:g}" for fpr in RATES)
            result = f"TPR {rates}, {row['seconds_per_run']:.2f} s a run"
            say(f"attack {place} of {len(pending)}, {label} {at}: {result}{outlook}")
    for label in plan.silent_labels:
        say(f"{label} releases nothing, so there is nothing to attack")
    return write()


def _row(target: Attacked, roster: units.Units, options: Mapping[str, int], report: Report) -> dict[str, Any]:
    """Attack one method at one epsilon."""
    runs, seed, start = options["runs"], options["seed"], time.monotonic()
    # Runs of the attack share no randomness with those of the board.
    seeds = 1_000_000 + seed * MOST_RUNS + np.arange(runs)
    scored = scores(target, roster, seeds=seeds, report=report)
    seconds = (time.monotonic() - start) / runs
    finite = bool(np.isfinite(scored).all())
    notes = [] if finite else [NO_RATIO]
    ratios = membership.likelihood_ratios(scored, roster.members) if finite else np.full(scored.shape, np.nan)
    rates = membership.rates(ratios, roster.members, RATES, seed=seed)
    row = dict(target.declared)
    epsilon, delta = units.allowance(row["privacy_unit"], row["epsilon"], row["delta"], row["neighbors"])
    for fpr, estimate in rates.at.items():
        name = f"tpr_at_{fpr:g}"
        row |= {name: estimate.share, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        row[f"{name}_allowed"] = membership.largest_rate(epsilon, delta, fpr)
        if estimate.low > row[f"{name}_allowed"]:
            notes.append(f"more than the declared epsilon allows at a false-positive rate of {fpr:g}")
    row |= {"auc": rates.auc.share, "auc_low": rates.auc.low, "auc_high": rates.auc.high}
    return row | {
        "units": rates.units,
        **options,
        "rounds": target.rounds,
        "point": target.point,
        "version": target.method.version,
        "seconds_per_run": round(seconds, 3),
        "notes": "; ".join(notes),
    }


# ---- Files ----


def page(rows: pd.DataFrame) -> str:
    """Return attacks.md: what was attacked and by whom, the table, and what it cannot show."""
    first = rows.iloc[0]
    unit = "user" if first["privacy_unit"] == units.USER else "example of a client"
    cells = [
        {
            "method": row["method"],
            "declared ε": "no noise" if math.isinf(row["epsilon"]) else f"{row['epsilon']:.3g}",
            **{f"TPR at FPR {fpr:g}": _interval(row, f"tpr_at_{fpr:g}", ".4f", " of ") for fpr in RATES},
            "AUC": _interval(row, "auc", ".3f"),
            "notes": row["notes"],
        }
        for row in rows.to_dict("records")
    ]
    table = pd.DataFrame(cells)
    table = table[[name for name in table if name == "method" or table[name].ne("").any()]]
    deltas = ", ".join(f"{value:g}" for value in sorted(set(rows["delta"])))
    lines = [
        f"Attacked was the membership of one {unit} of {first['task']} in the training data, by somebody who sees the "
        f"final released model of a method, knows its settings, and has {first['runs'] - 1} other runs whose members "
        "are known; a small rate is no proof of privacy, since a stronger attack might find more.",
        "",
        markdown(table),
        f"TPR and FPR are the true- and the false-positive rate of a likelihood-ratio attack over {first['units']:,} "
        f"units in {first['runs']} runs, with 95 % intervals that allow for decisions on the same run or unit to "
        f'depend on each other; "of" is followed by the largest rate that the declared ε at δ = {deltas} allows.',
        f"Settings of split {first['split']}, seed {first['seed']}. Code: {', '.join(dict.fromkeys(rows['commit']))}. "
        "What each column means and cannot show: docs/attacks.md.",
    ]
    return "\n".join(lines) + "\n"


def _interval(row: Mapping[Any, Any], name: str, form: str, allowed: str = "") -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if math.isnan(value):
        return ""
    text = f"{value:{form}} [{low:{form}}, {high:{form}}]"
    return f"{text}{allowed}{row[f'{name}_allowed']:.2g}" if allowed else text


def _earlier_rows(table: Table) -> pd.DataFrame:
    """Return the rows of an earlier command."""

    def check(rows: pd.DataFrame) -> None:
        if rows.duplicated(KEY).any() or (rows["task"] != table.path.parent.name).any():
            raise ValueError("rows of another task")
        page(rows)

    rows = table.earlier([*KEY, "point", "version", "commit"], check, text=["point", "notes"])
    return rows.astype({"target_epsilon": float})
