"""Boards of others: entries and protocols that are wrong in one way each, and what becomes of them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from bench.comparison import board as boards
from bench.comparison.entries import ENTRIES
from bench.comparison.plan import Plan
from bench.comparison.protocol import PROTOCOL
from bench.errors import InputError
from bench.store import part_files

LABEL = "renamed"
BOTH = ("tuning", "test")
LONGEST = 600  # characters of a line about an entry, without its path


class Small(NamedTuple):
    """A small board with an entry.

    folder: of the board's task.
    plan: of a method that is compared with it.
    """

    folder: Path
    plan: Plan


def _put(folder: Path, rows: pd.DataFrame) -> None:
    """Write rows as the only part of a folder, with valid digests."""
    shutil.rmtree(folder)
    folder.mkdir()
    part = pa.Table.from_pandas(rows, preserve_index=False)
    content = part_files.as_file(part)
    part_files.write(part_files.part_path(folder, part, content), content)


def rows(change: Callable[[pd.DataFrame], pd.DataFrame], stages: tuple[str, ...] = ("test",)) -> Callable[[Path], None]:
    """An entry with other rows."""

    def craft(entry: Path) -> None:
        for stage in stages:
            _put(entry / stage, change(part_files.read(entry / stage)))

    return craft


def column(name: str, value: Any, stages: tuple[str, ...] = ("test",)) -> Callable[[Path], None]:
    """An entry with another value of one column."""
    return rows(lambda found: found.assign(**{name: value}), stages)


def private(name: str, value: float) -> Callable[[Path], None]:
    """An entry with another number in its private runs."""
    return rows(lambda found: found.assign(**{name: found[name].where(np.isinf(found["target_epsilon"]), value)}))


def protocol(**changes: Any) -> Callable[[Path], None]:
    """An entry with another protocol."""

    def craft(entry: Path) -> None:
        said = json.loads((entry / PROTOCOL).read_text())
        (entry / PROTOCOL).write_text(json.dumps(said | changes))

    return craft


def _more_settings(found: pd.DataFrame) -> pd.DataFrame:
    later = (found.assign(setting=found["setting"] + 3 * k, point=found["point"] + str(k)) for k in range(3))
    return pd.concat(later)


def _more_seeds(found: pd.DataFrame) -> pd.DataFrame:
    noisy = found[np.isfinite(found["target_epsilon"]) & (found["setting"] == 0)]
    return pd.concat([found, noisy.assign(seed=noisy["seed"] + 5000, point="another")])


def _with_more_columns(entry: Path) -> None:
    for name in ("gain", "rank", "=cmd", "better"):
        column(name, "x", BOTH)(entry)


def _with_many_columns(found: pd.DataFrame) -> pd.DataFrame:
    return found.join(pd.DataFrame(0.0, found.index, [f"c{place}" for place in range(10_000)]))


def called(name: str) -> Callable[[Path], None]:
    """An entry of another name."""

    def craft(entry: Path) -> None:
        column("algorithm", name, BOTH)(entry)
        entry.rename(entry.with_name(name))

    return craft


def _in_place_of_runs(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.mkdir()


def _cut(entry: Path) -> None:
    (part,) = part_files.parts_in(entry / "test")
    part.write_bytes(part.read_bytes()[:-9])


def _doubled(found: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([found, found.assign(seed=found["seed"] + 100, point="another")])


WRONG: dict[str, Callable[[Path], None]] = {  # what is wrong with an entry -> how it is made so
    "delta": column("delta", 0.5, BOTH),
    "epsilon above its target": column("epsilon_tight", 1e6),
    "epsilon not computed": column("epsilon_tight", np.nan),
    "epsilon below 0": column("epsilon_tight", -1e9),
    "text that is none": rows(lambda found: found.assign(source=pd.Series([["made up"]] * len(found), found.index))),
    "columns without end": rows(_with_many_columns),
    "letters that look like another's": called("\u0440\u0440sgd"),
    "name of Python's own": called("__class__"),
    "name of a built-in method in capitals": called("DP_FedAvg"),
    "another way of accounting": column("reading", "nosuch"),
    "splits": rows(lambda found: found.assign(trial=found["trial"] + 7), BOTH),
    "one split twice": rows(_doubled),
    "no epsilon": rows(lambda found: found.drop(columns="target_epsilon")),
    "epsilons": rows(lambda found: found[found["target_epsilon"] != 4.0], BOTH),
    "scores that are text": column("excess_risk", "best"),
    "impossible scores": column("excess_risk", -1.0),
    "no score": rows(lambda found: found.drop(columns="excess_risk")),
    "rounds": rows(lambda found: found.assign(rounds=2 * found["rounds"], num_rounds=2 * found["num_rounds"]), BOTH),
    "unfinished runs": rows(lambda found: found[found["rounds"] < found["num_rounds"]]),
    "settings": rows(_more_settings, ("tuning",)),
    "no further seeds": rows(lambda found: found[found["seed"] < 2000], ("tuning",)),
    "further seeds with noise": rows(_more_seeds, ("tuning",)),
    "checksum": column("checksum", "0123456789abcdef"),
    "costs that are text": column("gradients", "few"),
    "cheap tuning": private("tuned_epsilon", 1e-3),
    "a source with a link": column("source", "[data](javascript:alert)"),
    "name of another folder": column("algorithm", "someone", BOTH),
    "no protocol": lambda entry: (entry / PROTOCOL).unlink(),
    "protocol of another delta": protocol(delta=0.5),
    "no runs": _in_place_of_runs,
    "a damaged part": _cut,
}
FINE: dict[str, Callable[[Path], None]] = {
    "as it was": lambda entry: None,
    "scores that diverged": column("excess_risk", np.nan),
    "columns of its own": _with_more_columns,
}


def crafted(whole: Small, craft: Callable[[Path], None], scratch: Path) -> Path:
    """A copy of the board whose entry is changed."""
    folder = shutil.copytree(whole.folder, scratch / whole.folder.name)
    craft(folder / ENTRIES / LABEL)
    return folder


def wrong(whole: Small, what: str, folder: Path) -> str | None:
    """What is wrong with how a crafted board is read; None where nothing is.

    An entry that breaks the protocol is named in a line, and ranked nowhere; all other numbers stay as they are.

    Args:
        whole: the board as it was.
        what: of WRONG or FINE.
        folder: of the crafted board's task.
    """
    try:
        found = boards.read_board(folder, whole.plan)
    except InputError as error:
        return f"the board is refused: {error}"
    ranked = set(found.evaluations["algorithm"])
    if what in FINE:
        if found.left_out or LABEL not in ranked:
            return f"left out: {found.left_out}"
    else:
        if ranked != {"Global private SGD", "Local learning"} or len(found.left_out) != 1:
            return f"ranked {sorted(ranked)}, left out {found.left_out}"
        ((name, why),) = found.left_out.items()
        if not f"{name}{why}".isprintable() or len(name) + len(why.replace(str(folder), "")) > LONGEST:
            return f"a line of {len(name) + len(why)} characters: {name!r}, {why[:300]!r}"
    return None
