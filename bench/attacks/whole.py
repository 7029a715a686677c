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
    found = targets(task, labels, epsilons, board=board, out=out, split=split)
    table, code = Table(found.folder / TABLE, "attacks", options, page), commit()
    table.begin(fresh=fresh)
    done, path = _earlier(table), table.path
    current = {
        (asked.label, asked.target): (asked.point, asked.attacked.method.version) for asked in found.every
    }  # of what is asked for; other rows stay as they are
    same = [
        current.get(key, settings) == settings
        for key, settings in zip(_pairs(done, KEY), _pairs(done, ["point", "version"]), strict=True)
    ]
    done = done[np.array(same, bool)]
    left = [asked for asked in found.every if (asked.label, asked.target) not in set(_pairs(done, KEY))]
    if not left:
        table.write(done)
        say(f"{path} has all {len(found.every)} of these attacks already")
        return done
    task_made = left[0].attacked.task
    attacked = units.units_of(task_made, found.unit, runs, seed)
    with Meter(f"attacks on {task}", runs * sum(asked.attacked.rounds for asked in left), say=say) as meter:
        for place, asked in enumerate(left, 1):
            row = _row(asked, attacked, found, options, _timed(meter)) | {"commit": code}
            row_table = pd.DataFrame([row])
            done = pd.concat([done, row_table], ignore_index=True) if len(done) else row_table
            done = done.sort_values(KEY, kind="stable", ignore_index=True)
            table.write(done)
            rest = f"; about {duration(meter.left_s())} left" if place < len(left) else ""
            at = "without noise" if math.isinf(asked.target) else f"at epsilon {asked.target:g}"
            shares = ", ".join(f"{row[f'tpr_at_{false:g}']:.4f} at FPR {false:g}" for false in RATES)
            result = f"TPR {shares}, {row['seconds_per_run']:.2f} s a run"
            say(f"attack {place} of {len(left)}, {asked.label} {at}: {result}{rest}")
    for label in found.silent:
        say(f"{label} releases nothing, so there is nothing to attack")
    return done


def _timed(meter: Meter) -> Callable[[int], None]:
    """Return what is told of the run-rounds that were done since the last call, 0 before the first, and times them."""
    last = [time.monotonic()]

    def add(units: int) -> None:
        last.append(time.monotonic())
        if units:
            meter.report(Increment(units, last[-1] - last[-2]))

    return add


def _row(
    target: Target, of: units.Units, found: Targets, options: Mapping[str, int], on_block: Callable[[int], None]
) -> dict[str, Any]:
    """Attack one method at one epsilon."""
    runs, seed, began = options["runs"], options["seed"], time.monotonic()
    # Runs of the attack share no randomness with those of the board.
    seeds = 1_000_000 + seed * MOST_RUNS + np.arange(runs)
    seen = scores(target.attacked, of, seeds=seeds, on_block=on_block)
    per_run = (time.monotonic() - began) / runs
    finite = bool(np.isfinite(seen).all())
    notes = [] if finite else [NO_RATIO]
    ratios = membership.likelihood_ratios(seen, of.members) if finite else np.full(seen.shape, np.nan)
    rates = membership.rates(ratios, of.members, RATES, seed=seed)
    row: dict[str, Any] = {
        "task": found.folder.name,
        "method": target.label,
        "target_epsilon": target.target,
        "epsilon": target.epsilon,
        "delta": target.delta,
        "privacy_unit": of.kind,
        "neighbors": target.neighbors,
        "protects_against": target.against,
    }
    epsilon, delta = units.allowance(of.kind, target.epsilon, target.delta, target.neighbors)
    for false, rate in rates.at.items():
        name = f"tpr_at_{false:g}"
        row |= {name: rate.found, f"{name}_low": rate.low, f"{name}_high": rate.high}
        row[f"{name}_allowed"] = membership.allowed(epsilon, delta, false)
        if rate.low > row[f"{name}_allowed"]:
            notes.append(f"more than the declared epsilon allows at a false-positive rate of {false:g}")
    row |= {"auc": rates.auc.found, "auc_low": rates.auc.low, "auc_high": rates.auc.high}
    return row | {
        "units": rates.units,
        **options,
        "rounds": target.attacked.rounds,
        "point": target.point,
        "version": target.attacked.method.version,
        "seconds_per_run": round(per_run, 3),
        "notes": "; ".join(notes),
    }


# ---- Files ----


def page(whole: pd.DataFrame) -> str:
    """Return attacks.md: what was attacked and by whom, the table, and what it cannot show."""
    first = whole.iloc[0]
    one = "user" if first["privacy_unit"] == units.USER else "example of a client"
    cells = [
        {
            "method": row["method"],
            "declared ε": "no noise" if math.isinf(row["epsilon"]) else f"{row['epsilon']:.3g}",
            **{f"TPR at FPR {false:g}": _interval(row, f"tpr_at_{false:g}", ".4f", " of ") for false in RATES},
            "AUC": _interval(row, "auc", ".3f"),
            "notes": row["notes"],
        }
        for row in whole.to_dict("records")
    ]
    table = pd.DataFrame(cells)
    table = table[[name for name in table if name == "method" or table[name].ne("").any()]]
    deltas = ", ".join(f"{value:g}" for value in sorted(set(whole["delta"])))
    lines = [
        f"Attacked was the membership of one {one} of {first['task']} in the training data, by somebody who sees the "
        f"final released model of a method, knows its settings, and has {first['runs'] - 1} other runs whose members "
        "are known; a small rate is no proof of privacy, since a stronger attack might find more.",
        "",
        markdown(table),
        f"TPR and FPR are the true- and the false-positive rate of a likelihood-ratio attack over {first['units']:,} "
        f"units in {first['runs']} runs, with 95 % intervals that allow for decisions on the same run or unit to "
        f'depend on each other; "of" is followed by the largest rate that the declared ε at δ = {deltas} allows.',
        f"Settings of split {first['split']}, seed {first['seed']}. Code: {', '.join(dict.fromkeys(whole['commit']))}. "
        "What each column means and cannot show: docs/attacks.md.",
    ]
    return "\n".join(lines) + "\n"


def _interval(row: Mapping[Any, Any], name: str, form: str, allowed: str = "") -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if math.isnan(value):
        return ""
    text = f"{value:{form}} [{low:{form}}, {high:{form}}]"
    return f"{text}{allowed}{row[f'{name}_allowed']:.2g}" if allowed else text


def _earlier(table: Table) -> pd.DataFrame:
    """Return the rows of an earlier command."""

    def check(rows: pd.DataFrame) -> None:
        if rows.duplicated(KEY).any() or (rows["task"] != table.path.parent.name).any():
            raise ValueError("rows of another task")
        page(rows)

    rows = table.earlier([*KEY, "point", "version", "commit"], check, text=["point", "notes"])
    return rows.astype({"target_epsilon": float})


def _pairs(rows: pd.DataFrame, names: list[str]) -> list[tuple]:
    return list(rows[names].itertuples(index=False, name=None))


def _check(options: Mapping[str, int]) -> None:
    """Refuse options out of range."""
    for name, fits, remedy in (
        ("runs", FEWEST_RUNS <= options["runs"] <= MOST_RUNS, f"give {FEWEST_RUNS} to {MOST_RUNS:,}"),
        ("seed", 0 <= options["seed"] < 100_000, "give 0 to 99,999"),
    ):
        if not fits:
            raise InputError(f"{name} is {options[name]}: {remedy}")
