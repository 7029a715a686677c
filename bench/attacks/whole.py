"""The attacks on the methods of a board's task, and their results as files.

A row is one method at one epsilon. After an interruption rows that are in the file are not computed again, unless the
board chose other settings or the method has another version.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis.kept import Table
from bench.analysis.tables import markdown
from bench.attacks import membership, units
from bench.attacks.runs import scores
from bench.attacks.targets import Target, Targets, targets
from bench.errors import InputError
from bench.execution.progress import Increment, Meter, duration
from bench.sweeps.rows import commit

KEY = ["method", "target_epsilon"]
RATES = (1e-2, 1e-3)  # false-positive rates
FEWEST_RUNS, MOST_RUNS = 8, 10_000
TABLE, PAGE = "attacks.csv", "attacks.md"
NO_RATIO = "scores are not finite"


def attack_all(
    task: str,
    labels: Sequence[str] = (),
    *,
    epsilons: Sequence[float] = (),
    board: str = "board",
    out: Path = Path("results"),
    runs: int = 64,
    split: int = 0,
    seed: int = 0,
    fresh: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> pd.DataFrame:
    """Attack methods of a board; write attacks.csv and attacks.md into the folder of the board's task.

    Args:
        task, labels, epsilons, board, out, split: as for `targets.targets`.
        runs: of the membership attack.
        seed: of membership and of all runs.
        fresh: attack all again; the earlier table is kept as earlier-attacks.csv.
        say: receives a line after each row, and some while one is computed.

    Returns:
        The rows of attacks.csv.

    Raises:
        InputError: for an option out of range, files that cannot be read or written, a table of attacks with other
            options, and as `targets.targets`.
    """
    options = {"runs": runs, "split": split, "seed": seed}
    _check(options)
    plan = targets(task, labels, epsilons, board=board, out=out, split=split)
    table, code = Table(plan.folder / TABLE, "attacks", options, page), commit()
    table.begin(fresh=fresh)
    rows, path = _earlier_rows(table), table.path
    settings = {
        (target.label, target.target_epsilon): (target.point, target.attacked.method.version) for target in plan.targets
    }  # of what is asked for; other rows stay as they are
    current = [
        settings.get(key, values) == values
        for key, values in zip(_tuples(rows, KEY), _tuples(rows, ["point", "version"]), strict=True)
    ]
    rows = rows[np.array(current, bool)]
    pending = [
        target for target in plan.targets if (target.label, target.target_epsilon) not in set(_tuples(rows, KEY))
    ]
    if not pending:
        table.write(rows)
        say(f"{path} has all {len(plan.targets)} of these attacks already")
        return rows
    task_attacked = pending[0].attacked.task
    roster = units.units_of(task_attacked, plan.unit, runs, seed)
    with Meter(f"attacks on {task}", runs * sum(target.attacked.rounds for target in pending), say=say) as meter:
        for place, target in enumerate(pending, 1):
            row = _row(target, roster, plan, options, _timed_report(meter)) | {"commit": code}
            row_table = pd.DataFrame([row])
            rows = pd.concat([rows, row_table], ignore_index=True) if len(rows) else row_table
            rows = rows.sort_values(KEY, kind="stable", ignore_index=True)
            table.write(rows)
            outlook = f"; about {duration(meter.left_s())} left" if place < len(pending) else ""
            at = "without noise" if math.isinf(target.target_epsilon) else f"at epsilon {target.target_epsilon:g}"
            rates = ", ".join(f"{row[f'tpr_at_{fpr:g}']:.4f} at FPR {fpr:g}" for fpr in RATES)
            result = f"TPR {rates}, {row['seconds_per_run']:.2f} s a run"
            say(f"attack {place} of {len(pending)}, {target.label} {at}: {result}{outlook}")
    for label in plan.silent_labels:
        say(f"{label} releases nothing, so there is nothing to attack")
    return rows


def _timed_report(meter: Meter) -> Callable[[int], None]:
    """Return the function that takes the run-rounds done since its last call, 0 before the first, and times them."""
    times = [time.monotonic()]

    def add(units: int) -> None:
        times.append(time.monotonic())
        if units:
            meter.report(Increment(units, times[-1] - times[-2]))

    return add


def _row(
    target: Target, roster: units.Units, plan: Targets, options: Mapping[str, int], on_block: Callable[[int], None]
) -> dict[str, Any]:
    """Attack one method at one epsilon."""
    runs, seed, start = options["runs"], options["seed"], time.monotonic()
    # Runs of the attack share no randomness with those of the board.
    seeds = 1_000_000 + seed * MOST_RUNS + np.arange(runs)
    scored = scores(target.attacked, roster, seeds=seeds, on_block=on_block)
    seconds = (time.monotonic() - start) / runs
    finite = bool(np.isfinite(scored).all())
    notes = [] if finite else [NO_RATIO]
    ratios = membership.likelihood_ratios(scored, roster.members) if finite else np.full(scored.shape, np.nan)
    rates = membership.rates(ratios, roster.members, RATES, seed=seed)
    row: dict[str, Any] = {
        "task": plan.folder.name,
        "method": target.label,
        "target_epsilon": target.target_epsilon,
        "epsilon": target.epsilon,
        "delta": target.delta,
        "privacy_unit": roster.kind,
        "neighbors": target.neighbors,
        "protects_against": target.adversary,
    }
    epsilon, delta = units.allowance(roster.kind, target.epsilon, target.delta, target.neighbors)
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
        "rounds": target.attacked.rounds,
        "point": target.point,
        "version": target.attacked.method.version,
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


def _tuples(rows: pd.DataFrame, names: list[str]) -> list[tuple]:
    return list(rows[names].itertuples(index=False, name=None))


def _check(options: Mapping[str, int]) -> None:
    """Refuse options out of range."""
    for name, fits, remedy in (
        ("runs", FEWEST_RUNS <= options["runs"] <= MOST_RUNS, f"give {FEWEST_RUNS} to {MOST_RUNS:,}"),
        ("seed", 0 <= options["seed"] < 100_000, "give 0 to 99,999"),
    ):
        if not fits:
            raise InputError(f"{name} is {options[name]}: {remedy}")
